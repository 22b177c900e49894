// Package bulk holds that what reads text from outside is not held up by ten
// megabytes of it: it counts the processor's time, so that a busy machine does
// not fail a test.
package bulk

import (
	"bytes"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Size is how much the tests of readers give them at once.
const Size = 10 << 20

// limit is the second of the processor that reading it may take, and as much
// again for the collector of what it leaves behind.
const limit = 2 * time.Second

// Of repeats a piece of text up to Size.
func Of(piece string) []byte { return bytes.Repeat([]byte(piece), Size/len(piece)+1)[:Size] }

// Read runs what reads and fails when it takes the processor too long, or fills
// the memory.
func Read(t testing.TB, what string, read func()) {
	t.Helper()
	before := spent(t)
	read()
	after := spent(t)
	if took := after.time - before.time; took > limit {
		t.Errorf("%s: reading ten megabytes takes %s of the processor, at most %s", what, took, limit)
	}
	if grew := after.memory - before.memory; grew > memory {
		t.Errorf("%s: reading ten megabytes fills %d MiB, at most %d", what, grew>>20, memory>>20)
	}
}

// memory is how much a reader may fill at once.
const memory = 256 << 20

type figures struct {
	time   time.Duration
	memory int64 // the most ever resident, in bytes
}

func spent(t testing.TB) figures {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return figures{time.Duration(u.Utime.Nano() + u.Stime.Nano()), u.Maxrss << 10}
}
