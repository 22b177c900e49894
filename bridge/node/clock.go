package node

import (
	"time"

	"golang.org/x/sys/unix"
)

// Clock tells how long the machine has been up, sleep included. Unlike the time
// of day nobody can set it.
type Clock func() time.Duration

// BootClock is the kernel's.
func BootClock() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic(err) // Linux has had it since 2.6.39.
	}
	return time.Duration(t.Nano())
}
