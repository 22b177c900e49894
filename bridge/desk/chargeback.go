package desk

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/report"
)

// ChargebackRequest asks what settled rentals cost in a month.
type ChargebackRequest struct {
	Month   string `json:"month,omitempty"`   // 2026-11; empty: the last whole one
	Project string `json:"project,omitempty"` // empty: all, for who may see all
}

// ChargebackAnswer is a chargeback, with what is not in it yet.
type ChargebackAnswer struct {
	report.Chargeback
	// Open is what was posted in the month for rentals that are not settled.
	Open []bridge.Money `json:"open"`
}

// Chargeback answers what settled rentals cost in a month of the site's zone.
func (d *Desk) Chargeback(ctx context.Context, p Person, q ChargebackRequest) (ChargebackAnswer, error) {
	var a ChargebackAnswer
	if d.Weekly == nil {
		return a, wrong(Unavailable, "spillway report", "there is no chargeback here")
	}
	now, zone := d.Now(), d.homeZone()
	first := now.In(zone).AddDate(0, 0, 1-now.In(zone).Day()).AddDate(0, -1, 0)
	if q.Month != "" {
		var err error
		if first, err = time.ParseInLocation("2006-01", q.Month, zone); err != nil {
			return a, wrong(BadRequest, "spillway report --chargeback --month 2026-11", "%q is no month", q.Month)
		}
	}
	a.Month = first.Format("2006-01")
	a.From, a.To = periodOf(time.Date(first.Year(), first.Month(), 15, 12, 0, 0, 0, zone), bridge.Month, zone)
	if a.From.After(now) {
		return a, wrong(BadRequest, "spillway report --chargeback", "%s has not begun", a.Month)
	}
	account, err := d.scopeOf(ctx, p, q.Project)
	if err != nil {
		return a, err
	}
	if err := d.charges(ctx, account, &a); err != nil {
		return a, unreadable(err)
	}
	return a, nil
}

// charges reads the rows, their rentals and what is still open.
func (d *Desk) charges(ctx context.Context, account bridge.Account, a *ChargebackAnswer) error {
	theirs := func(x bridge.Account) bool { return account == "" || under(x, account) }
	cs, err := d.Weekly.ChargesBetween(ctx, a.From, a.To)
	if err != nil {
		return err
	}
	a.Charges = append([]bridge.Charge{}, slices.DeleteFunc(cs, func(c bridge.Charge) bool { return !theirs(c.Account) })...)
	posted, err := d.Weekly.PostedBetween(ctx, a.From, a.To)
	if err != nil {
		return err
	}
	open := map[bridge.Currency]int64{}
	for i := range posted {
		if theirs(posted[i].Account) {
			open[posted[i].Amount.Currency] += posted[i].Amount.Micro
			a.Issuer = cmp.Or(a.Issuer, posted[i].Account.Ancestors()[0])
		}
	}
	rentals, err := d.Weekly.RentalsBetween(ctx, a.From, a.To)
	if err != nil {
		return err
	}
	known := make(map[bridge.RentalID]*bridge.Rental, len(rentals))
	for i := range rentals {
		known[rentals[i].ID] = &rentals[i]
	}
	a.Machines = []report.Billed{}
	seen := map[bridge.RentalID]bool{}
	for i := range a.Charges {
		c := &a.Charges[i]
		open[c.Amount.Currency] -= c.Amount.Micro
		if seen[c.Rental] {
			continue
		}
		seen[c.Rental] = true
		r := known[c.Rental]
		if r == nil {
			one, err := d.Reader.Rental(ctx, c.Rental)
			if err != nil {
				return fmt.Errorf("read rental %s: %w", c.Rental, err)
			}
			r = &one
		}
		a.Machines = append(a.Machines, report.BilledOf(r, a.From, a.To))
	}
	a.Open = []bridge.Money{}
	for c, micro := range open {
		if micro != 0 {
			a.Open = append(a.Open, bridge.Money{Micro: micro, Currency: c})
		}
	}
	slices.SortFunc(a.Open, func(x, y bridge.Money) int { return strings.Compare(string(x.Currency), string(y.Currency)) })
	return nil
}
