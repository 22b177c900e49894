package node

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestAnOwnedMachineIsWhatWasWrittenDown(t *testing.T) {
	dir := t.TempDir()
	o := NewOwned(dir)
	if _, err := o.Identify(t.Context()); !errors.Is(err, errAbsent) {
		t.Errorf("a machine without a note: %v", err)
	}
	if end, err := o.Expires(t.Context()); err != nil || !end.IsZero() {
		t.Errorf("no end was written down: %s, %v", end, err)
	}
	put(t, dir, "instance", "gpu01.3f2a9c1b\n")
	put(t, dir, "expires", "2026-12-01T12:00:00Z\n")
	if cloud, id := first(t.Context(), []Cloud{o}); cloud != Cloud(o) || id != "gpu01.3f2a9c1b" {
		t.Errorf("%v is %q", cloud, id)
	}
	end, err := o.Expires(t.Context())
	if want := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC); err != nil || !end.Equal(want) {
		t.Errorf("the end is %s, %v; want %s", end, err, want)
	}
	if w, err := o.Look(t.Context()); w != nil || err != nil {
		t.Errorf("a notice: %v, %v", w, err)
	}
	put(t, dir, "expires", "soon\n")
	if _, err := o.Expires(t.Context()); err == nil {
		t.Error("an end that is no time is taken for one")
	}
}

func TestAnOwnedMachineIsGivenBackAndNotSwitchedOff(t *testing.T) {
	dir := t.TempDir()
	if owned, err := GiveBack(dir); owned || err != nil {
		t.Fatalf("a machine without a program for it: %t, %v", owned, err)
	}
	put(t, dir, "release", "#!/bin/sh\necho back >\"${0%/*}/done\"\n")
	if owned, err := GiveBack(dir); !owned || err != nil {
		t.Fatalf("%t, %v", owned, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "done")); err != nil {
		t.Error(err)
	}
	put(t, dir, "release", "#!/bin/sh\necho no room >&2\nexit 3\n")
	if owned, err := GiveBack(dir); !owned || err == nil {
		t.Errorf("one that fails: %t, %v; want it told, and the machine not switched off", owned, err)
	}
}
