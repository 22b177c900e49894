package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// Files that whoever lent the machine has written into the agent's folder before
// its boot script ran.
const (
	instanceFile = "instance" // its id, as its cloud lists it
	expiresFile  = "expires"  // the end of the rental, as it was told last
	releaseFile  = "release"  // the program that gives the machine back
)

// Owned is a machine that has no metadata service, because it belongs to the
// site or to a vendor who has none. It is given back at its end, not switched off.
type Owned struct{ dir string }

// NewOwned looks into the agent's folder.
func NewOwned(dir string) *Owned { return &Owned{dir} }

// Name implements Cloud.
func (*Owned) Name() string { return "owned" }

// Every implements Cloud. There are no notices to see.
func (*Owned) Every() time.Duration { return time.Minute }

// Identify returns the id that was written down.
func (o *Owned) Identify(context.Context) (string, error) { return o.read(instanceFile) }

// Look implements Cloud: nobody takes such a machine with a notice.
func (*Owned) Look(context.Context) (*bridge.Warning, error) { return nil, nil }

// Expires returns the end that was written down last.
func (o *Owned) Expires(context.Context) (time.Time, error) {
	text, err := o.read(expiresFile)
	switch {
	case errors.Is(err, errAbsent):
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, err
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("read %s: %w", expiresFile, err)
	}
	return t.UTC(), nil
}

func (o *Owned) read(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(o.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", errAbsent
	}
	return strings.TrimSpace(string(text)), err
}

// GiveBack starts the program that gives an owned machine back. It reports false
// where there is none: such a machine is switched off.
func GiveBack(dir string) (owned bool, err error) {
	program := filepath.Join(dir, releaseFile)
	if _, err := os.Stat(program); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	// It ends this process too, so it goes on by itself.
	out, err := exec.Command(program).CombinedOutput()
	if err != nil {
		return true, fmt.Errorf("give the machine back: %w: %.200s", err, strings.TrimSpace(string(out)))
	}
	return true, nil
}
