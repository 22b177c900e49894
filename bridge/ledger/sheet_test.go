package ledger_test

import (
	"flag"
	"fmt"
	"math/big"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/ledger"
	"spillway.sh/spillway/bridge/sim/soak"
)

// TestMain sets how much the random tests try; flags given by hand win.
func TestMain(m *testing.M) {
	size := map[string]string{"rapid.checks": "1000", "rapid.steps": "60"}
	if soak.Long() {
		size = map[string]string{"rapid.checks": "20000", "rapid.steps": "200"}
	}
	for name, value := range size {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// model is the same money in numbers without a limit of size, kept the plain
// way: by rental, and by asking every rental again for each sum.
type model struct {
	now     time.Time
	rentals map[bridge.RentalID]*modelRental
	order   []bridge.RentalID
}

type modelRental struct {
	account    bridge.Account
	hold, cost *big.Int
	allowed    map[bridge.Account]*big.Int // by account of the budget
	posts      []modelPost
	ended      bool
}

type modelPost struct {
	at   time.Time
	diff *big.Int
}

func (m *modelRental) rest() *big.Int {
	rest := new(big.Int).Sub(m.hold, m.cost)
	if m.ended || rest.Sign() < 0 {
		return new(big.Int)
	}
	return rest
}

// sums returns what accounts at or below one posted in a span, and hold.
func (m *model) sums(below bridge.Account, start, end time.Time) (posted, held *big.Int) {
	posted, held = new(big.Int), new(big.Int)
	for _, r := range m.rentals {
		if !slices.Contains(r.account.Ancestors(), below) {
			continue
		}
		held.Add(held, r.rest())
		for _, p := range r.posts {
			if !p.at.Before(start) && p.at.Before(end) {
				posted.Add(posted, p.diff)
			}
		}
	}
	return posted, held
}

func (m *model) post(r *modelRental, cost int64) {
	diff := new(big.Int).Sub(big.NewInt(cost), r.cost)
	if diff.Sign() != 0 {
		r.posts = append(r.posts, modelPost{m.now, diff})
		r.cost = big.NewInt(cost)
	}
}

// books is the ledger under test, with the model beside it.
type books struct {
	model
	chain   []ledger.Transaction
	head    ledger.Head
	sheet   ledger.Sheet
	holds   map[bridge.RentalID]ledger.Hold
	budgets []bridge.Budget
	// loose is set once something that may exceed limits happened: an overrun, or
	// a limit that was lowered.
	loose bool
}

func newBooks(t *rapid.T) *books {
	b := &books{model: model{now: noon, rentals: map[bridge.RentalID]*modelRental{}}, holds: map[bridge.RentalID]ledger.Hold{}}
	for _, a := range []bridge.Account{"org", "org/a", "org/a/p", "org/b"} {
		b.budgets = append(b.budgets, bridge.Budget{
			Account: a, Limit: usd(rapid.Int64Range(100, 2000).Draw(t, "limit")),
			Every: rapid.SampledFrom([]bridge.PeriodKind{bridge.Day, bridge.Week, bridge.Month}).Draw(t, "every"),
			Zone:  zone(t, rapid.SampledFrom(zones).Draw(t, "zone")),
		})
	}
	return b
}

// write seals and applies transactions, as a store does.
func (b *books) write(t *rapid.T, txs []ledger.Transaction) {
	for i := range txs {
		b.head = txs[i].Seal(b.head)
		if err := b.sheet.Apply(&txs[i]); err != nil {
			t.Fatal(err)
		}
	}
	b.chain = append(b.chain, txs...)
}

// missing returns what each budget of an account lacks for an amount.
func (b *books) missing(t *rapid.T, account bridge.Account, amount int64) map[int]int64 {
	out := map[int]int64{}
	for i := range b.budgets {
		if !slices.Contains(account.Ancestors(), b.budgets[i].Account) {
			continue
		}
		bal := b.sheet.Balance(&b.budgets[i], b.now)
		left, err := bal.Left()
		if err != nil {
			t.Fatal(err)
		}
		if left.Micro < amount {
			out[i] = min(amount-left.Micro, amount)
		}
	}
	return out
}

func (b *books) hold(t *rapid.T) {
	account := rapid.SampledFrom([]bridge.Account{"org/a/p/ann", "org/a/p/bob", "org/a/q/cyd", "org/b/p/dan"}).Draw(t, "account")
	amount := rapid.Int64Range(1, 600).Draw(t, "hold")
	r := rental(bridge.NewRentalID(int64(len(b.order)+1)), account, amount)
	missing := b.missing(t, account, amount)
	allowed := map[bridge.Account]*big.Int{}
	if len(missing) > 0 {
		if !rapid.Bool().Draw(t, "approved") {
			return
		}
		for i, micro := range missing {
			b.write(t, []ledger.Transaction{ledger.Allow(b.now, r, &b.budgets[i], usd(micro), "boss")})
			allowed[b.budgets[i].Account] = big.NewInt(micro)
		}
	}
	h, txs, err := ledger.Open(b.now, r, "")
	if err != nil {
		t.Fatal(err)
	}
	b.write(t, txs)
	b.holds[r.ID] = h
	b.order = append(b.order, r.ID)
	b.rentals[r.ID] = &modelRental{account: account, hold: big.NewInt(amount), cost: new(big.Int), allowed: allowed}
}

// open draws a rental with an open hold; false if there is none.
func (b *books) open(t *rapid.T) (bridge.RentalID, bool) {
	var ids []bridge.RentalID
	for _, id := range b.order {
		if !b.rentals[id].ended {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return "", false
	}
	return rapid.SampledFrom(ids).Draw(t, "rental"), true
}

// cost draws a new cost: mostly a little more, at times beyond the hold or less.
func (b *books) cost(t *rapid.T, id bridge.RentalID) int64 {
	h := b.holds[id]
	cost := rapid.OneOf(
		rapid.Int64Range(h.Posted.Micro, max(h.Posted.Micro, h.Total.Micro)),
		rapid.Int64Range(0, h.Total.Micro+50),
	).Draw(t, "cost")
	b.loose = b.loose || cost > h.Total.Micro
	return cost
}

func (b *books) post(t *rapid.T) {
	if id, ok := b.open(t); ok {
		cost := b.cost(t, id)
		h, txs, err := b.holds[id].Post(b.now, usd(cost))
		if err != nil {
			t.Fatal(err)
		}
		b.write(t, txs)
		b.holds[id] = h
		b.model.post(b.rentals[id], cost)
	}
}

func (b *books) settle(t *rapid.T) {
	if id, ok := b.open(t); ok {
		cost := b.cost(t, id)
		h, txs, err := b.holds[id].Settle(b.now, usd(cost))
		if err != nil {
			t.Fatal(err)
		}
		b.write(t, txs)
		b.holds[id] = h
		b.model.post(b.rentals[id], cost)
		b.rentals[id].ended = true
	}
}

func (b *books) extend(t *rapid.T) {
	id, ok := b.open(t)
	if !ok {
		return
	}
	more := rapid.Int64Range(1, 200).Draw(t, "more")
	if len(b.missing(t, b.rentals[id].account, more)) > 0 {
		return
	}
	h, txs, err := b.holds[id].Extend(b.now, usd(more))
	if err != nil {
		t.Fatal(err)
	}
	b.write(t, txs)
	b.holds[id] = h
	b.rentals[id].hold.Add(b.rentals[id].hold, big.NewInt(more))
}

func (b *books) changeLimit(t *rapid.T) {
	i := rapid.IntRange(0, len(b.budgets)-1).Draw(t, "budget")
	limit := rapid.Int64Range(100, 2000).Draw(t, "limit")
	b.loose = b.loose || limit < b.budgets[i].Limit.Micro
	b.budgets[i].Limit = usd(limit)
}

func (b *books) wait(t *rapid.T) {
	b.now = b.now.Add(time.Duration(rapid.Int64Range(1, 40*24*60).Draw(t, "minutes")) * time.Minute)
}

// crash forgets all sums and gains them again from the chain.
func (b *books) crash(t *rapid.T) {
	if err := ledger.Verify(slices.Values(b.chain), b.head); err != nil {
		t.Fatal(err)
	}
	b.sheet = ledger.Sheet{}
	for i := range b.chain {
		if err := b.sheet.Apply(&b.chain[i]); err != nil {
			t.Fatal(err)
		}
	}
}

// check compares everything with the model, after every action.
func (b *books) check(t *rapid.T) {
	for c, sum := range b.sheet.Total {
		if sum != 0 { // I9
			t.Fatalf("lines in %s sum to %d", c, sum)
		}
	}
	var open []bridge.RentalID
	for id, r := range b.rentals {
		if !r.ended {
			open = append(open, id)
		}
		h := b.sheet.Holds[id]
		if big.NewInt(h.Total.Micro).Cmp(r.hold) != 0 || big.NewInt(h.Posted.Micro).Cmp(r.cost) != 0 || h.Closed != r.ended || h != b.holds[id] {
			t.Fatalf("%s is %+v, the model has hold %s, cost %s, ended %t", id, h, r.hold, r.cost, r.ended)
		}
		allowed := new(big.Int)
		for _, micro := range r.allowed {
			allowed.Add(allowed, micro)
		}
		if big.NewInt(b.sheet.Overage[id]).Cmp(allowed) != 0 {
			t.Fatalf("%s was allowed %d, the model has %s", id, b.sheet.Overage[id], allowed)
		}
	}
	slices.Sort(open)
	if got := b.sheet.Open(); !slices.Equal(got, open) { // I11
		t.Fatalf("open holds are %v, want %v", got, open)
	}
	for i := range b.budgets {
		b.checkBudget(t, &b.budgets[i])
	}
}

func (b *books) checkBudget(t *rapid.T, budget *bridge.Budget) {
	start, end := bridge.Span(b.now, budget.Every, budget.Zone)
	posted, held := b.sums(budget.Account, start, end)
	got := b.sheet.Balance(budget, b.now)
	if big.NewInt(got.Posted.Micro).Cmp(posted) != 0 || big.NewInt(got.Held.Micro).Cmp(held) != 0 {
		t.Fatalf("%s in %s: posted %d, held %d; the model has %s and %s", budget.Account, got.Period, got.Posted.Micro, got.Held.Micro, posted, held)
	}
	if b.loose {
		return
	}
	most := big.NewInt(budget.Limit.Micro) // I10, over the end of periods too
	for _, r := range b.rentals {
		if micro, ok := r.allowed[budget.Account]; ok {
			most.Add(most, micro)
		}
	}
	if used := new(big.Int).Add(posted, held); used.Cmp(most) > 0 {
		t.Fatalf("%s in %s: %s of %s are used", budget.Account, got.Period, used, most)
	}
}

func TestLedgerAgreesWithItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBooks(t)
		actions := map[string]func(*rapid.T){
			"hold": b.hold, "hold again": b.hold, "post": b.post, "post again": b.post, "settle": b.settle, "extend": b.extend,
			"change limit": b.changeLimit, "wait": b.wait, "crash": b.crash, "": b.check,
		}
		t.Repeat(actions)
	})
}

func TestSheetRefusesWhatNoHoldCanDo(t *testing.T) {
	h, opened, err := ledger.Open(noon, rental("r-0011", "org/a", 100), "")
	if err != nil {
		t.Fatal(err)
	}
	_, posted, err := h.Post(noon, usd(10))
	if err != nil {
		t.Fatal(err)
	}
	_, settled, err := h.Settle(noon, usd(0))
	if err != nil {
		t.Fatal(err)
	}
	swollen := posted[0]
	swollen.Lines = []ledger.Line{{Account: "org/a", Book: ledger.Room, Amount: usd(-10)}, {Account: "org/a", Book: ledger.Posted, Amount: usd(10)}}
	for name, c := range map[string][]ledger.Transaction{
		"two holds of one rental":         {opened[0], opened[0]},
		"cost without a hold":             {posted[0]},
		"cost after the end":              {opened[0], settled[0], posted[0]},
		"a second end":                    {opened[0], settled[0], settled[0]},
		"cost that leaves the hold as is": {opened[0], swollen},
	} {
		t.Run(name, func(t *testing.T) {
			var s ledger.Sheet
			var err error
			for i := range c {
				if err != nil {
					t.Fatalf("refused too early: %v", err)
				}
				err = s.Apply(&c[i])
			}
			if err == nil {
				t.Error("the last transaction was accepted")
			}
		})
	}
}

func ExamplePeriodOf() {
	now := time.Date(2026, 11, 30, 16, 30, 0, 0, time.UTC)
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		panic(err)
	}
	fmt.Println(bridge.PeriodOf(now, bridge.Month, time.UTC), bridge.PeriodOf(now, bridge.Month, shanghai))
	// Output: 2026-11 2026-12
}
