package desk

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

// scoped is the usual world with a budget of h100 on stratus, whose approver is
// nobody's else, and a hard one of nimbus.
func scoped(t *testing.T, limit float64) (*Desk, *world) {
	t.Helper()
	d, w := newWorld(t)
	x := d.Rules.(*rules)
	x.budgets[1].Limit = usd(900)
	cloud := w.snap.Offers[0].Pool.Cloud
	x.budgets = append(x.budgets,
		bridge.Budget{Account: "site/ai", Cloud: cloud, GPU: "h100", Every: bridge.Week, Zone: time.UTC, Limit: usd(limit), Approvers: []string{"zoe"}},
		bridge.Budget{Account: "site/ai/nlp", Cloud: "elsewhere", Every: bridge.Month, Zone: time.UTC, Limit: usd(1), Hard: true, Approvers: []string{"kim"}})
	d.Roles = Roles{}
	return d, w
}

// A question above the budget of one class on one cloud names it, and is for
// its approvers; those of a budget of another cloud have no say.
func TestAScopedBudgetBindsWhatItCovers(t *testing.T) {
	d, w := scoped(t, 50)
	r := question(t, d) // of 197.87
	q, err := d.Question(t.Context(), d.as("zoe"), QuestionRequest{Rental: string(r.ID), Lang: Chinese})
	if err != nil {
		t.Fatal(err)
	}
	x := q.Questions[0]
	if diff := cmp.Diff([]string{"@leads", "mei", "zoe"}, x.Approvers); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	cloud := w.rentals[0].Pool.Cloud
	if len(x.Budgets) != 3 || len(x.Exceeds) != 1 || x.Exceeds[0].Cloud != cloud || x.Exceeds[0].GPU != "h100" || x.Exceeds[0].Every != bridge.Week {
		t.Errorf("budgets %+v, exceeded %+v", x.Budgets, x.Exceeds)
	}
	if want := "site/ai h100（" + cloud + "）"; !strings.Contains(x.Why, want) {
		t.Errorf("%q does not name %s", x.Why, want)
	}
	for who, want := range map[string]ResultKind{"kim": ResultNotAllowed, "mei": ResultOther} {
		_, err := d.click(t, d.as(who), &r, true)
		if got := resultOf(DecideAnswer{}, err); got != want {
			t.Errorf("%s: %s, want %s", who, got, want)
		}
		if who == "mei" && !strings.Contains(err.Error(), "site/ai h100 on "+cloud) {
			t.Errorf("which other budget is not said: %s", err)
		}
	}
	if a, err := d.click(t, d.as("zoe"), &r, true); resultOf(a, err) != ResultApproved {
		t.Errorf("zoe: %v", err)
	}
}

// Who approves for a budget of another cloud does not even see the rental.
func TestApproversOfAnotherCloudSeeNothing(t *testing.T) {
	d, _ := scoped(t, 50)
	r := question(t, d)
	for who, want := range map[string]bool{"zoe": true, "kim": false} {
		q, err := d.Question(t.Context(), d.as(who), QuestionRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(q.Questions) > 0; got != want {
			t.Errorf("%s sees %s: %t", who, r.ID, got)
		}
	}
}

// A quote looks at the budgets of its own cloud and class alone.
func TestAQuoteLooksAtBudgetsOfItsOwnOffer(t *testing.T) {
	d, w := scoped(t, 1)
	w.snap.Offers = append(w.snap.Offers, w.snap.Offers[1])
	other := &w.snap.Offers[len(w.snap.Offers)-1]
	other.Pool.Cloud = "far"
	a, err := d.Quote(t.Context(), d.as("ana"), QuoteRequest{Wish: Wish{Words: []string{"8xh100", "1h", "on-demand"}}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Outcome{}
	for i := range a.Offers {
		if q := &a.Offers[i]; q.Pool.Type == "gpu8" {
			got[q.Pool.Cloud] = q.Outcome
		}
	}
	if diff := cmp.Diff(map[string]Outcome{w.snap.Offers[0].Pool.Cloud: AskOne, "far": AtOnce}, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

// Spend and budget say of which cloud, class and period each budget is, wide
// ones before narrow ones, and how it stands; room is what budgets of everything
// have.
func TestBudgetsAreToldApart(t *testing.T) {
	d, w := scoped(t, 500)
	r := d.mustRent(t, "ana", "8xh100 6h on-demand").Rental
	w.rentals[0].State = bridge.StateLaunching
	d.Rules.(*rules).budgets[2].Limit = usd(100)
	d.Roles.Admins = []string{"root"}
	a, err := d.Budget(t.Context(), d.as("root"), BudgetRequest{Project: "nlp"})
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		Scope string
		Every bridge.PeriodKind
		State bridge.BudgetState
	}
	lines := func(bs []Balance) []line {
		var out []line
		for i := range bs {
			out = append(out, line{bs[i].Scope().String(), bs[i].Every, bs[i].State})
		}
		return out
	}
	want := []line{
		{"site", bridge.Month, bridge.BudgetOK},
		{"site/ai h100 on " + r.Pool.Cloud, bridge.Week, bridge.BudgetOverCommitted},
		{"site/ai/nlp", bridge.Month, bridge.BudgetOK},
		{"site/ai/nlp on elsewhere", bridge.Month, bridge.BudgetOK},
	}
	if diff := cmp.Diff(want, lines(a.Budgets)); diff != "" {
		t.Errorf("budget (-want +got):\n%s", diff)
	}
	if left := a.Budgets[2].Left; a.Room != left {
		t.Errorf("room %s, want %s", a.Room, left)
	}
	s, err := d.Spend(t.Context(), d.as("root"), SpendRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, lines(s.Accounts)); diff != "" {
		t.Errorf("spend (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"zoe"}, s.Accounts[1].Approvers); diff != "" {
		t.Errorf("approvers (-want +got):\n%s", diff)
	}
}

// What runs in an over-committed budget goes on; more of it is refused.
func TestNothingIsExtendedInAnOverCommittedBudget(t *testing.T) {
	d, w := scoped(t, 500)
	r := d.mustRent(t, "ana", "8xh100 6h on-demand").Rental
	x := d.Rules.(*rules)
	x.budgets[2].Limit, x.budgets[2].Hard = usd(10), true
	w.rentals[0].State, w.rentals[0].Expires = bridge.StateAdmitted, noon.Add(3*time.Hour)
	_, err := d.Extend(t.Context(), d.as("ana"), ExtendRequest{Rental: string(r.ID), Words: []string{"2h"}})
	if kind(err) != OverBudget || !strings.Contains(err.Error(), "site/ai h100 on "+r.Pool.Cloud) {
		t.Errorf("extended: %v", err)
	}
	if zh := Chinese.Wrong(AsError(err)); !strings.Contains(zh, "site/ai h100（"+r.Pool.Cloud+"）") {
		t.Errorf("in Chinese: %s", zh)
	}
	if !w.rentals[0].State.Held() {
		t.Errorf("it is %s", w.rentals[0].State)
	}
}

// A report is of a cloud or a class where a word says so.
func TestAReportOfACloud(t *testing.T) {
	d, w := scoped(t, 500)
	r := d.mustRent(t, "ana", "8xh100 6h on-demand").Rental
	w.rentals[0].State = bridge.StateLaunching
	for words, want := range map[string]string{
		"nlp month":              "site/ai/nlp, 197.87 USD",
		"nlp on " + r.Pool.Cloud: "site/ai/nlp on " + r.Pool.Cloud + ", 197.87 USD",
		"H100 nlp":               "site/ai/nlp h100, 197.87 USD",
		"nlp elsewhere month":    "site/ai/nlp on elsewhere, 0.00 USD",
	} {
		a, err := d.Report(t.Context(), d.as("mei"), ReportRequest{Words: strings.Fields(words)})
		if err != nil {
			t.Fatal(err)
		}
		if got := (bridge.Scope{Account: a.Account, Cloud: a.Cloud, GPU: a.GPU}).String() + ", " + a.Held.String(); got != want {
			t.Errorf("%s: %s, want %s", words, got, want)
		}
	}
}

func TestScopesAreSaidInBothLanguages(t *testing.T) {
	for _, c := range []struct {
		s      bridge.Scope
		en, zh string
	}{
		{bridge.Scope{Account: "a/b"}, "a/b", "a/b"},
		{bridge.Scope{Account: "a", Cloud: "north"}, "a on north", "a（north）"},
		{bridge.Scope{Account: "a", GPU: "h100"}, "a h100", "a h100"},
		{bridge.Scope{Account: "a", Cloud: "north", GPU: "h100"}, "a h100 on north", "a h100（north）"},
	} {
		if en, zh := English.Scope(c.s), Chinese.Scope(c.s); en != c.en || zh != c.zh {
			t.Errorf("%s, %s", en, zh)
		}
	}
}
