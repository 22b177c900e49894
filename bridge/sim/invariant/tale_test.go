package invariant

import (
	"slices"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/ledger"
)

// The moments of a tale, in order: one job that waits, one machine that is
// rented for it, and all that belongs to that.
const (
	quiet = iota
	waits
	reserved
	sent
	created
	admitted
	runs
	metered
	finished
	draining
	releasing
	gone
	settled
	over
	later
	latest1
	latest2
	moments
)

const (
	storeID = "ours"
	job     = bridge.JobID("7")
)

var (
	born   = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	id     = bridge.NewRentalID(1)
	node   = bridge.NodeName(id, 0)
	budget = bridge.Budget{Account: "acme", Every: bridge.Month, Limit: usd(100)}
)

func usd(n int64) bridge.Money { return bridge.Money{Micro: n * bridge.Micro, Currency: "USD"} }

// tale is a story in which nothing is wrong, to be spoilt.
type tale struct {
	t      *testing.T
	rules  Rules
	sights []Sight
	end    bool // it is told to its end

	s    Sight // as it grows
	hold ledger.Hold
	head ledger.Head
}

// at is the time of a moment; they are three minutes apart.
func at(moment int) time.Time { return born.Add(time.Duration(moment) * 3 * time.Minute) }

// good makes the good tale.
func good(t *testing.T) *tale {
	t.Helper()
	l := &tale{t: t, end: true, rules: Rules{
		StoreID: storeID, Clusters: []string{"main"}, Budgets: []bridge.Budget{budget}, QueueAge: 4 * time.Minute, Most: 3,
		MayDecide: func(who string, _ *bridge.Rental, _ bool) bool { return who == "boss" || who == "chief" }, Secrets: []string{"munge-key-of-ours"},
	}}
	l.s.Bridge = Bridge{Life: 1, Since: born, StoreID: storeID, Epoch: 1}
	l.s.Balances = []bridge.Balance{{Account: "acme", Period: "2026-11", Limit: usd(100), Posted: usd(0), Held: usd(0)}}
	for m := range moments {
		l.moment(m)
		l.close(m)
	}
	return l
}

// moment changes the world as the tale says.
func (l *tale) moment(m int) {
	switch m {
	case waits:
		l.s.Jobs = []Job{{ID: job, State: "PENDING", Restartable: false, Priority: 100, Submitted: at(m), Limit: time.Hour}}
	case reserved:
		l.reserve()
	case sent:
		r := &l.s.Rentals[0]
		l.call(Call{Port: "Cloud", Of: "nimbus", Method: "Create", Launch: &r.Launch, Rental: id})
		l.s.Machines = []Machine{{Cloud: "nimbus", Instance: wire.Instance{
			ID: "i-1", State: wire.StatePending, Tags: r.Launch.Tags, Token: r.Launch.Token, Rate: wire.Rate{Micro: bridge.Micro, Currency: "USD"},
			Launched: at(m), Expires: r.Expires,
		}}}
	case created:
		l.s.Machines[0].State = wire.StateRunning
		l.write(bridge.StateJoining, bridge.NewsCreated, func(r *bridge.Rental) {
			r.Machines[0].ID, r.Machines[0].State, r.Machines[0].Started = "i-1", bridge.MachineCreated, at(sent)
		})
	case admitted:
		l.s.Nodes = []Node{{Name: node}}
		l.call(Call{Port: "Scheduler", Of: "main", Method: "Admit", Rental: id, Nodes: []string{node}})
		l.call(Call{Port: "Scheduler", Of: "main", Method: "Route", Rental: id, Job: job})
		l.write(bridge.StateAdmitted, bridge.NewsAdmitted, func(r *bridge.Rental) {
			r.Machines[0].State, r.Machines[0].Joined = bridge.MachineJoined, at(m)
		})
	case runs:
		l.s.Jobs[0].State, l.s.Jobs[0].Starts = "RUNNING", []Start{{At: at(m), Nodes: []string{node}}}
	case metered:
		l.post(usd(0).Micro + 100_000)
	case finished:
		j := &l.s.Jobs[0]
		j.State, j.Starts[0].End, j.Starts[0].Why = "COMPLETED", at(m), "completed"
	case draining:
		l.write(bridge.StateDraining, bridge.NewsDraining, func(r *bridge.Rental) { r.Why = bridge.ReasonIdle })
		l.s.News[len(l.s.News)-1].Why = bridge.ReasonIdle
	case releasing:
		l.call(Call{Port: "Scheduler", Of: "main", Method: "Drain", Nodes: []string{node}})
		l.call(Call{Port: "Scheduler", Of: "main", Method: "Dismiss", Nodes: []string{node}, Rental: id})
		l.s.Nodes = nil
		l.write(bridge.StateReleasing, bridge.NewsReleasing, func(*bridge.Rental) {})
		l.call(Call{Port: "Cloud", Of: "nimbus", Method: "Terminate", IDs: []string{"i-1"}})
		l.s.Machines[0].State, l.s.Machines[0].Stopped, l.s.Machines[0].Ended = wire.StateTerminated, at(m).Add(time.Second), "terminated"
	case gone:
		l.write(bridge.StateReleasing, bridge.NewsGone, func(r *bridge.Rental) {
			r.Machines[0].State, r.Machines[0].Stopped = bridge.MachineGone, l.s.Machines[0].Stopped
		})
	case settled:
		l.settle()
	}
}

// reserve writes hold and intent.
func (l *tale) reserve() {
	r := bridge.Rental{
		ID: id, State: bridge.StateLaunching, Version: 1, Cluster: "main", Account: "acme/ml/llm/ann", Requester: "ann", Jobs: []bridge.JobID{job},
		Pool: bridge.Pool{Cloud: "nimbus"}, Count: 1, Gang: 1, Attempt: 1, Hold: usd(10), Cost: usd(0), Rate: bridge.Rate{Micro: bridge.Micro, Currency: "USD"},
		Step: time.Second, Created: at(reserved), Expires: at(reserved).Add(3 * time.Hour), Why: bridge.ReasonCheapest,
		Machines: []bridge.Machine{{State: bridge.MachineIntended, Node: node}},
	}
	r.Launch = bridge.Launch{
		Rental: id, Attempt: 1, Count: 1, Token: "token-of-the-first-attempt", Expires: r.Expires,
		Tags: map[string]string{bridge.TagStore: storeID, bridge.TagCluster: "main", bridge.TagRental: string(id), bridge.TagAttempt: "1"},
	}
	hold, txs, err := ledger.Open(at(reserved), &r, "")
	if err != nil {
		l.t.Fatal(err)
	}
	l.hold = hold
	l.enter(txs)
	l.s.Rentals, l.s.OpenHolds = []bridge.Rental{r}, 1
	l.call(Call{Port: "Store", Method: "Reserve", Rental: id, State: r.State, Version: 1, Token: r.Launch.Token})
	l.news(bridge.News{Kind: bridge.NewsReserved, Rental: id, Cluster: "main"})
}

// write stores the next version of the rental.
func (l *tale) write(state bridge.State, kind bridge.NewsKind, change func(*bridge.Rental)) {
	r := l.s.Rentals[0]
	r.Machines = slices.Clone(r.Machines)
	r.State, r.Version = state, r.Version+1
	change(&r)
	l.s.Rentals = []bridge.Rental{r}
	l.call(Call{Port: "Store", Method: "Save", Rental: id, State: state, Version: r.Version, Token: r.Launch.Token})
	l.news(bridge.News{Kind: kind, Rental: id, Cluster: "main", Why: r.Why})
}

func (l *tale) post(micro int64) {
	hold, txs, err := l.hold.Post(l.now(), bridge.Money{Micro: micro, Currency: "USD"})
	if err != nil {
		l.t.Fatal(err)
	}
	l.hold = hold
	l.enter(txs)
	r := l.s.Rentals[0]
	r.Version, r.Cost = r.Version+1, hold.Posted
	l.s.Rentals = []bridge.Rental{r}
	l.call(Call{Port: "Store", Method: "Post", Rental: id, State: r.State, Version: r.Version, Token: r.Launch.Token})
}

func (l *tale) settle() {
	m := l.s.Machines[0]
	cost, err := bridge.Rate{Micro: m.Rate.Micro, Currency: "USD"}.Cost(m.Stopped.Sub(m.Launched), 1, bridge.RoundHalfEven)
	if err != nil {
		l.t.Fatal(err)
	}
	hold, txs, err := l.hold.Settle(at(settled), cost)
	if err != nil {
		l.t.Fatal(err)
	}
	l.hold = hold
	l.enter(txs)
	r := l.s.Rentals[0]
	r.State, r.Version, r.Cost = bridge.StateSettled, r.Version+1, hold.Posted
	l.s.Rentals, l.s.OpenHolds = []bridge.Rental{r}, 0
	l.call(Call{Port: "Store", Method: "Settle", Rental: id, State: r.State, Version: r.Version})
	l.news(bridge.News{Kind: bridge.NewsSettled, Rental: id, Cluster: "main"})
}

// enter seals transactions, and keeps the balance in step.
func (l *tale) enter(txs []ledger.Transaction) {
	for _, t := range txs {
		l.head = t.Seal(l.head)
		l.s.Ledger = append(l.s.Ledger, t)
	}
	l.s.Balances = slices.Clone(l.s.Balances)
	l.s.Balances[0].Held, l.s.Balances[0].Posted = l.hold.Rest(), l.hold.Posted
	l.s.Stored += int64(len(txs))
}

func (l *tale) now() time.Time { return at(len(l.sights)) }

func (l *tale) call(c Call) {
	c.Begun = l.now().Add(time.Duration(len(l.s.Calls)) * time.Millisecond)
	c.Ended, c.Life, c.Epoch = c.Begun, 1, 1
	l.s.Calls = append(l.s.Calls, c)
}

func (l *tale) news(n bridge.News) {
	n.At = l.now()
	l.s.News = append(l.s.News, n)
	l.s.Stored++
}

// close ends a moment: the bridge has looked at everything twice since the last.
func (l *tale) close(m int) {
	l.list(m)
	l.call(Call{Port: "Scheduler", Of: "main", Method: "Observe"})
	l.s.At, l.s.Bridge.Now = at(m).Add(time.Minute), at(m).Add(time.Minute)
	l.s.Bridge.Cycles += 2
	s := l.s
	s.Audited = true
	s.Machines, s.Nodes, s.Jobs = slices.Clone(s.Machines), slices.Clone(s.Nodes), slices.Clone(s.Jobs)
	for i := range s.Jobs {
		s.Jobs[i].Starts = slices.Clone(s.Jobs[i].Starts)
	}
	l.sights = append(l.sights, s)
	l.s.Calls, l.s.News, l.s.Ledger = nil, nil, nil
}

// list is a complete list of the cloud as it is.
func (l *tale) list(m int) {
	out := bridge.Listing{Cloud: "nimbus", At: at(m), Complete: true}
	for _, k := range l.s.Machines {
		in := bridge.Instance{ID: k.ID, State: bridge.InstanceRunning, Tags: k.Tags, Launched: k.Launched}
		if !k.live() {
			in.State = bridge.InstanceGone
		}
		out.Instances = append(out.Instances, in)
	}
	l.call(Call{Port: "Cloud", Of: "nimbus", Method: "List", Listing: &out})
}

// judge tells the tale to a checker.
func (l *tale) judge() []Violation {
	c := New(l.rules)
	var out []Violation
	for _, s := range l.sights {
		out = append(out, c.Step(s)...)
	}
	if l.end {
		out = append(out, c.End(l.sights[len(l.sights)-1])...)
	}
	return out
}

// cut ends the tale after a moment, while things go on.
func (l *tale) cut(m int) {
	l.sights, l.end = l.sights[:m+1], false
}

// from changes all sights from a moment on.
func (l *tale) from(m int, change func(*Sight)) {
	for i := m; i < len(l.sights); i++ {
		change(&l.sights[i])
	}
}

// method finds a call of a moment.
func (l *tale) method(m int, name string) *Call {
	s := &l.sights[m]
	i := slices.IndexFunc(s.Calls, func(c Call) bool { return c.Method == name })
	if i < 0 {
		l.t.Fatalf("moment %d has no call of %s", m, name)
	}
	s.Calls = slices.Clone(s.Calls)
	return &s.Calls[i]
}

// without takes a call out of a moment.
func (l *tale) without(m int, names ...string) {
	s := &l.sights[m]
	s.Calls = slices.DeleteFunc(slices.Clone(s.Calls), func(c Call) bool { return slices.Contains(names, c.Method) })
}

// rental is the rental of a moment, which may be changed.
func (l *tale) rental(m int) *bridge.Rental {
	s := &l.sights[m]
	s.Rentals = slices.Clone(s.Rentals)
	s.Rentals[0].Machines = slices.Clone(s.Rentals[0].Machines)
	return &s.Rentals[0]
}

// add puts one more call into a moment, after the others.
func (l *tale) add(m int, c Call) {
	s := &l.sights[m]
	s.Calls = slices.Clone(s.Calls)
	c.Begun = at(m).Add(time.Duration(len(s.Calls)) * time.Millisecond)
	c.Ended, c.Life, c.Epoch = c.Begun, 1, 1
	s.Calls = append(s.Calls, c)
}

// hears puts one more line of news into a moment.
func (l *tale) hears(m int, n bridge.News) {
	s := &l.sights[m]
	n.At = at(m)
	s.News = append(slices.Clone(s.News), n)
}
