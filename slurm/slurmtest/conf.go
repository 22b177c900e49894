package slurmtest

import (
	_ "embed"
	"fmt"
	"net/netip"
	"strings"
	"text/template"
)

const (
	controllerPort = 6817
	slurmdPort     = 6818
	slurmdbdPort   = 6819
)

//go:embed slurm.conf.tmpl
var slurmConfText string

var slurmConf = template.Must(template.New("slurm.conf").Parse(slurmConfText))

// confData is what the template of slurm.conf is filled with.
type confData struct {
	Options
	HeadAddress netip.Addr
	Nodes       []confNode
	// LegacyDynamic is set for versions whose message tree does not know the
	// addresses of dynamic nodes.
	LegacyDynamic  bool
	OverlayNames   []string
	ControllerPort int
	SlurmdPort     int
	SlurmdbdPort   int
}

type confNode struct {
	Name    string
	Address netip.Addr
}

func renderSlurmConf(o Options, head netip.Addr, nodes []confNode) (string, error) {
	var text strings.Builder
	var overlays []string
	for i := range o.Overlays {
		overlays = append(overlays, fmt.Sprintf("sw-%d", i+1))
	}
	err := slurmConf.Execute(&text, confData{
		Options: o, HeadAddress: head, Nodes: nodes,
		LegacyDynamic:  o.Version == "22.05",
		OverlayNames:   overlays,
		ControllerPort: controllerPort, SlurmdPort: slurmdPort, SlurmdbdPort: slurmdbdPort,
	})
	return text.String(), err
}

// gresConf names the device files of a node's GPUs. Slurm refuses a node whose
// GPUs have none or are of another type.
func gresConf(gpuType string, gpus int) string {
	if gpus == 0 {
		return ""
	}
	return fmt.Sprintf("Name=gpu Type=%s File=/dev/nvidia[0-%d]\n", gpuType, gpus-1)
}

// cgroupConf keeps slurmd away from control groups, which belong to the host.
func cgroupConf(version string) string {
	if version == "22.05" {
		return "CgroupPlugin=cgroup/v1\nConstrainCores=no\nConstrainDevices=no\nConstrainRAMSpace=no\n"
	}
	return "CgroupPlugin=disabled\n"
}

// slurmdbdConf is the accounting daemon's configuration.
func slurmdbdConf(slurmUser string) string {
	return fmt.Sprintf(`DbdHost=localhost
DbdPort=%d
AuthType=auth/munge
SlurmUser=%s
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct_db
LogFile=/var/log/slurm/slurmdbd.log
PidFile=/run/slurmdbd.pid
`, slurmdbdPort, slurmUser)
}
