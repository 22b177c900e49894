package bridge

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Candidate is one offer for a demand with all that the choice weighs: a line each
// of what a person is told. Money is of all machines together.
type Candidate struct {
	Offer    Offer         `json:"offer"`
	Machines int           `json:"machines"` // for the gangs below
	Gangs    int           `json:"gangs"`    // that they run: as many as stock, ceiling and the demand allow
	Run      time.Duration `json:"run"`      // the longest that the job is expected to run
	Boot     time.Duration `json:"boot"`     // before it
	Spare    time.Duration `json:"spare"`    // after it, until the machine ends itself
	// Minimum, Step and Early are what the minimum charge, the billing step and an
	// early return add to that time, and Paid is all that is paid for.
	Minimum time.Duration `json:"minimum"`
	Step    time.Duration `json:"step"`
	Early   time.Duration `json:"early"`
	Paid    time.Duration `json:"paid"`

	Machine Money `json:"machine"` // the time paid for, at today's rate
	// Reclaims are to be expected of one machine while it runs, in thousandths;
	// LossPM is what they, and shortages of its region, are held to cost per mille
	// of what is bought, and Loss is that in money.
	Reclaims int64 `json:"reclaims"`
	LossPM   int64 `json:"loss_pm"`
	Loss     Money `json:"loss"`
	Egress   Money `json:"egress"` // of the data, and of the checkpoint with each reclaim
	Total    Money `json:"total"`  // by which offers of one market are compared
	Hold     Money `json:"hold"`   // the worst case; egress is billed apart

	// Chosen: a decision takes this one. Why is what keeps it from being bought,
	// empty if nothing does, and Detail the fact in words.
	Chosen bool   `json:"chosen,omitempty"`
	Why    Reason `json:"why,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Compare lists the offers that hold a demand as a decision at the snapshot would
// weigh them under terms: first those it may buy, in the order it prefers them,
// then the others, the nearest to a purchase first. What else keeps the demand
// from leaving is not looked at.
func Compare(s *Snapshot, d *Demand, t *Terms) []Candidate {
	l, b, y := weigh(s, d, t)
	beyond := newOfferSet(len(l.catalog.offers))
	var out []Candidate
	at := map[int]int{} // where the candidate of an offer is
	fits := l.fitting(b.key.shape)
	for i := range l.catalog.offers {
		if !fits.has(i) {
			continue
		}
		c := l.candidate(b, t, i, int(b.left))
		switch budgets := l.budgetsOf(y, i); {
		case c.Why != "":
		case len(budgets) == 0:
			beyond.add(i)
			c.Why, c.Detail = ReasonUnfunded, covered(&c.Offer)
		default:
			if short := budgets.short(c.Hold.Micro); short != nil {
				beyond.add(i)
				c.Why, c.Detail = ReasonNoBudget, short.money().String()+" are left of "+short.scope.String()
			}
		}
		at[i] = len(out)
		out = append(out, c)
	}
	if p, ok := l.choose(b, t, int(b.left), &rest{beyond: beyond}); ok {
		out[at[p.offer]].Chosen = true
	}
	slices.SortStableFunc(out, func(x, y Candidate) int { return compareCandidates(&x, &y, b.view.markets) })
	return out
}

// weigh sets up the choice for one demand alone.
func weigh(s *Snapshot, d *Demand, t *Terms) (*look, *batch, *payer) {
	decider := NewDecider(nil)
	decider.payers.fillPurses(s.Budgets)
	l := decider.look(s)
	c := &cluster{q: &Queue{Cluster: d.Cluster}, reclaims: l.s.Reclaims[d.Cluster], marks: l.s.Checkpoints[d.Cluster], span: &l.span, boot: l.catalog.boot, boots: l.catalog.boots}
	e := &entry{demand: d, terms: t, limit: max(d.TimeLimit, 0), nodes: clamp32(d.Nodes), shape: l.shapes.number(&d.Shape)}
	y := l.payers.list[l.payers.number(t.Account, d.User)]
	currency := y.currency
	if currency == "" && len(s.Offers) > 0 { // nothing is bought without a budget, but it can be weighed
		currency = s.Offers[0].Rate.Currency
	}
	e.rule, e.slow = c.marketRule(e), c.slowest(e)
	b := &batch{key: batchKey{shape: e.shape, nodes: e.nodes, rule: e.rule, slow: e.slow}, left: clamp32(d.Count), limit: e.limit, shape: &l.shapes.shapes[e.shape]}
	b.view = l.catalog.view(t, e.rule, currency, e.slow)
	return l, b, y
}

// candidate weighs one offer that fits.
func (l *look) candidate(b *batch, t *Terms, i, gangs int) Candidate {
	o, st := l.catalog.offers[i], &l.catalog.state[i]
	if b.key.nodes > 1 {
		gangs = 1
	}
	c := Candidate{Offer: *o, Machines: b.least(t), Gangs: 1, Boot: o.Boot, Why: b.view.barred[i]}
	p, ok := l.price(b, t, i, gangs)
	if !ok && c.Why == "" {
		c.Why = l.bars(b, t, i)
	}
	if ok {
		c.Gangs = p.gangs
		if b.key.nodes <= 1 {
			c.Machines = max(c.Machines, ceilDiv(p.gangs, slots(&o.Shape, b.shape)))
		}
	}
	life, whole := l.lifeOn(b, t, i)
	if !whole {
		life = lifeOf(t, b.limit, o.Boot)
	}
	c.time(o, life, needOf(t, b.limit))
	money := func(micro int64) Money { return Money{micro, o.Rate.Currency} }
	c.Machine, _ = o.Rate.Cost(c.Paid, c.Machines, RoundUp) // what does not fit in 64 bits is not shown
	c.Reclaims, c.LossPM = l.moves(b, t, i), st.loss
	c.Loss = money(dearer(c.Machine.Micro, st.loss) - c.Machine.Micro)
	c.Egress = money(l.egress(b, t, i, c.Gangs))
	c.Total = money(plus(plus(c.Machine.Micro, c.Loss.Micro), c.Egress.Micro))
	c.Hold, _ = o.Billing().Worst(ceiling(o, t), life, c.Machines)
	c.Detail = l.whyNot(b, t, i, c.Why)
	return c
}

// time says what is paid for beyond the run.
func (c *Candidate) time(o *Offer, life, run time.Duration) {
	bill := o.Billing()
	c.Run = min(run, life)
	c.Spare = max(life-c.Run-c.Boot, 0)
	c.Minimum = max(bill.Minimum-life, 0)
	c.Paid = bill.Charged(life)
	stepped := bill.stepped(max(life, 0))
	c.Step = stepped - max(life, bill.Minimum)
	c.Early = c.Paid - stepped
}

// whyNot is the fact behind a reason, in words: of a pool that is down, too.
func (l *look) whyNot(b *batch, t *Terms, i int, why Reason) string {
	if why != ReasonPoolsDown {
		return l.fact(b, t, i, why)
	}
	if down := l.catalog.state[i].down; !down.IsZero() {
		return "it is asked again at " + down.UTC().Format(time.RFC3339)
	}
	return cmp.Or(l.catalog.offers[i].Limited, "too few machines are left")
}

// compareCandidates puts what may be bought first, in the order of choice.
func compareCandidates(a, b *Candidate, markets []Market) int {
	return cmp.Or(
		compareBool(b.Chosen, a.Chosen), compareBool(b.Why == "", a.Why == ""),
		cmp.Compare(slices.Index(nearness, b.Why), slices.Index(nearness, a.Why)),
		compareBool(b.Offer.Pool.Market == Reserved, a.Offer.Pool.Market == Reserved),
		compareShares(a, b), cmp.Compare(slices.Index(markets, a.Offer.Pool.Market), slices.Index(markets, b.Offer.Pool.Market)),
		comparePools(&a.Offer.Pool, &b.Offer.Pool),
	)
}

// compareShares compares what one gang costs.
func compareShares(a, b *Candidate) int {
	x, y := pick{cost: a.Total.Micro, gangs: a.Gangs}, pick{cost: b.Total.Micro, gangs: b.Gangs}
	switch {
	case a.Total.Currency != b.Total.Currency:
		return strings.Compare(string(a.Total.Currency), string(b.Total.Currency))
	case x.cheaper(&y):
		return -1
	case y.cheaper(&x):
		return 1
	}
	return 0
}
