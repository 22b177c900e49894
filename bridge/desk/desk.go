package desk

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
)

// Config is what a desk is made of. Writer and Loop are nil while the daemon
// is down: such a desk answers questions and changes nothing.
type Config struct {
	Version string
	Reader  Reader
	Viewer  Viewer // nil: nothing is known of the queue
	Writer  Writer
	Loop    Loop
	Rules   Rules
	Roles   Roles
	// Reporter knows the machines' agents; nil: nobody hears them.
	Reporter Reporter
	// Finder looks for checkpoints; nil: nobody does.
	Finder Finder
	// Clusters are the names of all that are watched, seen or not.
	Clusters []string
	Now      func() time.Time
	// AskFor is how long a question stays open where policy does not say, and
	// AskAgain how long after a no the same jobs are not asked about.
	AskFor, AskAgain time.Duration
	// CloudNames are the clouds that bills may be of; empty: any.
	CloudNames []string
	// CloudInfos are the clouds as the configuration has them, in its order.
	CloudInfos []CloudInfo
	// Replies are the last ones of clouds, as engine.Health has them; nil: nothing
	// is known of any.
	Replies func() map[string]bridge.Reply
	// Exchange is the rate of a time; nil: policy has none, and bills in another
	// currency are refused.
	Exchange func(from, to bridge.Currency, at time.Time) (bridge.Exchange, error)
	// Weekly is what weekly reports and chargebacks are read from; nil: there are none.
	Weekly WeekReader
	// Capacity is what is owned and reserved; nil: policy says nothing of it.
	Capacity func() []bridge.Capacity
	// Problems says what goes wrong just now; nil: nothing is known.
	Problems func() []string
}

// Desk answers people.
type Desk struct {
	Config

	// renting makes "look for the key, then rent" one step, so that the same key
	// sent twice at once rents once.
	renting sync.Mutex
	// settling makes "compare with the books, then correct them" one step.
	settling sync.Mutex

	kept keptQuotes
}

// New returns a desk.
func New(c Config) *Desk {
	c.AskFor, c.AskAgain = cmp.Or(c.AskFor, 24*time.Hour), cmp.Or(c.AskAgain, time.Hour)
	return &Desk{Config: c}
}

// open refuses changes while there is no daemon.
func (d *Desk) open() error {
	if d.Writer == nil || d.Loop == nil {
		return wrong(Unavailable, "systemctl start spillway", "the daemon is not running, so nothing can be changed")
	}
	return nil
}

// look returns the latest snapshot and plan.
func (d *Desk) look() (bridge.Snapshot, bridge.Plan, error) {
	if d.Viewer == nil {
		return bridge.Snapshot{}, bridge.Plan{}, wrong(Unavailable, "spillway rentals", "the daemon is not running, so the queue is not being watched")
	}
	s, p, ok := d.Viewer.View()
	if !ok {
		return s, p, wrong(Unavailable, "spillway status", "the first look at the queue is not finished yet")
	}
	return s, p, nil
}

// live returns the rentals that have not ended, oldest first.
func (d *Desk) live(ctx context.Context) ([]bridge.Rental, error) {
	rs, err := d.Reader.Live(ctx)
	if err != nil {
		return nil, unreadable(err)
	}
	slices.SortFunc(rs, func(a, b bridge.Rental) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(string(a.ID), string(b.ID)))
	})
	return rs, nil
}

// unseen returns the watched clusters that no look has seen yet.
func (d *Desk) unseen(s *bridge.Snapshot) []string {
	out := []string{}
	for _, name := range d.Clusters {
		if !slices.ContainsFunc(s.Queues, func(q bridge.Queue) bool { return q.Cluster == name }) {
			out = append(out, name)
		}
	}
	return out
}

func unreadable(err error) error {
	e := wrong(Unavailable, "spillway doctor", "the store cannot be read: %s", err)
	e.Err = err
	return e
}
