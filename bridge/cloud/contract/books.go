package contract

import (
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
)

// books are the machines of contracts that are known to live, and those that are
// being created. They are memory alone: the cloud's list fills them anew.
type books struct {
	creating sync.Mutex // held while a create looks whether there is room for it

	mu     sync.Mutex // over all below
	seen   map[string]sighting
	booked map[string]*booking // by token
}

// sighting is one live machine.
type sighting struct {
	contract string
	list     string // the latest that had it; empty: it was looked at directly
	at       time.Time
}

// booking is what a create set aside.
type booking struct {
	contract string
	count    int
	met      map[string]bool // those of its machines that were seen
	at       time.Time       // of the latest call
}

// forget is how long a machine that no list has, and a create of which nothing
// was ever seen, count: the longest a cloud takes to show what it made.
const forget = 15 * time.Minute

func newBooks() books {
	return books{seen: map[string]sighting{}, booked: map[string]*booking{}}
}

// see notes machines: all that a complete list has, or, without the list's name,
// some that were looked at.
func (b *books) see(list string, machines []bridge.Instance, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if list != "" {
		for id, s := range b.seen {
			if s.list == list {
				delete(b.seen, id)
			}
		}
	}
	for i := range machines {
		in := &machines[i]
		if in.Contract == "" || in.ID == "" {
			continue
		}
		if k := b.booked[in.Token]; k != nil && in.Token != "" {
			k.met[in.ID] = true
		}
		if in.State == bridge.InstanceGone {
			delete(b.seen, in.ID)
			continue
		}
		b.seen[in.ID] = sighting{in.Contract, list, now}
	}
}

// used is how many machines of a contract live or are being created.
func (b *books) used(contract string, now time.Time) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for id, s := range b.seen {
		switch {
		case s.list == "" && now.Sub(s.at) > forget:
			delete(b.seen, id)
		case s.contract == contract:
			n++
		}
	}
	for token, k := range b.booked {
		switch {
		case now.Sub(k.at) > forget:
			delete(b.booked, token)
		case k.contract == contract:
			n += max(k.count-len(k.met), 0)
		}
	}
	return n
}

// anyOf reports whether one of the machines is of a contract.
func (b *books) anyOf(contract string, ids []string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		if b.seen[id].contract == contract {
			return true
		}
	}
	return false
}

// again reports whether a create has set its machines aside already.
func (b *books) again(token string, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.booked[token]
	if k == nil || token == "" {
		return false
	}
	k.at = now
	return true
}

func (b *books) book(token, contract string, count int, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.booked[token] = &booking{contract, count, map[string]bool{}, now}
}

// cancel gives back what a create that was refused set aside.
func (b *books) cancel(token string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.booked, token)
}
