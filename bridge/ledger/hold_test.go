package ledger_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/ledger"
)

// move is a transaction as a test reads it.
type move struct {
	Kind               ledger.Kind
	Amount             int64
	Room, Held, Posted int64
}

func moves(txs []ledger.Transaction) []move {
	var out []move
	for _, t := range txs {
		m := move{Kind: t.Kind, Amount: t.Amount.Micro}
		for _, l := range t.Lines {
			switch l.Book {
			case ledger.Room:
				m.Room += l.Amount.Micro
			case ledger.Held:
				m.Held += l.Amount.Micro
			case ledger.Posted:
				m.Posted += l.Amount.Micro
			case ledger.Overage:
			}
		}
		out = append(out, m)
	}
	return out
}

// action is one step on a hold.
type action func(ledger.Hold) (ledger.Hold, []ledger.Transaction, error)

func post(cost int64) action {
	return func(h ledger.Hold) (ledger.Hold, []ledger.Transaction, error) { return h.Post(noon, usd(cost)) }
}

func settle(cost int64) action {
	return func(h ledger.Hold) (ledger.Hold, []ledger.Transaction, error) { return h.Settle(noon, usd(cost)) }
}

func extend(more int64) action {
	return func(h ledger.Hold) (ledger.Hold, []ledger.Transaction, error) { return h.Extend(noon, usd(more)) }
}

func TestStepsOfAHoldOfOneHundred(t *testing.T) {
	for name, c := range map[string]struct {
		steps []action
		want  []move
	}{
		"settled without any cost, it is void":         {[]action{settle(0)}, []move{{ledger.KindVoid, 100, 100, -100, 0}}},
		"an equal cost is not recorded twice":          {[]action{post(10), post(10)}, []move{{ledger.KindPost, 10, 0, -10, 10}}},
		"cost is posted by its difference":             {[]action{post(10), post(25)}, []move{{ledger.KindPost, 10, 0, -10, 10}, {ledger.KindPost, 15, 0, -15, 15}}},
		"settling posts the rest and returns the rest": {[]action{post(10), settle(40)}, []move{{ledger.KindPost, 10, 0, -10, 10}, {ledger.KindPost, 30, 0, -30, 30}, {ledger.KindSettle, 60, 60, -60, 0}}},
		"the whole hold may be spent":                  {[]action{settle(100)}, []move{{ledger.KindPost, 100, 0, -100, 100}, {ledger.KindSettle, 0, 0, 0, 0}}},
		"cost beyond the hold is an overrun":           {[]action{post(130)}, []move{{ledger.KindPost, 100, 0, -100, 100}, {ledger.KindAdjust, 30, -30, 0, 30}}},
		"more overrun takes more room":                 {[]action{post(130), post(140)}, []move{{ledger.KindPost, 100, 0, -100, 100}, {ledger.KindAdjust, 30, -30, 0, 30}, {ledger.KindAdjust, 10, -10, 0, 10}}},
		"a smaller cost goes back to the hold":         {[]action{post(50), post(20)}, []move{{ledger.KindPost, 50, 0, -50, 50}, {ledger.KindAdjust, -30, 0, 30, -30}}},
		"a smaller final cost is returned":             {[]action{post(50), settle(20)}, []move{{ledger.KindPost, 50, 0, -50, 50}, {ledger.KindAdjust, -30, 0, 30, -30}, {ledger.KindSettle, 80, 80, -80, 0}}},
		"a correction ends an overrun first":           {[]action{post(130), post(90)}, []move{{ledger.KindPost, 100, 0, -100, 100}, {ledger.KindAdjust, 30, -30, 0, 30}, {ledger.KindAdjust, -40, 30, 10, -40}}},
		"an extension covers what ran over":            {[]action{post(130), extend(50)}, []move{{ledger.KindPost, 100, 0, -100, 100}, {ledger.KindAdjust, 30, -30, 0, 30}, {ledger.KindExtend, 50, -20, 20, 0}}},
		"an extension is held":                         {[]action{extend(50), settle(120)}, []move{{ledger.KindExtend, 50, -50, 50, 0}, {ledger.KindPost, 120, 0, -120, 120}, {ledger.KindSettle, 30, 30, -30, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			h, _, err := ledger.Open(noon, rental("r-0011", "org/team/proj/ann", 100), "")
			if err != nil {
				t.Fatal(err)
			}
			var got []ledger.Transaction
			for _, step := range c.steps {
				next, txs, err := step(h)
				if err != nil {
					t.Fatal(err)
				}
				h, got = next, append(got, txs...)
			}
			if diff := cmp.Diff(c.want, moves(got)); diff != "" {
				t.Errorf("transactions differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStepsThatMakeNoSenseAreRefused(t *testing.T) {
	closed := func(next action) action {
		return func(h ledger.Hold) (ledger.Hold, []ledger.Transaction, error) {
			h, _, err := h.Settle(noon, usd(1))
			if err != nil {
				return h, nil, err
			}
			return next(h)
		}
	}
	yuan := bridge.Money{Micro: 5, Currency: "CNY"}
	for name, c := range map[string]struct {
		step action
		want error
	}{
		"a cost below zero":           {post(-1), ledger.ErrAmount},
		"an extension by nothing":     {extend(0), ledger.ErrAmount},
		"an extension by less":        {extend(-5), ledger.ErrAmount},
		"an extension that overflows": {extend(math.MaxInt64), bridge.ErrOverflow},
		"cost after the end":          {closed(post(5)), ledger.ErrClosed},
		"an extension after the end":  {closed(extend(5)), ledger.ErrClosed},
		"a second end":                {closed(settle(5)), ledger.ErrClosed},
		"cost in another currency": {func(h ledger.Hold) (ledger.Hold, []ledger.Transaction, error) {
			return h.Post(noon, yuan)
		}, bridge.ErrCurrency},
		"an extension in another currency": {func(h ledger.Hold) (ledger.Hold, []ledger.Transaction, error) {
			return h.Extend(noon, yuan)
		}, bridge.ErrCurrency},
	} {
		t.Run(name, func(t *testing.T) {
			h, _, err := ledger.Open(noon, rental("r-0011", "org/team/proj/ann", 100), "")
			if err != nil {
				t.Fatal(err)
			}
			if _, txs, err := c.step(h); !errors.Is(err, c.want) || len(txs) > 0 {
				t.Errorf("got %d transactions and %v, want %v", len(txs), err, c.want)
			}
		})
	}
	for name, r := range map[string]*bridge.Rental{
		"a hold of nothing":      rental("r-0011", "org", 0),
		"a hold below zero":      rental("r-0011", "org", -1),
		"a hold without account": rental("r-0011", "", 1),
		"a hold in no currency":  {ID: "r-0011", Account: "org", Hold: bridge.Money{Micro: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := ledger.Open(noon, r, ""); !errors.Is(err, ledger.ErrAmount) {
				t.Errorf("got %v, want %v", err, ledger.ErrAmount)
			}
		})
	}
}
