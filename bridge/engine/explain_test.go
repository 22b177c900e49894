package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

// Comment keeps what owners would read.
func (c *cluster) Comment(_ context.Context, id bridge.JobID, text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down != nil {
		return c.down
	}
	if j := c.jobs[id]; j == nil || j.state == "cancelled" {
		return bridge.ErrNoJob
	}
	c.comments[id] = append(c.comments[id], text)
	return nil
}

func (c *cluster) commentsOn(id bridge.JobID) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.comments[id]
}

func TestOwnerIsToldOnceAndItIsTakenBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.terms.Comment = true
		j := w.cluster.submit("1", 1, 64, time.Hour)
		w.start()
		time.Sleep(2 * time.Minute)
		if diff := cmp.Diff([]string{"no-offer-fits"}, w.cluster.commentsOn("1")); diff != "" {
			t.Errorf("after two minutes (-want +got):\n%s", diff)
		}
		w.cluster.set(func(*cluster) { j.gpus = 8 }) // its owner asks for less
		w.until(time.Minute, "it leaves", w.state("1", "running"))
		if diff := cmp.Diff([]string{"no-offer-fits", ""}, w.cluster.commentsOn("1")); diff != "" {
			t.Errorf("after it left (-want +got):\n%s", diff)
		}
	})
}

func TestOwnerIsNotToldWithoutLeave(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cluster.submit("1", 1, 64, time.Hour)
		w.start()
		time.Sleep(time.Minute)
		if got := w.cluster.commentsOn("1"); len(got) > 0 {
			t.Errorf("policy does not allow it, and its owner was told %q", got)
		}
	})
}

// A scheduler that does not answer is told later; a job that is gone, never.
func TestOwnerIsToldWhenTheSchedulerAnswersAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.terms.Comment = true
		w.cluster.submit("1", 1, 64, time.Hour)
		w.cluster.set(func(c *cluster) { c.down = errors.New("no answer") })
		w.start()
		time.Sleep(time.Minute)
		w.cluster.set(func(c *cluster) { c.down = nil })
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]string{"no-offer-fits"}, w.cluster.commentsOn("1")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
