package invariant

import (
	"fmt"
	"maps"
	"slices"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/ledger"
)

// books are the balances that the ledger alone gives.
type books struct {
	head   ledger.Head
	full   bool // from the first transaction on
	bad    []string
	holds  map[bridge.RentalID]*hold
	posted map[int]map[string]int64                    // budget, period: what was spent
	in     map[bridge.RentalID]map[int]map[string]bool // rental, budget: the periods in which it was posted
	over   []ledger.Transaction                        // overages that were allowed, and overruns
}

// hold is what a rental has set aside and has cost.
type hold struct {
	total, posted bridge.Money
	scope         bridge.Scope
	open, fixed   bool // fixed: corrected after it was settled
}

func newBooks() books {
	return books{holds: map[bridge.RentalID]*hold{}, posted: map[int]map[string]int64{}, in: map[bridge.RentalID]map[int]map[string]bool{}}
}

// rest is what the hold still holds.
func (h *hold) rest() int64 {
	if !h.open {
		return 0
	}
	return max(h.total.Micro-h.posted.Micro, 0)
}

// add replays one transaction. What is wrong with it by itself is kept for the
// invariant that says so.
func (b *books) add(t *ledger.Transaction, budgets []bridge.Budget) {
	if t.Seq == 1 {
		b.full = true
	}
	b.chain(t)
	h := b.holds[t.Rental]
	switch {
	case t.Kind == ledger.KindHold:
		if h != nil {
			b.fault("%s has a second hold, transaction %d", t.Rental, t.Seq)
		}
		b.holds[t.Rental] = &hold{total: t.Amount, posted: bridge.Money{Currency: t.Amount.Currency}, scope: t.Scope(), open: true}
		return
	case t.Kind == ledger.KindOverage: // written before the hold that it allows
		b.over = append(b.over, *t)
		return
	case h == nil:
		b.fault("transaction %d, %s, is of %s, which never had a hold", t.Seq, t.Kind, t.Rental)
		return
	}
	switch t.Kind {
	case ledger.KindExtend:
		h.total.Micro += t.Amount.Micro
	case ledger.KindPost, ledger.KindAdjust, ledger.KindBill, ledger.KindCredit, ledger.KindRefund:
		h.posted.Micro += t.Amount.Micro
		h.fixed = h.fixed || t.Kind.Corrects()
		b.spend(t, h, budgets)
		if t.Kind == ledger.KindAdjust && t.Amount.Micro > 0 || t.Kind.Corrects() {
			b.over = append(b.over, *t)
		}
	case ledger.KindSettle, ledger.KindVoid:
		h.open = false
	default:
		b.fault("transaction %d is of a kind %q that nobody knows", t.Seq, t.Kind)
	}
}

// spend counts a cost in the period of each budget in which it arose.
func (b *books) spend(t *ledger.Transaction, h *hold, budgets []bridge.Budget) {
	for i := range budgets {
		if !budgets[i].Scope().Covers(h.scope) || budgets[i].Limit.Currency != t.Amount.Currency {
			continue
		}
		period := bridge.PeriodOf(t.Arose(), budgets[i].Every, budgets[i].Zone)
		if b.posted[i] == nil {
			b.posted[i] = map[string]int64{}
		}
		b.posted[i][period] += t.Amount.Micro
		if b.in[t.Rental] == nil {
			b.in[t.Rental] = map[int]map[string]bool{}
		}
		if b.in[t.Rental][i] == nil {
			b.in[t.Rental][i] = map[string]bool{}
		}
		b.in[t.Rental][i][period] = true
	}
}

// chain checks what a transaction is by itself, and its place after the last.
func (b *books) chain(t *ledger.Transaction) {
	if err := t.Balanced(); err != nil {
		b.fault("%s", err)
	}
	if t.Seq != b.head.Seq+1 && b.head.Seq > 0 {
		b.fault("transaction %d follows %d", t.Seq, b.head.Seq)
	}
	again := *t
	if head := again.Seal(ledger.Head{Seq: t.Seq - 1, Hash: t.Prev}); head.Hash != t.Hash {
		b.fault("transaction %d was changed after it was written", t.Seq)
	}
	if b.head.Seq > 0 && t.Prev != b.head.Hash {
		b.fault("transaction %d does not follow what was read before it", t.Seq)
	}
	b.head = ledger.Head{Seq: t.Seq, Hash: t.Hash}
}

func (b *books) fault(format string, args ...any) {
	b.bad = append(b.bad, fmt.Sprintf(format, args...))
}

// booksBalance is I9: every transaction sums to zero, and so do all of them;
// entries are only ever added.
func (c *Checker) booksBalance(s *Sight) {
	for _, f := range s.Faults {
		c.report(s, "I9", "the store's check of its ledger: %s", f)
	}
	for _, f := range c.past.books.bad {
		c.report(s, "I9", "%s", f)
	}
	c.past.books.bad = nil
}

// nothingBeyondTheBudgets is I10: what is held and posted in a period stays
// within each budget, but for what somebody allowed by name, and for costs
// that ran over.
func (c *Checker) nothingBeyondTheBudgets(s *Sight) {
	for i := range s.Balances {
		b := &s.Balances[i]
		left, err := b.Left()
		if err != nil {
			c.report(s, "I10", "the balance of %s cannot be formed: %s", b.Scope(), err)
			continue
		}
		if left.Micro < 0 && left.Micro+c.allowed(i, b) < 0 {
			c.report(s, "I10", "%s is %d micro-units beyond its limit of %s in %s, and %d were allowed", b.Scope(), -left.Micro, b.Limit, b.Period, c.allowed(i, b))
		}
	}
}

// allowed is what may go beyond a budget: overages in somebody's name, machines
// that were adopted, and what ran over, as long as their rental counts in the
// period: it has a hold, or was posted in it.
func (c *Checker) allowed(i int, b *bridge.Balance) int64 {
	p := &c.past
	counts := func(id bridge.RentalID) bool {
		h := p.books.holds[id]
		return h != nil && b.Scope().Covers(h.scope) && (h.open || p.books.in[id][i][b.Period])
	}
	var sum int64
	for k := range p.books.over {
		t := &p.books.over[k]
		named := t.Kind != ledger.KindOverage || t.Who != "" && t.Scope() == b.Scope()
		if named && counts(t.Rental) {
			sum += t.Amount.Micro
		}
	}
	for id, h := range p.books.holds {
		if l := p.lives[id]; l != nil && l.adopted() && counts(id) {
			sum += h.total.Micro
		}
	}
	return sum
}

// oneHoldWhileHeld is I11: from the first intent to the settlement a rental has
// exactly one open hold, and none outside of that.
func (c *Checker) oneHoldWhileHeld(s *Sight) {
	held := 0
	for i := range s.Rentals {
		if s.Rentals[i].State.Held() {
			held++
		}
	}
	if s.Audited && held != s.OpenHolds {
		c.report(s, "I11", "%d rentals are held, and %d holds are open", held, s.OpenHolds)
	}
	if !c.past.books.full {
		return
	}
	for i := range s.Rentals {
		r := &s.Rentals[i]
		if h := c.past.books.holds[r.ID]; r.State.Held() != (h != nil && h.open) {
			c.report(s, "I11", "%s is %s, and by the ledger its hold is open: %t", r.ID, r.State, h != nil && h.open)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.past.books.holds)) {
		if c.past.books.holds[id].open && s.rental(id) == nil {
			c.report(s, "I11", "a hold is open for %s, which is no rental", id)
		}
	}
}

// costIsMetered is I12: what a settled rental has cost is no less than what its
// machines cost by the cloud's own ledger, and no more than its hold unless
// people were told of the overrun.
func (c *Checker) costIsMetered(s *Sight) {
	for i := range s.Rentals {
		r := &s.Rentals[i]
		was, known := c.past.was(r.ID)
		if r.State != bridge.StateSettled || known && was.State == bridge.StateSettled {
			continue
		}
		if r.Cost.Micro > r.Hold.Micro && !c.past.life(r.ID).overrun {
			c.report(s, "I12", "%s has cost %s of a hold of %s, and nobody was told", r.ID, r.Cost, r.Hold)
		}
		if metered, n, ok := c.metered(s, r); ok && r.Cost.Micro+c.rules.Rounding*int64(n) < metered {
			c.report(s, "I12", "%s is settled at %d micro-units, its cloud charges %d", r.ID, r.Cost.Micro, metered)
		}
	}
}

// metered is what a rental's machines cost by their cloud; false where it
// cannot be said: in another currency, or where the bridge's clock was wrong
// while it lived, by which the end of a machine that no list shows any more is
// judged.
func (c *Checker) metered(s *Sight, r *bridge.Rental) (micro int64, machines int, ok bool) {
	for _, m := range s.machinesOf(&c.rules, r.ID) {
		if m.Launched.IsZero() || m.Stopped.IsZero() || m.State == "error" || m.attempt() != r.Attempt {
			continue
		}
		if m.Rate.Currency != string(r.Cost.Currency) || c.past.skewed.After(m.Launched) {
			return 0, 0, false
		}
		rate := bridge.Rate{Micro: m.Rate.Micro, Currency: r.Cost.Currency}
		one, err := rate.Cost(r.Billing().Charged(m.Stopped.Sub(m.Launched)), 1, bridge.RoundHalfEven)
		if err != nil {
			return 0, 0, false
		}
		micro, machines = micro+one.Micro, machines+1
	}
	return micro, machines, true
}

// replayGivesTheBooks is I13: the ledger alone gives every hold, every cost and
// every balance.
func (c *Checker) replayGivesTheBooks(s *Sight) {
	b := &c.past.books
	if !b.full {
		return
	}
	for i := range s.Rentals {
		r := &s.Rentals[i]
		h := b.holds[r.ID]
		if h == nil || h.fixed {
			continue
		}
		if h.total.Micro != r.Hold.Micro || h.posted.Micro != r.Cost.Micro {
			c.report(s, "I13", "%s has hold %d and cost %d, the ledger gives %d and %d", r.ID, r.Hold.Micro, r.Cost.Micro, h.total.Micro, h.posted.Micro)
		}
	}
	for i := range s.Balances {
		c.replayed(s, i)
	}
}

// replayed compares one balance with what the ledger gives.
func (c *Checker) replayed(s *Sight, i int) {
	b := &s.Balances[i]
	if i >= len(c.rules.Budgets) || c.rules.Budgets[i].Scope() != b.Scope() {
		return
	}
	var held int64
	for _, h := range c.past.books.holds {
		if h.open && b.Scope().Covers(h.scope) && h.total.Currency == b.Limit.Currency {
			held += h.rest()
		}
	}
	posted := c.past.books.posted[i][b.Period]
	if held != b.Held.Micro || posted != b.Posted.Micro {
		c.report(s, "I13", "%s holds %d and has spent %d in %s, the ledger gives %d and %d", b.Scope(), b.Held.Micro, b.Posted.Micro, b.Period, held, posted)
	}
}
