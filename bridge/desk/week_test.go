package desk

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/report"
	"spillway.sh/spillway/bridge/report/reporttest"
)

// archive is the made-up week as a store has it.
type archive struct {
	in      report.Input
	charges []bridge.Charge
	spans   []time.Duration // of what was asked
}

func (a *archive) RentalsBetween(_ context.Context, from, to time.Time) ([]bridge.Rental, error) {
	a.spans = append(a.spans, to.Sub(from))
	return slices.Clone(a.in.Rentals), nil
}

func (a *archive) PostedBetween(_ context.Context, from, to time.Time) ([]bridge.PostedSum, error) {
	for _, t := range []time.Time{from, to} {
		if !t.Equal(t.Truncate(15 * time.Minute)) {
			panic("not on a quarter hour")
		}
	}
	var out []bridge.PostedSum
	for _, p := range a.in.Days {
		if !p.From.Before(from) && !p.To.After(to) {
			out = append(out, p.Sums...)
		}
	}
	for _, p := range a.in.Weeks[:4] { // all on their Monday
		if !p.From.Before(from) && p.From.Before(to) {
			out = append(out, p.Sums...)
		}
	}
	return out, nil
}

func (a *archive) NewsBetween(_ context.Context, from, to time.Time, kinds ...bridge.NewsKind) ([]bridge.News, error) {
	return slices.DeleteFunc(slices.Concat(a.in.Earlier, a.in.News), func(n bridge.News) bool {
		return n.At.Before(from) || !n.At.Before(to) || !slices.Contains(kinds, n.Kind)
	}), nil
}

func (a *archive) Usage(_ context.Context, from, to time.Time) ([]bridge.Usage, error) {
	return slices.DeleteFunc(slices.Clone(a.in.Usage), func(u bridge.Usage) bool { return u.Hour.Before(from) || !u.Hour.Before(to) }), nil
}

func (a *archive) Corrections(context.Context, time.Time, time.Time) ([]bridge.Correction, error) {
	return a.in.Corrections, nil
}

func (a *archive) Parcels(context.Context, int) ([]bridge.Parcel, error) {
	return []bridge.Parcel{{Tries: 1}, {}, {Tries: 3}}, nil
}

func (a *archive) ChargesBetween(_ context.Context, from, to time.Time) ([]bridge.Charge, error) {
	return slices.DeleteFunc(slices.Clone(a.charges), func(c bridge.Charge) bool { return c.First.Before(from) || !c.First.Before(to) }), nil
}

// shelf is a desk with the made-up week behind it, on the Monday after.
func shelf(t *testing.T) (*Desk, *archive) {
	t.Helper()
	d, w := newWorld(t)
	a := &archive{in: reporttest.Week()}
	w.snap.Now = a.in.Made
	w.spent["site"], w.spent["site/ai/nlp"] = usd(50), usd(20)
	d.Weekly, d.Capacity = a, func() []bridge.Capacity { return a.in.Capacity }
	for i := range a.in.Rentals {
		r := a.in.Rentals[i]
		w.rentals = append(w.rentals, r)
		if r.State == bridge.StateSettled {
			a.charges = append(a.charges, bridge.Charge{Rental: r.ID, Scope: r.Scope(), Kind: "post", Amount: r.Cost, First: r.Machines[0].Started, Last: r.Machines[0].Stopped})
		}
	}
	for _, id := range []bridge.RentalID{"r-0098", "r-0116", "r-0117", "r-0118"} { // asked for, and no more
		w.rentals = append(w.rentals, bridge.Rental{ID: id, State: bridge.StateClosed, Account: "site/ai/nlp/ana"})
	}
	zone, err := time.LoadLocation(reporttest.Zone)
	if err != nil {
		t.Fatal(err)
	}
	d.Rules.(*rules).budgets[0].Zone = zone // the widest budget's is the report's
	return d, a
}

func TestTheWeekIsReadFromTheStore(t *testing.T) {
	d, a := shelf(t)
	got, err := d.Week(t.Context(), d.as("tom"), WeekRequest{Week: "last"})
	if err != nil {
		t.Fatal(err)
	}
	want := reporttest.Report()
	if got.Week != want.Week || got.Zone != want.Zone || !got.From.Equal(want.From) || got.Spend.Elastic != want.Spend.Elastic || got.Spend.Kept != want.Spend.Kept {
		t.Errorf("%s in %s from %s: %s and %s", got.Week, got.Zone, got.From, got.Spend.Elastic, got.Spend.Kept)
	}
	if len(got.Spend.Days) != 7 || len(got.Spend.Weeks) != 5 || *got.Spend.LastWeek != *want.Spend.LastWeek {
		t.Errorf("%d days, weeks %v", len(got.Spend.Days), got.Spend.Weeks)
	}
	if *got.Wait.Saved != *want.Wait.Saved || got.Spot.LostCost != want.Spot.LostCost || got.Approvals.Asked != want.Approvals.Asked || got.Approvals.Approved != 3 {
		t.Errorf("saved %s, lost %s, %d asked, %d approved", got.Wait.Saved, got.Spot.LostCost, got.Approvals.Asked, got.Approvals.Approved)
	}
	if got.Guard.Bills != 2 || *got.Guard.Undelivered != 2 || got.Guard.PriceAge == nil {
		t.Errorf("guard %+v", got.Guard)
	}
	if len(got.Mix.Classes) != 1 || got.Mix.Classes[0].Hours != 672 {
		t.Errorf("mix %+v", got.Mix)
	}
	if a.spans[0] != 7*24*time.Hour {
		t.Errorf("rentals of %s were read", a.spans[0])
	}
}

func TestWhoSeesWhichWeek(t *testing.T) {
	for name, c := range map[string]struct {
		who, week, project string
		kind               ErrorKind
		says               string
		account            bridge.Account
	}{
		"all, for who may":      {who: "tom"},
		"one project of theirs": {who: "ana", account: "site/ai/nlp"},
		"one of all":            {who: "tom", project: "nlp", account: "site/ai/nlp"},
		"not another's":         {who: "eve", project: "nlp", kind: Forbidden},
		"no such week":          {who: "tom", week: "2026-W54", kind: BadRequest, says: "no week 2026-W54"},
		"a week ahead":          {who: "tom", week: "2026-W50", kind: BadRequest, says: "begins on 2026-12-07"},
		"no week":               {who: "tom", week: "november", kind: BadRequest, says: "say 2026-W48, last or this"},
		"this one":              {who: "tom", week: "this"},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := shelf(t)
			got, err := d.Week(t.Context(), d.as(c.who), WeekRequest{Week: c.week, Project: c.project})
			if kind(err) != c.kind || err != nil && !strings.Contains(AsError(err).Wrong, c.says) {
				t.Fatalf("%v, want %s about %q", err, c.kind, c.says)
			}
			if err != nil {
				return
			}
			if got.Account != c.account {
				t.Errorf("of %q", got.Account)
			}
			for _, l := range got.Top.Projects {
				if c.account != "" && l.Name != string(c.account) {
					t.Errorf("shows %s", l.Name)
				}
			}
			if c.account != "" && (got.Spend.Kept.Micro != 0 || len(got.Spend.Budgets) != 1) {
				t.Errorf("shows the site's capacity %s, budgets %v", got.Spend.Kept, got.Spend.Budgets)
			}
		})
	}
}

func TestChargebackIsOfSettledRentals(t *testing.T) {
	d, a := shelf(t)
	got, err := d.Chargeback(t.Context(), d.as("tom"), ChargebackRequest{Month: "2026-11"})
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, c := range got.Charges {
		sum += c.Amount.Micro
	}
	posted, _ := a.PostedBetween(t.Context(), got.From, got.To)
	all := int64(0)
	for _, p := range posted {
		all += p.Amount.Micro
	}
	if len(got.Open) != 1 || sum+got.Open[0].Micro != all || got.Issuer != "site" || len(got.Charges) != 10 {
		t.Errorf("%d charges of %d, open %v of %d, from %s", len(got.Charges), sum, got.Open, all, got.Issuer)
	}
	if _, err := d.Chargeback(t.Context(), d.as("tom"), ChargebackRequest{Month: "2027-01"}); kind(err) != BadRequest {
		t.Errorf("a month ahead: %v", err)
	}
	if _, err := d.Chargeback(t.Context(), d.as("tom"), ChargebackRequest{Month: "nov"}); kind(err) != BadRequest {
		t.Errorf("no month: %v", err)
	}
	mine, err := d.Chargeback(t.Context(), d.as("ana"), ChargebackRequest{Month: "2026-11"})
	if err != nil || len(mine.Charges) == 0 || slices.ContainsFunc(mine.Charges, func(c bridge.Charge) bool { return !under(c.Account, "site/ai/nlp") }) {
		t.Errorf("one's own: %v, %+v", err, mine.Charges)
	}
}
