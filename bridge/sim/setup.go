package sim

import (
	"cmp"
	"io"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/engine"
)

// Mix is what goes wrong. With the zero Mix nothing does.
type Mix struct {
	Faults   bool // calls to the clouds fail, machines come up broken or die
	Weather  bool // stock and prices of the markets move, spot machines are taken back
	Jumps    bool // the bridge's clock is set wrong
	Restarts bool // slurmctld restarts and hangs
	People   bool // approve, deny, rent, release, extend, freeze
	Deaths   bool // the bridge dies as by kill -9
}

// All is everything that can go wrong.
func All() Mix { return Mix{true, true, true, true, true, true} }

// Setup is what a world is made of. The seed is the rest.
type Setup struct {
	Seed uint64
	// Length is how long jobs arrive, people act and things break; then the world
	// drains.
	Length time.Duration
	// Begin is when the world begins, for worlds in a bubble: time passes until
	// then. Zero: now.
	Begin time.Time
	// Dir keeps store and clouds, best in memory.
	Dir string
	Mix Mix
	// Limits of the engine; zero fields take the simulator's own, with cycles that
	// are long when nothing happens.
	Limits engine.Limits
	// Wrap puts something around a life's ports; nil: nothing.
	Wrap Wrap
	// Died tells when something put around the ports has ended a life; the world
	// then kills it, and the next one starts at once. Nil: nothing does.
	Died func(life int) <-chan struct{}
	// Log is the bridge's; nil: it is read for secrets and not kept.
	Log io.Writer
	// Trace gets every line that the digest is of; nil: nothing does.
	Trace io.Writer
	// Budgets are those of policy; nil: the seed's.
	Budgets []bridge.Budget
	// Jobs is how many arrive in a day; 0 means 40, negative none.
	Jobs int
	// Brisk divides all times that the world makes up, for worlds in real time; 0
	// means 1. Policy knows no time below a second, so 60 is as brisk as it gets.
	Brisk int
}

// limits are the simulator's own where the setup gives none.
func (s *Setup) limits() engine.Limits {
	l := s.Limits
	for _, d := range []struct {
		p *time.Duration
		v time.Duration
	}{
		{&l.Cycle, time.Minute},
		{&l.Gap, time.Second},
		{&l.ListEvery, time.Minute},
		{&l.OffersEvery, 5 * time.Minute},
		{&l.QueueAge, 3 * time.Minute},
		{&l.Launch, 5 * time.Minute},
		{&l.Join, 15 * time.Minute},
		{&l.Post, 15 * time.Minute},
		{&l.Retry, 10 * time.Second},
		{&l.Expedite, 5 * time.Second},
		{&l.AbsentGap, 2 * time.Minute},
		{&l.OrphanAge, 5 * time.Minute},
		{&l.RetryMost, 2 * time.Minute},
		{&l.PoolDown, time.Minute},
		{&l.PoolMost, 30 * time.Minute},
		{&l.QuotaDown, 5 * time.Minute},
		{&l.AskAgain, time.Hour},
		{&l.Leap, 10 * time.Minute},
		{&l.FailWindow, time.Hour},
		{&l.CoolDown, 30 * time.Minute},
	} {
		if *d.p == 0 {
			*d.p = s.span(d.v)
		}
	}
	return l
}

// span is a time that the world makes up.
func (s *Setup) span(d time.Duration) time.Duration { return d / time.Duration(max(s.Brisk, 1)) }

// daily is how many jobs arrive in a day.
func (s *Setup) daily() int { return max(cmp.Or(s.Jobs, 40), 0) }
