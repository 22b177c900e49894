package engine_test

import (
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// What a budget of one cloud does not pay for goes to the other, through a real
// store. When somebody lowers it below what is held there, what runs goes on to
// its end, and nothing new goes there.
func TestBudgetOfACloudThatIsLowered(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.terms.Ask = false
		north := bridge.Budget{Account: "org/team", Cloud: "a", Every: bridge.Month, Zone: time.UTC, Limit: usd(15)}
		w.budgets = append(w.budgets, north)
		w.cluster.submit("1", 1, 8, time.Hour)
		w.start()
		w.until(5*time.Minute, "the first runs", w.state("1", "running"))
		w.cluster.submit("2", 1, 8, time.Minute)
		w.until(5*time.Minute, "the second runs", w.state("2", "running"))
		if a, b := w.a.sent(), w.b.sent(); a != 1 || b != 1 {
			t.Fatalf("%d rentals on the cheaper cloud, %d on the other", a, b)
		}
		w.kill()
		w.budgets[1].Limit = usd(1)
		w.start()
		bs, err := w.store.Balances(t.Context(), w.now(), w.budgets)
		if err != nil || bs[1].State() != bridge.BudgetOverCommitted || bs[0].State() != bridge.BudgetOK {
			t.Fatalf("the budgets are %+v (%v)", bs, err)
		}
		w.cluster.submit("3", 1, 8, time.Minute)
		w.until(10*time.Minute, "the third is done", w.state("3", "done"))
		if !w.state("1", "running")() {
			t.Error("what ran in the budget was stopped")
		}
		w.until(2*time.Hour, "the first is done", w.state("1", "done"))
		if a := w.a.sent(); a != 1 {
			t.Errorf("%d rentals on the cloud whose budget is over-committed", a)
		}
		w.settled(10 * time.Minute)
	})
}
