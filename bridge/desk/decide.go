package desk

import (
	"context"
	"errors"
	"slices"

	"spillway.sh/spillway/bridge"
)

// DecideRequest answers a waiting rental. Version or Revision says which
// question the answer is for: one that changed since is asked again, never
// answered by an old click. Version is the rental's, which reminders change
// too; Revision is the question's.
type DecideRequest struct {
	Rental   string `json:"rental"`
	Version  int64  `json:"version,omitempty"`
	Revision int64  `json:"revision,omitempty"`
	Yes      bool   `json:"yes"`
	Text     string `json:"text,omitempty"` // a reason, for a no above all
}

// DecideAnswer is the rental after the answer.
type DecideAnswer struct {
	Rental   Rental    `json:"rental"`
	Repeated bool      `json:"repeated"` // the same person had said the same before
	Result   Result    `json:"result"`
	Budgets  []Balance `json:"budgets"` // after it, widest first
}

// decideTries bounds how often an answer is tried again because somebody else
// changed the rental, but not the question, meanwhile.
const decideTries = 8

// Decide applies an approver's yes or no. The requester never decides,
// whatever roles they have.
func (d *Desk) Decide(ctx context.Context, p Person, q DecideRequest) (DecideAnswer, error) {
	if err := d.open(); err != nil {
		return DecideAnswer{}, err
	}
	for range decideTries {
		r, err := d.question(ctx, q.Rental)
		if err != nil {
			return DecideAnswer{}, err
		}
		a, err := d.decide(ctx, p, &r, &q)
		if !errors.Is(err, bridge.ErrVersion) {
			return a, d.rebuffed(ctx, p, &r, err)
		}
	}
	return DecideAnswer{}, wrong(Conflict, "spillway rentals "+q.Rental, "%s keeps changing; nothing was done", q.Rental)
}

// decide answers a question once; bridge.ErrVersion is inside when the rental
// has changed since r was read.
func (d *Desk) decide(ctx context.Context, p Person, r *bridge.Rental, q *DecideRequest) (DecideAnswer, error) {
	bs, err := d.mayDecide(ctx, p, r, q.Yes)
	if err != nil {
		return DecideAnswer{}, err
	}
	if r.State != bridge.StateWaiting {
		return d.late(ctx, p, r, q)
	}
	if err := d.answerable(ctx, p, r, q, bs); err != nil {
		return DecideAnswer{}, err
	}
	if q.Yes && r.Agreed(p.Name) {
		return d.answered(ctx, r, ResultRepeated)
	}
	saved, kind, err := d.apply(ctx, r, p, q)
	if err != nil {
		return DecideAnswer{}, d.undecided(r, err)
	}
	d.Loop.Wake()
	return d.answered(ctx, &saved, kind)
}

func (d *Desk) answered(ctx context.Context, r *bridge.Rental, kind ResultKind) (DecideAnswer, error) {
	a := DecideAnswer{Rental: asRental(r, d.Now()), Repeated: kind == ResultRepeated, Result: *d.result(kind, r), Budgets: []Balance{}}
	stake, err := d.stake(ctx, r)
	if err != nil {
		return a, err
	}
	if a.Result.Needs = d.needs(stake); a.Repeated {
		return a, nil
	}
	bs, err := d.balances(ctx, r.Scope())
	a.Budgets = asBalances(bs)
	return a, err
}

// apply stores an answer. After a no the same jobs are not asked about at once.
func (d *Desk) apply(ctx context.Context, r *bridge.Rental, p Person, q *DecideRequest) (bridge.Rental, ResultKind, error) {
	stake, err := d.stake(ctx, r)
	if err != nil {
		return *r, "", err
	}
	a := bridge.Decision{Rental: r.ID, Version: r.Version, Yes: q.Yes, Who: p.Name, Text: q.Text, At: d.Now(), Needs: d.needs(stake), Digest: r.Digest}
	changed := *r
	news := bridge.News{At: a.At, Kind: bridge.NewsApproved, Cluster: r.Cluster, Rental: r.ID, Who: a.Who, Why: r.Why, Pool: &r.Pool, Cost: r.Hold, Text: a.Text, Digest: r.Digest, Via: p.Via}
	if a.Yes && len(r.Yeses)+1 < a.Needs {
		news.Kind = bridge.NewsAgreed
		saved, err := d.Writer.Approve(ctx, a, changed, d.Rules.Budgets(), news)
		return saved, ResultAgreed, err
	}
	event := bridge.EventApprove
	if !a.Yes {
		event = bridge.EventDeny
	}
	next, err := bridge.Advance(r.State, event)
	if err != nil {
		return *r, "", err
	}
	changed.State, changed.Since = next, a.At
	if a.Yes && r.Extends != "" {
		saved, err := d.grantExtension(ctx, a, changed, news)
		return saved, ResultExtended, err
	}
	if a.Yes {
		if err := changed.Shorten(a.At); err != nil {
			return *r, "", err
		}
		changed.ApprovedBy, changed.Expires, news.Cost = a.Who, changed.EndFrom(a.At), changed.Hold
		saved, err := d.Writer.Approve(ctx, a, changed, d.Rules.Budgets(), news)
		return saved, ResultApproved, err
	}
	changed.Why, changed.Note = bridge.ReasonDenied, a.Text
	news.Kind, news.Why = bridge.NewsDenied, bridge.ReasonDenied
	saved, err := d.Writer.Save(ctx, changed, news)
	if err != nil || len(r.Jobs) == 0 {
		return saved, ResultDenied, err
	}
	answer := bridge.Answer{Jobs: r.Jobs, Why: bridge.ReasonDenied, Until: a.At.Add(d.AskAgain)}
	return saved, ResultDenied, d.Loop.Remember(ctx, func(m *bridge.Marks) { m.Answers = append(m.Answers, answer) })
}

// question reads a rental for somebody who may decide, so it is not limited to
// one's own.
func (d *Desk) question(ctx context.Context, typed string) (bridge.Rental, error) {
	return d.rental(ctx, Person{Roles: []Role{Approver}}, typed)
}

// mayDecide checks the rules of the table: not the requester, an approver of
// every budget the rental exceeds (of any budget above it, when it exceeds
// none), and within their authority. A no needs only one of the budgets, or an
// admin, and no authority.
func (d *Desk) mayDecide(ctx context.Context, p Person, r *bridge.Rental, yes bool) ([]balance, error) {
	refuse := func(kind ResultKind, change func(*Result)) error {
		res := d.result(kind, r)
		res.Approvers = d.asked(r)
		change(res)
		return res.no(Forbidden, "spillway whoami")
	}
	if p.own(r) {
		return nil, refuse(ResultOwn, func(*Result) {})
	}
	bs, err := d.balances(ctx, r.Scope())
	if err != nil {
		return nil, err
	}
	if !yes && p.Is(Admin) {
		return bs, nil
	}
	if !d.approvesSome(p, r.Scope()) {
		return nil, refuse(ResultNotAllowed, func(*Result) {})
	}
	if !yes || r.State != bridge.StateWaiting {
		return bs, nil
	}
	if b := otherBudget(p, r, bs); b != nil {
		return nil, refuse(ResultOther, func(x *Result) { x.of(b.Scope()); x.Approvers = b.budget.Approvers })
	}
	stake, err := d.stake(ctx, r)
	if err != nil {
		return nil, err
	}
	rules := d.Rules.Approval()
	if most, limited := authority(&rules, p); limited && beyond(stake, most) {
		return nil, refuse(ResultAuthority, func(x *Result) { x.Limit, x.Hold = most, stake })
	}
	return bs, nil
}

// otherBudget finds a budget that the rental exceeds and the person is no
// approver of. Above a hard one nobody is, see answerable.
func otherBudget(p Person, r *bridge.Rental, bs []balance) *balance {
	for i := range bs {
		if b := &bs[i]; !b.Hard && !p.approves(&b.budget) && exceeds(r, b) {
			return b
		}
	}
	return nil
}

func exceeds(r *bridge.Rental, b *balance) bool {
	left, err := b.Left()
	return err != nil || above(r.Hold, left) || left.Micro <= 0
}

// answerable refuses what the transaction would refuse anyway, with words.
func (d *Desk) answerable(ctx context.Context, p Person, r *bridge.Rental, q *DecideRequest, bs []balance) error {
	if err := d.meantBy(r, q); err != nil || !q.Yes {
		return err
	}
	if err := d.flows(ctx); err != nil {
		return d.stopped(r, err)
	}
	if err := d.dearer(ctx, p, r); err != nil {
		return err
	}
	return d.overHard(r, bs)
}

// meantBy refuses an answer to a question that has lapsed or is another one
// by now.
func (d *Desk) meantBy(r *bridge.Rental, q *DecideRequest) error {
	try := "spillway rentals " + string(r.ID)
	if !r.AskUntil.IsZero() && !d.Now().Before(r.AskUntil) {
		res := d.result(ResultLapsed, r)
		res.At = r.AskUntil
		return res.no(Conflict, "spillway rentals")
	}
	if q.Version == 0 && q.Revision == 0 {
		return wrong(BadRequest, try, "which question? Its version is missing")
	}
	drifted := r.Digest != "" && r.Digest != bridge.DigestOf(r)
	if drifted || q.Version != 0 && q.Version != r.Version || q.Revision != 0 && q.Revision != r.Revision {
		return d.result(ResultSuperseded, r).no(Conflict, try)
	}
	return nil
}

// overHard refuses a yes above a hard budget.
func (d *Desk) overHard(r *bridge.Rental, bs []balance) error {
	for i := range bs {
		b := &bs[i]
		if !b.Hard || !exceeds(r, b) {
			continue
		}
		res := d.result(ResultHard, r)
		res.of(b.Scope())
		if left, err := b.Left(); err == nil {
			res.Limit = left
		}
		return res.no(OverBudget, "spillway spend "+string(b.Account))
	}
	return nil
}

// stopped says of which question new money is refused.
func (d *Desk) stopped(r *bridge.Rental, err error) error {
	e := AsError(err)
	if e.Kind == Conflict {
		e.Result = d.result(ResultStopped, r)
		e.Result.Detail = e.Wrong
	}
	return e
}

// flows refuses new money while it is frozen or protected. The store is asked,
// not the latest look: a freeze holds from the moment it is stored.
func (d *Desk) flows(ctx context.Context) error {
	m, err := d.Reader.Marks(ctx)
	switch {
	case err != nil:
		return unreadable(err)
	case m.Frozen:
		return wrong(Conflict, "spillway status", "new spending is frozen; an admin lets it go on with spillway thaw")
	case m.Protected != "":
		return wrong(Conflict, "spillway status", "nothing new is rented for now: %s", m.Protected)
	}
	return nil
}

// late answers a decision on what is decided already.
func (d *Desk) late(ctx context.Context, p Person, r *bridge.Rental, q *DecideRequest) (DecideAnswer, error) {
	news, err := d.Reader.News(ctx, NewsFilter{Rental: r.ID, Limit: recentNews})
	if err != nil {
		return DecideAnswer{}, unreadable(err)
	}
	try := "spillway rentals " + string(r.ID)
	res := d.ended(r, news)
	if res == nil {
		res = d.result(ResultIdle, r)
		res.Detail = string(r.State)
		return DecideAnswer{}, res.no(Conflict, try)
	}
	if q.Yes && res.Kind == ResultAlready && (res.Who == p.Name || r.Agreed(p.Name)) || !q.Yes && res.Kind == ResultRefused && res.Who == p.Name {
		return d.answered(ctx, r, ResultRepeated)
	}
	return DecideAnswer{}, res.no(Conflict, try)
}

// undecided says why the transaction refused: somebody was faster, or money,
// time or prices moved.
func (d *Desk) undecided(r *bridge.Rental, err error) error {
	var illegal *bridge.TransitionError
	switch {
	case errors.Is(err, bridge.ErrOverBudget):
		e := wrong(OverBudget, "spillway spend "+string(r.Account.Project()), "the answer does not fit the budget: %s", err)
		e.Err = err
		return e
	case errors.Is(err, bridge.ErrLapsed):
		res := d.result(ResultLapsed, r)
		res.At = r.AskUntil
		return res.no(Conflict, "spillway rentals")
	case errors.Is(err, bridge.ErrVersion), errors.As(err, &illegal):
		return errors.Join(bridge.ErrVersion, err)
	}
	return unstored(err)
}

// rebuffed keeps a record of an answer that a person may not give, once for
// each person and question, and returns the refusal.
func (d *Desk) rebuffed(ctx context.Context, p Person, r *bridge.Rental, refusal error) error {
	res := (*Result)(nil)
	if refusal != nil {
		res = AsError(refusal).Result
	}
	if res == nil || AsError(refusal).Kind != Forbidden {
		return refusal
	}
	news, err := d.Reader.News(ctx, NewsFilter{Rental: r.ID, Limit: recentNews})
	if err != nil {
		return refusal // it stands, with or without its record
	}
	said := func(n bridge.News) bool {
		return n.Kind == bridge.NewsRebuffed && n.Who == p.Name && n.Digest == r.Digest && n.Text == string(res.Kind)
	}
	if slices.ContainsFunc(news, said) {
		return refusal
	}
	record := bridge.News{At: d.Now(), Kind: bridge.NewsRebuffed, Cluster: r.Cluster, Rental: r.ID, Who: p.Name, Cost: r.Hold, Text: string(res.Kind), Digest: r.Digest, Via: p.Via}
	_ = d.Loop.Remember(ctx, func(*bridge.Marks) {}, record) // the refusal stands, with or without its record
	return refusal
}
