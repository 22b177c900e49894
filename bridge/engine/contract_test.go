package engine_test

import (
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/contract"
	"spillway.sh/spillway/bridge/engine"
)

// contracted puts one contract of so many machines around the dearer cloud.
func contracted(w *world, machines int, until time.Time) {
	paid := bridge.Capacity{
		Name: "b-2027", Kind: bridge.Contract, GPU: "a100", GPUs: 8 * machines, Rate: bridge.Rate{Micro: 1_950_000, Currency: "USD"},
		Cloud: "b", Type: "g8", Machines: machines, Until: until,
	}
	w.options = func(o *engine.Options) {
		for i, c := range o.Clouds {
			o.Clouds[i] = contract.New(c, []bridge.Capacity{paid}, w.now)
		}
	}
}

// TestMachinesOfAContractCostNothingMore holds that class P0 gets a contract's
// machines and waits while they are in use, that others take them before they
// rent, and that the books have a rental of nothing for each.
func TestMachinesOfAContractCostNothingMore(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		contracted(w, 1, w.now().Add(100*24*time.Hour))
		w.terms.Class, w.terms.Markets = bridge.P0, []bridge.Market{bridge.Reserved}
		w.cluster.submit("1", 1, 8, 10*time.Minute)
		w.start()
		w.until(time.Minute, "a machine of the contract", func() bool { return len(w.b.live()) == 1 })
		w.cluster.submit("2", 1, 8, 10*time.Minute)
		w.until(10*time.Minute, "the first runs", w.state("1", "running"))
		time.Sleep(2 * time.Minute)
		if len(w.b.live()) != 1 || len(w.a.live()) != 0 {
			t.Fatalf("%d and %d machines for a contract of one", len(w.a.live()), len(w.b.live()))
		}
		w.until(time.Hour, "both done", func() bool { return w.state("1", "done")() && w.state("2", "done")() })
		w.until(10*time.Minute, "all settled", w.over)
		report, err := w.store.CheckLedger(t.Context())
		if err != nil || len(report.Faults) > 0 || report.OpenHolds != 0 {
			t.Errorf("ledger: %v, %d open: %v", report.Faults, report.OpenHolds, err)
		}
		rs, err := w.store.Recent(t.Context(), 9)
		if err != nil || len(rs) == 0 {
			t.Fatal(err)
		}
		for i := range rs {
			r := &rs[i]
			if r.Contract != "b-2027" || r.Pool.Market != bridge.Reserved || r.Cost.Micro != 0 || r.Hold.Micro != 0 || r.Class != bridge.P0 {
				t.Errorf("kept %s of contract %q in %s: held %s, cost %s", r.ID, r.Contract, r.Pool, r.Hold, r.Cost)
			}
		}
		for _, l := range w.b.creates {
			if l.Pool.Market != bridge.OnDemand || l.Tags[bridge.TagContract] != "b-2027" {
				t.Errorf("the cloud was asked for %+v", l)
			}
		}
	})
}

// TestWhatAContractLacksIsRented holds that a contract is used up first, though
// its cloud is the dearer one, and that only the rest costs anything.
func TestWhatAContractLacksIsRented(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		contracted(w, 1, time.Time{})
		w.cluster.submit("1", 1, 8, 10*time.Minute)
		w.cluster.submit("2", 1, 8, 10*time.Minute)
		w.start()
		w.until(time.Minute, "one of the contract and one rented", func() bool { return len(w.b.live()) == 1 && len(w.a.live()) == 1 })
		w.until(time.Hour, "both done", func() bool { return w.state("1", "done")() && w.state("2", "done")() })
		w.until(10*time.Minute, "all settled", w.over)
		report, err := w.store.CheckLedger(t.Context())
		if err != nil || len(report.Faults) > 0 {
			t.Fatalf("ledger: %v %v", report.Faults, err)
		}
		var posted int64
		for _, m := range report.Posted {
			posted += m.Micro
		}
		if bill := w.a.cost().Micro; bill == 0 || abs(posted-bill) > bridge.Micro/100 {
			t.Errorf("posted %d, the elastic machine cost %d", posted, bill)
		}
	})
}

// TestNoExtensionOutlivesAContract holds that a job whose limit is raised past the
// contract's end is warned of it, and that its machine ends with the contract.
func TestNoExtensionOutlivesAContract(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		until := w.now().Add(2 * time.Hour).Truncate(time.Second)
		contracted(w, 1, until)
		w.cluster.submit("1", 1, 8, 20*time.Minute)
		w.start()
		w.until(10*time.Minute, "it runs", w.state("1", "running"))
		w.cluster.mu.Lock()
		w.cluster.jobs["1"].limit, w.cluster.jobs["1"].work = 3*time.Hour, 3*time.Hour
		w.cluster.mu.Unlock()
		w.until(3*time.Hour, "the machine is gone", func() bool { return len(w.b.live()) == 0 })
		for _, m := range w.b.machines {
			if m.Stopped.After(until.Add(10 * time.Second)) {
				t.Errorf("%s lived until %s, its contract until %s", m.ID, m.Stopped, until)
			}
		}
		if w.told(bridge.NewsWarning) == 0 {
			t.Errorf("nobody was warned:\n%s", strings.Join(w.story(), "\n"))
		}
	})
}

// TestAMachineOfAContractIsAdoptedAsOne holds that what a list alone shows of it
// is enough to take it back into the books at no cost.
func TestAMachineOfAContractIsAdoptedAsOne(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		contracted(w, 1, w.now().Add(100*24*time.Hour))
		w.a, w.b = w.b, w.a // strays are put on the first one
		w.start()
		w.stray(w.store.StoreID(), func(m *machine) {
			m.Tags[bridge.TagContract], m.Tags[bridge.TagRate], m.Pool.Market = "b-2027", "0 USD", bridge.OnDemand
		})
		node := bridge.NodeName(bridge.NewRentalID(999), 0)
		w.until(10*time.Second, "registered", func() bool { w.cluster.mu.Lock(); defer w.cluster.mu.Unlock(); return w.cluster.nodes[node] != nil })
		j := w.cluster.submit("1", 1, 8, 20*time.Minute)
		w.cluster.mu.Lock()
		j.state, j.on, j.began = "running", []string{node}, time.Now()
		w.cluster.mu.Unlock()
		w.until(10*time.Minute, "adopted", func() bool { return len(w.live()) == 1 })
		if r := w.live()[0]; r.Contract != "b-2027" || r.Pool.Market != bridge.Reserved || r.Hold.Micro != 0 || r.MaxRate.Micro != 0 {
			t.Errorf("adopted %+v", r)
		}
		w.until(20*time.Minute, "job done", w.state("1", "done"))
		w.until(45*time.Minute, "given back", w.over)
		if report, err := w.store.CheckLedger(t.Context()); err != nil || len(report.Faults) > 0 || len(report.Posted) > 0 && report.Posted[0].Micro != 0 {
			t.Errorf("ledger: %+v %v", report, err)
		}
	})
}
