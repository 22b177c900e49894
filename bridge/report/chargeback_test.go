package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/report"
	"spillway.sh/spillway/bridge/report/reporttest"
)

// november is the chargeback of the made-up week's rentals.
func november() *report.Chargeback {
	in := reporttest.Week()
	from, to := time.Date(2026, 10, 31, 16, 0, 0, 0, time.UTC), time.Date(2026, 11, 30, 16, 0, 0, 0, time.UTC)
	c := &report.Chargeback{Month: "2026-11", From: from, To: to, Issuer: "site"}
	for i := range in.Rentals {
		r := &in.Rentals[i]
		if r.State != bridge.StateSettled {
			continue
		}
		last := r.Machines[0].Stopped
		c.Charges = append(c.Charges, bridge.Charge{Rental: r.ID, Scope: r.Scope(), Kind: "post", Amount: r.Cost, First: r.Machines[0].Started.Add(time.Minute), Last: last})
		c.Machines = append(c.Machines, report.BilledOf(r, from, to))
	}
	first := in.Rentals[0]
	c.Charges = append(c.Charges,
		bridge.Charge{Rental: first.ID, Scope: first.Scope(), Kind: "bill", Amount: bridge.Money{Micro: 1_500_001, Currency: "USD"}, First: from, Last: from, FX: "1 CNY = 0.139512 USD (ecb, 2026-11-30)"},
		bridge.Charge{Rental: first.ID, Scope: first.Scope(), Kind: "credit", Amount: bridge.Money{Micro: -3, Currency: "USD"}, First: from, Last: from},
		bridge.Charge{Rental: "r-0090", Scope: bridge.Scope{Account: "site/ai/=cmd()/ana", Cloud: "north"}, Kind: "refund", Amount: bridge.Money{Micro: -20_000_000, Currency: "USD"}, First: from, Last: from},
	)
	return c
}

func TestChargebackHasTheColumnsOfFOCUS(t *testing.T) {
	c := november()
	var b bytes.Buffer
	if err := c.CSV(&b); err != nil {
		t.Fatal(err)
	}
	recs, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	head := recs[0]
	// Of the specification: columns that must be there and may not be empty.
	must := []string{
		"BilledCost", "BillingAccountId", "BillingCurrency", "BillingPeriodEnd", "BillingPeriodStart", "ChargeCategory", "ChargePeriodEnd", "ChargePeriodStart",
		"ContractedCost", "EffectiveCost", "InvoiceIssuerName", "ListCost", "ProviderName", "PublisherName", "ServiceCategory", "ServiceName",
	}
	sum, exact := new(big.Rat), int64(0)
	for i := range c.Charges {
		exact += c.Charges[i].Amount.Micro
	}
	categories := map[string]int{}
	for _, rec := range recs[1:] {
		row := map[string]string{}
		for k, name := range head {
			row[name] = rec[k]
		}
		for _, name := range must {
			if row[name] == "" {
				t.Errorf("%s is empty in %v", name, rec)
			}
		}
		v, ok := new(big.Rat).SetString(row["BilledCost"])
		if !ok {
			t.Fatalf("cost %q", row["BilledCost"])
		}
		sum.Add(sum, v)
		categories[row["ChargeCategory"]+"/"+row["ChargeClass"]]++
		var tags map[string]string
		if err := json.Unmarshal([]byte(row["Tags"]), &tags); err != nil || tags["account"] == "" {
			t.Errorf("tags %q: %v", row["Tags"], err)
		}
		from, err1 := time.Parse(time.RFC3339, row["ChargePeriodStart"])
		to, err2 := time.Parse(time.RFC3339, row["ChargePeriodEnd"])
		if err1 != nil || err2 != nil || !from.Before(to) || from.Before(c.From) || to.After(c.To) {
			t.Errorf("from %s to %s", row["ChargePeriodStart"], row["ChargePeriodEnd"])
		}
		for name, v := range row {
			if strings.HasPrefix(v, "=") || strings.HasPrefix(v, "@") {
				t.Errorf("%s is the formula %q", name, v)
			}
		}
	}
	if want := big.NewRat(exact, bridge.Micro); sum.Cmp(want) != 0 {
		t.Errorf("rows come to %s, the books to %s", sum.FloatString(6), want.FloatString(6))
	}
	if len(recs) != 14 || categories["Usage/"] != 10 || categories["Adjustment/"] != 1 || categories["Credit/"] != 1 || categories["Adjustment/Correction"] != 1 {
		t.Errorf("%d rows: %v", len(recs), categories)
	}
	if !slices.IsSorted(head) {
		t.Errorf("columns %v", head)
	}
}
