package bridge

import (
	"fmt"
	"slices"
	"strings"
)

// served is how much of a demand the rentals made for it can take.
type served struct {
	gangs  int // by rentals that boot or run
	asked  int // by rentals that wait for an answer
	first  *room
	asking *room
}

// occupy computes the room of the cluster's rentals and fills it with the
// pending demands they were made for, so that it is counted once.
func (l *look) occupy(c *cluster, entries []entry) {
	nodes := make(map[string]*Node, len(c.q.Nodes))
	for i := range c.q.Nodes {
		nodes[c.q.Nodes[i].Name] = &c.q.Nodes[i]
	}
	for i := range l.s.Rentals {
		r := &l.s.Rentals[i]
		if r.Cluster == c.q.Cluster && serves(r.State) {
			c.rooms = append(c.rooms, roomOf(r, c.q, nodes))
		}
	}
	slices.SortFunc(c.rooms, func(a, b *room) int {
		return strings.Compare(string(a.rental.ID), string(b.rental.ID))
	})
	if len(c.rooms) == 0 {
		return
	}
	c.listed, c.overlays = map[JobID][]*room{}, map[string]*room{}
	for _, m := range c.rooms {
		c.overlays[PartitionName(m.rental.ID)] = m
		for _, j := range m.rental.Jobs {
			c.listed[j] = append(c.listed[j], m)
		}
	}
	c.already = map[*Demand]served{}
	for i := range entries {
		d := entries[i].demand
		if rooms := c.roomsFor(d); len(rooms) > 0 && wanted(d) {
			c.already[d] = l.settleIn(&entries[i], rooms)
		}
	}
	for _, m := range c.rooms {
		m.roof = roofOf(m.places)
		for _, p := range m.places {
			c.upper.cover(&p.free)
		}
	}
}

// roomsFor returns the rentals made for a demand, and those it was let into.
func (c *cluster) roomsFor(d *Demand) []*room {
	rooms := c.listed[d.Job]
	base := d.Job.Base()
	if base == d.Job && len(d.Overlays) == 0 {
		return rooms
	}
	rooms = slices.Clone(rooms)
	add := func(m *room) {
		if m != nil && !slices.Contains(rooms, m) {
			rooms = append(rooms, m)
		}
	}
	if base != d.Job {
		for _, m := range c.listed[base] {
			add(m)
		}
	}
	for _, o := range d.Overlays {
		add(c.overlays[o])
	}
	return rooms
}

// wanted reports whether a demand still needs what was rented for it.
func wanted(d *Demand) bool {
	switch d.Standing {
	case StandingHelps, StandingBehind, StandingSoon, StandingHasNode:
		return true
	case StandingDoubtful, StandingPolicy, StandingUser, StandingConfig, StandingUnplaceable, StandingWorkflow:
		return false
	}
	return false
}

// settleIn puts as many gangs of a demand as fit into the rentals made for it.
func (l *look) settleIn(e *entry, rooms []*room) served {
	var out served
	for _, m := range rooms {
		for out.gangs+out.asked < int(e.count) && takeGang(m.places, &e.demand.Shape, int(e.nodes)) {
			m.vacant = false
			if m.rental.State == StateWaiting {
				out.asked++
				out.asking = m
				continue
			}
			out.gangs++
			if out.first == nil {
				out.first = m
			}
			l.needed[m.rental.ID] = true
		}
	}
	return out
}

// tell says which rental serves a demand already. What is left of the demand
// overwrites the verdict and keeps the detail.
func (s served) tell(v *Verdict, count int) {
	first := s.first
	switch {
	case s.gangs > 0:
		v.Kind, v.Why = Burst, ReasonUnderway
	case s.asked > 0:
		v.Kind, v.Why = Ask, ReasonAsked
		first = s.asking
		v.Until = first.rental.AskUntil
	default:
		return
	}
	v.Rental, v.Pool, v.Cost = first.rental.ID, &first.rental.Pool, first.rental.Hold
	if n := s.gangs + s.asked; n < count {
		v.Detail = servedPart(n, count)
	}
}

func servedPart(n, of int) string { return fmt.Sprintf("%d of %d are served already", n, of) }
