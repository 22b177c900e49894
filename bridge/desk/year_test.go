package desk_test

import (
	"context"
	"testing"
	"time"
	_ "time/tzdata"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/store"
	"spillway.sh/spillway/bridge/store/storetest"
)

// allowing is a policy of the site whose year is kept.
type allowing struct{}

func (allowing) Terms(*bridge.Demand, *bridge.Facts) *bridge.Terms { return &bridge.Terms{} }
func (allowing) Budgets() []bridge.Budget                          { return storetest.Budgets() }
func (allowing) Approval() bridge.Approval                         { return bridge.Approval{} }

// reader is the store in the desk's words; a report asks for neither news nor
// the check.
type reader struct{ *store.Store }

func (r reader) News(ctx context.Context, f desk.NewsFilter) ([]bridge.News, error) {
	return r.Store.News(ctx, store.NewsFilter(f))
}

func (reader) CheckLedger(context.Context) (desk.LedgerReport, error) {
	return desk.LedgerReport{}, nil
}

// BenchmarkReportYear makes the weekly report of a store with a year of 100,000
// rentals in it, and the chargeback of a month.
func BenchmarkReportYear(b *testing.B) {
	until := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	now := func() time.Time { return until }
	s, err := store.Open(b.Context(), storetest.Year{Rentals: 100_000, Until: until}.Dir(b), store.Options{Now: now})
	if err != nil {
		b.Fatal(err)
	}
	d := desk.New(desk.Config{Reader: reader{s}, Weekly: s, Rules: allowing{}, Now: now, Capacity: func() []bridge.Capacity {
		return []bridge.Capacity{{Name: "hall", Kind: bridge.Owned, GPU: "h100", GPUs: 64, Rate: bridge.Rate{Micro: 1_900_000, Currency: "USD"}}}
	}})
	who := desk.Roles{}.Of("root", 0, nil)
	b.Run("week", func(b *testing.B) {
		for b.Loop() {
			r, err := d.Week(b.Context(), who, desk.WeekRequest{Week: "last"})
			if err != nil || r.Spend.Elastic.Micro == 0 {
				b.Fatalf("%v, %s", err, r.Spend.Elastic)
			}
		}
	})
	b.Run("chargeback", func(b *testing.B) {
		for b.Loop() {
			c, err := d.Chargeback(b.Context(), who, desk.ChargebackRequest{Month: "2026-11"})
			if err != nil || len(c.Charges) == 0 {
				b.Fatal(err)
			}
			b.ReportMetric(float64(len(c.Charges)), "rows")
		}
	})
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
