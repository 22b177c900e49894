package desk

import (
	"context"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// ResultKind is what came of an answer to a question.
type ResultKind string

// The results. The first four changed something, or had before: Repeated is
// the same answer of the same person again. All others changed nothing.
const (
	ResultApproved ResultKind = "approved"
	ResultExtended ResultKind = "extended" // a question of more time
	ResultAgreed   ResultKind = "agreed"   // one yes of several
	ResultDenied   ResultKind = "denied"
	ResultRepeated ResultKind = "repeated"

	ResultAlready    ResultKind = "already-approved"
	ResultRefused    ResultKind = "already-denied"
	ResultLapsed     ResultKind = "lapsed"
	ResultWithdrawn  ResultKind = "withdrawn"
	ResultSuperseded ResultKind = "superseded" // the question has changed
	ResultOwn        ResultKind = "your-own"
	ResultNotAllowed ResultKind = "not-allowed"
	ResultOther      ResultKind = "another-budget" // the asker approves for one, not for all that are exceeded
	ResultAuthority  ResultKind = "beyond-authority"
	ResultDearer     ResultKind = "dearer" // than policy or the requester allow
	ResultHard       ResultKind = "hard-budget"
	ResultStopped    ResultKind = "stopped" // frozen or protected
	ResultIdle       ResultKind = "asks-nothing"
)

// Result is what came of an answer, and all that its wording is made of.
type Result struct {
	Kind   ResultKind      `json:"kind"`
	Rental bridge.RentalID `json:"rental"`
	// Who decided, when and why: of what was decided before.
	Who  string    `json:"who,omitempty"`
	At   time.Time `json:"at,omitzero"`
	Text string    `json:"text,omitempty"`

	Approvers []string       `json:"approvers,omitempty"` // who may
	Given     int            `json:"given,omitempty"`     // yeses so far
	Needs     int            `json:"needs,omitempty"`     // yeses in all
	Hold      bridge.Money   `json:"hold"`
	Was       bridge.Money   `json:"was"`   // hold of the question before
	Limit     bridge.Money   `json:"limit"` // authority, or what a budget has left
	Account   bridge.Account `json:"account,omitempty"`
	Scope     *bridge.Scope  `json:"scope,omitempty"` // of the budget, where it is of one cloud or class alone
	Detail    string         `json:"detail,omitempty"`
}

// of names the budget that a result is about.
func (r *Result) of(s bridge.Scope) {
	r.Account = s.Account
	if parts(s) > 0 {
		r.Scope = &s
	}
}

// Changed reports whether the answer itself did something.
func (r *Result) Changed() bool {
	return r.Kind == ResultApproved || r.Kind == ResultExtended || r.Kind == ResultAgreed || r.Kind == ResultDenied
}

// no is a result as a refusal.
func (r *Result) no(kind ErrorKind, try string) error {
	return &Error{Kind: kind, Wrong: English.Result(r), Try: try, Result: r}
}

// own reports whether a person is the requester of a rental: who asked, whose
// request it was by hand, or who it is for, whatever door they come through.
func (p Person) own(r *bridge.Rental) bool {
	levels := strings.Split(string(r.Account), "/")
	return p.Name == "" || p.Name == r.Requester || strings.HasPrefix(r.Key, p.Name+"/") || len(levels) > 3 && p.Name == levels[3]
}

// authority is the most a person may say yes to; false: any amount. Their own
// name counts before groups, of which the highest counts, and those before *.
func authority(a *bridge.Approval, p Person) (bridge.Money, bool) {
	if m, ok := a.Authority[p.Name]; ok {
		return m, true
	}
	most, limited := bridge.Money{}, false
	for _, g := range p.Groups {
		if m, ok := a.Authority["@"+g]; ok && (!limited || m.Micro > most.Micro) {
			most, limited = m, true
		}
	}
	if limited {
		return most, true
	}
	m, ok := a.Authority["*"]
	return m, ok
}

// beyond reports whether an amount is more than a limit that is always one,
// even a limit of nothing; amounts of another currency are.
func beyond(m, limit bridge.Money) bool {
	c, err := m.Cmp(limit)
	return err != nil || c > 0
}

// stake is what limits of persons are compared with: the hold, and of an
// extension what is held already, so that a large rental in small steps needs
// what a large one needs.
func (d *Desk) stake(ctx context.Context, r *bridge.Rental) (bridge.Money, error) {
	if r.Extends == "" {
		return r.Hold, nil
	}
	of, err := d.Reader.Rental(ctx, r.Extends)
	if err != nil {
		return r.Hold, unreadable(err)
	}
	sum, err := of.Hold.Add(r.Hold)
	if err != nil {
		return r.Hold, wrong(Internal, "spillway rentals "+string(r.ID), "the hold of %s cannot be added to that of %s: %s", r.ID, of.ID, err)
	}
	return sum, nil
}

// needs is how many persons have to say yes to a stake.
func (d *Desk) needs(stake bridge.Money) int {
	if two := d.Rules.Approval().TwoAbove; two.Micro > 0 && beyond(stake, two) {
		return 2
	}
	return 1
}

// asked names who may be asked about a question: those of its budgets, near its
// end the escalation too, never the requester.
func (d *Desk) asked(r *bridge.Rental) []string {
	out := d.approversOf(r.Scope())
	if !r.Escalated.IsZero() {
		out = append(out, d.Rules.Approval().Escalation...)
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(w string) bool { return w == r.Requester })
}

// result is a result about a rental as it is now.
func (d *Desk) result(kind ResultKind, r *bridge.Rental) *Result {
	out := &Result{Kind: kind, Rental: r.ID, Given: len(r.Yeses), Hold: r.Hold, Account: r.Account.Project(), At: d.Now()}
	if kind == ResultExtended {
		out.Detail = string(r.Extends)
	}
	return out
}

// ended is how a question ended, as the news of it tell; nil while it is open.
func (d *Desk) ended(r *bridge.Rental, news []bridge.News) *Result {
	kinds := map[bridge.NewsKind]ResultKind{
		bridge.NewsApproved: ResultAlready, bridge.NewsDenied: ResultRefused,
		bridge.NewsLapsed: ResultLapsed, bridge.NewsWithdrawn: ResultWithdrawn,
	}
	for _, n := range slices.Backward(news) {
		if kind, ok := kinds[n.Kind]; ok && n.Rental == r.ID {
			out := d.result(kind, r)
			out.Who, out.At, out.Text = n.Who, n.At, n.Text
			return out
		}
	}
	return nil
}
