package node

import (
	"context"
	"errors"
	"time"

	"spillway.sh/spillway/bridge"
)

const (
	beatLeast = time.Second      // what the bridge may ask for
	beatMost  = 10 * time.Minute //
	// hurry is the least time between two reports, however much changes.
	hurry = 200 * time.Millisecond
)

// beat reports every few seconds, and at once when something changed. A report
// that did not get through is sent again soon: silence costs the machine.
func (a *Agent) beat(ctx context.Context, cloud Cloud) {
	every, retry := a.o.Every, beatLeast
	said := ""
	for {
		t, err := a.report(ctx)
		wait := every
		switch {
		case errors.Is(err, ErrEnded):
			a.life.over()
			return
		case err != nil && ctx.Err() == nil:
			if err.Error() != said {
				said = err.Error()
				a.o.Log.Warn("report", "err", err)
			}
			wait, retry = retry, min(2*retry, every)
			a.askTags(ctx, cloud)
		case err == nil:
			if said != "" {
				a.o.Log.Info("the bridge answers again")
			}
			said, retry = "", beatLeast
			if t.Every > 0 {
				every = min(max(t.Every, beatLeast), beatMost, a.o.Stale/3)
				wait = every
			}
		}
		if !a.pause(ctx, wait, err == nil) {
			a.farewell(ctx)
			return
		}
	}
}

// pause waits for the next report, or for a change; it reports false at the end.
func (a *Agent) pause(ctx context.Context, wait time.Duration, told bool) bool {
	if !sleep(ctx, min(hurry, wait)) {
		return false
	}
	t := time.NewTimer(wait - min(hurry, wait))
	defer t.Stop()
	changed := a.status.changed
	if !told {
		changed = nil // The next try carries it anyway.
	}
	select {
	case <-ctx.Done():
		return false
	case <-changed:
	case <-t.C:
	}
	return true
}

func (a *Agent) report(ctx context.Context) (Term, error) {
	r := a.status.report()
	r.At, r.Busy = a.o.Now().UTC(), a.o.Member.Busy()
	t, err := a.o.Bridge.Report(ctx, a.grant.Lease, r)
	if err != nil {
		return t, err
	}
	a.skew.set(middle(r.At, a.o.Now()), t.Now)
	if err := a.life.hear(t.Expires, t.Now); err != nil {
		a.o.Log.Warn("report", "err", err)
	}
	return t, nil
}

// askTags learns of an extension while the bridge is away.
func (a *Agent) askTags(ctx context.Context, cloud Cloud) {
	if a.life.silence() < lifeTick {
		return
	}
	expires, err := cloud.Expires(ctx)
	if err == nil {
		err = a.life.tagged(expires)
	}
	if err != nil && ctx.Err() == nil {
		a.o.Log.Debug("read the end from the machine's tags", "err", err)
	}
}

// Sources of a Warning that the agent gives itself.
const sourceShutdown = "shutdown"

// farewellLimit is how long a machine that is shut down waits for its job to be
// brought to safety.
const farewellLimit = 25 * time.Second

// farewell tells the bridge that the machine goes down by another's wish, and
// holds that up for a moment, so that the scheduler hears of it before its
// daemon here stops.
func (a *Agent) farewell(ctx context.Context) {
	if !a.o.Stopping() {
		return // Only the agent stops, for instance for a newer one.
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewellLimit)
	defer cancel()
	now := a.o.Now().UTC()
	a.status.set(func(s *status) {
		if s.notice == nil || s.notice.Advice {
			s.notice = &bridge.Warning{Source: sourceShutdown, Seen: now, At: now.Add(farewellLimit)}
		}
	})
	for {
		if _, err := a.report(ctx); errors.Is(err, ErrEnded) || err == nil && !a.o.Member.Busy() {
			return
		}
		if !sleep(ctx, beatLeast) {
			return
		}
	}
}
