package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/store"
)

// before is a data directory as the schema before money's had it: one rental
// runs, one ran over its hold, one waits, one is settled, one is held above a
// soft limit.
func before(t *testing.T) string {
	t.Helper()
	return loaded(t, filepath.Join("testdata", "before_money.sql"))
}

func TestAStoreOfBeforeKeepsItsBooks(t *testing.T) {
	dir := before(t)
	clock := newHands(noon.Add(2 * time.Hour))
	s := open(t, dir, clock)
	report := checked(t, s)
	if report.Transactions != 12 || report.OpenHolds != 3 || report.Head.Hash != "f89b5242604ec9aceb4f0ceed2c2bd5053348f6c1c2e23ad5d3cfa25118b7a16" {
		t.Errorf("%d transactions to %s, %d open holds", report.Transactions, report.Head.Hash, report.OpenHolds)
	}
	limits := []bridge.Budget{budget("org", 1000, true), budget("org/team", 40, false), narrow(budget("org", 50, true), "north", "")}
	want := []bridge.Balance{
		{Account: "org", Period: "2026-11", Limit: usd(1000), Posted: usd(19), Held: usd(36), Hard: true},
		{Account: "org/team", Period: "2026-11", Limit: usd(40), Posted: usd(19), Held: usd(36)},
		// What was held before clouds were kept counts in no cloud's budget.
		{Account: "org", Cloud: "north", Period: "2026-11", Limit: usd(50), Posted: usd(0), Held: usd(0), Hard: true},
	}
	if diff := cmp.Diff(want, must[[]bridge.Balance](t)(s.Balances(t.Context(), clock.now(), limits))); diff != "" {
		t.Errorf("balances (-want +got):\n%s", diff)
	}
	for name, c := range map[string]struct {
		from, to time.Time
		want     []bridge.RentalID
	}{
		"all that held something": {noon, noon.Add(3 * time.Hour), []bridge.RentalID{"r-0013", "r-0026", "r-004c", "r-005f"}},
		"after the settled one":   {noon.Add(90 * time.Minute), noon.Add(3 * time.Hour), []bridge.RentalID{"r-0013", "r-0026", "r-005f"}},
		"before the second one":   {noon, noon.Add(20 * time.Minute), []bridge.RentalID{"r-0013"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ids(must[[]bridge.Rental](t)(s.RentalsBetween(t.Context(), c.from, c.to)))); diff != "" {
				t.Errorf("rentals (-want +got):\n%s", diff)
			}
		})
	}
}

// What lived through the change of the schema goes on: it is metered, extended,
// settled and corrected beside what is new.
func TestRentalsOfBeforeGoOn(t *testing.T) {
	is := must[bridge.Rental](t)
	s := open(t, before(t), newHands(noon.Add(2*time.Hour)))
	limits := []bridge.Budget{budget("org", 1000, true), narrow(budget("org", 50, true), "north", "h100")}
	r := is(s.Rental(t.Context(), "r-0013"))
	r = is(s.Extend(t.Context(), r, usd(5), limits))
	r.Cost = usd(11)
	r = is(s.Post(t.Context(), r))
	r.State = bridge.StateReleasing
	r = is(s.Save(t.Context(), r))
	r.State, r.Cost = bridge.StateSettled, usd(12)
	r = is(s.Settle(t.Context(), r))
	young := newRental(t, s, bridge.StateLaunching, 20)
	young.Pool.Cloud, young.Shape.GPUType = "north", "h100"
	young = is(s.Reserve(t.Context(), young, limits))
	if young.ID != bridge.NewRentalID(6) {
		t.Errorf("the next rental is %s", young.ID)
	}
	refunds := []bridge.Correction{
		{Key: "b/1", Rental: r.ID, Kind: bridge.ByRefund, Amount: usd(-2), Used: noon, Who: "root"},
		{Key: "b/2", Rental: "r-004c", Kind: bridge.ByBill, Amount: usd(1), Used: noon, Who: "root"},
	}
	if n, err := s.Correct(t.Context(), refunds); n != 2 || err != nil {
		t.Errorf("%d corrections: %v", n, err)
	}
	if got := is(s.Rental(t.Context(), r.ID)); got.Cost != usd(10) {
		t.Errorf("the refunded rental has cost %s", got.Cost)
	}
	got := must[[]bridge.Balance](t)(s.Balances(t.Context(), noon.Add(2*time.Hour), limits))
	if got[0].Posted != usd(26) || got[0].Held != usd(50) || got[1].Posted != usd(0) || got[1].Held != usd(20) {
		t.Errorf("org has posted %s and held %s, h100 on north %s and %s", got[0].Posted, got[0].Held, got[1].Posted, got[1].Held)
	}
	if report := checked(t, s); report.OpenHolds != 3 {
		t.Errorf("%d open holds", report.OpenHolds)
	}
}

// Reading alone changes no schema; the bridge's next start does.
func TestReadingWaitsForTheUpgrade(t *testing.T) {
	dir := before(t)
	_, err := store.OpenReadOnly(t.Context(), dir, store.Options{})
	hinted(t, err, store.ErrOlder)
	open(t, dir, newHands(noon))
	s, err := store.OpenReadOnly(t.Context(), dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// narrow makes a budget one of a cloud and a class of GPU.
func narrow(b bridge.Budget, cloud, gpu string) bridge.Budget {
	b.Cloud, b.GPU = cloud, gpu
	return b
}

func ids(rs []bridge.Rental) []bridge.RentalID {
	var out []bridge.RentalID
	for i := range rs {
		out = append(out, rs[i].ID)
	}
	return out
}
