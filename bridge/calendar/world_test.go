package calendar

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
	_ "time/tzdata" // the same zones on every machine

	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// books is a store that several calendars share: what was posted when, what
// lives, and what was told.
type books struct {
	mu     sync.Mutex
	posted []posted
	live   []bridge.Rental
	names  map[string]bool
	news   []bridge.News
	fails  error
}

type posted struct {
	at    time.Time
	scope bridge.Scope
	micro int64
}

func usd(units float64) bridge.Money {
	return bridge.Money{Micro: int64(units * bridge.Micro), Currency: "USD"}
}

func (b *books) post(at time.Time, account bridge.Account, units float64) {
	b.posted = append(b.posted, posted{at, bridge.Scope{Account: account}, int64(units * bridge.Micro)})
}

func (b *books) Balances(_ context.Context, now time.Time, budgets []bridge.Budget) ([]bridge.Balance, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []bridge.Balance
	for i := range budgets {
		x := &budgets[i]
		from, to := bridge.Span(now, x.Every, x.Zone)
		bal := bridge.Balance{Account: x.Account, Period: bridge.PeriodOf(now, x.Every, x.Zone), Limit: x.Limit, Posted: usd(0), Held: usd(0)}
		for _, p := range b.posted {
			if scope := x.Scope(); scope.Covers(p.scope) && !p.at.Before(from) && p.at.Before(to) {
				bal.Posted.Micro += p.micro
			}
		}
		out = append(out, bal)
	}
	return out, b.fails
}

func (b *books) Live(context.Context) ([]bridge.Rental, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.live), b.fails
}

func (b *books) PostedBetween(_ context.Context, from, to time.Time) ([]bridge.PostedSum, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []bridge.PostedSum
	for _, p := range b.posted {
		if !p.at.Before(from) && p.at.Before(to) {
			out = append(out, bridge.PostedSum{Scope: p.scope, Amount: bridge.Money{Micro: p.micro, Currency: "USD"}})
		}
	}
	return out, b.fails
}

func (b *books) NewsBetween(_ context.Context, from, to time.Time, kinds ...bridge.NewsKind) ([]bridge.News, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.news), func(n bridge.News) bool {
		return n.At.Before(from) || !n.At.Before(to) || !slices.Contains(kinds, n.Kind)
	}), b.fails
}

func (b *books) TellOnce(_ context.Context, once ...bridge.Once) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fails != nil {
		return 0, b.fails
	}
	if b.names == nil {
		b.names = map[string]bool{}
	}
	n := 0
	for _, o := range once {
		if b.names[o.Name] {
			continue
		}
		n++
		for _, name := range append(o.Silences, o.Name) {
			b.names[name] = true
		}
		b.news = append(b.news, o.News)
	}
	return n, nil
}

// told are the news in short: kind, text of a digest, period or alert.
func (b *books) told(kinds ...bridge.NewsKind) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, n := range b.news {
		if len(kinds) > 0 && !slices.Contains(kinds, n.Kind) {
			continue
		}
		line := string(n.Kind) + " " + n.Text
		if a := n.Alert; a != nil {
			line = fmt.Sprintf("%s %s %s %s %d", n.Kind, a.Scope, a.Period, a.Measure, a.Percent)
		}
		out = append(out, line)
	}
	return out
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// keep looks each minute from one instant to another.
func keep(t *testing.T, from, to time.Time, cs ...*Calendar) {
	t.Helper()
	for now := from; now.Before(to); now = now.Add(time.Minute) {
		for _, c := range cs {
			if err := c.Look(t.Context(), now.UTC()); err != nil {
				t.Fatal(err)
			}
		}
	}
}
