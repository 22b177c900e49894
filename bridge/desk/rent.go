package desk

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// RentRequest asks to rent. Key is the caller's own name for this request:
// the same key again answers with the first rental. Without one, the same
// wish of the same person within a minute counts as the same request.
type RentRequest struct {
	Wish  Wish   `json:"wish"`
	Key   string `json:"key,omitempty"`
	Again bool   `json:"again,omitempty"` // really a second one
	// AtMost is what the asker was shown; anything dearer is a conflict. Zero
	// accepts what policy and budget allow.
	AtMost bridge.Money `json:"at_most"`
	Lang   Lang         `json:"lang,omitempty"`
	// Quote rents what a quote offered, its first offer or that of this number,
	// instead of Wish.
	Quote string `json:"quote,omitempty"`
	Offer int    `json:"offer,omitempty"`
	// Like asks for what an earlier rental was asked for; so does Again without
	// any wish, for the latest.
	Like string `json:"like,omitempty"`
	// Size asks for a smaller size of what Like was: GPUs, or machines where those
	// were asked for.
	Size int `json:"size,omitempty"`
	// Delivery names one delivery of the request: the same one again is answered
	// as the first was. Unlike a Key it does not mean that a second rental is wanted.
	Delivery string `json:"delivery,omitempty"`
}

// RentAnswer is what was rented, or what waits for an approver.
type RentAnswer struct {
	Rental     Rental    `json:"rental"`
	Offer      *Quoted   `json:"offer,omitempty"` // that was chosen; not for a repeat
	Understood string    `json:"understood"`
	Duration   int64     `json:"duration_seconds"` // asked for; machines live a little longer
	Waiting    bool      `json:"waiting"`          // for an approver; nothing is held yet
	Repeated   bool      `json:"repeated"`         // this was asked for before
	Approvers  []string  `json:"approvers"`
	Budgets    []Balance `json:"budgets"` // before this rental, widest first
}

// sameWithin is how long an equal wish of one person is the same request.
const sameWithin = time.Minute

// Rent makes a rental for the asker: at once within budget, else as a question.
func (d *Desk) Rent(ctx context.Context, p Person, q RentRequest) (RentAnswer, error) {
	if err := d.open(); err != nil {
		return RentAnswer{}, err
	}
	d.renting.Lock()
	defer d.renting.Unlock()
	pool, err := d.said(ctx, p, &q)
	if err != nil {
		return RentAnswer{}, err
	}
	req, err := d.understand(ctx, p, q.Wish, "rent")
	if err != nil {
		return RentAnswer{}, err
	}
	req.pool = pool
	a := RentAnswer{Understood: req.wish.String(), Duration: req.wish.Seconds, Budgets: asBalances(req.bs), Approvers: []string{}}
	key := q.key(p, &req.wish)
	if before, ok, err := d.rentedBefore(ctx, &q, key); err != nil {
		return RentAnswer{}, err
	} else if ok {
		a.Budgets, a.Approvers = asBalances(covering(req.bs, before.Scope())), d.approversOf(before.Scope())
		a.Rental, a.Repeated, a.Waiting = asRental(&before, d.Now()), before.Key != key || q.Delivery == "" || q.Size != 0, before.State == bridge.StateWaiting
		return a, nil
	}
	if err := d.served(ctx, req); err != nil {
		return RentAnswer{}, err
	}
	if err := d.flows(ctx); err != nil {
		return RentAnswer{}, err
	}
	quotes, err := d.quotes(req, q.Lang)
	if err != nil {
		return RentAnswer{}, err
	}
	best, err := choose(req, quotes, &q)
	if err != nil {
		return RentAnswer{}, err
	}
	spent := req.scope(&best.offer)
	a.Budgets, a.Approvers = asBalances(covering(req.bs, spent)), d.approversOf(spent)
	r, err := d.draw(ctx, req.order(best, p), key, &req.wish)
	if err != nil {
		return RentAnswer{}, refused(err, req)
	}
	d.Loop.Wake()
	a.Rental, a.Offer, a.Waiting = asRental(&r, d.Now()), best, r.State == bridge.StateWaiting
	return a, nil
}

// said makes a request by the id of a quote or of a rental one with a wish,
// and returns the pool that a quote was for.
func (d *Desk) said(ctx context.Context, p Person, q *RentRequest) (*bridge.Pool, error) {
	if q.Quote != "" {
		return d.recall(p, q)
	}
	if q.Like == "" && (!q.Again || q.Wish.String() != "" || len(q.Wish.Words) > 0) {
		return nil, nil //nolint:nilnil // No pool in particular.
	}
	w, err := d.asBefore(ctx, p, q.Like)
	if err == nil && q.Size != 0 {
		w, err = d.resize(ctx, p, w, q.Size)
	}
	if err == nil {
		q.Wish = w
	}
	return nil, err
}

// key names the request: who, then the caller's own word for it bound to what
// was first asked under it, or what is wanted and a word of chance.
func (q *RentRequest) key(p Person, w *Wish) string {
	if q.Key == "" && q.Delivery != "" {
		sum := sha256.Sum256([]byte(q.Delivery))
		return p.Name + "/" + w.String() + "@" + hex.EncodeToString(sum[:])
	}
	if q.Key == "" {
		return p.Name + "/" + w.String() + "@" + rand.Text()
	}
	sum := sha256.Sum256([]byte(w.String()))
	return p.Name + "/" + q.Key + "#" + hex.EncodeToString(sum[:8])
}

// rentedBefore looks for a rental made for the same request.
func (d *Desk) rentedBefore(ctx context.Context, q *RentRequest, key string) (bridge.Rental, bool, error) {
	before, err := d.Reader.ByKey(ctx, key)
	if err == nil {
		return before, true, nil
	}
	if !errors.Is(err, ErrNoRental) {
		return before, false, unreadable(err)
	}
	recent, err := d.Reader.Recent(ctx, recentRentals)
	if err != nil {
		return bridge.Rental{}, false, unreadable(err)
	}
	for i := range recent {
		r := &recent[i]
		if q.Key != "" {
			word, _ := beforeLast(key, "#")
			if was, _ := beforeLast(r.Key, "#"); was == word {
				return *r, false, wrong(Conflict, "another --key", "the key %q was used for something else, %s", q.Key, r.ID)
			}
			continue
		}
		wish, _ := beforeLast(key, "@")
		was, unnamed := beforeLast(r.Key, "@")
		if !q.Again && unnamed && was == wish && d.Now().Sub(r.Created) < sameWithin {
			return *r, true, nil
		}
	}
	return bridge.Rental{}, false, nil
}

// served refuses a second rental for a job that one is made for already.
func (d *Desk) served(ctx context.Context, r *request) error {
	if r.demand == nil {
		return nil
	}
	live, err := d.live(ctx)
	if err != nil {
		return err
	}
	for i := range live {
		x := &live[i]
		if x.Cluster == r.cluster && slices.Contains(x.Jobs, r.demand.Job) && x.State != bridge.StateReleasing {
			return r.no(Conflict, "spillway rentals "+string(x.ID), "rental %s is for job %s already; it is %s", x.ID, r.demand.Job, x.State)
		}
	}
	return nil
}

// beforeLast is a text up to the last place of a sign; false without one.
func beforeLast(s, sign string) (string, bool) {
	i := strings.LastIndex(s, sign)
	return s[:max(i, 0)], i >= 0
}

// choose takes the first quote that can be had, at once or by asking.
func choose(r *request, quotes []Quoted, q *RentRequest) (*Quoted, error) {
	if len(quotes) == 0 {
		return nil, nothingFits(r)
	}
	best := &quotes[0]
	if best.Outcome == Refused {
		return nil, refusal(r, best)
	}
	if above(best.AtMost, q.AtMost) {
		return nil, r.no(Conflict, "spillway rent "+r.wish.String(), "prices moved: it is now at most %s, you were shown %s", best.AtMost, q.AtMost)
	}
	return best, nil
}

// refusal says why not even the best offer can be had.
func refusal(r *request, best *Quoted) error {
	e := &Error{Kind: Conflict, Understood: r.wish.String(), Try: "spillway quote " + r.wish.String()}
	v := bridge.Verdict{Why: best.Why, Pool: &best.Pool, Cost: best.AtMost, Rule: r.terms.Rule}
	switch best.Why {
	case bridge.ReasonNoOffer:
		return e.says("policy does not allow this cloud, region or market: %s", Place(best.Pool))
	case bridge.ReasonUnfunded:
		e.Kind, v.Detail = OverBudget, string(r.account)
		if len(r.bs) > 0 {
			v.Detail = r.scope(&best.offer).String()
		}
	case bridge.ReasonNoBudget:
		e.Kind = OverBudget
		limitedBy(&v, &best.tight)
	case bridge.ReasonTooDear:
		if above(best.AtMost, r.wish.Max) {
			e = e.says("it may cost up to %s, more than the %s you gave", best.AtMost, r.wish.Max)
			if w, ok := r.shorter(best); ok {
				e.Try = "spillway rent " + w.String()
			}
			return e
		}
	case bridge.ReasonMost:
		if t := r.terms; r.wish.duration() > t.Life && t.Life > 0 {
			e = e.says("policy lets machines live %s at most", Span(t.Life))
			w := r.wish
			w.Until, w.Seconds = time.Time{}, int64(t.Life/time.Second)
			e.Try = "spillway rent " + w.String()
			return e
		}
		v.Detail = fmt.Sprintf("%d of %d in use, %d wanted", r.rented(), r.terms.Most, best.Machines)
	default: // the reason's own words say it
	}
	return e.judges(&v)
}

// shorter is the wish with the longest whole quarter of an hour its own
// maximum pays for.
func (r *request) shorter(q *Quoted) (Wish, bool) {
	w := r.wish
	w.Until = time.Time{}
	for d := w.duration().Truncate(15 * time.Minute); d >= 15*time.Minute; d -= 15 * time.Minute {
		w.Seconds = int64(d / time.Second)
		try := *r
		try.wish = w
		probe := Quoted{Machines: q.Machines, offer: q.offer}
		if err := probe.price(&try); err == nil && !above(probe.AtMost, w.Max) {
			return w, true
		}
	}
	return w, false
}

// order is the rental to make of a quote.
func (r *request) order(q *Quoted, p Person) bridge.Order {
	o := bridge.Order{
		Cluster: r.cluster, Account: r.account, Requester: p.Name, Class: r.terms.Class,
		Gang: q.Machines, Count: q.Machines, Offer: q.offer, GPUAs: r.gpuAs(&q.offer), MaxRate: q.ceiling,
		Life: q.life, Idle: r.terms.Idle, Hold: q.AtMost, AskFor: r.terms.AskFor,
	}
	if r.demand != nil {
		o.Jobs, o.Origin, o.Gang = []bridge.JobID{r.demand.Job}, r.demand.Partition, max(r.demand.Nodes, 1)
	}
	if q.Outcome == AskOne {
		o.Ask = q.Why
	}
	return o
}

// gpuAs is what the scheduler is told the machines' GPUs are, where the wish or its
// job calls them something else than their cloud.
func (r *request) gpuAs(o *bridge.Offer) string {
	as := r.wish.GPUType
	if r.demand != nil && r.demand.Shape.GPUs > 0 {
		as = r.demand.Shape.GPUType
	}
	if as == o.Shape.GPUType {
		return ""
	}
	return as
}

// draw stores the rental of an order: with its hold within budget, else as a
// question. Its create call is frozen by the engine before it is sent.
func (d *Desk) draw(ctx context.Context, o bridge.Order, key string, w *Wish) (bridge.Rental, error) {
	id, err := d.Writer.NextID(ctx)
	if err != nil {
		return bridge.Rental{}, fmt.Errorf("number a rental: %w", err)
	}
	now := d.Now()
	r := bridge.Draw(id, &o, now)
	r.Key, r.Note, r.Most = key, w.Reason, w.Max
	if !w.Until.IsZero() {
		r.Until = w.Until
	}
	news := bridge.News{At: now, Kind: bridge.NewsReserved, Cluster: r.Cluster, Rental: id, Who: o.Requester, Why: r.Why, Pool: &r.Pool, Cost: o.Hold}
	if o.Ask == "" {
		return d.Writer.Reserve(ctx, r, d.Rules.Budgets(), news)
	}
	r.State, r.Why, r.AskUntil = bridge.StateWaiting, o.Ask, now.Add(cmp.Or(o.AskFor, d.AskFor))
	if !r.Until.IsZero() {
		r.AskUntil = earlier(r.AskUntil, r.Until) // a yes after it would rent nothing
	}
	news.Kind, news.Why = bridge.NewsAsked, o.Ask
	return d.Writer.Propose(ctx, r, news)
}

// refused says an error of the store in our terms: budgets and prices may have
// moved between the look and the transaction.
func refused(err error, r *request) error {
	if errors.Is(err, bridge.ErrOverBudget) {
		e := r.no(OverBudget, "spillway spend "+string(r.account.Project()), "the budget went to somebody else meanwhile: %s", err)
		e.Err = err
		return e
	}
	e := r.no(Unavailable, "spillway status", "nothing was rented: %s", err)
	e.Err = err
	return e
}

// limitedBy names the budget that a verdict is about.
func limitedBy(v *bridge.Verdict, b *balance) {
	left, err := b.Left()
	if err != nil {
		return
	}
	v.Left, v.Limit = left, b.Account
	if s := b.Scope(); parts(s) > 0 {
		v.Scope = &s
	}
}

// approversOf names who may be asked about what is spent in a scope, never
// twice.
func (d *Desk) approversOf(spent bridge.Scope) []string {
	out := append([]string{}, d.Roles.Approvers...)
	for _, b := range d.Rules.Budgets() {
		if b.Scope().Covers(spent) {
			out = append(out, b.Approvers...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
