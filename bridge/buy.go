package bridge

import "fmt"

// draft is an order that machines are still added to.
type draft struct {
	order  Order
	index  int // in look.orders
	payer  *payer
	purses purses // of the payer, those that the offer counts in
	offer  int    // in the catalog
	each   int
	free   int // gangs it still has room for
	most   int // machines it may have
}

// add gets one more machine, or gang of machines, for a demand: in the batch's
// open order, in a question asked already, or in a new order. It reports
// whether it did, and else has put the reason into the verdict.
func (l *look) add(b *batch, o *opening, v *Verdict) bool {
	if d := b.plain; d != nil && !b.asking && l.grow(d, o, v) {
		l.join(d, o, v)
		return true
	}
	if d := b.asksFor(o); d != nil && (d.free > 0 || l.grow(d, o, v)) {
		l.join(d, o, v)
		return true
	}
	return l.begin(b, o, v)
}

// grow adds a machine to a draft if limits and budgets allow it.
func (l *look) grow(d *draft, o *opening, v *Verdict) bool {
	if d.order.Gang > 1 || d.order.Count >= d.most || d.order.Ask == "" && l.catalog.has(d.offer) < 1 {
		return false
	}
	hold, err := d.hold(d.order.Count + 1)
	if err != nil || !l.affords(d, o.terms, 1, hold, v) {
		return false
	}
	l.commit(d, 1, hold)
	return true
}

// hold is the worst case of the draft with so many machines.
func (d *draft) hold(machines int) (Money, error) {
	return d.order.Offer.Billing().Worst(d.order.MaxRate, d.order.Life, machines)
}

// affords checks the machine limit and the budgets for a draft that grows.
func (l *look) affords(d *draft, t *Terms, more int, hold Money, v *Verdict) bool {
	p := d.payer
	used := p.project.live
	if d.order.Ask != "" {
		used += p.project.asked
	}
	if used+more > t.Most {
		l.refuse(d, ReasonMost, hold, v)
		v.Detail = fmt.Sprintf("%s has %d of at most %d machines", p.project.name, used, t.Most)
		return false
	}
	if len(d.purses) == 0 {
		l.refuse(d, ReasonUnfunded, hold, v)
		v.Kind, v.Detail = Never, covered(l.catalog.offers[d.offer])
		return false
	}
	need := hold.Micro - d.order.Hold.Micro // the rest is taken or asked already
	short := d.purses.stop(need, hold.Micro, d.order.Ask != "", t.Ask)
	if short == nil {
		return true
	}
	l.refuse(d, ReasonNoBudget, hold, v)
	v.limitedBy(short)
	if d.order.Ask != "" && short.asked > 0 {
		v.Detail = short.askedText()
	}
	return false
}

func (l *look) refuse(d *draft, why Reason, hold Money, v *Verdict) {
	v.Kind, v.Why, v.Pool, v.Cost = Wait, why, &l.catalog.pools[d.offer], hold
	v.Limit, v.Left, v.Scope, v.Detail = "", Money{}, nil, ""
}

// commit adds machines to a draft and takes their money and stock; a question
// takes neither.
func (l *look) commit(d *draft, more int, hold Money) {
	extra := hold.Micro - d.order.Hold.Micro
	if d.order.Ask == "" {
		d.purses.spend(extra)
		d.payer.project.live += more
		l.catalog.use(d.offer, more)
		l.spots.add(l.catalog.pools[d.offer], more)
	} else {
		d.purses.ask(extra)
		d.payer.project.asked += more
	}
	d.order.Count += more
	d.order.Hold = hold
	if d.order.Gang > 1 {
		d.free++
		return
	}
	d.free += more * d.each
}

// begin starts an order for a demand, as a question where policy wants one.
func (l *look) begin(b *batch, o *opening, v *Verdict) bool {
	if b.stuck != nil {
		l.repeat(b, o, v)
		return false
	}
	want := int(b.left)
	if b.broke && !o.terms.Ask {
		want = 1 // to say what the smallest would cost
	}
	if want == 1 && l.tooPoor(b, o, v) {
		return false
	}
	d, came := l.attempt(b, o, v, want, "")
	switch {
	case came == ordered:
		return true
	case came == nothing:
		b.stuck = l.explain(b, o.terms)
		l.repeat(b, o, v)
		return false
	case b.asking || v.Why != ReasonNoBudget && v.Why != ReasonUnfunded:
	case l.smaller(b, &d, o, v) || l.question(b, &d, o, v, want):
		return true
	}
	if int(b.left) > o.left {
		b.stuck = new(Verdict)
		*b.stuck = *v
	}
	return false
}

// tooPoor is the short way to the most frequent answer of a long queue: the
// cheapest machine for one gang is over budget, and nobody is to be asked. It
// says what start would say.
func (l *look) tooPoor(b *batch, o *opening, v *Verdict) bool {
	t := o.terms
	if t.Ask || t.AskAbove.Micro > 0 || o.payer.narrow {
		return false
	}
	p, ok := l.choose(b, t, 1, nil)
	if !ok || o.payer.project.live+b.least(t) > t.Most {
		return false
	}
	short := o.payer.purses.short(p.hold)
	if short == nil {
		return false
	}
	b.broke = true
	v.Kind, v.Why, v.Pool, v.Cost = Wait, ReasonNoBudget, &l.catalog.pools[p.offer], Money{p.hold, short.currency}
	v.limitedBy(short)
	v.Detail = ""
	return true
}

// repeat gives a demand the verdict that stops its batch, with what is left of
// the budget by now.
func (l *look) repeat(b *batch, o *opening, v *Verdict) {
	w := b.stuck
	v.Kind, v.Why, v.Until, v.Pool = w.Kind, w.Why, w.Until, w.Pool
	v.Cost, v.Left, v.Limit, v.Scope, v.Detail = w.Cost, w.Left, w.Limit, w.Scope, w.Detail
	if v.Why == ReasonAheadOfPace {
		v.Until = l.behindFrom(o.entry)
	}
	if w.Limit == "" {
		return
	}
	for _, purse := range o.payer.purses {
		if w.isAbout(purse) && purse.left < v.Left.Micro {
			v.Left = purse.money()
		}
	}
}

// smaller tries the cheapest machine for one gang alone, where the machine that
// is cheapest for the whole batch is over budget. Where budgets are of single
// clouds or classes, all that fits was tried.
func (l *look) smaller(b *batch, d *draft, o *opening, v *Verdict) bool {
	if b.broke {
		return false
	}
	if b.left > 1 && b.key.nodes == 1 && !o.payer.narrow {
		if p, ok := l.choose(b, o.terms, 1, nil); ok && p.offer != d.offer {
			if e := l.draft(b, o, p); l.start(b, &e, o, v) {
				return true
			}
		}
	}
	b.broke = true
	return false
}

// question puts a draft that is over budget to a person, if policy has one.
func (l *look) question(b *batch, d *draft, o *opening, v *Verdict, want int) bool {
	if !o.terms.Ask {
		return false
	}
	if o.payer.narrow {
		_, came := l.attempt(b, o, v, want, ReasonOverBudget)
		return came == ordered
	}
	d.order.Ask = ReasonOverBudget
	return l.start(b, d, o, v)
}

// asksAbove reports whether the whole batch may cost more than policy lets
// through without a person, what an earlier question asks for included. It does
// not look at budgets: more money must never turn a purchase into a question.
func (l *look) asksAbove(b *batch, d *draft, t *Terms) bool {
	if t.AskAbove.Micro <= 0 {
		return false
	}
	size := b.least(t)
	if b.key.nodes == 1 {
		size = max(size, min(ceilDiv(max(int(b.left+b.open), 1), d.each), d.most, t.Most))
	}
	hold, err := d.hold(size)
	if err != nil {
		return true
	}
	c, err := hold.Cmp(t.AskAbove)
	return err != nil || c > 0
}

// least is how many machines an order of the batch begins with.
func (b *batch) least(t *Terms) int { return max(int(b.key.nodes), t.Least, 1) }

// start takes the first machines of a draft, makes it the batch's open one and
// joins the demand to it.
func (l *look) start(b *batch, d *draft, o *opening, v *Verdict) bool {
	size := b.least(o.terms)
	hold, err := d.hold(size)
	if err != nil {
		l.refuse(d, ReasonTooDear, Money{}, v)
		v.Kind, v.Detail = Never, err.Error()
		return false
	}
	if !l.affords(d, o.terms, size, hold, v) {
		return false
	}
	if d.order.Ask != "" && d.purses.short(hold.Micro) != nil {
		d.order.Ask = ReasonOverBudget
	}
	keep := new(draft)
	*keep = *d
	keep.index = len(l.drafts)
	l.complete(keep, o)
	l.drafts = append(l.drafts, keep)
	l.commit(keep, size, hold)
	switch {
	case b.key.nodes > 1: // one gang, one rental
	case keep.order.Ask == "":
		b.plain = keep
	default:
		b.asks = append(b.asks, keep)
	}
	l.join(keep, o, v)
	return true
}

// draft begins an order on a chosen offer, with what its price depends on.
func (l *look) draft(b *batch, o *opening, p pick) draft {
	offer := l.catalog.offers[p.offer]
	d := draft{payer: o.payer, purses: o.payer.on(offer.Pool.Cloud, offer.Shape.GPUType), offer: p.offer, each: slots(&offer.Shape, b.shape), most: p.most}
	d.order.Gang = int(b.key.nodes)
	d.order.MaxRate = ceiling(offer, o.terms)
	d.order.Life, _ = l.lifeOn(b, o.terms, p.offer) // what does not last was not chosen
	d.order.Offer.Step, d.order.Offer.Minimum, d.order.Offer.Term, d.order.Offer.EarlyPM = offer.Step, offer.Minimum, offer.Term, offer.EarlyPM
	return d
}

// complete fills in the rest of an order that is made.
func (l *look) complete(d *draft, o *opening) {
	r, t := &d.order, o.terms
	r.Cluster, r.Account, r.Requester = o.cluster, o.payer.full, o.demand.User
	r.Class, r.Origin = t.Class, o.demand.Partition
	r.Offer = *l.catalog.offers[d.offer]
	r.GPUAs = gpuAs(&o.demand.Shape, &r.Offer.Shape)
	r.Idle, r.AskFor = t.Idle, t.AskFor
}

// gpuAs is what a machine's GPUs must be called for a scheduler to give them to
// who asks for a shape; empty where they are called that anyway.
func gpuAs(want, has *Shape) string {
	if want.GPUs == 0 || want.GPUType == has.GPUType {
		return ""
	}
	return want.GPUType
}

// closeOrders gives verdicts the final worst case of the orders they lead to.
func (l *look) closeOrders() {
	if len(l.drafts) == 0 {
		return
	}
	l.orders = make([]Order, 0, len(l.drafts))
	for _, d := range l.drafts {
		l.orders = append(l.orders, d.order)
	}
	for i := range l.open {
		if v := &l.verdicts[l.open[i].verdict]; v.Order > 0 {
			v.Cost = l.orders[v.Order-1].Hold
		}
	}
}
