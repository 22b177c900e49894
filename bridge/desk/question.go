package desk

import (
	"context"

	"spillway.sh/spillway/bridge"
)

// QuestionRequest asks for open questions; Rental narrows it to one.
type QuestionRequest struct {
	Rental string `json:"rental,omitempty"`
	Lang   Lang   `json:"lang,omitempty"`
}

// QuestionAnswer is the open questions the asker may look at, oldest first.
type QuestionAnswer struct {
	Questions []Question `json:"questions"`
}

// Question is a rental that waits for a person, with what a decision needs.
type Question struct {
	Rental    Rental    `json:"rental"`
	Why       string    `json:"why"`       // it is asked
	Budgets   []Balance `json:"budgets"`   // widest first
	Exceeds   []Balance `json:"exceeds"`   // those it is more than
	Approvers []string  `json:"approvers"` // who may be asked
	Mine      bool      `json:"mine"`      // the asker may say yes
	Not       string    `json:"not,omitempty"`
	Needs     int       `json:"needs"`           // persons who have to say yes
	Urgent    bool      `json:"urgent"`          // about to lapse: the escalation is asked too
	Ended     *Result   `json:"ended,omitempty"` // how, if it is closed
	// Local is when the scheduler expects its jobs to start without it, if it does.
	Local *Local `json:"local,omitempty"`
}

// Question answers what waits for a decision, and whether the asker may decide.
func (d *Desk) Question(ctx context.Context, p Person, q QuestionRequest) (QuestionAnswer, error) {
	var open []bridge.Rental
	if q.Rental != "" {
		r, err := d.rental(ctx, p, q.Rental)
		if err != nil {
			return QuestionAnswer{}, err
		}
		open = append(open, r)
	} else {
		live, err := d.live(ctx)
		if err != nil {
			return QuestionAnswer{}, err
		}
		for _, r := range live {
			if r.State == bridge.StateWaiting && d.sees(p, &r) {
				open = append(open, r)
			}
		}
	}
	a := QuestionAnswer{Questions: []Question{}}
	for i := range open {
		one, err := d.asQuestion(ctx, p, &open[i], q.Lang)
		if err != nil {
			return QuestionAnswer{}, err
		}
		a.Questions = append(a.Questions, one)
	}
	return a, nil
}

func (d *Desk) asQuestion(ctx context.Context, p Person, r *bridge.Rental, lang Lang) (Question, error) {
	bs, err := d.balances(ctx, r.Scope())
	if err != nil {
		return Question{}, err
	}
	out := Question{Rental: asRental(r, d.Now()), Budgets: asBalances(bs), Exceeds: []Balance{}, Approvers: d.asked(r), Urgent: !r.Escalated.IsZero(), Local: d.ifDenied(r)}
	stake, err := d.stake(ctx, r)
	if err != nil {
		return Question{}, err
	}
	out.Needs = d.needs(stake)
	v := bridge.Verdict{Why: r.Why, Cost: r.Hold, Pool: &r.Pool, Rental: r.ID}
	for i := range bs {
		if exceeds(r, &bs[i]) {
			out.Exceeds = append(out.Exceeds, out.Budgets[i])
			limitedBy(&v, &bs[i])
		}
	}
	out.Why = lang.Why(&v)
	if r.State != bridge.StateWaiting {
		news, err := d.Reader.News(ctx, NewsFilter{Rental: r.ID, Limit: recentNews})
		if err != nil {
			return Question{}, unreadable(err)
		}
		out.Not, out.Ended = "it asks nothing: it is "+string(r.State), d.ended(r, news)
		return out, nil
	}
	if _, err := d.mayDecide(ctx, p, r, true); err != nil {
		out.Not = lang.Wrong(AsError(err))
	}
	out.Mine = out.Not == ""
	return out, nil
}

// sees reports whether a person may look at a rental: their own, or one they
// could be asked to approve.
func (d *Desk) sees(p Person, r *bridge.Rental) bool {
	return p.owns(r) || p.may(SeeAll) || d.approvesSome(p, r.Scope())
}
