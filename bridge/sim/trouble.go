package sim

import (
	"context"
	"time"

	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/desk"
)

// trouble plans all that the seed holds.
func (w *World) trouble() {
	w.arrive()
	m := w.setup.Mix
	if m.Faults {
		w.fail()
	}
	if m.Weather {
		w.blow()
	}
	if m.Jumps {
		w.misset()
	}
	if m.Restarts {
		w.bounce()
	}
	if m.People {
		w.live()
	}
	if m.Deaths {
		w.mortal()
	}
}

// calm ends all trouble: faults are taken away, clocks are right, a dead bridge
// is started, and people answer what is asked.
func (w *World) calm(ctx context.Context) error {
	w.over = true
	w.story.tell(time.Now(), "all trouble ends")
	if err := w.heal(); err != nil {
		return err
	}
	w.clear()
	w.clock.right()
	w.Slurm.Restart(false)
	if w.life == nil {
		if err := w.Start(ctx); err != nil {
			return err
		}
	}
	w.in(w.setup.span(30*time.Second), w.tidy)
	w.in(w.setup.span(8*time.Hour), func(context.Context) { w.giveUp() })
	w.Check(ctx)
	return nil
}

// tidy is what people do at the end, again and again: an admin thaws and lets go
// of what was rented by hand, and questions are answered.
func (w *World) tidy(ctx context.Context) {
	w.in(w.setup.span(10*time.Minute), w.tidy)
	if w.life == nil {
		if err := w.Start(ctx); err != nil {
			w.blame("I25", "the bridge cannot be started: %v", err)
		}
		return
	}
	if w.seen.marks.Frozen {
		w.thaw(ctx)
	}
	for _, r := range w.waiting() {
		_, err := w.Desk.Decide(ctx, w.Person("boss"), desk.DecideRequest{Rental: string(r.ID), Revision: r.Revision})
		w.said("deny "+string(r.ID), err)
	}
	for _, r := range w.byHand() {
		_, err := w.Desk.Release(ctx, w.Person("root"), desk.ReleaseRequest{Rental: string(r)})
		w.said("release "+string(r), err)
	}
}

// giveUp is what the owners of jobs do that nothing can serve.
func (w *World) giveUp() {
	jobs, _ := w.Slurm.Truth()
	for i := range jobs {
		if jobs[i].State == "PENDING" {
			w.cancelJob(jobs[i].ID)
		}
	}
}

// faulty sets one fault of calls.
func (w *World) faulty(f wire.Fault) {
	if err := w.Fault(f); err != nil {
		w.story.tell(time.Now(), "no fault: %v", err)
	}
}
