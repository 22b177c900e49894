package sim

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"time"
)

// happening is something that the seed holds.
type happening struct {
	at time.Time
	n  int // of those at one time, the earlier planned comes first
	do func(context.Context)
}

// plan is what is still to come, the next first.
type plan struct {
	all []happening
	n   int
}

// Len, Less, Swap, Push and Pop make it a heap.
func (p *plan) Len() int { return len(p.all) }

// Less reports whether one comes before another.
func (p *plan) Less(i, j int) bool {
	if a, b := p.all[i].at, p.all[j].at; !a.Equal(b) {
		return a.Before(b)
	}
	return p.all[i].n < p.all[j].n
}

// Swap exchanges two.
func (p *plan) Swap(i, j int) { p.all[i], p.all[j] = p.all[j], p.all[i] }

// Push adds one.
func (p *plan) Push(x any) { p.all = append(p.all, x.(happening)) } //nolint:forcetypeassert // Of a heap of ours.

// Pop takes the last.
func (p *plan) Pop() any {
	x := p.all[len(p.all)-1]
	p.all = p.all[:len(p.all)-1]
	return x
}

// in plans something.
func (w *World) in(d time.Duration, do func(context.Context)) {
	w.plan.n++
	heap.Push(&w.plan, happening{time.Now().Add(d), w.plan.n, do})
}

// At plans something of the caller's own, so long after the world's birth.
func (w *World) At(d time.Duration, do func(context.Context)) { w.in(time.Until(w.born.Add(d)), do) }

// every plans something again and again, as long as there is new trouble: next
// gives the time until the next one.
func (w *World) every(next func() time.Duration, do func(context.Context)) {
	var again func(context.Context)
	again = func(ctx context.Context) {
		if w.over {
			return
		}
		do(ctx)
		w.in(next(), again)
	}
	w.in(next(), again)
}

// step waits for the next happening, lets it happen and looks at the world. A
// bridge that dies meanwhile is buried at once.
func (w *World) step(ctx context.Context) error {
	next := heap.Pop(&w.plan).(happening) //nolint:forcetypeassert // Of a heap of ours.
	timer := time.NewTimer(time.Until(next.at))
	defer timer.Stop()
	for waiting := true; waiting; {
		var struck, ended <-chan struct{}
		if w.life != nil {
			struck, ended = w.life.struck, w.life.done
		}
		select {
		case <-timer.C:
			waiting = false
		case <-struck:
			w.bury(ctx)
		case <-w.died():
			w.Kill()
			w.Check(ctx)
			if err := w.Start(ctx); err != nil {
				return err
			}
		case <-ended:
			w.fall(ctx)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	next.do(ctx)
	w.Check(ctx)
	return nil
}

// fall is the end of a bridge's loop by itself.
func (w *World) fall(ctx context.Context) {
	if why := w.life.fell(); why != "" {
		w.blame("I27", "the bridge's loop ended: %s", why)
	}
	w.Check(ctx)
	w.bury(ctx)
}

// Play lets all happen that the seed holds, until Length is over, and then until
// nothing is left, each step checked. An error says that it cannot go on, or that
// something was left; what was found wrong is in Violations.
func (w *World) Play(ctx context.Context) error {
	if w.life == nil {
		if err := w.Start(ctx); err != nil {
			return err
		}
	}
	w.in(w.setup.limits().Cycle, w.tick)
	w.trouble()
	for end := time.Now().Add(w.setup.Length); time.Now().Before(end); {
		if err := w.step(ctx); err != nil {
			return err
		}
	}
	if err := w.calm(ctx); err != nil {
		return err
	}
	if err := w.settle(ctx); err != nil {
		return err
	}
	w.seen.audited = time.Time{} // due
	w.Check(ctx)
	return w.ended(ctx)
}

// ended has the last sight judged.
func (w *World) ended(ctx context.Context) error {
	s, err := w.Sight(ctx)
	if err != nil {
		return err
	}
	w.found = append(append(w.found, w.checker.Step(s)...), w.checker.End(s)...)
	w.story.tell(time.Now(), "the end: %d jobs, %d rentals, %d machines, %d lives", len(s.Jobs), len(s.Rentals), len(s.Machines), w.lives)
	return nil
}

// tick is the passing of a cycle.
func (w *World) tick(context.Context) { w.in(w.setup.limits().Cycle, w.tick) }

var errNotOver = errors.New("not all is over in time")

// settle lets time pass until nothing is left. What has to be waited for is:
// jobs that run, those that could still be let out, and ends that people have
// named.
func (w *World) settle(ctx context.Context) error {
	l := w.setup.limits()
	last := time.Now().Add(96 * w.setup.span(time.Hour))
	patience := w.site.idle + l.Launch + l.Join + l.AbsentGap + l.OrphanAge + 12*l.Cycle + w.setup.span(30*time.Minute)
	quiet := time.Now()
	for n := 0; n < 3; {
		if err := w.step(ctx); err != nil {
			return err
		}
		if w.busy() {
			quiet = time.Now()
		}
		if n++; !w.Over() {
			n = 0
		}
		switch now := time.Now(); {
		case n == 0 && now.Sub(quiet) > patience:
			return fmt.Errorf("%w: nothing runs or waits since %s, and %s", errNotOver, w.story.stamp(quiet), w.left())
		case now.After(last):
			return fmt.Errorf("%w: jobs still run or wait, and %s", errNotOver, w.left())
		}
	}
	return nil
}
