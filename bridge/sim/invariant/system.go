package invariant

import (
	"bytes"
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// events are all that can happen to a rental.
var events = []bridge.Event{
	bridge.EventApprove, bridge.EventDeny, bridge.EventLapse, bridge.EventWithdraw, bridge.EventCreated, bridge.EventRefused,
	bridge.EventJoined, bridge.EventLate, bridge.EventDrain, bridge.EventRelease, bridge.EventGone,
}

// steps is the least number of events from one state to another; -1: there is
// no way.
func steps(from, to bridge.State) int {
	reached := []bridge.State{from}
	for n := 0; len(reached) > 0 && n <= len(events); n++ {
		if slices.Contains(reached, to) {
			return n
		}
		var next []bridge.State
		for _, s := range reached {
			for _, e := range events {
				if t, err := bridge.Advance(s, e); err == nil && !slices.Contains(next, t) {
					next = append(next, t)
				}
			}
		}
		reached = next
	}
	return -1
}

// statesFollowTheTable is I23: a rental moves by the table, one version for
// each change.
func (c *Checker) statesFollowTheTable(s *Sight) {
	written := map[bridge.RentalID][]*Call{}
	for i := range s.Calls {
		if w := &s.Calls[i]; w.stores() && w.Err == nil && w.Rental != "" && w.State != "" && w.Version > 0 {
			written[w.Rental] = append(written[w.Rental], w)
		}
	}
	for i := range s.Rentals {
		r := &s.Rentals[i]
		was, ok := c.past.was(r.ID)
		writes := written[r.ID]
		slices.SortStableFunc(writes, func(a, b *Call) int { return cmp.Compare(a.Version, b.Version) })
		state, version := was.State, was.Version
		for _, w := range writes {
			if w.Version > version+1 && (ok || version > 0) || !ok && version == 0 && w.Version != 1 {
				c.report(s, "I23", "%s was written as version %d after %d", r.ID, w.Version, version)
			}
			if w.Version == version && state != w.State && version > 0 {
				c.report(s, "I23", "%s is version %d as %s and as %s", r.ID, version, state, w.State)
			}
			if n := steps(state, w.State); state != "" && (n < 0 || n > 1) {
				c.report(s, "I23", "%s went from %s to %s in one step", r.ID, state, w.State)
			}
			state, version = w.State, max(version, w.Version)
		}
		if !ok {
			continue
		}
		switch n := steps(was.State, r.State); {
		case r.Version < was.Version:
			c.report(s, "I23", "%s was version %d, and is %d", r.ID, was.Version, r.Version)
		case n < 0:
			c.report(s, "I23", "%s was %s, and is %s", r.ID, was.State, r.State)
		case int64(n) > r.Version-was.Version:
			c.report(s, "I23", "%s went from %s to %s in %d versions", r.ID, was.State, r.State, r.Version-was.Version)
		}
	}
	if c.past.last == nil {
		return
	}
	for id := range c.past.lives {
		if was, ok := c.past.was(id); ok && s.rental(id) == nil {
			c.report(s, "I23", "%s, which was %s, is not in the store any more", id, was.State)
		}
	}
}

// stores reports whether a call goes to the store.
func (c *Call) stores() bool { return c.Port == "Store" || c.Port == "Writer" || c.Port == "Rentals" }

// reads are the calls to a store that write nothing.
var reads = []string{"StoreID", "Epoch", "Live", "Balances", "Marks", "Rental", "Given"}

// Reads reports whether a call to a store of that name writes nothing.
func Reads(method string) bool { return slices.Contains(reads, method) }

// onlyTheNewestEpochWrites is I24: once a bridge has taken over a store, no
// write of one before is accepted.
func (c *Checker) onlyTheNewestEpochWrites(s *Sight) {
	newest, since := c.past.epoch, time.Time{}
	if c.past.last != nil {
		since = c.past.last.At
	}
	for i := range s.Calls {
		w := &s.Calls[i]
		if !w.stores() || w.Err != nil || w.Epoch == 0 || Reads(w.Method) {
			continue
		}
		if w.Epoch < newest && !w.Begun.Before(since) {
			c.report(s, "I24", "%s of epoch %d was accepted at %s, epoch %d had begun", w.Method, w.Epoch, w.Begun.UTC().Format(time.RFC3339), newest)
		}
		if w.Epoch > newest {
			newest, since = w.Epoch, w.Ended
		}
	}
	c.past.epoch = newest
}

// restartsConverge is I25: whatever a life leaves behind comes to its end in
// the lives after it: a rental whose machines are all gone is settled as soon
// as lists can prove it.
func (c *Checker) restartsConverge(s *Sight) {
	cycles := c.past.cycles(s)
	for i := range s.Rentals {
		r := &s.Rentals[i]
		l := c.past.life(r.ID)
		gone := !slices.ContainsFunc(s.machinesOf(&c.rules, r.ID), func(m *Machine) bool { return m.live() })
		if r.State != bridge.StateReleasing || !gone || cycles == 0 || !c.provable(r, s) {
			l.idle, l.since, l.proofs = 0, time.Time{}, 0
			continue
		}
		if l.since.IsZero() {
			l.since = c.past.clock
		}
		l.idle += cycles
		if l.newProof(c.past.lists[r.Pool.Cloud]) {
			l.proofs++
		}
		if l.idle > c.rules.Converge && l.proofs > c.rules.Converge && c.past.clock.Sub(l.since) > c.rules.OrphanAge+2*c.rules.AbsentGap {
			c.report(s, "I25", "%s is %s, its machines are gone, and %d cycles and %d complete lists later it is not settled", r.ID, r.State, l.idle, l.proofs)
		}
	}
}

// provable reports whether the newest complete list shows a rental's machines
// gone, as it must when they are.
func (c *Checker) provable(r *bridge.Rental, s *Sight) bool {
	lists := c.past.lists[r.Pool.Cloud]
	if len(lists) == 0 {
		return false
	}
	return !slices.ContainsFunc(s.machinesOf(&c.rules, r.ID), func(m *Machine) bool { return lists[len(lists)-1].live[m.ID] })
}

// newProof reports whether a complete list has come since it was asked last.
func (l *life) newProof(lists []list) bool {
	if n := len(lists); n > 0 && lists[n-1].ended.After(l.proof) {
		l.proof = lists[n-1].ended
		return true
	}
	return false
}

// allIsOver is I25 at the end: nothing is held, asked, rented or registered.
func (c *Checker) allIsOver(s *Sight) {
	for i := range s.Rentals {
		if r := &s.Rentals[i]; !r.State.Ended() {
			c.report(s, "I25", "at the end %s is %s", r.ID, r.State)
		}
	}
	for i := range s.Machines {
		if m := &s.Machines[i]; m.live() && m.ours(&c.rules) {
			c.report(s, "I25", "at the end machine %s of %s is %s", m.ID, m.rental(), m.State)
		}
	}
	for _, n := range s.Nodes {
		c.report(s, "I25", "at the end node %s is in the scheduler", n.Name)
	}
	for i := range s.Balances {
		if b := &s.Balances[i]; b.Held.Micro != 0 {
			c.report(s, "I25", "at the end %s holds %d micro-units", b.Scope(), b.Held.Micro)
		}
	}
	if s.Audited && s.OpenHolds != 0 {
		c.report(s, "I25", "at the end %d holds are open", s.OpenHolds)
	}
}

// outward are the calls that change the world.
var outward = []string{
	"Create", "Terminate", "Extend", "Admit", "Dismiss", "Route", "Unroute", "Drain", "Undrain", "Signal", "Requeue", "Down", "Expedite", "Nudge", "Comment",
}

// aQuietSystemWritesNothing is I26: where nothing is rented, asked or waited
// for, and nothing changes, two cycles and more write nothing.
func (c *Checker) aQuietSystemWritesNothing(s *Sight) {
	p := &c.past
	cycles := p.cycles(s)
	if cycles == 0 || !c.nothingToDo(s) || !c.nothingToDo(p.last) || !sameInputs(p.last, s) {
		p.quiet = 0
		return
	}
	// The first quiet cycles may still put down what the last change brought.
	if p.quiet += cycles; p.quiet-cycles < quietAfter {
		return
	}
	for i := range s.Calls {
		if call := &s.Calls[i]; !call.stores() && slices.Contains(outward, call.Method) {
			c.report(s, "I26", "%s.%s was called at %s, and nothing was there to do", call.Port, call.Method, call.Begun.UTC().Format(time.RFC3339))
		}
	}
	if n := s.Stored - p.last.Stored; n > 0 {
		c.report(s, "I26", "%d rows were stored between %s and %s, and nothing was there to do", n, p.last.At.UTC().Format(time.RFC3339), s.At.UTC().Format(time.RFC3339))
	}
}

// quietAfter is how many cycles go by before a system counts as quiet.
const quietAfter = 3

// nothingToDo reports whether a sight holds nothing that time alone could make
// a cause: no open rental, no live machine, no job that has not ended, and no
// mark that will run out.
func (c *Checker) nothingToDo(s *Sight) bool {
	m := &s.Marks
	idle := len(m.Answers) == 0 && len(m.Suspects) == 0 && len(m.Requeued) == 0 && len(m.Runs) == 0 && m.Protected == "" && len(s.Nodes) == 0 && s.Bridge.Life > 0
	return idle && !slices.ContainsFunc(s.Rentals, func(r bridge.Rental) bool { return !r.State.Ended() }) &&
		!slices.ContainsFunc(s.Machines, func(k Machine) bool { return k.live() }) &&
		!slices.ContainsFunc(s.Jobs, func(j Job) bool { return unfinished(j.State) })
}

func unfinished(state string) bool {
	return slices.Contains([]string{"PENDING", "RUNNING", "COMPLETING", "SUSPENDED", "CONFIGURING", "STOPPED"}, state)
}

// sameInputs reports whether nothing came in between two sights.
func sameInputs(a, b *Sight) bool {
	return len(a.Jobs) == len(b.Jobs) && len(a.Machines) == len(b.Machines) && len(a.Rentals) == len(b.Rentals) && len(b.News) == 0
}

// garbageChangesNothing is I27: an answer that cannot be understood is an
// error, a line in the log, and never the end of the bridge.
func (c *Checker) garbageChangesNothing(s *Sight) {
	if s.Bridge.Fell != "" {
		c.report(s, "I27", "life %d ended by itself: %s", s.Bridge.Life, s.Bridge.Fell)
	}
	cycles := c.past.cycles(s)
	for of, n := range c.past.garbled {
		if bytes.Contains(s.Log, []byte(of)) {
			delete(c.past.garbled, of)
			continue
		}
		if c.past.garbled[of] = n + cycles; n+cycles > quietAfter {
			c.report(s, "I27", "%s answered what cannot be understood, and no line of the log says so", of)
		}
	}
	for i := range s.Calls {
		call := &s.Calls[i]
		if !call.Garbled {
			continue
		}
		if call.Err == nil {
			c.report(s, "I27", "%s.%s of %s answered what cannot be understood, and was believed", call.Port, call.Method, call.Of)
		}
		logged := slices.Contains([]string{"Observe", "List", "Offers"}, call.Method) && !errors.Is(call.Err, bridge.ErrEpoch)
		if _, ok := c.past.garbled[call.Of]; !ok && logged && !bytes.Contains(s.Log, []byte(call.Of)) {
			c.past.garbled[call.Of] = 0
		}
	}
}

// secrets are what looks like one wherever it stands.
var secrets = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY|(?i:authorization: *)?Bearer [A-Za-z0-9._-]{16,}|xox[abp]-[A-Za-z0-9-]{10,}|AKIA[A-Z0-9]{16}`)

// secretsStayInside is I28: no secret is in the log, in news, in tags, in what
// people are shown, or in the words of an error.
func (c *Checker) secretsStayInside(s *Sight) {
	look := func(where, text string) {
		if found := secrets.FindString(text); found != "" {
			c.report(s, "I28", "%s has %.12s...", where, found)
		}
		for i, secret := range c.rules.Secrets {
			if secret != "" && strings.Contains(text, secret) {
				c.report(s, "I28", "%s has secret number %d", where, i+1)
			}
		}
	}
	look("the log", string(s.Log))
	for _, text := range s.Said {
		look("what is shown", text)
	}
	for i := range s.News {
		look("news of "+string(s.News[i].Kind), s.News[i].Text)
	}
	for i := range s.Calls {
		if err := s.Calls[i].Err; err != nil {
			look("the error of "+s.Calls[i].Method, err.Error())
		}
		if l := s.Calls[i].Launch; l != nil {
			for k, v := range l.Tags {
				look("tag "+k, v)
			}
		}
	}
	for i := range s.Rentals {
		r := &s.Rentals[i]
		if was, ok := c.past.was(r.ID); !ok || was.Version != r.Version {
			look("the note of "+string(r.ID), r.Note)
		}
	}
}
