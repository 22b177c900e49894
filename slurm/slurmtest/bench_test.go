package slurmtest_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/slurm/slurmtest"
)

// BenchmarkClusterStart starts and closes a warm cluster with two local nodes.
func BenchmarkClusterStart(b *testing.B) {
	for _, version := range []string{"22.05", "24.11"} {
		b.Run(version, func(b *testing.B) {
			for b.Loop() {
				c, err := slurmtest.Start(b.Context(), slurmtest.Options{Version: version})
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := c.Close(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

// BenchmarkCommand compares a command from BinDir with a program that does
// nothing entered the same way, and with that program on the host: the first
// less the second is Slurm's own time, the second less the third the entry's.
func BenchmarkCommand(b *testing.B) {
	c := slurmtest.New(b, slurmtest.Options{LocalNodes: 1})
	enter := append([]string{"nsenter"}, sandbox.EnterArgs(c.Head().PID(), sandbox.Account{})...)
	for name, args := range map[string][]string{
		"squeue from BinDir": {filepath.Join(c.BinDir(sandbox.Account{}), "squeue")},
		"true in the head":   append(enter, "--", "/usr/bin/true"),
		"true on the host":   {"/usr/bin/true"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := exec.CommandContext(b.Context(), args[0], args[1:]...).Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
