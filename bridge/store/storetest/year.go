package storetest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/ledger"
	"spillway.sh/spillway/bridge/store"
)

// Year is what a site rented in the year before Until. The same year gives the
// same store.
type Year struct {
	Rentals int
	Until   time.Time
	// Post is how often cost was metered; zero: each quarter hour.
	Post time.Duration
}

// Budgets are those of the site whose year it is.
func Budgets() []bridge.Budget {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		zone = time.UTC
	}
	var out []bridge.Budget
	add := func(a bridge.Account, cloud, gpu string, every bridge.PeriodKind, units int64, hard bool) {
		limit := bridge.Money{Micro: units * bridge.Micro, Currency: "USD"}
		out = append(out, bridge.Budget{Account: a, Cloud: cloud, GPU: gpu, Every: every, Zone: zone, Limit: limit, Hard: hard})
	}
	add("acme", "", "", bridge.Month, 1_000_000, true)
	add("acme", "north", "", bridge.Month, 600_000, true)
	add("acme", "", "h100", bridge.Week, 200_000, false)
	for team := range teams {
		add(bridge.Account(fmt.Sprint("acme/team", team)), "", "", bridge.Month, 300_000, true)
		for project := range projects {
			add(bridge.Account(fmt.Sprintf("acme/team%d/project%d", team, project)), "", "", bridge.Month, 80_000, false)
		}
	}
	return out
}

const teams, projects, users = 4, 5, 5

// Dir makes a data directory with a year in it.
func (y Year) Dir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := y.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Write makes a store with a year in it in an empty directory.
func (y Year) Write(ctx context.Context, dir string) error {
	start := y.Until.AddDate(-1, 0, 0)
	s, err := store.Open(ctx, dir, store.Options{Now: func() time.Time { return start }, StoreID: "year"})
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	b, err := begin(ctx, dir)
	if err != nil {
		return err
	}
	defer b.rollback()
	if err := y.fill(b, start); err != nil {
		return fmt.Errorf("write a year of %d rentals: %w", y.Rentals, err)
	}
	return b.commit()
}

// moment is when something happens to a rental.
type moment struct {
	at     time.Time
	rental int32
	step   int16 // 0: the hold, -1: the end, -2: a bill
}

func (y Year) fill(b *bulk, start time.Time) error {
	rentals := make([]bridge.Rental, y.Rentals)
	var all []moment
	random := rand.New(rand.NewPCG(uint64(y.Rentals), 2026)) //nolint:gosec // a year that can be made again
	for i := range rentals {
		rentals[i] = draw(random, int64(i)+1, start, y.Until)
		all = append(all, y.moments(random, &rentals[i], int32(i))...)
	}
	slices.SortFunc(all, func(a, b moment) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.rental, b.rental), cmp.Compare(a.step, b.step))
	})
	holds := make([]ledger.Hold, y.Rentals)
	for _, m := range all {
		h, txs, err := happen(m, &rentals[m.rental], holds[m.rental])
		if err != nil {
			return err
		}
		holds[m.rental] = h
		if err := b.append(txs); err != nil {
			return err
		}
	}
	for i := range rentals {
		rentals[i].Cost = holds[i].Posted
		if err := b.rental(&rentals[i], &holds[i]); err != nil {
			return err
		}
	}
	return b.sums(start, y.Until)
}

// moments are when a rental holds, posts and ends, and when a bill corrects it.
func (y Year) moments(random *rand.Rand, r *bridge.Rental, i int32) []moment {
	every := y.Post
	if every == 0 {
		every = 15 * time.Minute
	}
	m := &r.Machines[0]
	out := []moment{{r.Created, i, 0}}
	for n := int16(1); ; n++ {
		at := m.Started.Add(time.Duration(n) * every)
		if !at.Before(m.Stopped) {
			break
		}
		out = append(out, moment{at, i, n})
	}
	out = append(out, moment{m.Stopped.Add(time.Minute), i, -1})
	if late := m.Stopped.Add(20 * 24 * time.Hour); random.IntN(50) == 0 && late.Before(y.Until) {
		out = append(out, moment{late, i, -2})
	}
	return out
}

// happen takes a hold to where a moment brings it.
func happen(m moment, r *bridge.Rental, h ledger.Hold) (ledger.Hold, []ledger.Transaction, error) {
	switch m.step {
	case 0:
		return ledger.Open(m.at, r, "")
	case -1:
		cost, err := costAt(r, r.Machines[0].Stopped)
		if err != nil {
			return h, nil, err
		}
		return h.Settle(m.at, cost)
	case -2:
		c := bridge.Correction{
			Key: "bill/" + string(r.ID), Rental: r.ID, Kind: bridge.ByCredit, Used: r.Machines[0].Started, Who: "books",
			Amount: bridge.Money{Micro: -max(h.Posted.Micro/100, 1), Currency: "USD"},
		}
		h, t, err := h.Correct(m.at, &c)
		return h, []ledger.Transaction{t}, err
	}
	cost, err := costAt(r, m.at)
	if err != nil {
		return h, nil, err
	}
	return h.Post(m.at, cost)
}

func costAt(r *bridge.Rental, now time.Time) (bridge.Money, error) {
	m := &r.Machines[0]
	return m.Rate.Cost(r.Billing().Charged(now.Sub(m.Started)), len(r.Machines), bridge.RoundHalfEven)
}

// class is what a class of GPU costs by the machine of eight.
var classes = []struct {
	name string
	rate int64
}{{"h100", 20}, {"a100", 11}, {"l40s", 6}}

// draw makes one settled rental of the year.
func draw(random *rand.Rand, n int64, start, until time.Time) bridge.Rental {
	created := start.Add(time.Duration(random.Int64N(int64(until.Sub(start) - 48*time.Hour)))).Truncate(time.Second).UTC()
	class := classes[random.IntN(len(classes))]
	pool := bridge.Pool{Cloud: []string{"north", "south"}[random.IntN(2)], Region: "r1", Zone: "r1-a", Type: "gpu8." + class.name, Market: bridge.OnDemand}
	most := bridge.Rate{Micro: class.rate * bridge.Micro, Currency: "USD"}
	rate := most
	if random.IntN(10) < 6 {
		pool.Market, rate.Micro = bridge.Spot, most.Micro*int64(30+random.IntN(20))/100
	}
	user := fmt.Sprint("user", random.IntN(users))
	lived := 20*time.Minute + time.Duration(random.ExpFloat64()*float64(70*time.Minute)).Truncate(time.Second)
	r := bridge.Rental{
		ID: bridge.NewRentalID(n), Version: 6, State: bridge.StateSettled, Cluster: "main", Requester: user, Class: bridge.P2, Gang: 1,
		Account: bridge.Account(fmt.Sprintf("acme/team%d/project%d/%s", random.IntN(teams), random.IntN(projects), user)),
		Jobs:    []bridge.JobID{bridge.JobID(strconv.FormatInt(100_000+n, 10))}, Origin: "gpu",
		Pool: pool, Shape: bridge.Shape{CPUs: 96, MemoryMiB: 1 << 20, GPUs: 8, GPUType: class.name},
		Rate: rate, MaxRate: most, Step: time.Second, Minimum: time.Minute, Count: 1 + random.IntN(3)/2,
		Life: lived.Truncate(time.Hour) + 2*time.Hour, Idle: 10 * time.Minute, Created: created, Why: bridge.ReasonIdle, ApprovedBy: "boss",
	}
	r.Expires, r.Handle = created.Add(r.Life), bridge.Handle("h-"+string(r.ID))
	for i := range r.Count {
		started := created.Add(30 * time.Second)
		r.Machines = append(r.Machines, bridge.Machine{
			Ordinal: i, State: bridge.MachineGone, ID: fmt.Sprintf("i-%d-%d", n, i), Node: bridge.NodeName(r.ID, i), Rate: rate,
			Started: started, Joined: started.Add(3 * time.Minute), Stopped: started.Add(lived),
		})
	}
	r.Since = r.Machines[0].Stopped.Add(time.Minute)
	hold, err := r.Billing().Worst(most, r.Life, r.Count)
	if err != nil {
		hold = bridge.Money{Micro: 1, Currency: "USD"} // no rate and life of above overflow
	}
	r.Hold = hold
	return r
}
