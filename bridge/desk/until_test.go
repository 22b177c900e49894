package desk

import (
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// Machines asked for until a time end then, however late the yes comes, and
// hold no more than the time that is left can cost.
func TestAYesThatComesLateDoesNotMoveTheEndThatWasNamed(t *testing.T) {
	six := noon.Add(6 * time.Hour)
	for name, c := range map[string]struct {
		words string
		late  time.Duration
		end   time.Time
		held  bridge.Money
	}{
		"at once":                   {"8xh100 until 18:00 on-demand", 0, six, usd(192)},
		"three quarters of an hour": {"8xh100 until 18:00 on-demand", 45 * time.Minute, six, usd(168)},
		"a duration is whole":       {"8xh100 for 6h on-demand", 45 * time.Minute, noon.Add(6*time.Hour + 45*time.Minute + time.Minute + bridge.LifeMargin), bridge.Money{}},
	} {
		t.Run(name, func(t *testing.T) {
			d, w := newWorld(t)
			asked := d.mustRent(t, "ana", c.words)
			if !asked.Waiting {
				t.Fatal("it does not wait")
			}
			w.snap.Now = noon.Add(c.late)
			a, err := d.Decide(t.Context(), d.as("mei"), DecideRequest{Rental: string(asked.Rental.ID), Revision: 1, Yes: true})
			if err != nil {
				t.Fatal(err)
			}
			if !a.Rental.Expires.Equal(c.end) {
				t.Errorf("it ends at %s, want %s", a.Rental.Expires, c.end)
			}
			want := c.held
			if want.Micro == 0 {
				want = asked.Rental.Hold
			}
			if a.Rental.Hold != want || a.Result.Hold != want {
				t.Errorf("%s is held and %s said, want %s", a.Rental.Hold, a.Result.Hold, want)
			}
		})
	}
}

func TestAQuestionLapsesWithTheEndThatWasNamed(t *testing.T) {
	d, w := newWorld(t)
	d.Rules.(*rules).terms.AskAbove = usd(1)
	asked := d.mustRent(t, "ana", "8xh100 until 12:30 on-demand")
	half := noon.Add(30 * time.Minute)
	if !asked.Rental.AskUntil.Equal(half) || !asked.Rental.Until.Equal(half) {
		t.Errorf("asked until %s about an end at %s, want %s of both", asked.Rental.AskUntil, asked.Rental.Until, half)
	}
	w.snap.Now = half
	if _, err := d.Decide(t.Context(), d.as("mei"), DecideRequest{Rental: string(asked.Rental.ID), Revision: 1, Yes: true}); kind(err) != Conflict {
		t.Errorf("a yes at the very end: %v", err)
	}
}
