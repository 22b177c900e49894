package node

import (
	"context"
	"fmt"
	"time"

	"spillway.sh/spillway/bridge"
)

// Cloud is what a machine learns from its cloud's metadata service.
type Cloud interface {
	// Name is for logs.
	Name() string
	// Identify returns the id under which the cloud lists the machine.
	Identify(ctx context.Context) (string, error)
	// Look returns the notice in force, nil while there is none. It may wait for a
	// change. Seen is left zero.
	Look(ctx context.Context) (*bridge.Warning, error)
	// Every is the pause between two looks.
	Every() time.Duration
	// Expires returns the end of the rental as the machine's tags have it; zero:
	// its cloud does not show tags to machines.
	Expires(ctx context.Context) (time.Time, error)
}

// blindAfter is how long a metadata service may fail before the bridge is told
// that notices cannot be seen.
const blindAfter = time.Minute

// checkNotices is the check that fails while notices cannot be seen.
const checkNotices = "notices"

// watchNotices follows the cloud's notices. What a look cannot tell leaves the
// last word in force: a service that does not answer has taken nothing back.
func (a *Agent) watchNotices(ctx context.Context, cloud Cloud) {
	seen := a.o.Clock()
	for {
		w, err := cloud.Look(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if since := a.o.Clock() - seen; since >= blindAfter {
				a.goBlind(fmt.Sprintf("%s: %v", cloud.Name(), err))
			}
		default:
			seen = a.o.Clock()
			a.goBlind("")
			a.take(w)
		}
		if !sleep(ctx, cloud.Every()) {
			return
		}
	}
}

func (a *Agent) goBlind(why string) {
	a.status.mu.Lock()
	was := a.status.blind
	a.status.mu.Unlock()
	if (was == "") == (why == "") {
		return
	}
	if why != "" {
		a.o.Log.Warn("notices cannot be seen", "err", why)
	}
	a.status.set(func(s *status) { s.blind = why })
}

// take takes a look's word. The same notice again is no news; one that moved,
// or is gone, is.
func (a *Agent) take(w *bridge.Warning) {
	a.status.mu.Lock()
	old := a.status.notice
	a.status.mu.Unlock()
	if same(old, w) {
		return
	}
	if w == nil {
		a.o.Log.Info("the notice is taken back", "source", old.Source)
		a.status.set(func(s *status) { s.notice = nil })
		return
	}
	n := *w
	n.Seen = a.o.Now().UTC()
	if old != nil && old.Source == n.Source && old.Advice == n.Advice {
		n.Seen = old.Seen
	}
	n.At = n.At.UTC()
	a.o.Log.Info("notice", "source", n.Source, "at", n.At, "advice", n.Advice)
	a.status.set(func(s *status) { s.notice = &n })
}

func same(a, b *bridge.Warning) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Source == b.Source && a.Advice == b.Advice && a.At.Equal(b.At)
}

// identify finds the cloud the machine is in, and its id there. It asks until it
// is answered: a network may take its time to come up.
func (a *Agent) identify(ctx context.Context) (cloud Cloud, id string, err error) {
	err = again(ctx, func() error {
		for _, group := range a.o.Clouds {
			if cloud, id = first(ctx, group); cloud != nil {
				return nil
			}
		}
		a.o.Log.Warn("no cloud's metadata service answers yet")
		return errNoCloud
	})
	if err != nil {
		return nil, "", err
	}
	a.o.Log.Info("identified", "cloud", cloud.Name(), "instance", id)
	return cloud, id, nil
}

// TheClouds are all that are known, where they really answer: first those that
// share one address, then the others.
func TheClouds() [][]Cloud {
	return [][]Cloud{
		{NewEC2(LinkLocal), NewGCP(LinkLocal), NewAzure(LinkLocal)},
		{NewAlibaba(AlibabaBase), NewTencent(TencentBase)},
	}
}
