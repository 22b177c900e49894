package invariant

import (
	"cmp"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// strangeLists is how many complete lists may show a machine that the store
// does not know, all in one life and over a longer time than it may be strange,
// before somebody must have asked to end it or to adopt it.
const strangeLists = 8

// everyMachineIsKnown is I1: what runs with our tags is in the store, or young,
// or being adopted or ended. What another store rented is never ended.
func (c *Checker) everyMachineIsKnown(s *Sight) {
	p := &c.past
	for i := range s.Machines {
		m := &s.Machines[i]
		if !m.live() || m.Untouched || !m.ours(&c.rules) {
			continue
		}
		if c.known(s, m) {
			if kept := p.seen[m.ID]; kept != nil {
				kept.unknown = 0
			}
			continue
		}
		c.stranger(s, m)
	}
	for i := range s.Calls {
		if call := &s.Calls[i]; call.Method == "Terminate" {
			c.foreign(s, call)
		}
	}
}

// known reports whether the store knows a machine, or has a rental that waits
// for it.
func (c *Checker) known(s *Sight, m *Machine) bool {
	if r := s.rental(m.rental()); r != nil && r.State.Held() && r.Attempt == m.attempt() &&
		slices.ContainsFunc(r.Machines, func(k bridge.Machine) bool { return k.ID == m.ID || k.ID == "" }) {
		return true
	}
	r, _ := s.keeper(m.ID)
	return r != nil && r.State.Held()
}

// stranger counts the looks in which an unknown machine could have been found.
func (c *Checker) stranger(s *Sight, m *Machine) {
	p := &c.past
	k := p.machine(m.ID)
	if k.asked || s.Bridge.Life == 0 || p.last == nil || p.last.Bridge.Life != s.Bridge.Life {
		k.unknown = 0
		return
	}
	lists := p.lists[m.Cloud]
	if len(lists) == 0 || !lists[len(lists)-1].live[m.ID] || !lists[len(lists)-1].ended.After(p.last.At) || !p.clock.After(k.counted) || !c.seesQueues(s) {
		return
	}
	if k.counted = p.clock; k.unknown == 0 {
		k.since = p.clock
	}
	k.unknown++
	if k.unknown >= strangeLists && p.clock.Sub(k.since) > c.rules.OrphanAge+2*c.rules.AbsentGap {
		c.report(s, "I1", "machine %s of %s runs since %s, was in %d complete lists, is unknown to the store, and nobody ends it", m.ID, m.Cloud, m.Launched.UTC().Format(time.RFC3339), k.unknown)
	}
}

// seesQueues reports whether every cluster was read well lately.
func (c *Checker) seesQueues(s *Sight) bool {
	for _, name := range c.rules.Clusters {
		if s.At.Sub(c.past.looks[name]) > c.rules.QueueAge {
			return false
		}
	}
	return true
}

func (c *Checker) foreign(s *Sight, call *Call) {
	for _, id := range call.IDs {
		m := s.machine(id)
		if m != nil && m.Untouched && m.Tags[bridge.TagStore] != "" && slices.Contains(c.rules.Clusters, m.Tags[bridge.TagCluster]) {
			c.report(s, "I1", "machine %s was rented by store %s, and is ended", id, m.Tags[bridge.TagStore])
		}
	}
}

// nothingIsRentedTwice is I2: an attempt has no more machines than its create
// call asks for, a retry is the same call, and of two attempts one lives.
func (c *Checker) nothingIsRentedTwice(s *Sight) {
	for i := range s.Calls {
		l := s.Calls[i].Launch
		if l == nil || s.Calls[i].Method != "Create" {
			continue
		}
		before, again := c.past.creates[l.Token]
		if again && bridge.Token("", before) != bridge.Token("", *l) {
			c.report(s, "I2", "token %.8s of %s is sent again with other parameters", l.Token, l.Rental)
		}
		c.past.creates[l.Token] = *l
	}
	type attempt struct {
		rental bridge.RentalID
		number int
	}
	made, tokens, alive := map[string]int{}, map[attempt]string{}, map[bridge.RentalID]int{}
	for i := range s.Machines {
		m := &s.Machines[i]
		if !m.ours(&c.rules) || m.Token == "" || m.rental() == "" {
			continue
		}
		made[m.Token]++
		if l, ok := c.past.creates[m.Token]; ok && made[m.Token] > l.Count {
			c.report(s, "I2", "%d machines were made for attempt %d of %s, which asks for %d", made[m.Token], l.Attempt, l.Rental, l.Count)
		}
		k := attempt{m.rental(), m.attempt()}
		if other, ok := tokens[k]; ok && other != m.Token {
			c.report(s, "I2", "attempt %d of %s was made with two tokens", k.number, k.rental)
		}
		tokens[k] = m.Token
		if asked := c.past.seen[m.ID]; !m.live() || m.State == wire.StateStopping || asked != nil && asked.asked {
			continue
		}
		if other, ok := alive[k.rental]; ok && other != k.number {
			c.report(s, "I2", "attempts %d and %d of %s are alive at once", min(other, k.number), max(other, k.number), k.rental)
		}
		alive[k.rental] = k.number
	}
}

// noMoreThanApproved is I3: a rental has no more live machines than were
// approved, and all together are no more than policy allows.
func (c *Checker) noMoreThanApproved(s *Sight) {
	all := 0
	live := map[bridge.RentalID]int{}
	for i := range s.Machines {
		if m := &s.Machines[i]; m.live() && m.ours(&c.rules) && !m.Untouched {
			all++
			live[m.rental()]++
		}
	}
	for i := range s.Rentals {
		if r := &s.Rentals[i]; live[r.ID] > r.Count {
			c.report(s, "I3", "%s has %d live machines, %d were agreed", r.ID, live[r.ID], r.Count)
		}
	}
	if c.rules.Most > 0 && all > c.rules.Most {
		c.report(s, "I3", "%d machines are rented, policy allows %d", all, c.rules.Most)
	}
}

// intentComesBeforeCreate is I4: hold, intent and approval were durable before
// the create call was made.
func (c *Checker) intentComesBeforeCreate(s *Sight) {
	for i := range s.Calls {
		w := &s.Calls[i]
		if w.stores() && w.Err == nil && w.Token != "" && w.State.Held() {
			if at, ok := c.past.intents[w.Token]; !ok || w.Ended.Before(at) {
				c.past.intents[w.Token] = w.Ended
			}
		}
	}
	for i := range s.Calls {
		call := &s.Calls[i]
		if call.Method != "Create" || call.Launch == nil {
			continue
		}
		l := call.Launch
		at, ok := c.past.intents[l.Token]
		if !ok || at.After(call.Begun) {
			c.report(s, "I4", "%s was created at %s with a token whose intent was not stored before", l.Rental, call.Begun.UTC().Format(time.RFC3339))
		}
		if h := c.past.books.holds[l.Rental]; c.past.books.full && h == nil {
			c.report(s, "I4", "%s was created without a hold", l.Rental)
		}
		if r, life := s.rental(l.Rental), c.past.life(l.Rental); r != nil && life.wasAsked() && r.ApprovedBy == "" {
			c.report(s, "I4", "%s was created though nobody has said yes", l.Rental)
		}
	}
}

func (l *life) wasAsked() bool {
	_, asked := l.news[bridge.NewsAsked]
	return l.asked || asked
}

// everyMachineHasItsEnd is I5: each machine is off by its own end, which is no
// later than what is held for it, whether or not a bridge lives.
func (c *Checker) everyMachineHasItsEnd(s *Sight) {
	for i := range s.Machines {
		m := &s.Machines[i]
		if !m.live() || !m.ours(&c.rules) || m.Untouched {
			continue
		}
		switch r := s.rental(m.rental()); {
		case m.Expires.IsZero():
			c.report(s, "I5", "machine %s has no end", m.ID)
		case s.At.After(m.Expires.Add(c.rules.Slack)):
			c.report(s, "I5", "machine %s runs, and should have been off at %s", m.ID, m.Expires.UTC().Format(time.RFC3339))
		case r != nil && r.Attempt == m.attempt() && m.Expires.After(latest(r.Expires, c.past.life(r.ID).expires)):
			c.report(s, "I5", "machine %s ends at %s, money is held until %s", m.ID, m.Expires.UTC().Format(time.RFC3339), r.Expires.UTC().Format(time.RFC3339))
		}
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// settledOnlyWhenGone is I6: the books of a rental close when none of its
// machines lives, and the newest complete list bears that out.
func (c *Checker) settledOnlyWhenGone(s *Sight) {
	for i := range s.Rentals {
		r := &s.Rentals[i]
		if was, ok := c.past.was(r.ID); r.State != bridge.StateSettled || ok && was.State == bridge.StateSettled {
			continue
		}
		at := s.At
		for k := range s.Calls {
			if call := &s.Calls[k]; call.Method == "Settle" && call.Rental == r.ID && call.Err == nil {
				at = call.Begun
			}
		}
		lists := slices.DeleteFunc(slices.Clone(c.past.lists[r.Pool.Cloud]), func(l list) bool { return l.ended.After(at) })
		for _, m := range s.machinesOf(&c.rules, r.ID) {
			alive := m.live() || m.Stopped.After(at)
			switch {
			case m.attempt() != r.Attempt || m.Launched.After(at):
			case alive && c.hidden(m, at): // I8
			case alive && m.State != wire.StateError:
				c.report(s, "I6", "%s was settled while its machine %s lived", r.ID, m.ID)
			case len(lists) == 0 || lists[len(lists)-1].live[m.ID]:
				c.report(s, "I6", "%s was settled, and the newest complete list does not show that machine %s is gone", r.ID, m.ID)
			}
		}
	}
}

// hidden reports whether complete lists lacked a machine so often, and so far
// apart, that it must be taken for gone.
func (c *Checker) hidden(m *Machine, at time.Time) bool {
	n := c.past.seen[m.ID]
	return n != nil && n.missing >= 2 && (at.Sub(n.lacked) >= c.rules.AbsentGap || !c.past.skewed.IsZero())
}

// othersAreLeftAlone is I7: nothing without our tags is ended or changed.
func (c *Checker) othersAreLeftAlone(s *Sight) {
	for i := range s.Calls {
		call := &s.Calls[i]
		if call.Method != "Terminate" && call.Method != "Extend" || call.stores() {
			continue
		}
		for _, id := range call.IDs {
			if m := s.machine(id); m != nil && m.Untouched {
				c.report(s, "I7", "%s of machine %s, which is not ours", call.Method, id)
			}
		}
	}
}

// nothingEndsOnABadView is I8: what is judged unknown or gone is judged by two
// complete lists, and idleness by a queue that was read lately.
func (c *Checker) nothingEndsOnABadView(s *Sight) {
	for i := range s.Calls {
		if call := &s.Calls[i]; call.Method == "Terminate" {
			c.orphans(s, call)
		}
	}
	for i := range s.Rentals {
		r := &s.Rentals[i]
		if was, ok := c.past.was(r.ID); ok && was.Version != r.Version {
			c.buried(s, &was, r)
		}
	}
	for i := range s.News {
		c.blind(s, &s.News[i])
	}
}

// orphans judges the end of machines that no open rental knows.
func (c *Checker) orphans(s *Sight, call *Call) {
	for _, id := range call.IDs {
		m := s.machine(id)
		if m == nil || m.Untouched {
			continue
		}
		if r, _ := s.keeper(id); r != nil {
			continue
		}
		if c.past.last != nil {
			if r, _ := c.past.last.keeper(id); r != nil {
				continue
			}
		}
		k := c.past.machine(id)
		if k.strange < 2 || call.Begun.Sub(m.Launched) < c.rules.OrphanAge && c.past.skewed.IsZero() {
			c.report(s, "I8", "machine %s was ended as an orphan at the age of %s, after %d complete lists", id, call.Begun.Sub(m.Launched), k.strange)
		}
	}
}

// buried judges machines that the store calls gone while they live: two
// complete lists must have lacked them, or something has shown their end.
func (c *Checker) buried(s *Sight, was, r *bridge.Rental) {
	for i := range r.Machines {
		k := &r.Machines[i]
		before := slices.IndexFunc(was.Machines, func(m bridge.Machine) bool { return m.Ordinal == k.Ordinal })
		if k.ID == "" || k.State != bridge.MachineGone || before >= 0 && was.Machines[before].State == bridge.MachineGone {
			continue
		}
		m := s.machine(k.ID)
		if m == nil || m.State != wire.StateRunning && m.State != wire.StatePending {
			continue
		}
		if n := c.past.machine(k.ID); !n.shown && !c.hidden(m, s.At) {
			c.report(s, "I8", "machine %s of %s is called gone, and lives: %d complete lists lacked it", k.ID, r.ID, n.missing)
		}
	}
}

// blind judges what was given back because nothing needed it any more.
func (c *Checker) blind(s *Sight, n *bridge.News) {
	kinds := []bridge.NewsKind{bridge.NewsDraining, bridge.NewsReleasing, bridge.NewsWithdrawn}
	causes := []bridge.Reason{bridge.ReasonIdle, bridge.ReasonDemandGone, bridge.ReasonGangBroken}
	if !slices.Contains(kinds, n.Kind) || !slices.Contains(causes, n.Why) || n.Who != "" {
		return
	}
	since := s.At
	if c.past.last != nil {
		since = c.past.last.At
	}
	if at := c.past.looks[n.Cluster]; since.Sub(at) > c.rules.QueueAge {
		c.report(s, "I8", "%s is %s for being %s, and %s was last read at %s", n.Rental, n.Kind, n.Why, cmp.Or(n.Cluster, "its cluster"), at.UTC().Format(time.RFC3339))
	}
}
