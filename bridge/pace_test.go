package bridge

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestPaceKeepsTheDeadline holds that a job that loses any machine at the worst
// moment, as long as its course lets it be on one, still ends in time on demand.
func TestPaceKeepsTheDeadline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minutes := func(label string, least, most int) time.Duration {
			return time.Duration(rapid.IntRange(least, most).Draw(t, label)) * time.Minute
		}
		p := Pace{Start: noon, Work: minutes("work", 1, 3000), Restart: minutes("restart", 0, 20), Loss: minutes("loss", 0, 60), Stays: rapid.Bool().Draw(t, "stays")}
		p.Deadline = noon.Add(p.Work + 2*p.Restart + p.Loss + minutes("slack", 0, 3000))
		p.Done = time.Duration(rapid.Int64Range(0, int64(p.Work)).Draw(t, "done"))
		now := noon.Add(minutes("now", 0, 6000))
		if p.Course(now) == CourseOnDemand {
			return // the rest is on demand
		}
		// A machine starts now, computes almost to its first checkpoint, and is
		// taken; what it did is lost, and the rest runs on demand.
		end := now.Add(p.Restart + p.Loss + p.Restart + p.Work - p.Done)
		if end.After(p.Deadline) {
			t.Fatalf("on %s at %s the job could end at %s, after its deadline %s", p.Course(now), now, end, p.Deadline)
		}
	})
}

// TestPaceTurnsOnce holds that the course of a job that makes no progress goes
// one way, from spot by any to on demand, and that one that leaves on demand is
// ahead.
func TestPaceTurnsOnce(t *testing.T) {
	order := map[Course]int{CourseSpot: 0, CourseAny: 1, CourseOnDemand: 2}
	rapid.Check(t, func(t *rapid.T) {
		p := Pace{Start: noon, Deadline: noon.Add(time.Duration(rapid.IntRange(1, 100).Draw(t, "hours")) * time.Hour), Work: 10 * time.Hour, Restart: 5 * time.Minute, Loss: 15 * time.Minute, Stays: rapid.Bool().Draw(t, "stays")}
		p.Done = time.Duration(rapid.Int64Range(0, int64(p.Work)).Draw(t, "done"))
		last := 0
		for h := range 110 {
			now := noon.Add(time.Duration(h) * time.Hour)
			c := order[p.Course(now)]
			if c < last {
				t.Fatalf("the course turned back to %s at %s", p.Course(now), now)
			}
			if last = c; p.Leaves(now) && c != 0 {
				t.Fatalf("a job whose course is %s leaves on demand", p.Course(now))
			}
		}
	})
}
