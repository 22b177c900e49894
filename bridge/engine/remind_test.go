package engine_test

import (
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// An open question is brought up again half way to its end, and once more with
// a quarter of its time left; it lapses by itself, without a click.
func TestB_F4_QuestionsAreRemindedOfEscalatedAndLapse(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.tight()
		w.terms.AskFor, w.limits.AskAgain = 20*time.Minute, time.Hour
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		r := w.question()
		for _, step := range []struct {
			after               time.Duration
			reminded, escalated int
			lapsed              int
		}{{9 * time.Minute, 0, 0, 0}, {11 * time.Minute, 1, 0, 0}, {14 * time.Minute, 1, 0, 0}, {16 * time.Minute, 1, 1, 0}, {19 * time.Minute, 1, 1, 0}, {21 * time.Minute, 1, 1, 1}} {
			time.Sleep(r.Since.Add(step.after).Sub(w.now()))
			if a, b, c := w.told(bridge.NewsReminded), w.told(bridge.NewsEscalated), w.told(bridge.NewsLapsed); a != step.reminded || b != step.escalated || c != step.lapsed {
				t.Errorf("after %s: reminded %d times, escalated %d, lapsed %d; want %d, %d, %d", step.after, a, b, c, step.reminded, step.escalated, step.lapsed)
			}
		}
		if now, err := w.store.Rental(t.Context(), r.ID); err != nil || now.Revision != r.Revision || now.Digest != r.Digest || now.Version <= r.Version {
			t.Errorf("a reminder changed the question: %d %d (%v)", now.Revision, now.Version, err)
		}
	})
}
