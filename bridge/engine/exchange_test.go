package engine_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/engine"
)

// market is a source of exchange rates that a test changes.
type market struct {
	mu    sync.Mutex
	rates bridge.Rates
	err   error
}

func (m *market) now(time.Time) (bridge.Rates, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rates, m.err
}

func (m *market) set(err error, xs ...bridge.Exchange) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rates, m.err = bridge.Rates{List: xs, MaxAge: 7 * 24 * time.Hour}, err
}

// inYuan makes the cheaper cloud one that sells and bills in yuan.
func inYuan(w *world) *market {
	w.a.setup(func(c *cloud) {
		for _, p := range c.pools {
			p.rate = bridge.Rate{Micro: 56 * bridge.Micro, Currency: "CNY"}
		}
	})
	m := &market{}
	w.options = func(o *engine.Options) { o.Currency, o.Rates = "USD", m.now }
	return m
}

func yuan(now time.Time, micro int64) bridge.Exchange {
	return bridge.Exchange{From: "CNY", To: "USD", Micro: micro, Source: "PBOC central parity", Date: now.Truncate(24 * time.Hour)}
}

func (w *world) rental() bridge.Rental {
	w.t.Helper()
	rs, err := w.store.Recent(w.t.Context(), 1)
	if err != nil || len(rs) != 1 {
		w.t.Fatalf("%d rentals: %v", len(rs), err)
	}
	return rs[0]
}

// TestARentalInAnotherCurrencyKeepsItsRate holds that a cloud's yuan are held,
// metered and settled in dollars at the rate of the decision, whatever the rate
// does meanwhile, and that the cloud is given its ceiling in yuan.
func TestARentalInAnotherCurrencyKeepsItsRate(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := inYuan(w)
		was := yuan(w.now(), 139_512)
		m.set(nil, was)
		w.cluster.submit("1", 1, 8, 30*time.Minute)
		w.start()
		w.until(time.Minute, "a machine that sells in yuan", func() bool { return len(w.a.live()) == 1 })
		m.set(nil, yuan(w.now(), 500_000))
		w.until(time.Hour, "job done", w.state("1", "done"))
		w.until(10*time.Minute, "all settled", w.over)
		r := w.rental()
		if l := w.a.first(); l.MaxRate.Currency != "CNY" || l.MaxRate.Micro < 56*bridge.Micro || l.Tags[bridge.TagFX] != was.String() {
			t.Errorf("the cloud was asked with %+v, %s", l.MaxRate, l.Tags[bridge.TagFX])
		}
		if r.FX != was.String() || r.Hold.Currency != "USD" || r.Machines[0].Rate != (bridge.Rate{Micro: 7_812_672, Currency: "USD"}) {
			t.Errorf("kept %q, hold %s, rate %+v", r.FX, r.Hold, r.Machines[0].Rate)
		}
		bill, err := was.Convert(bridge.Money{Micro: w.a.cost().Micro, Currency: "CNY"}, bridge.RoundHalfEven)
		if err != nil || abs(bill.Micro-r.Cost.Micro) > 2 || r.Cost.Micro == 0 || r.Cost.Micro > r.Hold.Micro {
			t.Errorf("cost %s, billed %s, held %s: %v", r.Cost, bill, r.Hold, err)
		}
		if report, err := w.store.CheckLedger(t.Context()); err != nil || len(report.Faults) > 0 {
			t.Errorf("ledger: %v %v", report.Faults, err)
		}
	})
}

// TestB_F33_NoExchangeRateBuysNothing holds that an offer in another currency is
// never taken 1:1, and is again when there is a rate.
func TestB_F33_NoExchangeRateBuysNothing(t *testing.T) {
	for name, c := range map[string]struct {
		rates func(now time.Time) []bridge.Exchange
		why   bridge.Reason
	}{
		"without one":     {func(time.Time) []bridge.Exchange { return nil }, bridge.ReasonNoExchange},
		"with an old one": {func(now time.Time) []bridge.Exchange { return []bridge.Exchange{yuan(now.AddDate(0, 0, -9), 139_512)} }, bridge.ReasonOldExchange},
		"with another one": {func(now time.Time) []bridge.Exchange {
			return []bridge.Exchange{{From: "EUR", To: "USD", Micro: 1, Date: now}}
		}, bridge.ReasonNoExchange},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.b.setup(func(c *cloud) { clear(c.pools) })
				m := inYuan(w)
				m.set(nil, c.rates(w.now())...)
				w.cluster.submit("1", 1, 8, time.Minute)
				w.start()
				time.Sleep(5 * time.Minute)
				if n := w.a.sent(); n != 0 {
					t.Fatalf("%d machines were asked for", n)
				}
				if _, plan, ok := w.engine.View(); !ok || plan.Verdicts[0].Why != c.why || plan.Verdicts[0].Kind != bridge.Wait {
					t.Fatalf("verdict %+v", plan.Verdicts)
				}
				m.set(nil, yuan(w.now(), 139_512))
				w.until(time.Minute, "a machine, now that there is a rate", func() bool { return len(w.a.live()) == 1 })
				w.until(10*time.Minute, "job done", w.state("1", "done"))
				w.until(10*time.Minute, "all settled", w.over)
			})
		})
	}
}

// TestABadRateFileIsSaid holds that the last good rates are used on while their
// file is broken, and that its fault is shown.
func TestABadRateFileIsSaid(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := inYuan(w)
		m.set(errors.New("rates.csv: line 2: no rate"), yuan(w.now(), 139_512))
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(time.Minute, "a machine at the last good rate", func() bool { return len(w.a.live()) == 1 })
		said := false
		for _, text := range w.engine.Health().Ports {
			said = said || strings.Contains(text, "line 2")
		}
		if !said {
			t.Errorf("nothing of it in %+v", w.engine.Health())
		}
		w.until(10*time.Minute, "job done", w.state("1", "done"))
		w.until(10*time.Minute, "all settled", w.over)
	})
}
