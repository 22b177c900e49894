package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// Chargeback is what settled rentals cost in a month, to bill inside a house:
// one row for what each rental was metered at, and one for each kind of correction. Its amounts are exact, so they add
// up to the books.
type Chargeback struct {
	Month    string          `json:"month"` // 2026-11
	From     time.Time       `json:"from"`
	To       time.Time       `json:"to"`
	Issuer   bridge.Account  `json:"issuer"` // who bills: the root of all accounts
	Charges  []bridge.Charge `json:"charges"`
	Machines []Billed        `json:"machines"` // of the same rentals
}

// Billed is what a chargeback says of a rental beside its cost.
type Billed struct {
	Rental    bridge.RentalID `json:"rental"`
	Cluster   string          `json:"cluster"`
	Requester string          `json:"requester"`
	Pool      bridge.Pool     `json:"pool"`
	Rate      bridge.Rate     `json:"rate"` // of a machine-hour, at decision
	Shape     string          `json:"shape"`
	GPUs      int             `json:"gpus"`
	// Seconds are those of all machines together in the month.
	Seconds int64     `json:"seconds"`
	Jobs    []string  `json:"jobs,omitempty"`
	From    time.Time `json:"from"` // in the month
	To      time.Time `json:"to"`
}

// BilledOf is what a chargeback of [from, to) says of a rental.
func BilledOf(r *bridge.Rental, from, to time.Time) Billed {
	b := Billed{Rental: r.ID, Cluster: r.Cluster, Requester: r.Requester, Pool: r.Pool, Rate: r.Rate, Shape: r.Shape.String(), GPUs: r.Shape.GPUs}
	for _, j := range r.Jobs {
		b.Jobs = append(b.Jobs, string(j))
	}
	for i := range r.Machines {
		m := &r.Machines[i]
		if m.ID == "" || m.Started.IsZero() {
			continue
		}
		stop := until(m, to)
		in := seconds(overlap(m.Started, stop, from, to))
		if in == 0 {
			continue
		}
		b.Seconds += in
		if at := clip(m.Started, from, to); b.From.IsZero() || at.Before(b.From) {
			b.From = at
		}
		b.To = later(b.To, clip(stop, from, to))
	}
	return b
}

// focusColumns are those of FOCUS 1.2, https://focus.finops.org, in the order
// of their names; a column of ours begins with x_.
var focusColumns = []string{
	"AvailabilityZone", "BilledCost", "BillingAccountId", "BillingAccountName", "BillingCurrency", "BillingPeriodEnd", "BillingPeriodStart",
	"ChargeCategory", "ChargeClass", "ChargeDescription", "ChargeFrequency", "ChargePeriodEnd", "ChargePeriodStart",
	"ConsumedQuantity", "ConsumedUnit", "ContractedCost", "EffectiveCost", "InvoiceIssuerName", "ListCost", "PricingCategory", "PricingQuantity", "PricingUnit",
	"ProviderName", "PublisherName", "RegionId", "ResourceId", "ResourceName", "ResourceType", "ServiceCategory", "ServiceName", "ServiceSubcategory",
	"SkuId", "SubAccountId", "SubAccountName", "Tags", "x_ExchangeRate", "x_LedgerKind",
}

// CSV writes the rows with the columns of FOCUS.
func (c *Chargeback) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write(focusColumns) // the writer keeps the error
	machines := make(map[bridge.RentalID]*Billed, len(c.Machines))
	for i := range c.Machines {
		machines[c.Machines[i].Rental] = &c.Machines[i]
	}
	for i := range c.Charges {
		row := c.focus(&c.Charges[i], machines[c.Charges[i].Rental])
		rec := make([]string, len(focusColumns))
		for k, name := range focusColumns {
			rec[k] = inert(row[name])
		}
		_ = out.Write(rec)
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write chargeback of %s: %w", c.Month, err)
	}
	return nil
}

// focus is one row. Costs are what is charged inside the house: what was paid,
// with no discount between, so billed and effective are the same. The list and
// contracted costs are the rate that the rental was decided at, which is what
// the cloud asked then.
func (c *Chargeback) focus(x *bridge.Charge, m *Billed) map[string]string {
	cost := exact(x.Amount.Micro)
	from, to := x.First, x.Last.Add(time.Second).Truncate(time.Second)
	row := map[string]string{
		"BilledCost": cost, "EffectiveCost": cost, "ContractedCost": cost, "ListCost": cost,
		"BillingAccountId": string(c.Issuer), "BillingAccountName": string(c.Issuer), "BillingCurrency": string(x.Amount.Currency),
		"BillingPeriodStart": utc(c.From), "BillingPeriodEnd": utc(c.To), "InvoiceIssuerName": string(c.Issuer),
		"ChargeFrequency": "Usage-Based", "ProviderName": x.Cloud, "PublisherName": x.Cloud, "ServiceCategory": "Compute", "ServiceSubcategory": "Virtual Machines",
		"ServiceName": "Burst machines", "ResourceId": string(x.Rental), "ResourceType": "Rental", "SubAccountId": string(x.Account.Project()), "SubAccountName": lastPart(x.Account.Project()),
		"x_LedgerKind": x.Kind, "x_ExchangeRate": x.FX,
	}
	switch x.Kind {
	case string(bridge.ByCredit):
		row["ChargeCategory"], row["ChargeFrequency"] = "Credit", "One-Time"
	case string(bridge.ByBill), string(bridge.ByRefund):
		row["ChargeCategory"], row["ChargeFrequency"] = "Adjustment", "One-Time"
	default:
		row["ChargeCategory"] = "Usage"
	}
	if x.Kind == string(bridge.ByRefund) {
		row["ChargeClass"] = "Correction"
	}
	tags := map[string]string{"account": string(x.Account), "rental": string(x.Rental)}
	put := func(k, v string) {
		if v != "" {
			tags[k] = v
		}
	}
	put("gpu", x.GPU)
	if m != nil {
		row["AvailabilityZone"], row["RegionId"], row["SkuId"], row["ResourceName"] = m.Pool.Zone, m.Pool.Region, m.Pool.Type, m.Shape
		row["PricingCategory"] = pricing(m.Pool.Market)
		put("cluster", m.Cluster)
		put("requester", m.Requester)
		put("market", string(m.Pool.Market))
		put("jobs", strings.Join(m.Jobs, " "))
		if row["ChargeCategory"] == "Usage" {
			from, to = earlier(from, orElse(m.From, from)), later(to, m.To)
			hours := exact(ratio(m.Seconds, bridge.Micro, 3600))
			row["ConsumedQuantity"], row["PricingQuantity"] = hours, hours
			row["ConsumedUnit"], row["PricingUnit"] = "Hours", "Hours"
			list := ratio(m.Rate.Micro, m.Seconds, 3600)
			if m.Rate.Currency == x.Amount.Currency && list > 0 {
				row["ListCost"], row["ContractedCost"] = exact(list), exact(list)
			}
		}
	}
	row["ChargePeriodStart"], row["ChargePeriodEnd"] = utc(clip(from, c.From, c.To)), utc(clip(to, c.From, c.To))
	row["ChargeDescription"] = row["ResourceName"] + ", " + x.Kind
	if text, err := json.Marshal(tags); err == nil { // strings always can be
		row["Tags"] = string(text)
	}
	return row
}

func orElse(t, other time.Time) time.Time {
	if t.IsZero() {
		return other
	}
	return t
}

func pricing(m bridge.Market) string {
	switch m {
	case bridge.Spot:
		return "Dynamic"
	case bridge.Reserved:
		return "Committed"
	case bridge.OnDemand:
		return "Standard"
	}
	return "Other"
}

func lastPart(a bridge.Account) string {
	s := string(a)
	return s[strings.LastIndexByte(s, '/')+1:]
}

func utc(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// exact prints micro-units as a decimal number with nothing lost.
func exact(micro int64) string {
	sign, abs := "", uint64(micro)
	if micro < 0 {
		sign, abs = "-", -uint64(micro)
	}
	frac := strconv.FormatUint(bridge.Micro+abs%bridge.Micro, 10)[1:]
	out := sign + strconv.FormatUint(abs/bridge.Micro, 10) + "." + frac
	return strings.TrimSuffix(strings.TrimRight(out, "0"), ".")
}
