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
	// Controller is where slurmctld listens, and from where slurmd fetches its
	// configuration (slurmd --conf-server).
	Controller netip.AddrPort
	// ControllerHost is the controller's host name as slurm.conf has it.
	ControllerHost string
	// MungeKey is the key that all of the cluster share: a secret.
	MungeKey []byte
	// CgroupConf is the cgroup.conf of the cluster; slurmd fetches it too.
	CgroupConf string
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

// Script returns a boot script with which a machine joins by itself. It
// carries the key in clear, which is for tests only.
func (j Join) Script(shape NodeShape) []byte {
	return fmt.Appendf(nil, `set -e
echo %[1]s | base64 -d > /etc/munge/munge.key
chown munge:munge /etc/munge/munge.key
chmod 400 /etc/munge/munge.key
%[2]s
%[3]s
echo '%[4]s %[5]s' >> /etc/hosts
exec slurmd -Z -N %[6]s --conf-server %[4]s:%[7]d --conf '%[8]s'
`, base64.StdEncoding.EncodeToString(j.MungeKey), mungeScript, fmt.Sprintf(foldersScript, "root"),
		j.Controller.Addr(), j.ControllerHost, shape.Name, j.Controller.Port(), shape.Conf())
}
