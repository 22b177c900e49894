// Package hosttest makes machines that are reached by SSH: namespaces with a
// real sshd on a high port, and keys made for the test.
package hosttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge/cloud/plugin/host"
	"spillway.sh/spillway/bridge/sandbox"
)

// Port is where the machines' sshd listens.
const Port = 2222

// Rig is some machines on a network of their own, or on a cluster's.
type Rig struct {
	Dir      string
	KeyFile  string // of the key that all machines let in
	HostKey  string // that all machines have
	Machines []*sandbox.Machine
	Hosts    []host.Host

	image   sandbox.Image
	network *sandbox.Network
	binds   []sandbox.Bind
}

// Image is Slurm's image of a version with an sshd in it.
func Image(t testing.TB, version string) sandbox.Image {
	t.Helper()
	spec, err := sandbox.SlurmImage(version, false)
	must(t, err)
	spec.Name += "-ssh"
	spec.Packages = append(spec.Packages, "openssh-server")
	spec.Hooks = append(spec.Hooks, `rm -f "$1"/etc/ssh/ssh_host_*`)
	image, err := sandbox.EnsureImage(t.Context(), spec, os.Stderr)
	must(t, err)
	return image
}

// Start starts machines named n1, n2 … on a network of their own; they end with
// the test.
func Start(t testing.TB, count int) *Rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "spillway-ssh-") //nolint:usetesting // The kernel remembers the path, which must be short.
	must(t, err)
	t.Cleanup(func() {
		_, err := sandbox.Sweep(context.Background(), dir)
		must(t, errors.Join(err, os.RemoveAll(dir)))
	})
	must(t, sandbox.Claim(dir))
	network, err := sandbox.CreateNetwork(t.Context(), filepath.Join(dir, "net"))
	must(t, err)
	return StartOn(t, dir, Image(t, "22.05"), network, count)
}

// StartOn is Start in a folder and on a network that somebody else cleans up.
func StartOn(t testing.TB, dir string, image sandbox.Image, network *sandbox.Network, count int, binds ...sandbox.Bind) *Rig {
	t.Helper()
	r := &Rig{Dir: dir, KeyFile: filepath.Join(dir, "key"), image: image, network: network, binds: binds}
	for _, name := range []string{"key", "host_key"} {
		out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", filepath.Join(dir, name)).CombinedOutput()
		if err != nil {
			t.Fatalf("make keys: %v: %s", err, out)
		}
	}
	r.HostKey = strings.TrimSpace(r.read(t, "host_key.pub"))
	for i := range count {
		r.Machines = append(r.Machines, r.machine(t, i))
		r.Hosts = append(r.Hosts, host.Host{
			Name: fmt.Sprintf("n%d", i+1), Address: r.Machines[i].Address().String(), Port: Port, User: "root", KeyFile: r.KeyFile, HostKey: r.HostKey,
		})
	}
	for i := range r.Hosts {
		r.await(t, i)
	}
	return r
}

const sshdConfig = `Port 2222
HostKey /etc/spillway-ssh/host_key
AuthorizedKeysFile /etc/spillway-ssh/authorized_keys
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
PidFile /run/sshd.pid
MaxStartups 100
`

func (r *Rig) machine(t testing.TB, i int) *sandbox.Machine {
	t.Helper()
	m, err := sandbox.Start(t.Context(), sandbox.Spec{
		Dir: filepath.Join(r.Dir, "machines"), Name: fmt.Sprintf("n%d", i+1), Image: r.image, Network: r.network, Binds: r.binds, GPUs: 8,
		Files: []sandbox.File{
			{Path: "/etc/spillway-ssh/host_key", Data: []byte(r.read(t, "host_key")), Mode: 0o600},
			{Path: "/etc/spillway-ssh/authorized_keys", Data: []byte(r.read(t, "key.pub")), Mode: 0o644},
			{Path: "/etc/spillway-ssh/sshd_config", Data: []byte(sshdConfig)},
		},
		Init: []byte("#!/bin/sh\numask 022\nmkdir -p /run/sshd\nexec /usr/sbin/sshd -D -f /etc/spillway-ssh/sshd_config -E /var/log/sshd.log\n"),
	})
	must(t, err)
	t.Cleanup(func() { must(t, m.Stop(context.Background())) })
	return m
}

// await waits until a machine lets us in.
func (r *Rig) await(t testing.TB, i int) {
	t.Helper()
	shell, h := &host.Shell{Dir: r.Dir}, &r.Hosts[i]
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		_, err := shell.Run(ctx, h, "true\n")
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			console, _ := os.ReadFile(r.Machines[i].Console())             // it says why, if there is one
			log, _ := os.ReadFile(r.Machines[i].Path("/var/log/sshd.log")) // as does this
			t.Fatalf("no way in to %s: %v\n%s%s", h.Name, err, console, log)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// In runs a shell line on a machine, not by SSH, and returns what it printed.
func (r *Rig) In(t testing.TB, i int, line string) string {
	t.Helper()
	out, err := r.Machines[i].Output(t.Context(), sandbox.Command{Args: []string{"sh", "-c", line}, Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func (r *Rig) read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.Dir, name))
	must(t, err)
	return string(text)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
