package sim

import (
	"context"
	"math/rand/v2"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// fail plans faults of calls and of machines, of every kind that clouds have.
func (w *World) fail() {
	r := w.draw("faults")
	w.every(func() time.Duration { return w.setup.span(after(r, 75*time.Minute)) }, func(context.Context) {
		w.faulty(w.newFault(r))
	})
	w.every(func() time.Duration { return w.setup.span(after(r, 9*time.Hour)) }, func(context.Context) {
		if on := w.host.on(); len(on) > 0 {
			id := on[r.IntN(len(on))]
			w.story.tell(time.Now(), "machine %s dies", id)
			w.host.die(id)
		}
	})
}

// ops are the calls that faults of any call hit.
var ops = []string{"create", "operation", "list", "terminate", "update", "offers", "events", ""}

func (w *World) newFault(r *rand.Rand) wire.Fault {
	f := wire.Fault{Cloud: pick(r, w.site.cloudNames()...), Count: 1 + r.IntN(3)}
	switch f.Kind = pick(r, //nolint:exhaustive // Those that need more than a kind.
		wire.FaultTimeoutBefore, wire.FaultTimeoutAfter, wire.FaultErrorBefore, wire.FaultErrorAfter, wire.FaultThrottle, wire.FaultSlow,
		wire.FaultAuth, wire.FaultCode, wire.FaultNoStock, wire.FaultQuota, wire.FaultPartial, wire.FaultSlowBoot, wire.FaultNeverJoins,
		wire.FaultDiesAtBoot, wire.FaultStaleList, wire.FaultLostPage, wire.FaultDuplicate, wire.FaultWrongTags, wire.FaultNoAddress,
		wire.FaultAbsent, wire.FaultDeafTerminate); f.Kind {
	case wire.FaultTimeoutBefore, wire.FaultTimeoutAfter, wire.FaultErrorBefore, wire.FaultErrorAfter, wire.FaultAuth:
		f.Op = pick(r, ops...)
	case wire.FaultThrottle:
		f.Op, f.Delay = pick(r, ops...), wire.Duration(w.setup.span(pick(r, time.Second, 30*time.Second)))
	case wire.FaultSlow:
		f.Op, f.Delay = pick(r, ops...), wire.Duration(w.setup.span(between(r, 5*time.Second, 40*time.Second)))
	case wire.FaultCode:
		f.Op, f.Code = pick(r, ops...), pick(r, "ServiceUnavailable", "Zone.Paused", wire.CodeInternal)
	case wire.FaultPartial:
		f.Machines = r.IntN(3)
	case wire.FaultSlowBoot:
		f.Delay = wire.Duration(w.setup.span(between(r, time.Minute, 20*time.Minute)))
	case wire.FaultWrongTags:
		f.Tags = map[string]string{pick(r, bridge.TagRental, bridge.TagAttempt, bridge.TagExpires): pick(r, "", "7")}
	}
	return f
}

// misset plans what happens to the bridge's clock: it jumps, or runs fast or
// slow, until somebody sets it right.
func (w *World) misset() {
	r := w.draw("clock")
	w.every(func() time.Duration { return w.setup.span(after(r, 14*time.Hour)) }, func(context.Context) {
		switch r.IntN(6) {
		case 0:
			w.Jump(-time.Hour)
		case 1:
			w.Jump(time.Hour)
		case 2:
			w.Jump(30 * 24 * time.Hour)
		case 3:
			w.Jump(-time.Duration(w.Now().UnixNano())) // to 1970
		case 4:
			w.Drift(50)
		case 5:
			w.Drift(-50)
		}
		w.in(w.setup.span(between(r, 2*time.Minute, 3*time.Hour)), func(context.Context) { w.Right() })
	})
}

// bounce plans what happens to slurmctld.
func (w *World) bounce() {
	r := w.draw("slurmctld")
	w.every(func() time.Duration { return w.setup.span(after(r, 7*time.Hour)) }, func(context.Context) {
		switch r.IntN(3) {
		case 0:
			w.story.tell(time.Now(), "slurmctld restarts")
			w.Slurm.Restart(false)
		case 1:
			d := w.setup.span(between(r, 5*time.Second, 90*time.Second))
			w.story.tell(time.Now(), "slurmctld hangs for %s", d)
			w.Slurm.Hang(d)
		case 2:
			w.story.tell(time.Now(), "slurmctld ends")
			w.Slurm.Stop()
			w.in(w.setup.span(between(r, 10*time.Second, 10*time.Minute)), func(context.Context) {
				w.story.tell(time.Now(), "slurmctld starts")
				w.Slurm.Restart(false)
			})
		}
	})
}

// mortal plans the bridge's deaths: at any moment, and at any point of a call.
func (w *World) mortal() {
	r := w.draw("deaths")
	w.every(func() time.Duration { return w.setup.span(after(r, 6*time.Hour)) }, func(ctx context.Context) {
		switch {
		case w.life == nil:
		case r.IntN(3) == 0:
			w.bury(ctx)
		default:
			w.life.light(1 + r.IntN(60))
		}
	})
}

// bury kills a bridge, and plans its next life.
func (w *World) bury(ctx context.Context) {
	if w.life == nil {
		return
	}
	r := w.draw("grave " + time.Since(w.born).String())
	w.Kill()
	w.Check(ctx)
	pause := w.setup.span(pick(r, 2*time.Second, 30*time.Second, 10*time.Minute, between(r, 10*time.Minute, 3*time.Hour)))
	if w.over {
		pause = w.setup.span(10 * time.Second)
	}
	w.in(pause, func(ctx context.Context) {
		if w.life != nil {
			return
		}
		if err := w.Start(ctx); err != nil {
			w.blame("I25", "the bridge cannot be started: %v", err)
			w.bury(ctx)
		}
	})
}
