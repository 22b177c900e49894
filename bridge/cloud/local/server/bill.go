package server

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// billHeader are the columns of a bill, as FOCUS 1.2 names them.
var billHeader = []string{
	"AvailabilityZone", "BilledCost", "BillingAccountId", "BillingAccountName", "BillingCurrency", "BillingPeriodEnd", "BillingPeriodStart",
	"ChargeCategory", "ChargeClass", "ChargeDescription", "ChargeFrequency", "ChargePeriodEnd", "ChargePeriodStart", "ContractedCost", "EffectiveCost",
	"InvoiceId", "InvoiceIssuerName", "ListCost", "PricingCategory", "PricingQuantity", "PricingUnit", "ProviderName", "PublisherName", "RegionId",
	"ResourceId", "ResourceType", "ServiceCategory", "ServiceName", "SkuId", "Tags",
}

// WriteBill writes what one cloud charges until now as CSV in FOCUS columns: a
// line for each machine and hour, the last one up to its stop. An hour under way
// of a machine that runs is not billed yet.
func WriteBill(w io.Writer, cloud string, entries []wire.Entry, now time.Time) error {
	lives, order, err := livesOf(entries)
	if err != nil {
		return fmt.Errorf("write bill of %s: %w", cloud, err)
	}
	out := csv.NewWriter(w)
	if err := out.Write(billHeader); err != nil {
		return fmt.Errorf("write bill of %s: %w", cloud, err)
	}
	for _, id := range order {
		if lives[id].start.Cloud != cloud {
			continue
		}
		if err := writeMachine(out, id, lives[id], now); err != nil {
			return fmt.Errorf("write bill of %s: machine %s: %w", cloud, id, err)
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write bill of %s: %w", cloud, err)
	}
	return nil
}

// writeMachine writes the hours of one machine, which together are its charge.
func writeMachine(out *csv.Writer, id string, l life, now time.Time) error {
	var before int64
	end := l.end(now)
	for from := l.start.At; from.Before(end); {
		to := from.Truncate(time.Hour).Add(time.Hour)
		until := life{start: l.start}
		if !to.Before(end) {
			if l.stop == nil && to.After(now) {
				return nil // under way
			}
			to, until = end, l
		}
		sum, err := charge(until, to)
		if err != nil {
			return err
		}
		tags, err := json.Marshal(l.start.Tags)
		if err != nil {
			return err
		}
		if err := out.Write(billRow(id, l.start, string(tags), bridge.Money{Micro: sum.Micro - before, Currency: sum.Currency}, from, to)); err != nil {
			return err
		}
		before, from = sum.Micro, to
	}
	return nil
}

func billRow(id string, e *wire.Entry, tags string, cost bridge.Money, from, to time.Time) []string {
	month := time.Date(from.UTC().Year(), from.UTC().Month(), 1, 0, 0, 0, 0, time.UTC)
	amount := fmt.Sprintf("%d.%06d", cost.Micro/bridge.Micro, cost.Micro%bridge.Micro)
	market, stamp := "Standard", func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
	if e.Pool.Market == string(bridge.Spot) {
		market = "Dynamic"
	}
	return []string{
		e.Pool.Zone, amount, e.Account, e.Account, string(cost.Currency), stamp(month.AddDate(0, 1, 0)), stamp(month),
		"Usage", "", e.Pool.Type + " " + e.Pool.Market, "Usage-Based", stamp(to), stamp(from), amount, amount,
		e.Cloud + "-" + month.Format("2006-01"), e.Cloud, amount, market, fmt.Sprintf("%.6f", to.Sub(from).Hours()), "Hours", e.Cloud, e.Cloud, e.Pool.Region,
		id, "Virtual Machine", "Compute", "Machines", e.Pool.String(), tags,
	}
}
