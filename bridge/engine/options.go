package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"spillway.sh/spillway/bridge"
)

// Options is what an engine is made of.
type Options struct {
	Clusters map[string]Scheduler // by the name in bridge.Queue.Cluster
	Clouds   []Cloud
	Store    Store
	Policy   bridge.Policy
	Budgets  []bridge.Budget
	Limits   Limits
	// Currency is that of the budgets; offers in another one are bought at Rates'
	// rate, or not at all. Empty: offers are taken as they come.
	Currency bridge.Currency
	// Rates are the exchange rates of now; nil: there are none. With an error they
	// are the last good ones.
	Rates func(now time.Time) (bridge.Rates, error)
	// Prices are the site's own ranges of what is believed of a price.
	Prices []bridge.PriceRange
	// Decide is a bridge.Decider's unless a test puts its own in its place.
	Decide func(*bridge.Snapshot) bridge.Plan
	// Boot gives a rental's machines their way to enrol; package enrol has one.
	Boot func(r *bridge.Rental, now time.Time) (bridge.Boot, error)
	// Explain says a verdict to the owner of a job, in one sentence; nil: owners
	// are told nothing.
	Explain func(*bridge.Verdict) string
	// Gate keeps machines out until their own agents say that they are fit. It
	// needs machines that have agents, which Hear listens to.
	Gate bool
	// Watch is policy's patience with machines that have no job.
	Watch bridge.Watch
	// Known reports whether the host knows an account; nil: it knows all. An error
	// says nothing.
	Known func(ctx context.Context, account string) (bool, error)
	// Admins answer for money that no budget's approver answers for.
	Admins []string
	// Providers is what the site says of clouds, by name; it is put on their offers.
	Providers map[string]bridge.Provider
	// Checkpoints finds those of jobs that policy has a rule for; nil: nobody looks.
	Checkpoints Finder
	// Clock is the time of the host, UTC.
	Clock func() time.Time
	Log   *slog.Logger
	// Metrics is the registry of this process; nil keeps figures to ourselves.
	Metrics prometheus.Registerer
}

// Limits are the engine's times and sizes. A zero takes the default.
type Limits struct {
	Cycle    time.Duration // least time between two looks that nothing asked for; 1 s
	Gap      time.Duration // least time between two looks at all; 100 ms
	Longest  time.Duration // between two reads of a scheduler that is slow to read; 2 min
	Patience time.Duration // a look waits this long for reads, then goes on without; 500 ms
	Read     time.Duration // of one scheduler read; 30 s
	Write    time.Duration // of one scheduler write; 10 s
	Call     time.Duration // of one cloud call; 60 s
	Lane     int           // calls to one cloud at once; 8
	Launches int           // new launches on one cloud in a minute, at most; 120

	ListEvery   time.Duration // between two lists of a cloud that nothing asked for; 5 s
	OffersEvery time.Duration // between two price lists; 30 s
	QueueAge    time.Duration // an older queue is stale; 30 s

	Launch    time.Duration // from intent to existing machines; 5 min
	Join      time.Duration // from existing to registered; 15 min
	AbsentGap time.Duration // between two lists that prove absence; 120 s
	OrphanAge time.Duration // nothing younger is an orphan or proved absent; 300 s
	Ask       time.Duration // how long a question stays open where policy does not say; 24 h
	AskAgain  time.Duration // a lapsed question is not asked again before; 1 h

	Retry       time.Duration // first pause after a failed cloud call, doubling; 2 s
	RetryMost   time.Duration // and the longest; 1 min
	PoolDown    time.Duration // first rest of a sold-out pool, doubling; 30 s
	PoolMost    time.Duration // and the longest; 30 min
	QuotaDown   time.Duration // first rest after a quota, price or rights refusal; 5 min
	Post        time.Duration // between two posts of one rental; 1 min
	Reserve     time.Duration // jobs are requeued at least this long before the taking; 10 s
	Expedite    time.Duration // between two looks at a requeued job; 200 ms
	Look        time.Duration // between two looks at a running job's checkpoints; 30 s
	LookWaiting time.Duration // and at those of one that waits; 10 min
	Warn        []time.Duration
	Leap        time.Duration // a clock that moved further between looks is not trusted at once; 10 min
	Fails       int           // failed joins within FailWindow that open the breaker; 10
	FailWindow  time.Duration // 1 h
	CoolDown    time.Duration // after which the breaker closes by itself; 30 min
	VanishMost  int           // more machines than this, and more than VanishShare, gone at once open it; 3
	VanishShare int           // per cent of live machines; 25
}

// setDefaults fills in what was left out.
func (l *Limits) setDefaults() {
	for _, d := range []struct {
		p *time.Duration
		v time.Duration
	}{
		{&l.Cycle, time.Second},
		{&l.Gap, 100 * time.Millisecond},
		{&l.Longest, 2 * time.Minute},
		{&l.Patience, 500 * time.Millisecond},
		{&l.Read, 30 * time.Second},
		{&l.Write, 10 * time.Second},
		{&l.Call, time.Minute},
		{&l.ListEvery, 5 * time.Second},
		{&l.OffersEvery, 30 * time.Second},
		{&l.QueueAge, 30 * time.Second},
		{&l.Launch, 5 * time.Minute},
		{&l.Join, 15 * time.Minute},
		{&l.AbsentGap, 2 * time.Minute},
		{&l.OrphanAge, 5 * time.Minute},
		{&l.Ask, 24 * time.Hour},
		{&l.AskAgain, time.Hour},
		{&l.Retry, 2 * time.Second},
		{&l.RetryMost, time.Minute},
		{&l.PoolDown, 30 * time.Second},
		{&l.PoolMost, 30 * time.Minute},
		{&l.QuotaDown, 5 * time.Minute},
		{&l.Post, time.Minute},
		{&l.Reserve, 10 * time.Second},
		{&l.Expedite, 200 * time.Millisecond},
		{&l.Look, 30 * time.Second},
		{&l.LookWaiting, 10 * time.Minute},
		{&l.Leap, 10 * time.Minute},
		{&l.FailWindow, time.Hour},
		{&l.CoolDown, 30 * time.Minute},
	} {
		if *d.p <= 0 {
			*d.p = d.v
		}
	}
	for _, n := range []struct {
		p *int
		v int
	}{{&l.Lane, 8}, {&l.Launches, 120}, {&l.Fails, 10}, {&l.VanishMost, 3}, {&l.VanishShare, 25}} {
		if *n.p <= 0 {
			*n.p = n.v
		}
	}
	if l.Warn == nil {
		l.Warn = []time.Duration{30 * time.Minute, 10 * time.Minute, 2 * time.Minute}
	}
}

// check says what is missing.
func (o *Options) check() error {
	var errs []error
	need := func(ok bool, what string) {
		if !ok {
			errs = append(errs, fmt.Errorf("engine needs %s", what))
		}
	}
	need(o.Store != nil, "a store")
	need(o.Policy != nil, "a policy")
	need(o.Boot != nil, "a way for machines to enrol")
	need(o.Clock != nil, "a clock")
	need(len(o.Clusters) > 0, "a cluster")
	seen := map[string]bool{}
	for _, c := range o.Clouds {
		need(!seen[c.Name()], fmt.Sprintf("clouds with different names; two are called %q", c.Name()))
		seen[c.Name()] = true
	}
	return errors.Join(errs...)
}

// New makes an engine that has not looked at anything yet. Close ends it.
func New(o Options) (*Engine, error) {
	o.Limits.setDefaults()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Decide == nil {
		o.Decide = bridge.NewDecider(o.Policy).Decide
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &Engine{
		o: o, store: o.Store, limits: o.Limits, log: o.Log,
		clouds: map[string]Cloud{}, wake: make(chan struct{}, 1),
		cancel:  cancel,
		memory:  newMemory(),
		heard:   map[string]bool{},
		reports: reports{latest: map[machineKey]heard{}, strangers: map[machineKey]bool{}},
		gauges:  newGauges(o.Metrics),
	}
	e.calls = newCalls(ctx, o.Limits.Lane, e.Wake)
	for _, c := range o.Clouds {
		e.clouds[c.Name()] = c
	}
	return e, nil
}
