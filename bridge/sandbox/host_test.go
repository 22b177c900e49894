package sandbox

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestAsNobody holds what a user without rights gets told. As root it drops
// nothing and only checks that the host is fit.
func TestAsNobody(t *testing.T) {
	if os.Getenv("SANDBOX_TEST_NOBODY") == "" {
		if err := CheckHost(); err != nil {
			t.Error(err)
		}
		return
	}
	t.Setenv("SPILLWAY_CACHE", "/no/such/cache")
	dir := filepath.Join(os.TempDir(), "no-such-rig")
	_, imageErr := EnsureImage(t.Context(), ImageSpec{Name: "x"}, io.Discard)
	_, networkErr := CreateNetwork(t.Context(), dir)
	_, machineErr := Start(t.Context(), Spec{Dir: dir, Name: "x"})
	_, sweepErr := Sweep(t.Context(), dir)
	for name, err := range map[string]error{
		"EnsureImage": imageErr, "CreateNetwork": networkErr, "Start": machineErr, "Sweep": sweepErr,
	} {
		if !errors.Is(err, ErrNotRoot) {
			t.Errorf("%s as nobody = %v, want ErrNotRoot", name, err)
		}
	}
}
