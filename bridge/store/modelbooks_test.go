package store_test

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/store"
)

const quarter = 15 * time.Minute

// model is the same money, kept the plain way: by rental, and by asking every
// rental again for each sum.
type model struct {
	budgets []bridge.Budget
	lent    map[bridge.RentalID]*lent
	keys    map[string]bridge.Correction
}

// lent is a rental that holds or held money.
type lent struct {
	scope       bridge.Scope
	hold, cost  int64
	from, until time.Time // of the hold; until is zero while it is open
	posts       []posting
}

type posting struct {
	at    time.Time
	micro int64
}

// newModel draws the budgets: five levels of accounts, a cloud, a class of GPU
// and both together, in the days, weeks and months of several zones.
func newModel(t *rapid.T) model {
	m := model{lent: map[bridge.RentalID]*lent{}, keys: map[string]bridge.Correction{}}
	for _, s := range []bridge.Scope{
		{Account: "org"},
		{Account: "org/a"},
		{Account: "org/a/p"},
		{Account: "org/a/p/ann"},
		{Account: "org", Cloud: "north"},
		{Account: "org/a", GPU: "h100"},
		{Account: "org", Cloud: "south", GPU: "a100"},
	} {
		zone, err := time.LoadLocation(rapid.SampledFrom([]string{"UTC", "Asia/Shanghai", "America/New_York", "Australia/Lord_Howe"}).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		b := bridge.Budget{
			Account: s.Account, Cloud: s.Cloud, GPU: s.GPU, Zone: zone, Hard: rapid.Bool().Draw(t, "hard"), Limit: usd(0),
			Every: rapid.SampledFrom([]bridge.PeriodKind{bridge.Day, bridge.Week, bridge.Month}).Draw(t, "every"),
		}
		b.Limit.Micro = rapid.Int64Range(50, 1500).Draw(t, "limit")
		m.budgets = append(m.budgets, b)
	}
	return m
}

func span(b *bridge.Budget, now time.Time) (start, end time.Time) {
	return bridge.Span(now, b.Every, b.Zone)
}

// sums are what a budget's scope posted in its period of now, and holds.
func (m *model) sums(b *bridge.Budget, now time.Time) (posted, held int64) {
	start, end := span(b, now)
	for _, l := range m.lent {
		if !b.Scope().Covers(l.scope) {
			continue
		}
		if l.until.IsZero() {
			held += max(0, l.hold-l.cost)
		}
		for _, p := range l.posts {
			if !p.at.Before(start) && p.at.Before(end) {
				posted += p.micro
			}
		}
	}
	return posted, held
}

// short is what each budget lacks for an amount, by its number.
func (m *model) short(s bridge.Scope, amount int64, now time.Time) map[int]int64 {
	out := map[int]int64{}
	for i := range m.budgets {
		b := &m.budgets[i]
		if !b.Scope().Covers(s) {
			continue
		}
		posted, held := m.sums(b, now)
		if missing := posted + held + amount - b.Limit.Micro; missing > 0 {
			out[i] = min(missing, amount)
		}
	}
	return out
}

func (m *model) hard(short map[int]int64) bool {
	for i := range short {
		if m.budgets[i].Hard {
			return true
		}
	}
	return false
}

func (m *model) lend(r *bridge.Rental, now time.Time) {
	m.lent[r.ID] = &lent{scope: r.Scope(), hold: r.Hold.Micro, from: now}
}

func (m *model) post(id bridge.RentalID, at time.Time, cost int64) {
	l := m.lent[id]
	l.posts = append(l.posts, posting{at, cost - l.cost})
	l.cost = cost
}

// corrected does what a correction must do: how many are new, and whether it is
// an error.
func (m *model) corrected(c *bridge.Correction) (n int, fails bool) {
	if known, ok := m.keys[c.Key]; ok {
		return 0, known != *c
	}
	l := m.lent[c.Rental]
	if l == nil || l.until.IsZero() || c.Amount.IsZero() || c.Kind != bridge.ByBill && c.Amount.Micro > 0 || l.cost+c.Amount.Micro < 0 {
		return 0, true
	}
	m.keys[c.Key] = *c
	m.post(c.Rental, c.Used, l.cost+c.Amount.Micro)
	return 1, false
}

// between are the rentals that held something in [from, to).
func (m *model) between(from, to time.Time) []bridge.RentalID {
	var out []bridge.RentalID
	for id, l := range m.lent {
		if l.from.Before(to) && (l.until.IsZero() || l.until.After(from)) {
			out = append(out, id)
		}
	}
	return slices.SortedFunc(slices.Values(out), cmpIDs)
}

func (m *model) postedBetween(from, to time.Time) []bridge.PostedSum {
	sums := map[bridge.Scope]int64{}
	for _, l := range m.lent {
		for _, p := range l.posts {
			if !p.at.Before(from) && p.at.Before(to) {
				sums[l.scope] += p.micro
			}
		}
	}
	maps.DeleteFunc(sums, func(_ bridge.Scope, micro int64) bool { return micro == 0 })
	var out []bridge.PostedSum
	for _, s := range slices.SortedFunc(maps.Keys(sums), func(a, b bridge.Scope) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Cloud, b.Cloud), cmp.Compare(a.GPU, b.GPU))
	}) {
		out = append(out, bridge.PostedSum{Scope: s, Amount: bridge.Money{Micro: sums[s], Currency: "USD"}})
	}
	return out
}

// cmpIDs orders ids as they were given.
func cmpIDs(a, b bridge.RentalID) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a[:len(a)-1], b[:len(b)-1]))
}

// memory is a directory without a disk behind it where there is one: what these
// tests show needs no sync.
func memory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "spillway-test-") //nolint:usetesting // t.TempDir is on a disk
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// template makes the file of an empty store, which many may begin with.
func template(t testing.TB) string {
	t.Helper()
	dir := memory(t)
	s, err := store.Open(t.Context(), dir, store.Options{Now: newHands(noon).now})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "spillway.db")
}

func copyFile(t rapid.TB, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
