package bridge

import (
	"fmt"
	"math/bits"
	"strings"
	"time"
)

// opening is a demand that may be bought for, with what is still unserved.
type opening struct {
	verdict int
	demand  *Demand
	nodes   int    // of one gang
	left    int    // gangs
	before  string // what is said of the part that is served already
	payer   *payer
	terms   *Terms
	termsNo int32
	shape   int32
	rule    marketRule
	batch   *batch
}

// batch is all open demands that may share rentals: one cluster, partition,
// project, shape, class and size of gang, and time limits within a factor of
// two, so that a short job never holds money for a life much longer than its
// own.
type batch struct {
	view   *view
	shape  *Shape
	each   []int32 // of every hardware
	nodes  int
	limit  time.Duration // longest of its members; zero: one has none
	left   int           // gangs not served yet
	plain  *draft
	asks   []*draft // one for each requester
	asking bool     // so large that a person is asked
	broke  bool     // its budgets pay for no more machine
	stuck  *Verdict // what stops it for the rest of this plan
}

type batchKey struct {
	cluster   string
	partition string
	payer     Account // the project; the user too, where it has a budget of its own
	shape     int32
	terms     int32
	rule      marketRule
	currency  Currency
	nodes     int
	limit     int // doubling of the time limit
}

// draft is an order that machines are still added to.
type draft struct {
	order *Order
	index int // in look.orders
	payer *payer
	offer int // in the catalog
	each  int
	free  int // gangs it still has room for
	most  int // machines it may have
}

// openFor puts a demand that passed all gates into its batch.
func (l *look) openFor(c *cluster, o *opening) {
	d := o.demand
	key := batchKey{c.q.Cluster, d.Partition, o.payer.project, o.shape, o.termsNo, o.rule, o.payer.currency, o.nodes, bits.Len64(uint64(max(d.TimeLimit, 0) / time.Minute))}
	if o.payer.own {
		key.payer = o.payer.full
	}
	b := l.batches[key]
	if b == nil {
		b = &batch{
			view:  l.catalog.view(o.termsNo, o.terms, o.rule, o.payer.currency),
			shape: &d.Shape, each: l.catalog.each(o.shape, &d.Shape), nodes: o.nodes, limit: d.TimeLimit,
		}
		l.batches[key] = b
	}
	b.left += o.left
	if b.limit > 0 {
		b.limit = max(b.limit, d.TimeLimit)
	}
	o.batch = b
	l.open = append(l.open, *o)
}

// serve buys for one demand: it fills machines ordered so far, then adds
// machines within budget, then asks for them, and else says what was missing.
func (l *look) serve(o *opening) {
	v := &l.verdicts[o.verdict]
	wanted := o.left
	for o.left > 0 && (l.fill(o, v) || l.add(o, v)) {
	}
	o.batch.left -= wanted
	if o.left > 0 && v.Order > 0 {
		d := l.drafts[v.Order-1]
		v.Detail = fmt.Sprintf("%d of %d ordered; the rest: %s", wanted-o.left, wanted, v.Why)
		v.Kind, v.Why = kindOf(d.order)
		v.Pool = &l.catalog.pools[d.offer]
	}
	if o.before != "" {
		v.Detail = strings.TrimSuffix(o.before+"; "+v.Detail, "; ")
	}
}

// fill uses room that is paid for already.
func (l *look) fill(o *opening, v *Verdict) bool {
	d := o.batch.plain
	if d == nil || d.free == 0 {
		return false
	}
	l.join(d, o, v)
	return true
}

// join puts as much of a demand as there is room for into a draft.
func (l *look) join(d *draft, o *opening, v *Verdict) {
	n := min(o.left, d.free)
	o.left -= n
	d.free -= n
	if k := len(d.order.Jobs); k == 0 || d.order.Jobs[k-1] != o.demand.Job {
		d.order.Jobs = append(d.order.Jobs, o.demand.Job)
	}
	if v.Order == 0 {
		v.Order = d.index + 1
		v.Kind, v.Why = kindOf(d.order)
		v.Pool, v.Detail = &l.catalog.pools[d.offer], ""
		v.Limit, v.Left = "", Money{}
	}
}

func kindOf(o *Order) (Kind, Reason) {
	if o.Ask != "" {
		return Ask, o.Ask
	}
	return Burst, ReasonCheapest
}

// add gets one more machine, or gang of machines, for a demand: in the batch's
// open order, in a new one, or in a question. It reports whether it did, and
// else has put the reason into the verdict.
func (l *look) add(o *opening, v *Verdict) bool {
	b := o.batch
	if d := b.plain; d != nil && !b.asking && d.order.Count < d.most && l.grow(d, o, v) {
		l.join(d, o, v)
		return true
	}
	if d := l.asksFor(o); d != nil {
		if d.free > 0 || d.order.Count < d.most && l.grow(d, o, v) {
			l.join(d, o, v)
			return true
		}
	}
	return l.begin(o, v)
}

// asksFor returns the batch's question of a demand's own user.
func (l *look) asksFor(o *opening) *draft {
	for _, d := range o.batch.asks {
		if d.order.Requester == o.demand.User && d.payer == o.payer {
			return d
		}
	}
	return nil
}

// grow adds a machine to a draft if limits and budgets allow it.
func (l *look) grow(d *draft, o *opening, v *Verdict) bool {
	more := 1
	if o.batch.nodes > 1 {
		return false // a gang is a rental of its own
	}
	hold, err := holdOf(d.order, d.order.Count+more)
	if err != nil {
		return false
	}
	if !l.affords(d, o, more, hold, v) {
		return false
	}
	l.commit(d, more, hold)
	return true
}

// affords checks the machine limit and the budgets for a draft that grows.
func (l *look) affords(d *draft, o *opening, more int, hold Money, v *Verdict) bool {
	p, t := d.payer, o.terms
	used := l.live[p.project]
	if d.order.Ask != "" {
		used += l.asked[p.project]
	}
	v.Kind, v.Why, v.Pool, v.Cost = Wait, ReasonMost, &l.catalog.pools[d.offer], hold
	v.Limit, v.Left, v.Detail = "", Money{}, ""
	if used+more > t.Most {
		v.Detail = fmt.Sprintf("%s has %d of at most %d machines", p.project, used, t.Most)
		return false
	}
	need := hold.Micro - d.order.Hold.Micro // the rest is taken or asked already
	short := p.short(need)
	if d.order.Ask != "" {
		if short = p.short(hold.Micro); t.Ask || short == nil {
			short = p.shut(need)
		}
	}
	if short == nil {
		return true
	}
	v.Why, v.Limit, v.Left = ReasonNoBudget, short.account, short.money()
	return false
}

// commit adds machines to a draft and takes their money and stock; a question
// takes neither.
func (l *look) commit(d *draft, more int, hold Money) {
	if d.order.Ask == "" {
		d.payer.spend(hold.Micro - d.order.Hold.Micro)
		l.live[d.payer.project] += more
		l.catalog.use(d.offer, more)
	} else {
		d.payer.ask(hold.Micro - d.order.Hold.Micro)
		l.asked[d.payer.project] += more
	}
	d.order.Count += more
	d.order.Hold = hold
	if d.order.Gang > 1 {
		d.free++
		return
	}
	d.free += more * d.each
}

// holdOf is the worst case of an order with so many machines.
func holdOf(o *Order, machines int) (Money, error) {
	return o.MaxRate.Cost(billed(o.Life, o.Offer.Step, o.Offer.Minimum), machines, RoundUp)
}

// begin starts an order for a demand, as a question where policy wants one.
func (l *look) begin(o *opening, v *Verdict) bool {
	b, t := o.batch, o.terms
	if b.stuck != nil {
		b.stuck.copyTo(v)
		if short := o.payer.short(v.Cost.Micro); v.Limit != "" && short != nil {
			v.Limit, v.Left = short.account, short.money()
		}
		return false
	}
	p, ok := l.choose(b, t, b.left)
	if !ok {
		b.stuck = l.explain(b, t)
		b.stuck.copyTo(v)
		return false
	}
	d := l.draft(o, p)
	l.askAbove(d, o)
	if (!b.broke || d.order.Ask != "") && l.start(d, o, v) {
		return l.keep(d, o, v)
	}
	if d.order.Ask == "" && (b.broke || v.Why == ReasonNoBudget) {
		if l.smaller(d, o, v) || l.question(d, o, v) {
			return true
		}
	}
	b.stuck = new(Verdict)
	*b.stuck = *v
	return false
}

// smaller tries the cheapest machine for one gang alone, where the machine that
// is cheapest for the whole batch is over budget.
func (l *look) smaller(d *draft, o *opening, v *Verdict) bool {
	b := o.batch
	if b.broke {
		return false
	}
	if p, ok := l.choose(b, o.terms, 1); ok && p.offer != d.offer {
		if e := l.draft(o, p); l.start(e, o, v) {
			return l.keep(e, o, v)
		}
	}
	b.broke = true
	return false
}

// question puts a draft that is over budget to a person, if policy has one.
func (l *look) question(d *draft, o *opening, v *Verdict) bool {
	if o.terms.Ask {
		d.order.Ask = ReasonOverBudget
	}
	return l.start(d, o, v) && l.keep(d, o, v)
}

// askAbove turns a draft into a question if its whole batch may cost more than
// policy lets through without one.
func (l *look) askAbove(d *draft, o *opening) {
	b, t := o.batch, o.terms
	if t.AskAbove.Micro <= 0 {
		return
	}
	size := max(b.nodes, t.Least)
	if b.nodes == 1 {
		size = max(size, min(ceilDiv(max(b.left, 1), d.each), d.most, t.Most))
	}
	hold, err := holdOf(d.order, size)
	if c, cmpErr := hold.Cmp(t.AskAbove); err != nil || cmpErr != nil || c > 0 {
		b.asking = true
	}
	if b.asking {
		d.order.Ask = ReasonAskAbove
	}
}

// start takes the first machines of a draft.
func (l *look) start(d *draft, o *opening, v *Verdict) bool {
	size := max(o.batch.nodes, o.terms.Least, 1)
	hold, err := holdOf(d.order, size)
	if err != nil {
		v.Kind, v.Why, v.Detail = Never, ReasonTooDear, err.Error()
		return false
	}
	if !l.affords(d, o, size, hold, v) {
		return false
	}
	if d.order.Ask != "" && d.payer.short(hold.Micro) != nil {
		d.order.Ask = ReasonOverBudget
	}
	l.commit(d, size, hold)
	return true
}

// keep makes a started draft the batch's open one and joins the demand to it.
func (l *look) keep(d *draft, o *opening, v *Verdict) bool {
	d.index = len(l.drafts)
	l.drafts = append(l.drafts, d)
	b := o.batch
	switch {
	case b.nodes > 1: // one gang, one rental
	case d.order.Ask == "":
		b.plain = d
	default:
		b.asks = append(b.asks, d)
	}
	l.join(d, o, v)
	return true
}

func (l *look) draft(o *opening, p pick) *draft {
	b, t, offer := o.batch, o.terms, l.catalog.offers[p.offer]
	order := &Order{
		Cluster: l.verdicts[o.verdict].Cluster, Account: o.payer.full, Requester: o.demand.User, Class: t.Class,
		Origin: o.demand.Partition, Gang: b.nodes, Offer: *offer, MaxRate: ceiling(offer, t),
		Life: lifeOf(t, b.limit, offer.Boot), Idle: t.Idle, AskFor: t.AskFor,
	}
	return &draft{order: order, payer: o.payer, offer: p.offer, each: p.each, most: p.most}
}

// closeOrders gives verdicts the final worst case of the orders they lead to.
func (l *look) closeOrders() {
	for _, d := range l.drafts {
		l.orders = append(l.orders, *d.order)
	}
	for i := range l.open {
		if v := &l.verdicts[l.open[i].verdict]; v.Order > 0 {
			v.Cost = l.orders[v.Order-1].Hold
		}
	}
}
