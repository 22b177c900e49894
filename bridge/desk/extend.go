package desk

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// ExtendRequest asks that a rental live longer: by a duration, or until an
// instant; in words, or in fields.
type ExtendRequest struct {
	Rental  string    `json:"rental"`
	Words   []string  `json:"words,omitempty"` // "2h", "for 2h", "until fri 18:00"
	Seconds int64     `json:"seconds,omitempty"`
	Until   time.Time `json:"until,omitzero"`
	Zone    string    `json:"zone,omitempty"` // that times in words are of
	Again   bool      `json:"again,omitempty"`
	DryRun  bool      `json:"dry_run,omitempty"` // only say what it would cost
	// AtMost is what the asker was shown; anything dearer is a conflict.
	AtMost bridge.Money `json:"at_most"`
	// Asked is when the person said it; the same extension again within a minute
	// of that is the same request. Zero: now.
	Asked time.Time `json:"asked,omitzero"`
}

// ExtendAnswer is what became of it. The old end stays until Done.
type ExtendAnswer struct {
	Rental    Rental       `json:"rental"`
	Was       time.Time    `json:"was"`
	Until     time.Time    `json:"until"`
	Expected  bridge.Money `json:"expected"`
	More      bridge.Money `json:"more"` // at most; held on top
	Outcome   Outcome      `json:"outcome"`
	Done      bool         `json:"done"`
	Repeated  bool         `json:"repeated"`
	Question  *Rental      `json:"question,omitempty"` // that waits for an approver
	Over      bridge.Money `json:"over"`               // of the tightest budget
	Approvers []string     `json:"approvers"`
	Budgets   []Balance    `json:"budgets"` // before it, widest first
}

// Extend lets a rental live longer, with a second hold on top of the first:
// at once within budget, else as a question that changes nothing meanwhile.
func (d *Desk) Extend(ctx context.Context, p Person, q ExtendRequest) (ExtendAnswer, error) {
	if err := d.open(); err != nil {
		return ExtendAnswer{}, err
	}
	d.renting.Lock()
	defer d.renting.Unlock()
	for range 5 {
		x, err := d.extension(ctx, p, &q)
		if err != nil || q.DryRun || x.Repeated || x.Question != nil {
			return x.ExtendAnswer, err
		}
		if err := d.lengthen(ctx, p, x); err == nil {
			d.Loop.Wake()
			return x.ExtendAnswer, nil
		} else if !errors.Is(err, bridge.ErrVersion) {
			return ExtendAnswer{}, d.unextended(x, err)
		}
	}
	return ExtendAnswer{}, wrong(Conflict, "spillway rentals "+q.Rental, "rental %s keeps changing; nothing was done", q.Rental)
}

// longer is a wish for a longer life with all that was found out about it.
type longer struct {
	ExtendAnswer
	r     bridge.Rental
	terms *bridge.Terms
	why   bridge.Reason // somebody has to be asked
}

// extension works out what a longer life costs and needs.
func (d *Desk) extension(ctx context.Context, p Person, q *ExtendRequest) (*longer, error) {
	r, err := d.rental(ctx, p, q.Rental)
	if err != nil {
		return &longer{}, err
	}
	x := &longer{r: r, ExtendAnswer: ExtendAnswer{Was: r.Expires, Approvers: d.approversOf(r.Scope())}}
	if err := d.extendable(p, &r); err != nil {
		return x, err
	}
	if x.Until, err = d.newEnd(&r, q); err != nil {
		return x, err
	}
	if x.terms = d.termsOf(&r); x.terms == nil {
		x.terms = &bridge.Terms{}
	}
	if life := x.terms.Life; life > 0 && x.Until.Sub(r.Created) > life {
		return x, wrong(Conflict, "spillway rentals "+string(r.ID), "policy lets machines live %s at most; %s would reach %s", Span(life), r.ID, Span(x.Until.Sub(r.Created)))
	}
	extra, n := x.Until.Sub(r.Expires), max(len(r.Live()), 1)
	if r.Contracted() && x.Until.After(r.Until) {
		return x, wrong(Conflict, "spillway rentals "+string(r.ID), "its machines belong to a contract that ends at %s", Clock(r.Until))
	}
	if x.More, err = r.Longer(x.Until); err != nil {
		return x, wrong(BadRequest, "", "such a long time has no price: %s", err)
	}
	if x.Expected, err = r.Rate.Cost(extra, n, bridge.RoundUp); err != nil {
		return x, wrong(BadRequest, "", "such a long time has no price: %s", err)
	}
	if above(x.More, q.AtMost) {
		return x, wrong(Conflict, "spillway extend "+string(r.ID), "it is at most %s more now, you were shown %s", x.More, q.AtMost)
	}
	x.Rental = asRental(&r, d.Now())
	if err := d.extendedBefore(ctx, p, q, x); err != nil || x.Repeated {
		return x, err
	}
	return x, d.affordLonger(ctx, x)
}

// extendable refuses what is not the asker's to extend, or not alive.
func (d *Desk) extendable(p Person, r *bridge.Rental) error {
	switch {
	case !p.owns(r) && !p.may(ReleaseAny):
		return wrong(Forbidden, "spillway rentals", "rental %s belongs to %s; only they or an admin may extend it", r.ID, r.Requester)
	case r.State == bridge.StateWaiting:
		return wrong(Conflict, "spillway rentals "+string(r.ID), "%s still waits for a yes; there is nothing to extend yet", r.ID)
	case r.State == bridge.StateDraining, !r.State.Held(), r.State == bridge.StateReleasing:
		return wrong(Conflict, "spillway rentals "+string(r.ID), "%s is %s and cannot be extended", r.ID, r.State)
	case r.Expires.IsZero():
		return wrong(Conflict, "spillway rentals "+string(r.ID), "%s is only being launched and has no end yet; ask again in a minute", r.ID)
	}
	return nil
}

// newEnd reads how long it is to live. Nothing is guessed.
func (d *Desk) newEnd(r *bridge.Rental, q *ExtendRequest) (time.Time, error) {
	try := "spillway extend " + string(r.ID) + " 2h"
	words, more, err := d.timeAlone(try, q.Zone, q.Words, &Wish{Seconds: q.Seconds, Until: q.Until})
	switch {
	case err != nil:
		return time.Time{}, err
	case more != "":
		return time.Time{}, wrong(BadRequest, try, "an extension is of time alone, and %q is more than that", more)
	case words.Seconds == 0 && words.Until.IsZero():
		return time.Time{}, wrong(BadRequest, try, "by how long? A duration is never guessed")
	case words.Seconds != 0:
		return r.Expires.Add(words.duration()), nil
	case !words.Until.After(r.Expires):
		return time.Time{}, wrong(BadRequest, "spillway release "+string(r.ID), "%s lives until %s already", r.ID, Clock(r.Expires))
	}
	return words.Until, nil
}

// timeAlone reads a duration or an instant, in words or in fields; more is what
// else was said.
func (d *Desk) timeAlone(try, in string, text []string, fields *Wish) (words Wish, more string, err error) {
	zone, err := zoneOf(in)
	if err != nil {
		return Wish{}, "", err
	}
	words, err = ReadWords(text, &Known{Now: d.Now(), Zone: zone})
	if err == nil {
		err = words.merge(fields)
	}
	only := words
	only.Seconds, only.Until, only.Reason = 0, time.Time{}, ""
	switch {
	case err != nil:
		e := AsError(err)
		e.Try = try
		return Wish{}, "", e
	case only.String() == "" && words.Seconds != 0 && !words.Until.IsZero():
		return Wish{}, "", contradiction(&words, "duration", compact(words.duration()), "until "+words.Until.Format(instantForm))
	}
	return words, only.String(), nil
}

// extendedBefore looks for the same request: one that waits, or one that the
// same person made within a minute.
func (d *Desk) extendedBefore(ctx context.Context, p Person, q *ExtendRequest, x *longer) error {
	live, err := d.live(ctx)
	if err != nil {
		return err
	}
	for i := range live {
		if o := &live[i]; o.State == bridge.StateWaiting && o.Extends == x.r.ID {
			as := asRental(o, d.Now())
			x.Question, x.Outcome, x.Repeated, x.Until = &as, AskOne, true, x.r.Expires.Add(o.Life)
			return nil
		}
	}
	if q.Again || q.Words == nil && q.Seconds == 0 {
		return nil
	}
	news, err := d.Reader.News(ctx, NewsFilter{Rental: x.r.ID, Limit: recentNews})
	if err != nil {
		return unreadable(err)
	}
	asked := q.Asked
	if asked.IsZero() {
		asked = d.Now()
	}
	same := slices.IndexFunc(news, func(n bridge.News) bool {
		return n.Kind == bridge.NewsExtended && n.Who == p.Name && n.Cost == x.More && n.At.After(asked.Add(-sameWithin))
	})
	if same >= 0 {
		x.Repeated, x.Done, x.Outcome, x.Until = true, true, AtOnce, x.r.Expires
	}
	return nil
}

// affordLonger looks at money: room, a question, or no.
func (d *Desk) affordLonger(ctx context.Context, x *longer) error {
	bs, err := d.balances(ctx, x.r.Scope())
	if err != nil {
		return err
	}
	x.Budgets, x.Outcome = asBalances(bs), AtOnce
	if err := d.flows(ctx); err != nil {
		return err
	}
	if len(bs) == 0 {
		return wrong(OverBudget, "spillway spend", "no budget covers %s", x.r.Scope())
	}
	for i := range bs {
		left, err := bs[i].Left()
		over, err2 := x.More.Sub(left)
		switch {
		case err != nil || err2 != nil:
			return wrong(OverBudget, "spillway spend", "the budget of %s is in another currency, and no rate is ever guessed", bs[i].Scope())
		case over.Micro <= 0 || x.More.IsZero(): // nothing has room everywhere
			continue
		case bs[i].Hard:
			return wrong(OverBudget, "spillway spend "+string(bs[i].Account), "the budget of %s is hard, no approval may exceed it: %s left, at most %s needed", bs[i].Scope(), left.Floor(), x.More)
		case !x.terms.Ask:
			return wrong(OverBudget, "spillway spend "+string(bs[i].Account), "%s has %s left, at most %s is needed, and policy lets nobody be asked", bs[i].Scope(), left.Floor(), x.More)
		}
		x.Outcome, x.why = AskOne, bridge.ReasonOverBudget
		if over.Micro > x.Over.Micro {
			x.Over = over
		}
	}
	if x.Outcome == AtOnce && above(x.More, x.terms.AskAbove) {
		x.Outcome, x.why = AskOne, bridge.ReasonAskAbove
	}
	return nil
}

// lengthen stores the extension, or the question.
func (d *Desk) lengthen(ctx context.Context, p Person, x *longer) error {
	now, r := d.Now(), x.r
	news := bridge.News{At: now, Kind: bridge.NewsExtended, Cluster: r.Cluster, Rental: r.ID, Who: p.Name, Pool: &r.Pool, Cost: x.More, Text: "until " + Clock(x.Until)}
	if x.Outcome == AtOnce {
		r.Expires = x.Until
		saved, err := d.longerHeld(ctx, r, x.More, news)
		if err == nil {
			x.Rental, x.Done = asRental(&saved, now), true
		}
		return err
	}
	id, err := d.Writer.NextID(ctx)
	if err != nil {
		return err
	}
	ask := bridge.Rental{
		ID: id, State: bridge.StateWaiting, Since: now, Created: now, Why: x.why, Extends: r.ID, Key: p.Name + "/extend " + string(r.ID) + "@" + rand.Text(),
		Cluster: r.Cluster, Account: r.Account, Requester: r.Requester, Class: r.Class, Gang: r.Gang, Pool: r.Pool, Shape: r.Shape,
		Rate: r.Rate, MaxRate: r.MaxRate, Step: r.Step, Minimum: r.Minimum, Term: r.Term, EarlyPM: r.EarlyPM, FX: r.FX, Count: max(len(r.Live()), 1), Attempt: 1,
		Life: x.Until.Sub(r.Expires), Hold: x.More, Cost: bridge.Money{Currency: x.More.Currency},
	}
	ask.AskUntil = earlier(now.Add(cmp.Or(x.terms.AskFor, d.AskFor)), r.Expires)
	news.Kind, news.Rental, news.Why, news.Text = bridge.NewsAsked, id, x.why, "extends "+string(r.ID)+" until "+x.Until.Format(time.RFC3339)
	saved, err := d.Writer.Propose(ctx, ask, news)
	if err == nil {
		as := asRental(&saved, now)
		x.Question = &as
	}
	return err
}

// longerHeld stores a later end with what it adds to the hold: nothing inside
// time that is held already.
func (d *Desk) longerHeld(ctx context.Context, r bridge.Rental, more bridge.Money, news bridge.News) (bridge.Rental, error) {
	if more.IsZero() {
		return d.Writer.Save(ctx, r, news)
	}
	return d.Writer.Extend(ctx, r, more, d.Rules.Budgets(), news)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func (d *Desk) unextended(x *longer, err error) error {
	if errors.Is(err, bridge.ErrOverBudget) {
		e := wrong(OverBudget, "spillway spend "+string(x.r.Account.Project()), "the budget went to somebody else meanwhile: %s", err)
		e.Err = err
		return e
	}
	return unstored(err)
}

// grantExtension applies a yes to a question of an extension: the question is
// closed and the rental's hold grows, in one transaction.
func (d *Desk) grantExtension(ctx context.Context, a bridge.Decision, q bridge.Rental, news bridge.News) (bridge.Rental, error) {
	r, err := d.Reader.Rental(ctx, q.Extends)
	if err != nil {
		return q, err
	}
	if !r.State.Held() || r.State == bridge.StateDraining || r.State == bridge.StateReleasing || !a.At.Before(r.Expires) {
		return q, wrong(Conflict, "spillway rentals "+string(r.ID), "%s is %s and cannot be extended", r.ID, r.State)
	}
	q.State, q.Since = bridge.StateClosed, a.At
	r.Expires = r.Expires.Add(q.Life)
	also := bridge.News{At: a.At, Kind: bridge.NewsExtended, Cluster: r.Cluster, Rental: r.ID, Who: a.Who, Pool: &r.Pool, Cost: q.Hold, Text: "until " + Clock(r.Expires)}
	done, _, err := d.Writer.ApproveExtension(ctx, a, q, r, d.Rules.Budgets(), news, also)
	return done, err
}
