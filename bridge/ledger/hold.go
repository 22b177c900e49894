package ledger

import (
	"errors"
	"fmt"
	"time"

	"spillway.sh/spillway/bridge"
)

// Errors of steps that no hold takes.
var (
	// ErrAmount refuses an amount that the step cannot mean: a hold of nothing, an
	// extension by less than nothing, a negative cost.
	ErrAmount = errors.New("amount makes no sense")
	// ErrClosed refuses a step on a hold that was settled, ErrOpen a correction of
	// one that was not: what is metered then is still the meter's to say.
	ErrClosed = errors.New("the hold is settled")
	ErrOpen   = errors.New("the hold is not settled yet")
	// ErrCorrection refuses a correction that does not say what, who or when, and
	// ErrTooMuch one that returns more than was paid.
	ErrCorrection = errors.New("correction makes no sense")
	ErrTooMuch    = errors.New("more would come back than was paid")
)

// Hold is the money of one rental. Its steps return the transactions that
// record them, not yet sealed; the receiver is unchanged.
type Hold struct {
	Rental  bridge.RentalID `json:"rental"`
	Cluster string          `json:"cluster"`
	Account bridge.Account  `json:"account"`
	Cloud   string          `json:"cloud,omitempty"` // empty too in a hold of before it was kept; so is GPU
	GPU     string          `json:"gpu,omitempty"`
	FX      string          `json:"fx,omitempty"` // what converted the prices it was computed with
	Total   bridge.Money    `json:"total"`        // set aside, extensions included
	Posted  bridge.Money    `json:"posted"`       // cost so far, beyond the total if it ran over
	Closed  bool            `json:"closed"`
}

// Scope is where the hold and its cost count.
func (h *Hold) Scope() bridge.Scope {
	return bridge.Scope{Account: h.Account, Cloud: h.Cloud, GPU: h.GPU}
}

// Rest is what the hold still holds: nothing once it is closed or used up.
func (h Hold) Rest() bridge.Money {
	rest := bridge.Money{Currency: h.Total.Currency}
	if !h.Closed && h.Posted.Micro < h.Total.Micro {
		rest.Micro = h.Total.Micro - h.Posted.Micro
	}
	return rest
}

// Over is the cost beyond the hold.
func (h Hold) Over() bridge.Money {
	return bridge.Money{Micro: max(0, h.Posted.Micro-h.Total.Micro), Currency: h.Total.Currency}
}

// Open sets r.Hold aside for a rental. Only capacity that is paid for anyway may
// have a hold of nothing, which is then an entry without lines.
func Open(now time.Time, r *bridge.Rental, memo string) (Hold, []Transaction, error) {
	nothing := r.Hold.Micro == 0 && r.Pool.Market != bridge.Reserved
	if nothing || r.Hold.Micro < 0 || r.Hold.Currency == "" || r.Account == "" {
		return Hold{}, nil, fmt.Errorf("hold %d %s for account %q: %w", r.Hold.Micro, r.Hold.Currency, r.Account, ErrAmount)
	}
	scope := r.Scope()
	none := Hold{Rental: r.ID, Cluster: r.Cluster, Account: r.Account, Cloud: scope.Cloud, GPU: scope.GPU, FX: r.FX}
	none.Total.Currency, none.Posted.Currency = r.Hold.Currency, r.Hold.Currency
	h := none
	h.Total = r.Hold
	return h, []Transaction{step(now, none, h, KindHold, r.Hold, memo)}, nil
}

// Extend sets more aside.
func (h Hold) Extend(now time.Time, more bridge.Money) (Hold, []Transaction, error) {
	if h.Closed {
		return h, nil, fmt.Errorf("extend hold of %s: %w", h.Rental, ErrClosed)
	}
	if more.Micro <= 0 {
		return h, nil, fmt.Errorf("extend hold of %s by %d: %w", h.Rental, more.Micro, ErrAmount)
	}
	total, err := h.Total.Add(more)
	if err != nil {
		return h, nil, fmt.Errorf("extend hold of %s: %w", h.Rental, err)
	}
	next := h
	next.Total = total
	return next, []Transaction{step(now, h, next, KindExtend, more, "")}, nil
}

// Post meters the whole cost so far. What the hold covers is posted out of it,
// what it does not is an adjustment; so is a cost that turned out smaller. An
// equal cost records nothing.
func (h Hold) Post(now time.Time, cost bridge.Money) (Hold, []Transaction, error) {
	if h.Closed {
		return h, nil, fmt.Errorf("post cost of %s: %w", h.Rental, ErrClosed)
	}
	if cost.Micro < 0 {
		return h, nil, fmt.Errorf("post cost of %s, %d: %w", h.Rental, cost.Micro, ErrAmount)
	}
	if _, err := cost.Cmp(h.Total); err != nil {
		return h, nil, fmt.Errorf("post cost of %s: %w", h.Rental, err)
	}
	var out []Transaction
	to := func(micro int64, kind Kind, memo string) {
		next := h
		next.Posted.Micro = micro
		diff := bridge.Money{Micro: micro - h.Posted.Micro, Currency: h.Total.Currency}
		out = append(out, step(now, h, next, kind, diff, memo))
		h = next
	}
	if cost.Micro < h.Posted.Micro {
		to(cost.Micro, KindAdjust, "cost corrected downwards")
	}
	if covered := min(cost.Micro, h.Total.Micro); covered > h.Posted.Micro {
		to(covered, KindPost, "")
	}
	if cost.Micro > h.Posted.Micro {
		to(cost.Micro, KindAdjust, "overrun: cost beyond the hold")
	}
	return h, out, nil
}

// Settle posts the final cost, returns what is left and closes the hold.
func (h Hold) Settle(now time.Time, cost bridge.Money) (Hold, []Transaction, error) {
	posted, out, err := h.Post(now, cost)
	if err != nil {
		return h, nil, err
	}
	closed := posted
	closed.Closed = true
	kind := KindSettle
	if posted.Posted.IsZero() {
		kind = KindVoid
	}
	return closed, append(out, step(now, posted, closed, kind, posted.Rest(), "")), nil
}

// Correct changes the cost of a settled hold by what a provider said later, in
// the period in which it arose.
func (h Hold) Correct(now time.Time, c *bridge.Correction) (Hold, Transaction, error) {
	fail := func(err error, what string) (Hold, Transaction, error) {
		return h, Transaction{}, fmt.Errorf("correct cost of %s by %d %s, %s: %w", c.Rental, c.Amount.Micro, c.Amount.Currency, what, err)
	}
	kind := Kind(c.Kind)
	switch {
	case !h.Closed:
		return fail(ErrOpen, "it can still be metered")
	case c.Key == "" || c.Who == "" || c.Rental != h.Rental:
		return fail(ErrCorrection, fmt.Sprintf("key %q by %q on the hold of %s", c.Key, c.Who, h.Rental))
	case !kind.Corrects() || c.Amount.IsZero() || kind != KindBill && c.Amount.Micro > 0:
		return fail(ErrCorrection, fmt.Sprintf("a %s of that amount", c.Kind))
	case c.Used.IsZero() || c.Used.After(now):
		return fail(ErrCorrection, "used at "+c.Used.UTC().Format(time.RFC3339))
	}
	posted, err := h.Posted.Add(c.Amount)
	switch {
	case err != nil:
		return fail(err, "which was paid in "+string(h.Posted.Currency))
	case posted.Micro < 0:
		return fail(ErrTooMuch, fmt.Sprintf("it has cost %s", h.Posted.Floor()))
	}
	next := h
	next.Posted = posted
	t := step(now, h, next, kind, c.Amount, c.Memo)
	t.Used, t.Key, t.Who = c.Used.UTC(), c.Key, c.Who
	t.Period, t.FX = bridge.PeriodOf(t.Used, bridge.Day, time.UTC), c.FX
	return next, t, nil
}

// Allow records that an approver let a rental exceed one budget by an amount.
func Allow(now time.Time, r *bridge.Rental, b *bridge.Budget, amount bridge.Money, who string) Transaction {
	return Transaction{
		At: now.UTC(), Period: bridge.PeriodOf(now, b.Every, b.Zone), Kind: KindOverage,
		Cluster: r.Cluster, Rental: r.ID, Account: b.Account, Cloud: b.Cloud, GPU: b.GPU, Amount: amount, Who: who,
		Memo: fmt.Sprintf("above the %s limit of %s", b.Every, b.Scope()),
		Lines: []Line{
			{b.Account, Overage, bridge.Money{Micro: -amount.Micro, Currency: amount.Currency}},
			{b.Account, Room, amount},
		},
	}
}

// step makes the transaction that leads a hold from one state to the next.
func step(now time.Time, from, to Hold, kind Kind, amount bridge.Money, memo string) Transaction {
	t := Transaction{
		At: now.UTC(), Period: bridge.PeriodOf(now, bridge.Day, time.UTC), Kind: kind,
		Cluster: to.Cluster, Rental: to.Rental, Account: to.Account, Amount: amount, Memo: memo,
		Cloud: to.Cloud, GPU: to.GPU, FX: to.FX,
	}
	if all, n := lines(from, to); n > 0 {
		t.Lines = all[:n:n]
	}
	return t
}

// lines are the differences between two states of a hold, n of them; what
// neither held nor posted explains comes from room or goes there.
func lines(from, to Hold) (all [3]Line, n int) {
	held := to.Rest().Micro - from.Rest().Micro
	posted := to.Posted.Micro - from.Posted.Micro
	for _, l := range [...]struct {
		book  Book
		micro int64
	}{{Room, -held - posted}, {Held, held}, {Posted, posted}} {
		if l.micro != 0 {
			all[n] = Line{to.Account, l.book, bridge.Money{Micro: l.micro, Currency: to.Total.Currency}}
			n++
		}
	}
	return all, n
}
