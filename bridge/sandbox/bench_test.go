package sandbox_test

import (
	"path/filepath"
	"testing"

	"spillway.sh/spillway/bridge/sandbox"
)

// BenchmarkMachine switches a machine on and off again.
func BenchmarkMachine(b *testing.B) {
	r := newRig(b)
	for b.Loop() {
		m, err := sandbox.Start(b.Context(), sandbox.Spec{
			Dir: filepath.Join(r.dir, "machines"), Name: "node1", Image: r.image, Network: r.network, GPUs: 8,
		})
		if err != nil {
			b.Fatal(err)
		}
		if err := m.Stop(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
