package cloudtest

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"
)

// T is what the suite needs of a test; a *testing.T is one.
type T interface {
	Helper()
	Context() context.Context
	Cleanup(f func())
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Fatal(args ...any)
}

// Result is how one test of [Check] went.
type Result struct {
	Name   string
	Passed bool
	Took   time.Duration
	Said   []string // what failed and what was noted, in order
}

// Check runs the suite where there is no *testing.T, one test after the other, and
// tells of each as it ends. Without rent it runs those that make no machine.
func Check(ctx context.Context, p Provider, rent bool, each func(Result)) {
	p.free = !rent
	tests := p.tests()
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		if ctx.Err() != nil {
			return
		}
		begun := time.Now()
		r := &run{ctx: ctx}
		r.do(func() { tests[name](newBench(r, p)) })
		r.clean()
		each(Result{Name: name, Passed: !r.failed, Took: time.Since(begun), Said: r.said})
	}
}

// run is one test of Check.
type run struct {
	ctx context.Context

	mu       sync.Mutex
	failed   bool
	said     []string
	cleanups []func()
}

// do runs f on a goroutine of its own, which Fatalf may end.
func (r *run) do(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func (r *run) clean() {
	for len(r.cleanups) > 0 {
		last := r.cleanups[len(r.cleanups)-1]
		r.cleanups = r.cleanups[:len(r.cleanups)-1]
		r.do(last)
	}
}

func (r *run) say(fails bool, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = r.failed || fails
	r.said = append(r.said, text)
}

// Helper does nothing: lines of the suite's source help nobody here.
func (r *run) Helper() {}

// Context ends with the check.
func (r *run) Context() context.Context { return r.ctx }

// Cleanup has f called when the test is over.
func (r *run) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

// Logf notes something.
func (r *run) Logf(format string, args ...any) { r.say(false, fmt.Sprintf(format, args...)) }

// Errorf fails the test, which goes on.
func (r *run) Errorf(format string, args ...any) { r.say(true, fmt.Sprintf(format, args...)) }

// Fatalf fails the test and ends it.
func (r *run) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// Fatal fails the test and ends it.
func (r *run) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }
