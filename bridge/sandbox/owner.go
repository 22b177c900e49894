package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

const (
	ownerFile = "owner.json"
	// sweepLock keeps two processes from sweeping one rig at the same time.
	sweepLock = "/run/spillway-sweep.lock"
)

// Claim marks the rig in dir as this process's own: when the process is gone,
// SweepAbandoned may remove it. Rigs that outlive their starter are not claimed.
func Claim(dir string) error {
	self, err := processOf(os.Getpid())
	if err != nil {
		return fmt.Errorf("claim rig: %w", err)
	}
	text, err := json.Marshal(self)
	if err != nil {
		return fmt.Errorf("claim rig: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("claim rig: %w", err)
	}
	if err := writeFileAtomic(filepath.Join(dir, ownerFile), text, 0o644); err != nil {
		return fmt.Errorf("claim rig: %w", err)
	}
	return nil
}

// SweepAbandoned sweeps every rig on this host whose claimant was killed, and
// returns their folders. It finds them by what they left in the kernel.
func SweepAbandoned(ctx context.Context) ([]string, error) {
	if os.Geteuid() != 0 {
		return nil, ErrNotRoot
	}
	lock := flock.New(sweepLock)
	defer lock.Close()
	if err := lock.Lock(); err != nil {
		return nil, fmt.Errorf("wait for another sweep: %w", err)
	}
	var swept []string
	var failures []error
	for rig := range rigsInKernel() {
		text, err := os.ReadFile(filepath.Join(rig, ownerFile))
		if err != nil {
			continue // Not claimed, or being swept by somebody else.
		}
		var owner process
		if json.Unmarshal(text, &owner) != nil || owner.alive() {
			continue
		}
		if _, err := Sweep(ctx, rig); err != nil {
			failures = append(failures, err)
			continue
		}
		swept = append(swept, rig)
	}
	return swept, errors.Join(failures...)
}

// rigsInKernel returns the folders of all rigs that own a bridge here.
func rigsInKernel() map[string]bool {
	rigs := map[string]bool{}
	for _, path := range ownedLinks("") {
		if rig, ok := strings.CutSuffix(path, "/net"); ok {
			rigs[rig] = true
		}
	}
	return rigs
}
