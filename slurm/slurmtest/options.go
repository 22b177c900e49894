package slurmtest

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"spillway.sh/spillway/bridge/sandbox"
)

// Options says what cluster to start; the zero value is a good one.
type Options struct {
	// Dir is the rig's folder, which Close removes. Empty means a new folder
	// in the system's temporary one.
	Dir string
	// Version is "22.05" (default), "24.11" or "26.05".
	Version string
	// LocalNodes is the number of local nodes; 0 means 2, -1 none.
	LocalNodes int
	// CPUs and MemoryMiB are what each local node claims to have; 0 means 8
	// and 64000.
	CPUs, MemoryMiB int
	// GPUType and GPUs are what each local node claims to have; empty and 0
	// mean "a100" and 8, -1 none.
	GPUType string
	GPUs    int
	// Partition is the partition of the local nodes; empty means "gpu".
	Partition string
	// MaxNodeCount makes room for dynamic nodes; 0 means 64, -1 leaves the
	// line out as sites that never had dynamic nodes do.
	MaxNodeCount int
	// Overlays is the number of partitions sw-1 and up that slurm.conf declares
	// without nodes, closed, for rented machines to be put into. Partitions made
	// at run time instead are lost at a restart of slurmctld, and with them the
	// jobs that run there.
	Overlays int
	// KillWait is how many seconds pass from SIGTERM to SIGKILL; 0 means 5.
	KillWait int
	// ExtraConf is added to slurm.conf as it is.
	ExtraConf string
	// Accounting adds slurmdbd and MariaDB and with them operators and
	// administrators.
	Accounting bool
	// Enforce is AccountingStorageEnforce, for instance "associations,limits";
	// it needs Accounting.
	Enforce string
	// Packages are further Debian packages of the machines, for instance
	// python3-torch; they make an image of their own.
	Packages []string
	// SlurmUser is "root" (default) or "slurm".
	SlurmUser string
	// SharedDir is an existing folder that all machines share; empty means
	// one in Dir.
	SharedDir string
	// Detached lets the cluster's machines outlive this process.
	Detached bool
	// Progress receives a line for each step of building an image; nil means none.
	Progress io.Writer
}

func (o Options) withDefaults() (Options, error) {
	setDefault(&o.Version, "22.05")
	setDefault(&o.GPUType, "a100")
	setDefault(&o.Partition, "gpu")
	setDefault(&o.SlurmUser, "root")
	setCount(&o.LocalNodes, 2)
	setCount(&o.CPUs, 8)
	setCount(&o.MemoryMiB, 64000)
	setCount(&o.GPUs, 8)
	setCount(&o.MaxNodeCount, 64)
	setCount(&o.KillWait, 5)
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if !slices.Contains(sandbox.SlurmVersions(), o.Version) {
		return o, fmt.Errorf("version %q is not one of %s", o.Version, strings.Join(sandbox.SlurmVersions(), ", "))
	}
	if o.SlurmUser != "root" && o.SlurmUser != "slurm" {
		return o, fmt.Errorf("SlurmUser %q is not root or slurm", o.SlurmUser)
	}
	if o.Enforce != "" && !o.Accounting {
		return o, fmt.Errorf("enforce %q needs accounting", o.Enforce)
	}
	return o, nil
}

func setDefault(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

// setCount turns 0 into the default and -1 into none.
func setCount(field *int, value int) {
	switch *field {
	case 0:
		*field = value
	case -1:
		*field = 0
	}
}
