package slurm

import (
	"slices"
	"strings"
	"testing"
)

// TestJobThatWasSentOutAgainIsRead counts what a controller counts in its batch
// flag: a job whose node died at the wrong moment must not hide the whole queue.
func TestJobThatWasSentOutAgainIsRead(t *testing.T) {
	at := slices.IndexFunc(fields, func(f field) bool { return f.name == "BatchFlag" })
	record, _, _ := strings.Cut(newStand(t, "22.05").fixture("22.05", "jobs.txt"), recordSeparator)
	for value, want := range map[string]struct{ batch, ok bool }{
		"0": {false, true}, "1": {true, true}, "2": {true, true}, "5": {true, true}, "yes": {false, false}, "-1": {false, false}, "": {false, false},
	} {
		columns := strings.Split(record, unitSeparator)
		columns[at] = value
		var j job
		err := parseRecord(&j, strings.Join(columns, unitSeparator), unitSeparator+"NONCE")
		if (err == nil) != want.ok || err == nil && j.Batch != want.batch {
			t.Errorf("%q: batch %t, error %v; want %t, read: %t", value, j.Batch, err, want.batch, want.ok)
		}
	}
}
