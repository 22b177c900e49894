package slurmtest

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"strings"

	"spillway.sh/spillway/bridge/sandbox"
)

// Join is what a machine needs in order to become a node of the cluster.
type Join struct {
	// Controller is where slurmctld listens.
	Controller netip.AddrPort
	// ControllerHost is the controller's host name as slurm.conf has it.
	ControllerHost string
	// MungeKey is the key that all of the cluster share: a secret.
	MungeKey []byte
	// SlurmConf and CgroupConf are the cluster's configuration. slurmd can fetch
	// it (--conf-server), but then gets gres.conf too, which is right only for
	// machines with the GPUs of the local nodes.
	SlurmConf, CgroupConf string
	// Image is the root file system with the right Slurm version.
	Image sandbox.Image
	// Network is the network the controller is on.
	Network *sandbox.Network
	// Binds are the shared folders.
	Binds []sandbox.Bind
}

// NodeShape is what a joining machine claims to have.
type NodeShape struct {
	// Name is its node name.
	Name string
	// CPUs and MemoryMiB are its size.
	CPUs, MemoryMiB int
	// GPUType and GPUs are its devices, /dev/nvidia0 and up.
	GPUType string
	GPUs    int
	// Feature is a comma list; it may be empty.
	Feature string
}

// Join returns what a machine needs in order to become a node.
func (c *Cluster) Join() Join {
	return Join{
		Controller:     netip.AddrPortFrom(c.address(0), controllerPort),
		ControllerHost: headName,
		MungeKey:       c.key,
		SlurmConf:      c.conf,
		CgroupConf:     cgroupConf(c.options.Version),
		Image:          c.image,
		Network:        c.network,
		Binds:          c.binds(),
	}
}

// Conf returns the value of slurmd's --conf for this shape.
func (s NodeShape) Conf() string {
	words := []string{fmt.Sprintf("CPUs=%d RealMemory=%d", s.CPUs, s.MemoryMiB)}
	if s.GPUs > 0 {
		words = append(words, fmt.Sprintf("Gres=gpu:%s:%d", s.GPUType, s.GPUs))
	}
	if s.Feature != "" {
		words = append(words, "Feature="+s.Feature)
	}
	return strings.Join(words, " ")
}

// GresConf returns the gres.conf of a machine of this shape.
func (s NodeShape) GresConf() string { return gresConf(s.GPUType, s.GPUs) }

// Script returns a boot script with which a machine of any shape joins by
// itself. It carries the key in clear, which is for tests only.
func (j Join) Script(shape NodeShape) []byte {
	return j.script(shape, fmt.Sprintf(`cat > /etc/slurm/slurm.conf <<'CONF'
%s
CONF
cat > /etc/slurm/cgroup.conf <<'CONF'
%s
CONF
cat > /etc/slurm/gres.conf <<'CONF'
%s
CONF
`, j.SlurmConf, j.CgroupConf, shape.GresConf()), "-f /etc/slurm/slurm.conf")
}

// ConfiglessScript returns a boot script with which a machine joins that has
// the GPUs of the local nodes; slurmd fetches all configuration by itself.
func (j Join) ConfiglessScript(shape NodeShape) []byte {
	return j.script(shape, "", "--conf-server "+j.Controller.String())
}

func (j Join) script(shape NodeShape, files, source string) []byte {
	lines := []string{
		"set -e",
		"echo " + base64.StdEncoding.EncodeToString(j.MungeKey) + " | base64 -d > /etc/munge/munge.key",
		"chown munge:munge /etc/munge/munge.key",
		"chmod 400 /etc/munge/munge.key",
		mungeScript,
		fmt.Sprintf(foldersScript, "root"),
		fmt.Sprintf("echo '%s %s' >> /etc/hosts", j.Controller.Addr(), j.ControllerHost),
		files + fmt.Sprintf("exec slurmd -Z -N %s %s --conf '%s'", shape.Name, source, shape.Conf()),
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}
