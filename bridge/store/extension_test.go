package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/ledger"
	"spillway.sh/spillway/bridge/store"
)

// extension is a rental that holds 30, and a question that wants it to live an
// hour longer for an amount.
func extension(t *testing.T, s *store.Store, more float64) (question, rental bridge.Rental) {
	t.Helper()
	is := must[bridge.Rental]
	rental = is(t)(s.Reserve(t.Context(), newRental(t, s, bridge.StateLaunching, 30), wide))
	q := newRental(t, s, bridge.StateWaiting, more)
	q.Extends, q.Jobs, q.Life = rental.ID, nil, time.Hour
	return is(t)(s.Propose(t.Context(), q)), rental
}

func TestAnExtensionAddsItsHoldAndNoMachines(t *testing.T) {
	for name, c := range map[string]struct {
		budgets []bridge.Budget
		change  func(q, r *bridge.Rental, d *bridge.Decision)
		over    bridge.Money // allowed above a soft budget
		err     error
	}{
		"within every budget":           {budgets: []bridge.Budget{budget("org", 100, true)}},
		"room for just the rest":        {budgets: []bridge.Budget{budget("org", 50, true)}},
		"a soft budget lacks a part":    {budgets: []bridge.Budget{budget("org", 100, true), budget("org/team", 45, false)}, over: usd(5)},
		"a hard budget without room":    {budgets: []bridge.Budget{budget("org", 49, true)}, err: bridge.ErrOverBudget},
		"no budget at all":              {err: bridge.ErrOverBudget},
		"the requester's own yes":       {budgets: wide, change: func(_, _ *bridge.Rental, d *bridge.Decision) { d.Who = "ann" }, err: store.ErrOwn},
		"a no":                          {budgets: wide, change: func(_, _ *bridge.Rental, d *bridge.Decision) { d.Yes = false }, err: store.ErrState},
		"an answer to an older version": {budgets: wide, change: func(_, _ *bridge.Rental, d *bridge.Decision) { d.Version-- }, err: bridge.ErrVersion},
		"a rental seen too long ago":    {budgets: wide, change: func(_, r *bridge.Rental, _ *bridge.Decision) { r.Version-- }, err: bridge.ErrVersion},
		"another hold than was asked":   {budgets: wide, change: func(q, _ *bridge.Rental, _ *bridge.Decision) { q.Hold = usd(1) }, err: store.ErrMoney},
		"of another rental":             {budgets: wide, change: func(q, r *bridge.Rental, _ *bridge.Decision) { r.ID = q.ID }, err: store.ErrState},
		"that would become machines":    {budgets: wide, change: func(q, _ *bridge.Rental, _ *bridge.Decision) { q.State = bridge.StateLaunching }, err: store.ErrState},
		"with a cost of its own":        {budgets: wide, change: func(_, r *bridge.Rental, _ *bridge.Decision) { r.Cost = usd(1) }, err: store.ErrMoney},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), newHands(noon))
			asked, was := extension(t, s, 20)
			q, r, d := asked, was, yes(asked, "boss")
			q.State, r.Expires = bridge.StateClosed, was.Expires.Add(time.Hour)
			if c.change != nil {
				c.change(&q, &r, &d)
			}
			question, extended, err := s.ApproveExtension(t.Context(), d, q, r, c.budgets, news(bridge.NewsApproved))
			if !errors.Is(err, c.err) || c.err == nil && err != nil {
				t.Fatalf("got %v, want %v", err, c.err)
			}
			if err != nil {
				for _, before := range []bridge.Rental{asked, was} {
					if diff := cmp.Diff(before, must[bridge.Rental](t)(s.Rental(t.Context(), before.ID))); diff != "" {
						t.Errorf("a refusal left a trace:\n%s", diff)
					}
				}
				checked(t, s)
				return
			}
			if extended.Hold != usd(50) || !extended.Expires.Equal(was.Expires.Add(time.Hour)) || question.State != bridge.StateClosed || question.ApprovedBy != "boss" {
				t.Errorf("held %s until %s; the question is %s", extended.Hold, extended.Expires, question.State)
			}
			over := bridge.Money{}
			for _, tx := range checkedLedger(t, s) {
				if tx.Kind == ledger.KindOverage {
					over = tx.Amount
				}
			}
			if over != c.over {
				t.Errorf("allowed %s above the budget, want %s", over, c.over)
			}
		})
	}
}
