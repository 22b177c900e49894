package store_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/ledger"
	"spillway.sh/spillway/bridge/store"
)

// What a bill, a credit or a refund cannot be is refused with what is wrong, and
// leaves no trace; nor do those that came with it.
func TestCorrectionsThatCannotBe(t *testing.T) {
	s := open(t, t.TempDir(), newHands(late))
	done := reach(t, s, bridge.StateReleasing)
	done.State, done.Cost = bridge.StateSettled, usd(5)
	done = must[bridge.Rental](t)(s.Settle(t.Context(), done))
	running, waiting := reach(t, s, bridge.StateAdmitted), reach(t, s, bridge.StateClosed)
	good := bridge.Correction{Key: "1", Rental: done.ID, Kind: bridge.ByBill, Amount: usd(1), Used: noon, Who: "root"}
	for name, c := range map[string]struct {
		change func(c *bridge.Correction)
		kind   error
		says   string
	}{
		"of no rental":              {func(c *bridge.Correction) { c.Rental = "r-none" }, store.ErrNoRental, "r-none"},
		"of one that runs":          {func(c *bridge.Correction) { c.Rental = running.ID }, ledger.ErrOpen, "not settled yet"},
		"of one that held nothing":  {func(c *bridge.Correction) { c.Rental = waiting.ID }, store.ErrState, "never held money"},
		"a refund of more than all": {func(c *bridge.Correction) { c.Kind, c.Amount = bridge.ByRefund, usd(-6.01) }, ledger.ErrTooMuch, "has cost 6.00 USD"},
		"a bill that leaves less":   {func(c *bridge.Correction) { c.Amount = usd(-7) }, ledger.ErrTooMuch, "has cost 6.00 USD"},
		"a credit that costs":       {func(c *bridge.Correction) { c.Kind = bridge.ByCredit }, ledger.ErrCorrection, "credit of that amount"},
		"of nothing":                {func(c *bridge.Correction) { c.Amount = usd(0) }, ledger.ErrCorrection, "makes no sense"},
		"of a kind nobody knows":    {func(c *bridge.Correction) { c.Kind = "gift" }, ledger.ErrCorrection, "gift"},
		"in another currency":       {func(c *bridge.Correction) { c.Amount.Currency = "CNY" }, bridge.ErrCurrency, "paid in USD"},
		"in no currency":            {func(c *bridge.Correction) { c.Amount.Currency = "" }, bridge.ErrCurrency, "paid in USD"},
		"beyond all money":          {func(c *bridge.Correction) { c.Amount.Micro = math.MaxInt64 }, bridge.ErrOverflow, "64 bits"},
		"without a key":             {func(c *bridge.Correction) { c.Key = "" }, ledger.ErrCorrection, "key"},
		"by nobody":                 {func(c *bridge.Correction) { c.Who = "" }, ledger.ErrCorrection, "by"},
		"at no time":                {func(c *bridge.Correction) { c.Used = time.Time{} }, ledger.ErrCorrection, "used at"},
		"in a time to come":         {func(c *bridge.Correction) { c.Used = late.Add(1) }, ledger.ErrCorrection, "used at"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := good
			bad.Key = "2"
			c.change(&bad)
			n, err := s.Correct(t.Context(), []bridge.Correction{good, bad}, news(bridge.NewsCorrected))
			if n != 0 || !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%d new, %v", n, err)
			}
		})
	}
	cost := must[bridge.Rental](t)(s.Rental(t.Context(), done.ID)).Cost
	told := must[[]bridge.News](t)(s.NewsBetween(t.Context(), noon, late.Add(1), bridge.NewsCorrected))
	if kept := must[[]bridge.Correction](t)(s.Corrections(t.Context(), noon, late.Add(1))); cost != usd(5) || len(told)+len(kept) != 0 {
		t.Errorf("it costs %s; %d were kept, %d told", cost, len(kept), len(told))
	}
	checked(t, s)
}

func TestHoldsThatCannotBe(t *testing.T) {
	s := open(t, t.TempDir(), newHands(noon))
	for name, c := range map[string]struct {
		hold   bridge.Money
		market bridge.Market
		limits []bridge.Budget
		kind   error
	}{
		"below nothing":                   {usd(-1), bridge.OnDemand, wide, ledger.ErrAmount},
		"of nothing, of what costs":       {usd(0), bridge.Spot, wide, ledger.ErrAmount},
		"below nothing, of a contract":    {usd(-1), bridge.Reserved, wide, ledger.ErrAmount},
		"in a currency of no budget":      {bridge.Money{Micro: 1, Currency: "CNY"}, bridge.OnDemand, wide, bridge.ErrCurrency},
		"in no currency":                  {bridge.Money{Micro: 1}, bridge.OnDemand, wide, bridge.ErrCurrency},
		"beyond all money":                {bridge.Money{Micro: math.MaxInt64, Currency: "USD"}, bridge.OnDemand, wide, bridge.ErrOverBudget},
		"where only another cloud's is":   {usd(1), bridge.OnDemand, []bridge.Budget{narrow(budget("org", 10, true), "south", "")}, bridge.ErrOverBudget},
		"where two budgets disagree":      {usd(5), bridge.OnDemand, []bridge.Budget{budget("org", 10, true), narrow(budget("org", 4, true), "north", "")}, bridge.ErrOverBudget},
		"where the limit fell below used": {usd(1), bridge.OnDemand, []bridge.Budget{budget("org", -3, true)}, bridge.ErrOverBudget},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRental(t, s, bridge.StateLaunching, 1)
			r.Hold, r.Pool.Market, r.Pool.Cloud = c.hold, c.market, "north"
			if _, err := s.Reserve(t.Context(), r, c.limits); !errors.Is(err, c.kind) {
				t.Errorf("got %v, want %v", err, c.kind)
			}
			if _, err := s.Rental(t.Context(), r.ID); !errors.Is(err, store.ErrNoRental) {
				t.Errorf("it was stored: %v", err)
			}
		})
	}
	if report := checked(t, s); report.Transactions != 0 {
		t.Errorf("%d entries", report.Transactions)
	}
}

// Machines of a contract hold nothing and cost nothing more; they live and end
// like others, also where a budget is used up.
func TestWhatIsPaidAnywayHoldsNothing(t *testing.T) {
	is := must[bridge.Rental](t)
	s := open(t, t.TempDir(), newHands(noon))
	empty := []bridge.Budget{budget("org", 0, true)}
	r := newRental(t, s, bridge.StateLaunching, 0)
	r.Pool.Market = bridge.Reserved
	r = is(s.Reserve(t.Context(), r, empty))
	r.Expires = r.Expires.Add(time.Hour)
	r = is(s.Extend(t.Context(), r, usd(0), empty))
	r.State, r.Cost = bridge.StateReleasing, usd(0)
	r = is(s.Post(t.Context(), r))
	if got := must[[]bridge.Rental](t)(s.RentalsBetween(t.Context(), noon, late)); len(got) != 1 {
		t.Errorf("%d rentals are there while it lives", len(got))
	}
	end(t, s, r)
	txs := checkedLedger(t, s)
	if len(txs) != 2 || txs[0].Kind != ledger.KindHold || txs[1].Kind != ledger.KindVoid || len(txs[0].Lines)+len(txs[1].Lines) != 0 {
		t.Errorf("the ledger has %+v", txs)
	}
	bought := newRental(t, s, bridge.StateLaunching, 1)
	bought = is(s.Reserve(t.Context(), bought, wide))
	if _, err := s.Extend(t.Context(), bought, usd(0), wide); !errors.Is(err, ledger.ErrAmount) {
		t.Errorf("an extension by nothing of what costs: %v", err)
	}
	for name, change := range map[string]func(r *bridge.Rental){
		"cloud": func(r *bridge.Rental) { r.Pool.Cloud = "south" }, "class": func(r *bridge.Rental) { r.Shape.GPUType = "h100" },
		"account": func(r *bridge.Rental) { r.Account = "org/other" },
	} {
		moved := bought
		change(&moved)
		if _, err := s.Save(t.Context(), moved); !errors.Is(err, store.ErrMoney) {
			t.Errorf("saved with another %s while money is held: %v", name, err)
		}
		moved.Cost = usd(0.5)
		if _, err := s.Post(t.Context(), moved); !errors.Is(err, store.ErrMoney) {
			t.Errorf("posted for another %s: %v", name, err)
		}
	}
}

// A sum that no column can hold stops what it was needed for; it is not stored as
// something near it.
func TestSumsBeyondAllMoney(t *testing.T) {
	s := open(t, t.TempDir(), newHands(noon))
	r := newRental(t, s, bridge.StateLaunching, 0)
	r.Hold.Micro, r.State = math.MaxInt64-10, bridge.StateJoining // no budget is asked
	must[bridge.Rental](t)(s.Adopt(t.Context(), r))
	second := newRental(t, s, bridge.StateLaunching, 1)
	second.State = bridge.StateJoining
	if _, err := s.Adopt(t.Context(), second); err == nil {
		t.Error("two holds of all the money there is were stored")
	}
	if err := s.AddUsage(t.Context(), bridge.Usage{Hour: noon, Cluster: "c1", Owned: math.MaxInt64}, bridge.Usage{Hour: noon, Cluster: "c1", Owned: 1}); err == nil {
		t.Error("more seconds than there are were stored")
	}
	if used := must[[]bridge.Usage](t)(s.Usage(t.Context(), noon, late)); len(used) != 0 {
		t.Errorf("%+v", used)
	}
	checked(t, s)
}

func TestBillsUsageAndSpansThatCannotBe(t *testing.T) {
	s := open(t, t.TempDir(), newHands(noon))
	line := bridge.BillLine{Cloud: "north", Key: "1", From: noon, To: late, Amount: usd(1)}
	for name, change := range map[string]func(l *bridge.BillLine){
		"no cloud": func(l *bridge.BillLine) { l.Cloud = "" }, "no key": func(l *bridge.BillLine) { l.Key = "" },
		"no currency": func(l *bridge.BillLine) { l.Amount.Currency = "" }, "a sign for a currency": func(l *bridge.BillLine) { l.Amount.Currency = "$" },
		"no time": func(l *bridge.BillLine) { l.From = time.Time{} }, "an end before its start": func(l *bridge.BillLine) { l.From, l.To = l.To, l.From },
	} {
		bad := line
		bad.Key = "2"
		change(&bad)
		if added, known, err := s.SaveBill(t.Context(), []bridge.BillLine{line, bad}); added+known != 0 || !errors.Is(err, store.ErrBill) || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: %d and %d, %v", name, added, known, err)
		}
	}
	for name, u := range map[string]bridge.Usage{
		"within an hour": {Hour: noon.Add(time.Minute), Cluster: "c1"}, "of no cluster": {Hour: noon}, "below nothing": {Hour: noon, Cluster: "c1", Useful: -1},
	} {
		if err := s.AddUsage(t.Context(), bridge.Usage{Hour: noon, Cluster: "c1", Seconds: 1}, u); !errors.Is(err, store.ErrUsage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.PostedBetween(t.Context(), noon, noon.Add(time.Minute)); !errors.Is(err, store.ErrQuarter) {
		t.Errorf("within a quarter hour: %v", err)
	}
	lines := must[[]bridge.BillLine](t)(s.BillLines(t.Context(), "", noon, late))
	if used := must[[]bridge.Usage](t)(s.Usage(t.Context(), noon, late)); len(lines)+len(used) != 0 {
		t.Errorf("%d lines and %d hours were stored", len(lines), len(used))
	}
}

// A line overlaps a time by its own; one of a single instant counts in the time
// that begins with it.
func TestBillLinesOverlap(t *testing.T) {
	s := open(t, t.TempDir(), newHands(late))
	at := func(key string, from, to time.Time) bridge.BillLine {
		return bridge.BillLine{Cloud: "north", Key: key, From: from, To: to, Amount: usd(-1)}
	}
	all := []bridge.BillLine{
		at("before", noon.Add(-time.Hour), noon), at("into", noon.Add(-time.Hour), noon.Add(1)), at("instant", noon, noon),
		at("within", noon, late), at("last instant", late.Add(-1), late.Add(-1)), at("after", late, late), at("over", noon.Add(-1), late.Add(1)),
	}
	if added, _, err := s.SaveBill(t.Context(), all); added != len(all) || err != nil {
		t.Fatal(added, err)
	}
	var keys []string
	for _, l := range must[[]bridge.BillLine](t)(s.BillLines(t.Context(), "north", noon, late)) {
		keys = append(keys, l.Key)
	}
	if got := strings.Join(keys, ", "); got != "into, over, instant, within, last instant" {
		t.Errorf("in the hour are %s", got)
	}
	if other := must[[]bridge.BillLine](t)(s.BillLines(t.Context(), "south", noon, late)); len(other) != 0 {
		t.Errorf("another cloud has %d", len(other))
	}
}
