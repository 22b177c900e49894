package bridge

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// LifeMargin is what a rental lives longer than boot and the job's own limit:
// the job starts a little after admission and ends a little after its limit.
const LifeMargin = 10 * time.Minute

// LongestLife holds where policy sets none.
const LongestLife = 24 * time.Hour

// Decide says what one look at the world asks for. It is a pure function: the
// same snapshot gives the same plan, in whatever order its parts are listed.
func Decide(s *Snapshot, p Policy) Plan { return NewDecider(p).Decide(s) }

// Decider decides again and again, and remembers between two looks what did
// not change. Its plans are those of Decide.
type Decider struct {
	policy Policy
	shapes shapeTable
}

// NewDecider returns a Decider for one policy; a changed policy needs a new one.
func NewDecider(p Policy) *Decider { return &Decider{policy: p} }

// Decide returns the plan for a snapshot.
func (d *Decider) Decide(s *Snapshot) Plan {
	l := newLook(s, d)
	for _, q := range l.queues {
		l.judge(q)
	}
	for i := range l.open {
		l.serve(&l.open[i])
	}
	l.closeOrders()
	return Plan{
		Now: s.Now, Verdicts: l.verdicts, Route: l.routes, Rent: l.orders,
		Withdraw: withdrawals(s), Return: Returns(s, l.needed),
	}
}

// look is one decision being made.
type look struct {
	s       *Snapshot
	policy  Policy
	shapes  *shapeTable
	terms   termsTable
	catalog *catalog
	purses  *purses
	queues  []*Queue
	rented  map[string]map[string]bool // node names of rentals, by cluster
	answers map[JobID][]*Answer
	live    map[Account]int // machines of each project
	asked   map[Account]int // machines of each project in this plan's questions

	batches  map[batchKey]*batch
	open     []opening
	verdicts []Verdict
	routes   []Route
	orders   []Order
	drafts   []*draft
	needed   map[RentalID]bool // rentals a pending demand is served by
}

func newLook(s *Snapshot, d *Decider) *look {
	l := &look{
		s: s, policy: d.policy, shapes: &d.shapes, catalog: newCatalog(s), purses: newPurses(s.Budgets),
		rented: map[string]map[string]bool{}, answers: map[JobID][]*Answer{},
		live: map[Account]int{}, asked: map[Account]int{},
		batches: map[batchKey]*batch{}, needed: map[RentalID]bool{},
	}
	total := 0
	for i := range s.Queues {
		l.queues = append(l.queues, &s.Queues[i])
		total += len(s.Queues[i].Demands)
	}
	slices.SortStableFunc(l.queues, func(a, b *Queue) int { return strings.Compare(a.Cluster, b.Cluster) })
	l.verdicts = make([]Verdict, 0, total)
	for i := range s.Rentals {
		r := &s.Rentals[i]
		l.live[r.Account.Project()] += machinesOf(r)
		if l.rented[r.Cluster] == nil {
			l.rented[r.Cluster] = map[string]bool{}
		}
		for k := range r.Machines {
			l.rented[r.Cluster][r.Machines[k].Node] = true
		}
	}
	for i := range s.Answers {
		a := &s.Answers[i]
		if !a.Until.After(s.Now) {
			continue
		}
		for _, j := range a.Jobs {
			l.answers[j] = append(l.answers[j], a)
		}
	}
	return l
}

// inOrder returns the demands as the scheduler orders them: priority, then
// time of submission, then id.
func inOrder(demands []Demand) []*Demand {
	out := make([]*Demand, len(demands))
	for i := range demands {
		out[i] = &demands[i]
	}
	slices.SortFunc(out, compareDemands)
	return out
}

func compareDemands(a, b *Demand) int {
	if a.Priority != b.Priority {
		return cmp.Compare(b.Priority, a.Priority)
	}
	if c := a.Submitted.Compare(b.Submitted); c != 0 {
		return c
	}
	return compareJobs(a.Job, b.Job)
}

// compareJobs orders ids as numbers where they are numbers: 99 before 100.
func compareJobs(a, b JobID) int {
	x, y := baseOf(a), baseOf(b)
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(string(x), string(y)),
		cmp.Compare(len(a), len(b)), strings.Compare(string(a), string(b)))
}
