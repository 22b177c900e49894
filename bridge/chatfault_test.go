package bridge

import "testing"

// An offer in another currency is never bought for as if one were worth the
// other: without a rate it is not bought for at all, and the reason says so.
func TestB_F27_NoCurrencyIsTakenForAnother(t *testing.T) {
	w, err := readScenario([]byte(`
offers:
- {pool: north/r1/a/g8/on-demand, cpus: 64, mem: 512, gpus: 8, type: a100, rate: 1 CNY}
budgets:
- {account: uni, limit: 1000}
terms:
  "": {}
jobs:
- {job: 1, cpus: 8, gpus: 8}
`))
	if err != nil {
		t.Fatal(err)
	}
	p := Decide(w.snapshot(), w.policy())
	if v := p.Verdicts[0]; len(p.Rent) > 0 || v.Kind != Wait || v.Why != ReasonNoBudget || v.Detail != "the offer is in CNY, the budget in USD" {
		t.Errorf("verdict %+v, orders %+v", v, p.Rent)
	}
}
