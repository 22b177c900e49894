package desk

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// QuoteRequest asks what a wish would cost; nothing is rented.
type QuoteRequest struct {
	Wish Wish `json:"wish"`
	Lang Lang `json:"lang,omitempty"`
}

// QuoteAnswer ranks the offers that fit: what could be had now first, cheapest
// first among equals.
type QuoteAnswer struct {
	At         time.Time      `json:"at"`
	Understood string         `json:"understood"` // the wish in words
	Cluster    string         `json:"cluster"`
	Account    bridge.Account `json:"account"` // that would pay
	Duration   int64          `json:"duration_seconds"`
	Offers     []Quoted       `json:"offers"`
	Compared   []Compared     `json:"compared"` // the same as a choice for a job weighs them, the best first
	Budgets    []Balance      `json:"budgets"`  // of the account, widest first
	// Listed are shipped price lists of other providers, to compare with: nothing is
	// rented at them.
	Listed []bridge.ListPrice `json:"listed,omitempty"`
	// Why nothing fits, when Offers is empty.
	Why string `json:"why,omitempty"`
	// Local is what the local queue would do instead; nil while it is not seen.
	Local *Local `json:"local,omitempty"`
	// ID rents what is quoted until Good; empty when none of it can be had.
	ID   string    `json:"id,omitempty"`
	Good time.Time `json:"good_until,omitzero"`
}

// Outcome is what asking for an offer now would lead to.
type Outcome string

// The outcomes: rented at once, put to an approver, or refused.
const (
	AtOnce  Outcome = "at-once"
	AskOne  Outcome = "ask"
	Refused Outcome = "refused"
)

// Quoted is one offer for a wish.
type Quoted struct {
	Pool     bridge.Pool   `json:"pool"`
	Machines int           `json:"machines"`
	Shape    bridge.Shape  `json:"shape"` // of one machine
	Rate     bridge.Rate   `json:"rate"`  // of one machine-hour
	Expected bridge.Money  `json:"expected"`
	AtMost   bridge.Money  `json:"at_most"` // what is held
	Boot     int64         `json:"boot_seconds"`
	Outcome  Outcome       `json:"outcome"`
	Why      bridge.Reason `json:"why,omitempty"` // when not at once
	Text     string        `json:"text,omitempty"`
	Over     bridge.Money  `json:"over"` // by how much it exceeds the tightest budget
	// Billing is what is paid for beyond the time asked for, in words; empty: nothing.
	Billing string `json:"billing,omitempty"`

	offer   bridge.Offer
	ceiling bridge.Rate
	life    time.Duration
	tight   balance
	barred  bool // by policy, whatever it costs
}

// request is a wish with everything looked up that an answer needs.
type request struct {
	wish    Wish
	cluster string
	user    string         // who the machines are for
	account bridge.Account // with the user
	terms   *bridge.Terms
	demand  *bridge.Demand // of wish.Job
	snap    bridge.Snapshot
	bs      []balance    // of all clouds and classes
	pool    *bridge.Pool // if only this one is meant
}

// Quote answers what a wish would cost.
func (d *Desk) Quote(ctx context.Context, p Person, q QuoteRequest) (QuoteAnswer, error) {
	req, err := d.understand(ctx, p, q.Wish, "quote")
	if err != nil {
		return QuoteAnswer{}, err
	}
	quotes, err := d.quotes(req, q.Lang)
	if err != nil {
		return QuoteAnswer{}, err
	}
	a := QuoteAnswer{
		At: d.Now(), Understood: req.wish.String(), Cluster: req.cluster, Account: req.account,
		Duration: req.wish.Seconds, Offers: quotes, Compared: d.comparedQuotes(req, quotes, q.Lang), Budgets: asBalances(req.countIn(quotes)),
	}
	if req.demand != nil {
		a.Local = d.local(&req.snap, req.cluster, req.demand.Job)
	} else {
		a.Local = d.local(&req.snap, req.cluster)
	}
	d.keepQuote(p, req, &a)
	a.Listed = listPrices(req, quotes)
	if len(quotes) == 0 {
		a.Why = q.Lang.Wrong(nothingFits(req))
	}
	return a, nil
}

// listPrices are those of machines like the first that is offered, or of eight
// GPUs of the kind that is wished for where none is.
func listPrices(req *request, quotes []Quoted) []bridge.ListPrice {
	gpu, gpus := req.wish.GPUType, 8
	if len(quotes) > 0 {
		gpu, gpus = quotes[0].Shape.GPUType, quotes[0].Shape.GPUs
	}
	if gpu == "" || gpus == 0 {
		return nil
	}
	return bridge.ListPrices(gpu, gpus)
}

// understand reads the words, fills in what the job or the asker's account
// say, and refuses what is missing.
func (d *Desk) understand(ctx context.Context, p Person, w Wish, verb string) (*request, error) {
	snap, _, err := d.look()
	if err != nil {
		return nil, err
	}
	known := d.known(&snap)
	if known.Zone, err = zoneOf(w.Zone); err != nil {
		return nil, err
	}
	words, err := ReadWords(w.Words, known)
	if err != nil {
		e := AsError(err)
		e.Try = strings.Replace(e.Try, "spillway rent", "spillway "+verb, 1)
		return nil, e
	}
	w.Words, w.Zone = nil, ""
	if err := w.merge(&words); err != nil {
		return nil, err
	}
	req := &request{wish: w, snap: snap, user: p.Name}
	if err := d.jobOf(p, req); err != nil {
		return nil, err
	}
	if err := checkNames(&req.wish, known); err != nil {
		return nil, err
	}
	if err := req.complete(verb, d.Now()); err != nil {
		return nil, err
	}
	if err := d.payer(ctx, p, req); err != nil {
		return nil, err
	}
	req.bs, err = d.pathBalances(ctx, req.account)
	return req, err
}

func (d *Desk) known(s *bridge.Snapshot) *Known {
	k := &Known{Now: d.Now()}
	for i := range s.Offers {
		o := &s.Offers[i]
		if o.Shape.GPUType != "" {
			k.GPUs = append(k.GPUs, o.Shape.GPUType, bridge.GPU{Name: o.Shape.GPUType}.Family())
		}
		k.Types = append(k.Types, o.Pool.Type)
		k.Places = append(k.Places, o.Pool.Cloud, o.Pool.Region, o.Pool.Zone)
	}
	for _, b := range d.Rules.Budgets() {
		k.Projects = append(k.Projects, lastOf(b.Account.Project()))
	}
	for _, list := range []*[]string{&k.GPUs, &k.Types, &k.Places, &k.Projects} {
		slices.Sort(*list)
		*list = slices.DeleteFunc(slices.Compact(*list), func(s string) bool { return s == "" })
	}
	return k
}

// checkNames refuses names given in fields that nothing on offer has, and
// spells the others as they are listed; words were checked while they were read.
func checkNames(w *Wish, k *Known) error {
	for _, f := range []struct {
		what  string
		name  *string
		known []string
	}{{"GPU", &w.GPUType, k.GPUs}, {"machine type", &w.Type, k.Types}, {"cloud, region or zone", &w.Place, k.Places}} {
		if *f.name == "" {
			continue
		}
		if as, ok := among(f.known, *f.name); ok {
			*f.name = as
			continue
		}
		e := wrong(BadRequest, "", "no %s is called %q; known: %s", f.what, *f.name, listed(f.known))
		if near := nearest(*f.name, f.known); near != "" {
			e.Try = strings.ReplaceAll("spillway quote "+w.String(), *f.name, near)
		}
		return e
	}
	if w.Market != "" && w.Market != bridge.Spot && w.Market != bridge.OnDemand {
		return wrong(BadRequest, "spillway quote --market spot", "no market is called %q; there are spot and on-demand", w.Market)
	}
	for _, n := range []struct{ is, most int64 }{
		{int64(w.Machines), maxCount},
		{int64(w.GPUs), maxCount},
		{int64(w.CPUs), maxCount},
		{w.MemoryMiB, 1 << 40},
		{w.Seconds, int64(maxDuration / time.Second)},
		{w.Max.Micro, math.MaxInt64},
	} {
		if n.is < 0 || n.is > n.most {
			return wrong(BadRequest, "spillway quote 8xh100 for 2h", "a number in the request is out of range: %d", n.is)
		}
	}
	return nil
}

// complete says what is missing: what, and for how long.
func (r *request) complete(verb string, now time.Time) error {
	w := &r.wish
	if !w.Until.IsZero() {
		if err := w.ends(now); err != nil {
			return err
		}
	}
	if w.Machines == 0 && w.Type == "" && w.GPUs == 0 && w.CPUs == 0 && w.MemoryMiB == 0 && r.demand == nil {
		return r.no(BadRequest, "spillway "+verb+" 8xh100 for 6h spot project nlp", "say what, for how long, and for which project")
	}
	if w.Seconds == 0 {
		return r.no(BadRequest, strings.Join([]string{"spillway", verb, w.String(), "for 2h"}, " "), "for how long? A duration is never guessed")
	}
	return nil
}

// ends makes the end of a wish its duration.
func (w *Wish) ends(now time.Time) error {
	if w.Seconds != 0 {
		return contradiction(w, "duration", compact(w.duration()), "until "+w.Until.Format(instantForm))
	}
	w.Seconds = int64(w.Until.Sub(now) / time.Second)
	if w.Seconds <= 0 {
		return wrong(BadRequest, "", "%s has passed: it is %s now", Clock(w.Until), Clock(now))
	}
	return nil
}

// zoneOf finds a time zone by name.
func zoneOf(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, wrong(BadRequest, "", "no time zone is called %q", name)
	}
	return zone, nil
}

// jobOf takes size, time and account from the job a wish names.
func (d *Desk) jobOf(p Person, r *request) error {
	if r.wish.Job == "" {
		return nil
	}
	a := ExplainAnswer{Job: r.wish.Job}
	owner, err := d.find(&ExplainRequest{Job: r.wish.Job, Cluster: r.wish.Cluster}, &a)
	switch {
	case err != nil:
		return err
	case owner == "" || a.Demand == nil:
		return wrong(NotFound, "spillway queue", "no job %s waits in the queue", r.wish.Job)
	case owner != p.Name && !p.Is(Admin):
		return wrong(Forbidden, "spillway queue", "job %s is not yours", r.wish.Job)
	}
	r.demand, r.cluster, r.user = a.Demand, a.Cluster, owner
	if r.wish.Seconds == 0 && r.wish.Until.IsZero() {
		r.wish.Seconds = int64(a.Demand.TimeLimit / time.Second)
	}
	if r.wish.Project == "" {
		r.wish.Project = a.Demand.Account
	}
	return nil
}

// quotes works out every offer that fits a wish.
func (d *Desk) quotes(r *request, lang Lang) ([]Quoted, error) {
	out := []Quoted{}
	for i := range r.snap.Offers {
		o := &r.snap.Offers[i]
		n, ok := r.machines(o)
		if !ok || r.pool != nil && *r.pool != o.Pool {
			continue
		}
		q := Quoted{Pool: o.Pool, Machines: n, Shape: o.Shape, Rate: o.Rate, Boot: int64(o.Boot / time.Second), offer: *o}
		if err := q.price(r); err != nil {
			if errors.Is(err, bridge.ErrOverflow) {
				continue // no budget holds such a sum
			}
			return nil, err
		}
		if err := d.judge(r, &q); err != nil {
			return nil, err
		}
		q.Billing = lang.billing(o.Billing(), q.life)
		if q.Why != "" {
			q.Text = lang.Short(q.Why)
		}
		if q.barred {
			q.Text = lang.notAllowed()
		}
		out = append(out, q)
	}
	slices.SortStableFunc(out, func(a, b Quoted) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), strings.Compare(string(a.Expected.Currency), string(b.Expected.Currency)),
			cmp.Compare(a.Expected.Micro, b.Expected.Micro), cmp.Compare(a.AtMost.Micro, b.AtMost.Micro), strings.Compare(a.Pool.String(), b.Pool.String()))
	})
	return out, nil
}

func nothingFits(r *request) *Error {
	if len(r.snap.Offers) == 0 {
		return r.no(NotFound, "spillway status", "no cloud has offered anything yet")
	}
	return r.no(NotFound, "spillway quote "+r.wish.String(), "no machine on offer fits %s", r.wish.String())
}
