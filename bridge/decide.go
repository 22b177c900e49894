package bridge

import (
	"slices"
	"strings"
)

// Decide says what one look at the world asks for. It is a pure function: the
// same snapshot gives the same plan, in whatever order its parts are listed.
func Decide(s *Snapshot, p Policy) Plan { return NewDecider(p).Decide(s) }

// Decider decides again and again, and remembers between two looks what did
// not change. Its plans are those of Decide. It keeps snapshots and plans, which
// must not change and may share memory, and serves one caller at a time.
type Decider struct {
	policy   Policy
	names    nameTable
	shapes   shapeTable
	terms    termsTable
	payers   payerTable
	batches  batchTable
	hardware hardwareTable
	catalog  *catalog
	versions uint64 // of catalogs so far
	last     map[string]*remembered
	past     *past
	open     []opening // memory to write into
}

// NewDecider returns a Decider for one policy; a changed policy needs a new one.
func NewDecider(p Policy) *Decider {
	return &Decider{
		policy: p, last: map[string]*remembered{},
		payers: payerTable{byUser: map[payerKey]int32{}},
	}
}

// Decide returns the plan for a snapshot: it judges every demand, buys in the
// scheduler's order for those that no gate stops, and gives back what is no
// longer needed.
func (d *Decider) Decide(s *Snapshot) Plan {
	if p, ok := d.repeat(s); ok {
		return p
	}
	d.forget(s)
	l := d.look(s)
	for _, q := range l.queues {
		l.judge(q)
	}
	for i := range l.open {
		l.serve(&l.open[i])
	}
	l.closeOrders()
	d.open = l.open
	pending := pendingJobs(s)
	p := Plan{
		Now: s.Now, Verdicts: l.verdicts, Route: l.routes, Rent: l.orders,
		Withdraw: withdrawals(s, pending), Return: returns(s, l.needed, pending),
	}
	d.keep(l, &p)
	return p
}

// forget drops memories that no longer hold, and all of them when the greater
// part is of jobs that are gone.
func (d *Decider) forget(s *Snapshot) {
	demands := 0
	for i := range s.Queues {
		demands += len(s.Queues[i].Demands)
	}
	const spare = 10_000
	if most := 2*demands + spare; d.batches.used > most || len(d.shapes.shapes) > most || len(d.terms.byPointer) > most || len(d.payers.list) > most || len(d.hardware.list) > 4*len(s.Offers)+spare {
		*d = *NewDecider(d.policy)
	}
	if !d.payers.fillPurses(s.Budgets) {
		clear(d.last)
	}
}

// look is one decision being made.
type look struct {
	*Decider
	s       *Snapshot
	span    span // while the plan holds
	seen    map[*Queue]figures
	queues  []*Queue
	rented  map[string]map[string]bool // node names of rentals, by cluster
	answers map[JobID][]*Answer

	open     []opening
	verdicts []Verdict
	judged   int // verdicts given or opened so far
	routes   []Route
	orders   []Order
	drafts   []*draft
	needed   map[RentalID]bool // rentals a pending demand is served by
	spots    spotCount
	extent   *extent // of the catalog; made when asked for
}

func (d *Decider) look(s *Snapshot) *look {
	d.takeOffers(s)
	d.batches.cycle++
	l := &look{
		Decider: d, s: s, span: spanAt(s.Now), seen: map[*Queue]figures{}, open: d.open[:0],
		rented: map[string]map[string]bool{}, answers: map[JobID][]*Answer{},
		needed: map[RentalID]bool{},
	}
	l.minutes()
	l.hours()
	total := 0
	for i := range s.Queues {
		l.queues = append(l.queues, &s.Queues[i])
		total += len(s.Queues[i].Demands)
	}
	slices.SortStableFunc(l.queues, func(a, b *Queue) int { return strings.Compare(a.Cluster, b.Cluster) })
	l.verdicts = make([]Verdict, total)
	l.open = slices.Grow(l.open, total)
	for i := range s.Rentals {
		r := &s.Rentals[i]
		count, _ := d.payers.projectOf(r.Account)
		count.live += machinesOf(r)
		l.spots.add(r.Pool, machinesOf(r))
		if r.State == StateWaiting {
			count.asked += r.Count
			d.payers.askedFor(r)
		}
		if l.rented[r.Cluster] == nil {
			l.rented[r.Cluster] = map[string]bool{}
		}
		for k := range r.Machines {
			l.rented[r.Cluster][r.Machines[k].Node] = true
		}
	}
	for i := range s.Answers {
		a := &s.Answers[i]
		if l.span.reached(nanos(a.Until, 0)) {
			continue
		}
		for _, j := range a.Jobs {
			l.answers[j] = append(l.answers[j], a)
		}
	}
	return l
}
