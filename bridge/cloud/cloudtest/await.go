package cloudtest

import (
	"context"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// Await polls until a thing is so, or fails the test when patience ends.
func Await(t T, patience time.Duration, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	look := time.NewTicker(pause(patience))
	defer look.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatalf("after %s still not: %s", patience, what)
		case <-look.C:
		}
	}
}

// Running waits until all machines of a create run, and returns them.
func Running(t T, patience time.Duration, c Cloud, l bridge.Launch, h bridge.Handle) []bridge.Instance {
	t.Helper()
	var got []bridge.Instance
	Await(t, patience, "all machines run", func() bool {
		var err error
		if got, err = c.Observe(t.Context(), l, h); err != nil {
			t.Fatalf("observe: %v", err)
		}
		return len(got) == l.Count && !slices.ContainsFunc(got, func(m bridge.Instance) bool { return m.State != bridge.InstanceRunning })
	})
	return got
}

// pause is the time between two looks at a cloud.
func pause(patience time.Duration) time.Duration {
	return min(max(patience/1000, 10*time.Millisecond), 5*time.Second)
}
