package desk

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

// click answers the question as its card was drawn.
func (d *Desk) click(t *testing.T, who Person, r *Rental, yes bool) (DecideAnswer, error) {
	t.Helper()
	who.Via = "slack T1/U_" + who.Name
	return d.Decide(t.Context(), who, DecideRequest{Rental: string(r.ID), Revision: r.Revision, Yes: yes, Text: "use the queue"})
}

// resultOf is what came of an answer, given or refused.
func resultOf(a DecideAnswer, err error) ResultKind {
	if err == nil {
		return a.Result.Kind
	}
	if r := AsError(err).Result; r != nil {
		return r.Kind
	}
	return ResultKind("no result: " + err.Error())
}

func kindsOf(w *world) (out []bridge.NewsKind) {
	for i := range w.news {
		out = append(out, w.news[i].Kind)
	}
	return out
}

func TestTwoPersonsAboveTheSecondLimit(t *testing.T) {
	d, w := newWorld(t)
	d.Rules.(*rules).approval.TwoAbove = usd(150)
	r := question(t, d)
	if q, err := d.Question(t.Context(), d.as("mei"), QuestionRequest{Rental: string(r.ID)}); err != nil || q.Questions[0].Needs != 2 {
		t.Fatalf("%v, needs %d", err, q.Questions[0].Needs)
	}
	for _, step := range []struct {
		who  string
		want ResultKind
		held bool
	}{{"mei", ResultAgreed, false}, {"mei", ResultRepeated, false}, {"ana", ResultOwn, false}, {"tom", ResultApproved, true}, {"mei", ResultRepeated, true}, {"tom", ResultRepeated, true}} {
		a, err := d.click(t, d.as(step.who), &r, true)
		if got := resultOf(a, err); got != step.want {
			t.Errorf("%s: %s, want %s", step.who, got, step.want)
		}
		if held := heldOf(w) > 0; held != step.held {
			t.Errorf("after %s, held: %t", step.who, held)
		}
	}
	want := []bridge.NewsKind{bridge.NewsAsked, bridge.NewsAgreed, bridge.NewsRebuffed, bridge.NewsApproved}
	if diff := cmp.Diff(want, kindsOf(w)); diff != "" {
		t.Errorf("news differ (-want +got):\n%s", diff)
	}
	for _, n := range w.news[1:] {
		if n.Who == "" || n.Digest == "" || n.Digest != r.Digest || n.Via != "slack T1/U_"+n.Who {
			t.Errorf("%s is by %q on %q", n.Kind, n.Who, n.Digest)
		}
	}
}

func TestOneOfTwoAndANo(t *testing.T) {
	d, w := newWorld(t)
	d.Rules.(*rules).approval.TwoAbove = usd(150)
	r := question(t, d)
	if _, err := d.click(t, d.as("mei"), &r, true); err != nil {
		t.Fatal(err)
	}
	if _, err := d.click(t, d.as("tom"), &r, false); err != nil {
		t.Fatal(err)
	}
	if s := w.rentals[0].State; s != bridge.StateClosed || heldOf(w) != 0 {
		t.Errorf("it is %s and holds %d", s, heldOf(w))
	}
}

func TestAuthorityOfAnApprover(t *testing.T) {
	for name, c := range map[string]struct {
		of     map[string]bridge.Money
		groups []string
		no     bool
		want   ResultKind
	}{
		"not named":                        {want: ResultApproved},
		"enough":                           {of: map[string]bridge.Money{"mei": usd(198)}, want: ResultApproved},
		"too little":                       {of: map[string]bridge.Money{"mei": usd(197)}, want: ResultAuthority},
		"too little, but a no is free":     {of: map[string]bridge.Money{"mei": usd(197)}, no: true, want: ResultDenied},
		"of everybody":                     {of: map[string]bridge.Money{"*": usd(1)}, want: ResultAuthority},
		"a name before everybody":          {of: map[string]bridge.Money{"*": usd(1), "mei": usd(500)}, want: ResultApproved},
		"a name before groups":             {of: map[string]bridge.Money{"@leads": usd(500), "mei": usd(1)}, groups: []string{"leads"}, want: ResultAuthority},
		"the highest of groups":            {of: map[string]bridge.Money{"@a": usd(1), "@b": usd(500)}, groups: []string{"a", "b"}, want: ResultApproved},
		"a limit in money of another sort": {of: map[string]bridge.Money{"mei": {Micro: 1e12, Currency: "JPY"}}, want: ResultAuthority},
		"a limit of nothing":               {of: map[string]bridge.Money{"mei": {Currency: "USD"}}, want: ResultAuthority},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := newWorld(t)
			d.Rules.(*rules).approval.Authority = c.of
			r := question(t, d)
			a, err := d.click(t, d.as("mei", c.groups...), &r, !c.no)
			if got := resultOf(a, err); got != c.want {
				t.Errorf("%s, want %s (%v)", got, c.want, err)
			}
		})
	}
}

func TestB_F7_WithoutApproversNobodyDecides(t *testing.T) {
	for name, within := range map[string]bool{"above the budget": false, "within it, where policy wants a yes": true} {
		t.Run(name, func(t *testing.T) {
			d, w := newWorld(t)
			d.Roles = Roles{}
			x := d.Rules.(*rules)
			for i := range x.budgets {
				x.budgets[i].Approvers = nil
			}
			if within {
				x.budgets[1].Limit, x.terms.AskAbove = usd(1000), usd(1)
			}
			r := question(t, d)
			for _, who := range []Person{d.as("mei"), d.as("stranger"), d.as("root"), {}, {Name: "", Roles: []Role{Approver}}} {
				_, err := d.click(t, who, &r, true)
				if kind(err) != Forbidden || !strings.Contains(err.Error(), "nobody is set in the policy") {
					t.Errorf("%q: %v", who.Name, err)
				}
			}
			if s := w.rentals[0].State; s != bridge.StateWaiting {
				t.Errorf("it is %s", s)
			}
		})
	}
}

// The same person is known by the account, whatever door they come through:
// a second Slack user, the command line, a job of theirs that an admin rents
// for, an approvers' group.
func TestB_F8_TheRequesterNeverDecides(t *testing.T) {
	d, _ := newWorld(t)
	d.Roles.Approvers = []string{"ana", "root", "@leads"}
	own := question(t, d)
	delegated, err := d.Rent(t.Context(), d.as("root"), RentRequest{Wish: Wish{Words: []string{"job 4711 for 6h on-demand"}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		r   Rental
		who Person
	}{
		"by another Slack user":        {own, d.as("ana")},
		"by the command line":          {own, d.Roles.Of("ana", 0, []string{"leads"})},
		"who asked for another":        {delegated.Rental, d.as("root")},
		"whom somebody else asked for": {delegated.Rental, d.as("ana")},
	} {
		a, err := d.click(t, c.who, &c.r, true)
		if got := resultOf(a, err); got != ResultOwn {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// One of the approvers is gone, or is the requester: the others still decide,
// and are the ones that are named.
func TestB_F9_MissingApproversAreSkipped(t *testing.T) {
	d, _ := newWorld(t)
	x := d.Rules.(*rules)
	d.Roles, x.budgets[1].Approvers = Roles{}, []string{"gone", "ana", "mei"}
	r := question(t, d)
	q, err := d.Question(t.Context(), d.as("mei"), QuestionRequest{Rental: string(r.ID)})
	if err != nil || !q.Questions[0].Mine {
		t.Fatalf("%v, %+v", err, q)
	}
	if diff := cmp.Diff([]string{"gone", "mei"}, q.Questions[0].Approvers); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	x.budgets[1].Approvers = []string{"ana"} // nobody is left
	if _, err := d.click(t, d.as("mei"), &r, true); kind(err) != Forbidden || !strings.Contains(err.Error(), "nobody is set") {
		t.Errorf("with nobody left: %v", err)
	}
}

// slowLoop remembers only when it is told to go on.
type slowLoop struct {
	Loop
	entered, goOn chan struct{}
}

func (s *slowLoop) Remember(ctx context.Context, change func(*bridge.Marks), news ...bridge.News) error {
	s.entered <- struct{}{}
	<-s.goOn
	return s.Loop.Remember(ctx, change, news...)
}

// What comes after a no takes its time; the no itself is stored first, so a
// second click finds it.
func TestB_F2_DeniedTwiceWhileSlow(t *testing.T) {
	d, w := newWorld(t)
	r := d.mustRent(t, "ana", "job 4711 for 6h on-demand").Rental
	slow := &slowLoop{d.Loop, make(chan struct{}), make(chan struct{})}
	d.Loop = slow
	first := make(chan ResultKind)
	go func() { first <- resultOf(d.click(t, d.as("mei"), &r, false)) }()
	<-slow.entered
	if got := resultOf(d.click(t, d.as("mei"), &r, false)); got != ResultRepeated {
		t.Errorf("the second click: %s", got)
	}
	if got := resultOf(d.click(t, d.as("tom"), &r, true)); got != ResultRefused {
		t.Errorf("a yes meanwhile: %s", got)
	}
	close(slow.goOn)
	if got := <-first; got != ResultDenied {
		t.Errorf("the first click: %s", got)
	}
	if diff := cmp.Diff([]bridge.NewsKind{bridge.NewsAsked, bridge.NewsDenied}, kindsOf(w)); diff != "" {
		t.Errorf("news differ (-want +got):\n%s", diff)
	}
	if len(w.marks.Answers) != 1 {
		t.Errorf("remembered %d times", len(w.marks.Answers))
	}
}

// A click after the end says so, and leaves no trace of an approval.
func TestB_F5_ALateClickSaysExpired(t *testing.T) {
	d, w := newWorld(t)
	r := question(t, d)
	for _, lapsed := range []bool{false, true} { // before and after the loop closed it
		if lapsed {
			lapse(t, d, w, r)
		}
		w.snap.Now = noon.Add(2 * time.Hour)
		_, err := d.click(t, d.as("mei"), &r, true)
		if got := resultOf(DecideAnswer{}, err); got != ResultLapsed {
			t.Errorf("lapsed %t: %s", lapsed, got)
		}
		e := AsError(err)
		for lang, says := range map[Lang]string{English: "too late", Chinese: "已过期"} {
			if got := lang.Wrong(e); !strings.Contains(got, says) || strings.Contains(got, "approved") {
				t.Errorf("%s: %s", lang, got)
			}
		}
	}
	for _, n := range w.news {
		if n.Kind == bridge.NewsApproved || n.Kind == bridge.NewsAgreed {
			t.Errorf("a trace of an approval: %+v", n)
		}
	}
	if heldOf(w) != 0 {
		t.Error("money is held")
	}
}

func TestAWishKeepsItsOwnLimit(t *testing.T) {
	d, w := newWorld(t)
	d.mustRent(t, "ana", "8xh100 6h on-demand max $198")
	if w.rentals[0].Most != usd(198) {
		t.Errorf("most: %s", w.rentals[0].Most)
	}
}

// Reminders change the rental, not the question: a card drawn before one still
// counts.
func TestAReminderDoesNotVoidButtons(t *testing.T) {
	d, w := newWorld(t)
	r := question(t, d)
	x := w.rentals[0]
	x.Reminded = noon
	if _, err := w.Save(t.Context(), x, bridge.News{Kind: bridge.NewsReminded, Rental: x.ID}); err != nil {
		t.Fatal(err)
	}
	if a, err := d.click(t, d.as("mei"), &r, true); resultOf(a, err) != ResultApproved {
		t.Errorf("got %v", err)
	}
}

// Somebody changes the rental between the look and the transaction.
func TestAnAnswerIsTriedAgainWhenOnlyTheRentalChanged(t *testing.T) {
	d, w := newWorld(t)
	r := question(t, d)
	w.meddle = func() {
		x := w.rentals[0]
		x.Reminded = noon
		if _, err := w.Save(t.Context(), x); err != nil {
			t.Error(err)
		}
	}
	if a, err := d.click(t, d.as("mei"), &r, true); resultOf(a, err) != ResultApproved {
		t.Errorf("got %v", err)
	}
}

func TestEscalation(t *testing.T) {
	d, w := newWorld(t)
	d.Rules.(*rules).approval.Escalation = []string{"boss"}
	d.Roles.Escalation = []string{"boss"}
	r := question(t, d)
	asked := func() Question {
		q, err := d.Question(t.Context(), d.as("tom"), QuestionRequest{Rental: string(r.ID)})
		if err != nil {
			t.Fatal(err)
		}
		return q.Questions[0]
	}
	if q := asked(); q.Urgent || strings.Contains(strings.Join(q.Approvers, " "), "boss") {
		t.Errorf("asked from the beginning: %v", q.Approvers)
	}
	w.rentals[0].Escalated = noon
	if q := asked(); !q.Urgent || !strings.Contains(strings.Join(q.Approvers, " "), "boss") {
		t.Errorf("not asked near the end: %v", q.Approvers)
	}
	if a, err := d.click(t, d.as("boss"), &r, true); resultOf(a, err) != ResultApproved {
		t.Errorf("the boss may not: %v", err)
	}
}

// Who may not answer is told, and kept in the record once for each question.
func TestRefusedAnswersAreOnRecord(t *testing.T) {
	d, w := newWorld(t)
	r := question(t, d)
	for _, who := range []string{"ana", "ana", "ben", "ben", "ben"} {
		if _, err := d.click(t, d.as(who), &r, true); kind(err) != Forbidden {
			t.Errorf("%s: %v", who, err)
		}
	}
	var got []string
	for _, n := range w.news {
		if n.Kind == bridge.NewsRebuffed {
			got = append(got, n.Who+" "+n.Text+" "+n.Digest[:4])
		}
	}
	if diff := cmp.Diff([]string{"ana your-own " + r.Digest[:4], "ben not-allowed " + r.Digest[:4]}, got); diff != "" {
		t.Errorf("the record differs (-want +got):\n%s", diff)
	}
}

// Every result has words in both languages, with its facts and no slot left.
func TestResultsHaveWords(t *testing.T) {
	full := Result{Rental: "r-0013", Who: "mei", At: noon, Approvers: []string{"mei"}, Given: 1, Needs: 2, Hold: usd(10), Was: usd(9), Limit: usd(1), Account: "site/ai/nlp", Detail: "why"}
	kinds := []ResultKind{
		ResultApproved, ResultExtended, ResultAgreed, ResultDenied, ResultRepeated, ResultAlready, ResultRefused, ResultLapsed, ResultWithdrawn, ResultSuperseded,
		ResultOwn, ResultNotAllowed, ResultOther, ResultAuthority, ResultDearer, ResultHard, ResultStopped, ResultIdle,
	}
	for lang, table := range results {
		if len(table) != len(kinds) {
			t.Errorf("%s has %d results of %d", lang, len(table), len(kinds))
		}
		for _, k := range kinds {
			for _, r := range []Result{full, {Rental: "r-0013", Detail: "why"}} {
				r.Kind = k
				if s := lang.Result(&r); s == "" || strings.ContainsAny(s, "{}[]") {
					t.Errorf("%s, %s: %q", lang, k, s)
				}
			}
		}
	}
}

// A large rental in small steps needs what a large one needs.
func TestAnExtensionCountsWithWhatItExtends(t *testing.T) {
	d, w := newWorld(t)
	x := d.Rules.(*rules)
	x.approval.TwoAbove, x.approval.Authority = usd(250), map[string]bridge.Money{"mei": usd(200)}
	r := question(t, d) // of 197.87
	w.rentals[0].Extends = "r-0024"
	w.rentals[0].Digest = bridge.DigestOf(&w.rentals[0])
	w.rentals = append(w.rentals, bridge.Rental{ID: "r-0024", State: bridge.StateAdmitted, Account: r.Account, Requester: "ana", Hold: usd(60), Expires: noon.Add(time.Hour)})
	q, err := d.Question(t.Context(), d.as("tom"), QuestionRequest{Rental: string(r.ID)})
	if err != nil || q.Questions[0].Needs != 2 {
		t.Errorf("%v, %+v", err, q)
	}
	if got := resultOf(d.click(t, d.as("mei"), &r, true)); got != ResultAuthority {
		t.Errorf("mei, up to 200 USD: %s", got)
	}
	if got := resultOf(d.click(t, d.as("tom"), &r, true)); got != ResultAgreed {
		t.Errorf("tom, the first of two: %s", got)
	}
}
