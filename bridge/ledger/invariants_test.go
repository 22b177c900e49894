package ledger_test

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/ledger"
)

// drawn is a ledger of some rentals in two currencies, on several clouds, with
// all kinds of steps.
type drawn struct {
	now   time.Time
	chain []ledger.Transaction
	head  ledger.Head
	sheet ledger.Sheet
	holds []ledger.Hold
}

func (d *drawn) write(t *rapid.T, h ledger.Hold, txs []ledger.Transaction, err error) ledger.Hold {
	if err != nil {
		t.Fatal(err)
	}
	for i := range txs {
		d.head = txs[i].Seal(d.head)
		if err := d.sheet.Apply(&txs[i]); err != nil {
			t.Fatal(err)
		}
	}
	d.chain = append(d.chain, txs...)
	return h
}

func (d *drawn) open(t *rapid.T) {
	r := rental(bridge.NewRentalID(int64(len(d.holds)+1)), rapid.SampledFrom([]bridge.Account{"org/a/p/ann", "org/a/q/bob", "org/b"}).Draw(t, "account"), 0)
	r.Hold = bridge.Money{Micro: rapid.Int64Range(1, 1000).Draw(t, "hold"), Currency: rapid.SampledFrom([]bridge.Currency{"USD", "CNY"}).Draw(t, "currency")}
	r.Pool.Cloud, r.Shape.GPUType = rapid.SampledFrom([]string{"", "north", "south"}).Draw(t, "cloud"), rapid.SampledFrom([]string{"", "h100"}).Draw(t, "class")
	if r.Hold.Currency == "CNY" {
		r.FX = "1 CNY = 0.139512 USD (ecb, 2026-11-30)"
	}
	if rapid.IntRange(0, 3).Draw(t, "owned") == 0 {
		r.Pool.Market, r.Hold.Micro = bridge.Reserved, 0
	}
	h, txs, err := ledger.Open(d.now, r, "")
	d.holds = append(d.holds, d.write(t, h, txs, err))
}

// step takes one hold further.
func (d *drawn) step(t *rapid.T) {
	i := rapid.IntRange(0, len(d.holds)-1).Draw(t, "hold")
	h := d.holds[i]
	cost := bridge.Money{Micro: rapid.Int64Range(0, h.Total.Micro+50).Draw(t, "cost"), Currency: h.Total.Currency}
	switch action := rapid.IntRange(0, 3).Draw(t, "action"); {
	case h.Closed:
		c := bridge.Correction{Key: fmt.Sprint("k", len(d.chain)), Rental: h.Rental, Kind: bridge.ByBill, Amount: cost, Used: d.now.Add(-time.Hour), Who: "root"}
		if action > 0 {
			c.Kind, c.Amount.Micro = bridge.ByCredit, -min(cost.Micro, h.Posted.Micro)
		}
		if c.Amount.IsZero() {
			return
		}
		h, tx, err := h.Correct(d.now, &c)
		d.holds[i] = d.write(t, h, []ledger.Transaction{tx}, err)
	case action == 0:
		h, txs, err := h.Settle(d.now, cost)
		d.holds[i] = d.write(t, h, txs, err)
	case action == 1:
		h, txs, err := h.Extend(d.now, bridge.Money{Micro: 1 + cost.Micro, Currency: cost.Currency})
		d.holds[i] = d.write(t, h, txs, err)
	default:
		h, txs, err := h.Post(d.now, cost)
		d.holds[i] = d.write(t, h, txs, err)
	}
}

// draw makes a ledger; check looks at it after every step.
func draw(t *rapid.T, check func(d *drawn)) *drawn {
	d := &drawn{now: noon}
	d.open(t)
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		d.now = d.now.Add(time.Duration(rapid.Int64Range(0, 1000).Draw(t, "minutes")) * time.Minute)
		if rapid.IntRange(0, 2).Draw(t, "new") == 0 {
			d.open(t)
		} else {
			d.step(t)
		}
		check(d)
	}
	return d
}

func TestI01DebitsEqualCreditsInEachEntryAndCurrency(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t, func(*drawn) {})
		all := map[bridge.Currency]*big.Int{}
		for _, tx := range d.chain {
			sum := new(big.Int)
			for _, l := range tx.Lines {
				if l.Amount.Currency != tx.Amount.Currency || l.Amount.IsZero() {
					t.Fatalf("%s of %s has a line of %d %s", tx.Kind, tx.Amount, l.Amount.Micro, l.Amount.Currency)
				}
				sum.Add(sum, big.NewInt(l.Amount.Micro))
			}
			if sum.Sign() != 0 {
				t.Fatalf("%s: its lines sum to %s", tx.Kind, sum)
			}
			if all[tx.Amount.Currency] == nil {
				all[tx.Amount.Currency] = new(big.Int)
			}
			all[tx.Amount.Currency].Add(all[tx.Amount.Currency], sum)
		}
		for c, total := range d.sheet.Total {
			if total != 0 || all[c] == nil || all[c].Sign() != 0 {
				t.Fatalf("all lines in %s sum to %d", c, total)
			}
		}
	})
}

// What was posted falls by an adjustment, a bill, a credit or a refund alone.
func TestI08PostedFallsByANamedEntryAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, seen := map[bridge.RentalID]int64{}, 0
		draw(t, func(d *drawn) {
			for _, tx := range d.chain[seen:] {
				if falls := lineOf(&tx, ledger.Posted) < 0; falls && tx.Kind != ledger.KindAdjust && !tx.Kind.Corrects() {
					t.Fatalf("a %s lowers what was posted by %s", tx.Kind, tx.Amount)
				}
				before[tx.Rental] += lineOf(&tx, ledger.Posted)
			}
			seen = len(d.chain)
			for _, h := range d.holds {
				if before[h.Rental] != h.Posted.Micro || h.Posted.Micro < 0 {
					t.Fatalf("%s has posted %d, its entries say %d", h.Rental, h.Posted.Micro, before[h.Rental])
				}
			}
		})
	})
}

func lineOf(t *ledger.Transaction, book ledger.Book) (micro int64) {
	for _, l := range t.Lines {
		if l.Book == book {
			micro += l.Amount.Micro
		}
	}
	return micro
}

// Machines that go back by their end, at no more than their ceiling, never cost
// more than their hold, whatever the steps, minimum and term of their cloud.
func TestI11AHoldCoversWhatObeysIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minutes := func(name string, most int64) time.Duration {
			return time.Duration(rapid.Int64Range(0, most).Draw(t, name)) * time.Minute
		}
		b := bridge.Billing{Step: minutes("step", 90), Minimum: minutes("minimum", 90), Term: minutes("term", 500), EarlyPM: rapid.IntRange(0, 1000).Draw(t, "early")}
		most := bridge.Rate{Micro: rapid.Int64Range(1, 50*bridge.Micro).Draw(t, "ceiling"), Currency: "USD"}
		life, machines := time.Minute+minutes("life", 2000), rapid.IntRange(1, 8).Draw(t, "machines")
		r := rental("r-0011", "org/a", 0)
		var err error
		if r.Hold, err = b.Worst(most, life, machines); err != nil {
			t.Fatal(err)
		}
		h, _, err := ledger.Open(noon, r, "")
		if err != nil {
			t.Fatal(err)
		}
		cost := bridge.Money{Currency: "USD"}
		for range machines {
			rate := bridge.Rate{Micro: rapid.Int64Range(1, most.Micro).Draw(t, "rate"), Currency: "USD"}
			lived := time.Duration(rapid.Int64Range(0, int64(life)).Draw(t, "lived"))
			one, err := rate.Cost(b.Charged(lived), 1, bridge.RoundHalfEven)
			if err == nil {
				cost, err = cost.Add(one)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if h, _, err = h.Settle(noon.Add(life), cost); err != nil || h.Over().Micro > 0 {
			t.Fatalf("%d machines cost %s of a hold of %s: %v", machines, cost, h.Total, err)
		}
	})
}

// Reading the journal again gives the same sums as were kept along the way, in
// the periods of every zone, for every scope.
func TestI14ReplayOfTheJournalGivesTheSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t, func(*drawn) {})
		var again ledger.Sheet
		for i := range d.chain {
			if err := again.Apply(&d.chain[i]); err != nil {
				t.Fatal(err)
			}
		}
		for _, h := range d.holds {
			if again.Holds[h.Rental] != h {
				t.Fatalf("the journal gives %+v, it was %+v", again.Holds[h.Rental], h)
			}
		}
		for _, s := range []bridge.Scope{{Account: "org"}, {Account: "org/a"}, {Account: "org", Cloud: "north"}, {Account: "org/a", GPU: "h100"}, {Account: "org/b", Cloud: "south", GPU: "h100"}} {
			b := bridge.Budget{Account: s.Account, Cloud: s.Cloud, GPU: s.GPU, Every: bridge.Week, Zone: zone(t, rapid.SampledFrom(zones).Draw(t, "zone")), Limit: usd(1)}
			got := again.Balance(&b, d.now)
			posted, held := int64(0), int64(0)
			start, end := bridge.Span(d.now, b.Every, b.Zone)
			for i := range d.chain {
				tx := &d.chain[i]
				if tx.Amount.Currency != "USD" || !s.Covers(tx.Scope()) {
					continue
				}
				held += lineOf(tx, ledger.Held)
				if at := tx.Arose(); !at.Before(start) && at.Before(end) {
					posted += lineOf(tx, ledger.Posted)
				}
			}
			if got.Posted.Micro != posted || got.Held.Micro != held {
				t.Fatalf("%s has %d and %d, its entries say %d and %d", s, got.Posted.Micro, got.Held.Micro, posted, held)
			}
		}
	})
}

// What people read never says that more is left, or that less was spent, than is true.
func TestI15PeopleAreShownNoMoreThanIsLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := usd(rapid.Int64().Draw(t, "micro"))
		if shown := micros(t, m.Floor()); shown.Cmp(big.NewInt(m.Micro)) > 0 {
			t.Fatalf("%d is left, %s is shown", m.Micro, m.Floor())
		}
		if shown := micros(t, m.String()); shown.Cmp(big.NewInt(m.Micro)) < 0 {
			t.Fatalf("%d was spent, %s is shown", m.Micro, m)
		}
	})
}

// micros reads an amount as people do.
func micros(t *rapid.T, shown string) *big.Int {
	number, currency, _ := strings.Cut(shown, " ")
	out, ok := new(big.Int).SetString(strings.Replace(number, ".", "", 1), 10)
	if !ok || currency != "USD" {
		t.Fatalf("%q is no amount", shown)
	}
	return out.Mul(out, big.NewInt(bridge.Micro/100))
}

// Whatever is changed in one row, the check of the chain names that row.
func TestI18EveryChangeOfARowIsFound(t *testing.T) {
	changes := map[string]func(tx *ledger.Transaction){
		"at": func(tx *ledger.Transaction) { tx.At = tx.At.Add(1) }, "period": func(tx *ledger.Transaction) { tx.Period += "x" },
		"kind": func(tx *ledger.Transaction) { tx.Kind += "x" }, "cluster": func(tx *ledger.Transaction) { tx.Cluster += "x" },
		"rental": func(tx *ledger.Transaction) { tx.Rental += "x" }, "account": func(tx *ledger.Transaction) { tx.Account += "/x" },
		"amount": func(tx *ledger.Transaction) { tx.Amount.Micro++ }, "currency": func(tx *ledger.Transaction) { tx.Amount.Currency += "X" },
		"who": func(tx *ledger.Transaction) { tx.Who += "x" }, "memo": func(tx *ledger.Transaction) { tx.Memo += "x" },
		"cloud": func(tx *ledger.Transaction) { tx.Cloud += "x" }, "class": func(tx *ledger.Transaction) { tx.GPU += "x" },
		"used": func(tx *ledger.Transaction) { tx.Used = tx.Arose().Add(1) }, "key": func(tx *ledger.Transaction) { tx.Key += "x" },
		"rate": func(tx *ledger.Transaction) { tx.FX += "x" }, "cloud for class": func(tx *ledger.Transaction) { tx.Cloud, tx.GPU = tx.GPU+"x", tx.Cloud },
		"line": func(tx *ledger.Transaction) {
			tx.Lines = append(slices.Clone(tx.Lines), ledger.Line{Account: "org", Book: ledger.Room, Amount: tx.Amount})
		},
	}
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t, func(*drawn) {})
		if err := ledger.Verify(slices.Values(d.chain), d.head); err != nil {
			t.Fatal(err)
		}
		what := rapid.SampledFrom(slices.Sorted(maps.Keys(changes))).Draw(t, "change")
		i := rapid.IntRange(0, len(d.chain)-1).Draw(t, "row")
		changes[what](&d.chain[i])
		var got *ledger.ChainError
		if err := ledger.Verify(slices.Values(d.chain), d.head); !errors.As(err, &got) || got.Seq != d.chain[i].Seq || got.Fault != ledger.Changed {
			t.Fatalf("the %s of row %d was changed: %v", what, i+1, err)
		}
	})
}
