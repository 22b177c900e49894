package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// DecideRequest answers a waiting rental. Version is that of the question the
// answer is for: a question that changed since is asked again, never answered
// by an old click.
type DecideRequest struct {
	Rental  string `json:"rental"`
	Version int64  `json:"version"`
	Yes     bool   `json:"yes"`
	Text    string `json:"text,omitempty"` // a reason, for a no above all
}

// DecideAnswer is the rental after the answer.
type DecideAnswer struct {
	Rental   Rental    `json:"rental"`
	Repeated bool      `json:"repeated"` // the same person had said the same before
	Budgets  []Balance `json:"budgets"`  // after it, widest first
}

// Decide applies an approver's yes or no. The requester never decides,
// whatever roles they have.
func (d *Desk) Decide(ctx context.Context, p Person, q DecideRequest) (DecideAnswer, error) {
	if err := d.open(); err != nil {
		return DecideAnswer{}, err
	}
	r, err := d.question(ctx, q.Rental)
	if err != nil {
		return DecideAnswer{}, err
	}
	bs, err := d.mayDecide(ctx, p, &r, q.Yes)
	if err != nil {
		return DecideAnswer{}, err
	}
	if r.State != bridge.StateWaiting {
		return d.late(ctx, p, &r, &q)
	}
	if err := d.answerable(ctx, &r, &q, bs); err != nil {
		return DecideAnswer{}, err
	}
	saved, err := d.apply(ctx, &r, bridge.Decision{Rental: r.ID, Version: q.Version, Yes: q.Yes, Who: p.Name, Text: q.Text, At: d.Now()})
	if err != nil {
		return d.undecided(ctx, p, &r, &q, err)
	}
	d.Loop.Wake()
	a := DecideAnswer{Rental: asRental(&saved, d.Now())}
	if bs, err = d.balances(ctx, saved.Account); err != nil {
		return a, err
	}
	a.Budgets = asBalances(bs)
	return a, nil
}

// apply stores an answer. After a no the same jobs are not asked about at once.
func (d *Desk) apply(ctx context.Context, r *bridge.Rental, a bridge.Decision) (bridge.Rental, error) {
	event, kind := bridge.EventApprove, bridge.NewsApproved
	if !a.Yes {
		event, kind = bridge.EventDeny, bridge.NewsDenied
	}
	next, err := bridge.Advance(r.State, event)
	if err != nil {
		return *r, err
	}
	changed := *r
	changed.State, changed.Since = next, a.At
	news := bridge.News{At: a.At, Kind: kind, Cluster: r.Cluster, Rental: r.ID, Who: a.Who, Why: r.Why, Pool: &r.Pool, Cost: r.Hold, Text: a.Text}
	if a.Yes {
		changed.ApprovedBy, changed.Expires = a.Who, a.At.Add(r.Life).Truncate(time.Second)
		return d.Writer.Approve(ctx, a, changed, d.Rules.Budgets(), news)
	}
	changed.Why, changed.Note = bridge.ReasonDenied, a.Text
	news.Why = bridge.ReasonDenied
	saved, err := d.Writer.Save(ctx, changed, news)
	if err != nil || len(r.Jobs) == 0 {
		return saved, err
	}
	answer := bridge.Answer{Jobs: r.Jobs, Why: bridge.ReasonDenied, Until: a.At.Add(d.AskAgain)}
	return saved, d.Loop.Remember(ctx, func(m *bridge.Marks) { m.Answers = append(m.Answers, answer) })
}

// question reads a rental for somebody who may decide, so it is not limited to
// one's own.
func (d *Desk) question(ctx context.Context, typed string) (bridge.Rental, error) {
	return d.rental(ctx, Person{Roles: []Role{Approver}}, typed)
}

// mayDecide checks the rules of the table: not the requester, and an approver
// of every budget the rental exceeds (of any budget above it, when it exceeds
// none). A no needs only one of them, or an admin.
func (d *Desk) mayDecide(ctx context.Context, p Person, r *bridge.Rental, yes bool) ([]bridge.Balance, error) {
	if p.Name == r.Requester || strings.HasPrefix(r.Key, p.Name+"/") {
		return nil, wrong(Forbidden, "spillway rentals "+string(r.ID), "you asked for %s, so somebody else has to decide; approvers: %s", r.ID, d.names(r))
	}
	bs, err := d.balances(ctx, r.Account)
	if err != nil {
		return nil, err
	}
	if !yes && p.Is(Admin) {
		return bs, nil
	}
	if !d.approvesSome(p, r.Account) {
		return nil, wrong(Forbidden, "spillway whoami", "you are no approver for %s; approvers: %s", r.Account.Project(), d.names(r))
	}
	if !yes {
		return bs, nil
	}
	chain := r.Account.Ancestors()
	for _, b := range d.Rules.Budgets() {
		if b.Hard || !slices.Contains(chain, b.Account) || p.approves(&b) { // above a hard one nobody can, see answerable
			continue
		}
		if i := slices.IndexFunc(bs, func(x bridge.Balance) bool { return x.Account == b.Account && exceeds(r, &x) }); i >= 0 {
			return nil, wrong(Forbidden, "spillway whoami", "%s exceeds the budget of %s too, and you are no approver of that one; approvers: %s", r.ID, b.Account, orNobody(b.Approvers))
		}
	}
	return bs, nil
}

func exceeds(r *bridge.Rental, b *bridge.Balance) bool {
	left, err := b.Left()
	return err != nil || above(r.Hold, left) || left.Micro <= 0
}

func (d *Desk) names(r *bridge.Rental) string {
	return orNobody(slices.DeleteFunc(d.approversOf(r.Account), func(w string) bool { return w == r.Requester }))
}

func orNobody(names []string) string {
	if len(names) == 0 {
		return "nobody is set in the policy"
	}
	return strings.Join(names, ", ")
}

// answerable refuses what the transaction would refuse anyway, with words.
func (d *Desk) answerable(ctx context.Context, r *bridge.Rental, q *DecideRequest, bs []bridge.Balance) error {
	if !r.AskUntil.IsZero() && !d.Now().Before(r.AskUntil) {
		return wrong(Conflict, "spillway rentals", "too late: the question %s lapsed at %s", r.ID, Clock(r.AskUntil))
	}
	if q.Version == 0 {
		return wrong(BadRequest, "spillway rentals "+string(r.ID), "which question? Its version is missing")
	}
	if q.Version != r.Version {
		return wrong(Conflict, "spillway rentals "+string(r.ID), "%s has changed since you saw it (version %d, now %d): look again", r.ID, q.Version, r.Version)
	}
	if !q.Yes {
		return nil
	}
	if err := d.flows(ctx); err != nil {
		return err
	}
	if err := d.dearer(r); err != nil {
		return err
	}
	for i := range bs {
		if b := &bs[i]; b.Hard && exceeds(r, b) {
			left := ""
			if m, err := b.Left(); err == nil {
				left = ": " + m.Floor() + " left, at most " + r.Hold.String() + " needed"
			}
			return wrong(OverBudget, "spillway spend "+string(b.Account), "the budget of %s is hard, no approval may exceed it%s", b.Account, left)
		}
	}
	return nil
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

// dearer refuses a yes to a price that is no longer had: the approver agreed
// to a ceiling.
func (d *Desk) dearer(r *bridge.Rental) error {
	snap, _, err := d.look()
	if err != nil {
		return err
	}
	for i := range snap.Offers {
		o := &snap.Offers[i]
		if o.Pool == r.Pool && (o.Rate.Currency != r.MaxRate.Currency || o.Rate.Micro > r.MaxRate.Micro) {
			return wrong(Conflict, "spillway deny "+string(r.ID), "it is dearer than asked for now: %s rose above %s an hour", Place(r.Pool), hourly(r.MaxRate))
		}
	}
	return nil
}

func hourly(r bridge.Rate) string { return bridge.Money(r).String() }

// late answers a decision on what is decided already.
func (d *Desk) late(ctx context.Context, p Person, r *bridge.Rental, q *DecideRequest) (DecideAnswer, error) {
	news, err := d.Reader.News(ctx, NewsFilter{Rental: r.ID, Limit: recentNews})
	if err != nil {
		return DecideAnswer{}, unreadable(err)
	}
	try := "spillway rentals " + string(r.ID)
	for i := len(news) - 1; i >= 0; i-- {
		n := &news[i]
		said, decided := map[bridge.NewsKind]string{
			bridge.NewsApproved: "approved", bridge.NewsDenied: "denied", bridge.NewsLapsed: "lapsed", bridge.NewsWithdrawn: "withdrawn",
		}[n.Kind]
		if !decided || n.Rental != r.ID {
			continue
		}
		if n.Who == p.Name && (n.Kind == bridge.NewsApproved && q.Yes || n.Kind == bridge.NewsDenied && !q.Yes) {
			return DecideAnswer{Rental: asRental(r, d.Now()), Repeated: true, Budgets: []Balance{}}, nil
		}
		switch n.Kind {
		case bridge.NewsLapsed, bridge.NewsWithdrawn:
			return DecideAnswer{}, wrong(Conflict, try, "too late: the question %s %s at %s; nothing changed", r.ID, was(said), Clock(n.At))
		default:
			return DecideAnswer{}, wrong(Conflict, try, "%s was already %s by %s at %s; nothing changed", r.ID, said, n.Who, Clock(n.At))
		}
	}
	return DecideAnswer{}, wrong(Conflict, try, "%s asks nothing: it is %s", r.ID, r.State)
}

func was(said string) string {
	if said == "withdrawn" {
		return "was withdrawn"
	}
	return said
}

// undecided says why the transaction refused: somebody was faster, or money or
// prices moved.
func (d *Desk) undecided(ctx context.Context, p Person, r *bridge.Rental, q *DecideRequest, err error) (DecideAnswer, error) {
	var illegal *bridge.TransitionError
	switch {
	case errors.Is(err, bridge.ErrOverBudget):
		return DecideAnswer{}, &Error{Kind: OverBudget, Wrong: err.Error(), Try: "spillway spend " + string(r.Account.Project()), Err: err}
	case errors.Is(err, bridge.ErrVersion), errors.As(err, &illegal):
		now, readErr := d.Reader.Rental(ctx, r.ID)
		if readErr == nil && now.State != bridge.StateWaiting {
			return d.late(ctx, p, &now, q)
		}
		return DecideAnswer{}, &Error{Kind: Conflict, Wrong: fmt.Sprintf("%s changed meanwhile: look again", r.ID), Try: "spillway rentals " + string(r.ID), Err: err}
	}
	return DecideAnswer{}, &Error{Kind: Unavailable, Wrong: "the answer was not stored: " + err.Error(), Try: "spillway status", Err: err}
}
