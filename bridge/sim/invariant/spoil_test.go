package invariant

import (
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/ledger"
)

// stray adds a machine with our tags, or those of another store, that no rental
// knows. Lists show it.
func (l *tale) stray(m int, machine, store string) {
	tags := map[string]string{bridge.TagStore: storeID, bridge.TagCluster: "main", bridge.TagRental: string(bridge.NewRentalID(5)), bridge.TagAttempt: "1"}
	if store != "" {
		tags[bridge.TagStore] = store
	}
	l.machine(m, Machine{Cloud: "nimbus", Untouched: store != "", Instance: wire.Instance{
		ID: machine, State: wire.StateRunning, Tags: tags, Launched: at(m), Expires: at(m).Add(24 * time.Hour),
	}})
}

// twin adds a machine that carries the tags of the rental.
func (l *tale) twin(m int, machine, token, attempt string) {
	tags := map[string]string{bridge.TagStore: storeID, bridge.TagCluster: "main", bridge.TagRental: string(id), bridge.TagAttempt: attempt}
	l.machine(m, Machine{Cloud: "nimbus", Instance: wire.Instance{
		ID: machine, State: wire.StateRunning, Tags: tags, Token: token, Launched: at(m), Expires: at(m).Add(time.Hour),
	}})
}

func (l *tale) machine(m int, k Machine) {
	l.from(m, func(s *Sight) { s.Machines = append(slices.Clone(s.Machines), k) })
	for i := m; i < len(l.sights); i++ {
		list := l.method(i, "List").Listing
		list.Instances = append(list.Instances, bridge.Instance{ID: k.ID, State: bridge.InstanceRunning, Tags: k.Tags, Launched: k.Launched})
	}
}

// entry is the first transaction of a moment, which may be changed.
func (l *tale) entry(m int) *ledger.Transaction {
	s := &l.sights[m]
	s.Ledger = slices.Clone(s.Ledger)
	s.Ledger[0].Lines = slices.Clone(s.Ledger[0].Lines)
	return &s.Ledger[0]
}

// allow has somebody allow more than the budget has; the chain is sealed anew.
func (l *tale) allow(who string) {
	r := l.sights[reserved].Rentals[0]
	over := ledger.Allow(at(reserved), &r, &budget, usd(1), who)
	var head ledger.Head
	l.sights[reserved].Ledger = append([]ledger.Transaction{over}, l.sights[reserved].Ledger...)
	for i := range l.sights {
		l.sights[i].Ledger = slices.Clone(l.sights[i].Ledger)
		for k := range l.sights[i].Ledger {
			head = l.sights[i].Ledger[k].Seal(head)
		}
	}
}

// torn has the job broken off when its machine is ended by us.
func (l *tale) torn(why string) {
	l.from(finished, func(s *Sight) {
		s.Jobs[0].State, s.Jobs[0].Starts = "RUNNING", []Start{{At: at(runs), Nodes: []string{node}}}
	})
	l.from(releasing, func(s *Sight) {
		s.Jobs[0].State, s.Jobs[0].Starts = "NODE_FAIL", []Start{{At: at(runs), End: at(releasing).Add(time.Second), Nodes: []string{node}, Why: why}}
		if why == "requeued" {
			s.Jobs[0].State, s.Jobs[0].Restarts = "PENDING", 1
		}
	})
}

// mute takes away whatever was done for the job.
func (l *tale) mute() {
	l.cut(sent)
}

// asked makes the rental a question that the boss has said yes to.
func (l *tale) asked() {
	r := l.sights[reserved].Rentals[0]
	r.State, r.Launch, r.AskUntil = bridge.StateWaiting, bridge.Launch{}, at(moments)
	l.sights[waits].Rentals = []bridge.Rental{r}
	l.hears(waits, bridge.News{Kind: bridge.NewsAsked, Rental: id})
	l.from(reserved, func(s *Sight) {
		s.Rentals = slices.Clone(s.Rentals)
		s.Rentals[0].ApprovedBy = "boss"
		s.Rentals[0].Version++
		s.Calls = slices.Clone(s.Calls)
		for i := range s.Calls {
			if s.Calls[i].Version > 0 {
				s.Calls[i].Version++
			}
		}
	})
	*l.method(reserved, "Reserve") = Call{
		Port: "Writer", Method: "Approve", Rental: id, State: bridge.StateLaunching, Version: 2, Begun: at(reserved), Ended: at(reserved), Epoch: 1,
		Token: l.sights[reserved].Rentals[0].Launch.Token,
	}
	l.sights[reserved].News = []bridge.News{{Kind: bridge.NewsApproved, Rental: id, Who: "boss", At: at(reserved), Digest: "d"}}
}

// answer is the news of the boss's yes.
func (l *tale) answer() *bridge.News { return &l.sights[reserved].News[0] }

// open has nobody settle the rental.
func (l *tale) open() {
	was := l.sights[gone]
	l.from(settled, func(s *Sight) {
		s.Rentals, s.OpenHolds, s.Ledger, s.News, s.Balances = was.Rentals, 1, nil, nil, was.Balances
		s.Calls = slices.DeleteFunc(slices.Clone(s.Calls), func(c Call) bool { return c.Method == "Settle" })
	})
	l.end = false
}

// long repeats the last moment so many times.
func (l *tale) long(n int) {
	last := l.sights[len(l.sights)-1]
	for i := range n {
		s := last
		d := time.Duration(i+1) * 3 * time.Minute
		s.At, s.Bridge.Now, s.Bridge.Cycles = last.At.Add(d), last.Bridge.Now.Add(d), last.Bridge.Cycles+2*(i+1)
		s.Calls = slices.Clone(last.Calls)
		for k := range s.Calls {
			s.Calls[k].Begun, s.Calls[k].Ended = s.Calls[k].Begun.Add(d), s.Calls[k].Ended.Add(d)
		}
		l.sights = append(l.sights, s)
	}
}
