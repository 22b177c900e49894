package desk

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"spillway.sh/spillway/bridge"
)

func TestReleaseAndFreezeWithoutADaemon(t *testing.T) {
	d, _ := newWorld(t)
	d.Writer, d.Loop, d.Viewer = nil, nil, nil
	_, err := d.Release(t.Context(), d.as("ana"), ReleaseRequest{All: true})
	if kind(err) != Unavailable || AsError(err).Try != "spillway release --by-tag" {
		t.Errorf("got %v", err)
	}
	for name, err := range map[string]error{
		"rent":   second(d.Rent(t.Context(), d.as("ana"), RentRequest{})),
		"decide": second(d.Decide(t.Context(), d.as("mei"), DecideRequest{})),
		"freeze": second(d.Freeze(t.Context(), d.Roles.Of("root", 0, nil), FreezeRequest{Frozen: true})),
		"queue":  second(d.Queue(t.Context(), d.as("ana"), QueueRequest{})),
	} {
		if kind(err) != Unavailable {
			t.Errorf("%s: %v, want unavailable", name, err)
		}
	}
	for name, err := range map[string]error{
		"rentals": second(d.Rentals(t.Context(), d.as("ana"), RentalsRequest{})),
		"spend":   second(d.Spend(t.Context(), d.as("ana"), SpendRequest{})),
		"status":  second(d.Status(t.Context(), d.as("ana"), StatusRequest{})),
		"news":    second(d.News(t.Context(), d.as("ana"), NewsRequest{})),
		"whoami":  second(d.WhoAmI(t.Context(), d.as("ana"), WhoAmIRequest{})),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[A any](_ A, err error) error { return err }

// The role table, row by row: who may ask for what of whom.
func TestRoleTable(t *testing.T) {
	people := map[string]func(*Desk) Person{
		"owner":    func(d *Desk) Person { return d.as("ana") },
		"stranger": func(d *Desk) Person { return d.as("eve") },
		"budget":   func(d *Desk) Person { return d.as("mei") }, // approver of the project's budget
		"approver": func(d *Desk) Person { return d.as("tom") },
		"admin":    func(d *Desk) Person { return d.Roles.Of("root", 0, nil) },
	}
	for name, c := range map[string]struct {
		do  func(context.Context, *Desk, Person) error
		may string
	}{
		"look at a rental": {func(ctx context.Context, d *Desk, p Person) error {
			return second(d.Rental(ctx, p, RentalRequest{Rental: "r-0013"}))
		}, "owner budget approver admin"},
		"explain a job": {func(ctx context.Context, d *Desk, p Person) error {
			return second(d.Explain(ctx, p, ExplainRequest{Job: "4711"}))
		}, "owner budget approver admin"},
		"list somebody's queue": {func(ctx context.Context, d *Desk, p Person) error {
			return second(d.Queue(ctx, p, QueueRequest{User: "ben"}))
		}, "approver admin"},
		"list somebody's rentals": {func(ctx context.Context, d *Desk, p Person) error {
			return second(d.Rentals(ctx, p, RentalsRequest{User: "ben"}))
		}, "approver admin"},
		"give it back": {func(ctx context.Context, d *Desk, p Person) error {
			return second(d.Release(ctx, p, ReleaseRequest{Rental: "r-0013"}))
		}, "owner admin"},
		"freeze": {func(ctx context.Context, d *Desk, p Person) error {
			return second(d.Freeze(ctx, p, FreezeRequest{Frozen: true}))
		}, "admin"},
		"check the books": {func(ctx context.Context, d *Desk, p Person) error {
			return second(d.CheckBooks(ctx, p, LedgerRequest{}))
		}, "approver admin"},
		"ask how it is": {func(ctx context.Context, d *Desk, p Person) error {
			return second(d.Status(ctx, p, StatusRequest{}))
		}, "owner stranger budget approver admin"},
	} {
		for who, person := range people {
			t.Run(name+" as "+who, func(t *testing.T) {
				d, _ := newWorld(t)
				d.mustRent(t, "ana", "8xh100 15m spot")
				err := c.do(t.Context(), d, person(d))
				may := slices.Contains(strings.Fields(c.may), who)
				if may && err != nil || !may && kind(err) != Forbidden {
					t.Errorf("may %t, got %v", may, err)
				}
			})
		}
	}
}

func TestMembersSeeTheirOwnOnly(t *testing.T) {
	d, w := newWorld(t)
	d.mustRent(t, "ana", "8xh100 15m spot")
	d.mustRent(t, "ben", "8xh100 15m spot")
	w.tell([]bridge.News{{Kind: bridge.NewsWarning, Text: "nobody's"}})
	ana, tom := d.as("ana"), d.as("tom")
	q, err := d.Queue(t.Context(), ana, QueueRequest{})
	if err != nil || len(q.Jobs) != 1 || q.Jobs[0].Job != "4711" {
		t.Errorf("queue: %v, %d rows", err, len(q.Jobs))
	}
	if q, err := d.Queue(t.Context(), tom, QueueRequest{}); err != nil || len(q.Jobs) != 2 {
		t.Errorf("queue of an approver: %v, %d rows", err, len(q.Jobs))
	}
	r, err := d.Rentals(t.Context(), ana, RentalsRequest{})
	if err != nil || len(r.Rentals) != 1 {
		t.Errorf("rentals: %v, %d", err, len(r.Rentals))
	}
	n, err := d.News(t.Context(), ana, NewsRequest{})
	if err != nil || len(n.News) != 1 || n.Next != 3 {
		t.Errorf("news: %v, %d, go on after %d", err, len(n.News), n.Next)
	}
	s, err := d.Spend(t.Context(), ana, SpendRequest{})
	if err != nil || len(s.Accounts) != 2 {
		t.Errorf("spend: %v, %d accounts", err, len(s.Accounts))
	}
	if s, err := d.Spend(t.Context(), d.as("eve"), SpendRequest{}); err != nil || len(s.Accounts) != 0 {
		t.Errorf("spend of a stranger: %v, %d accounts", err, len(s.Accounts))
	}
}

func TestFollowingNewsWaitsForThem(t *testing.T) {
	d, w := newWorld(t)
	w.tell([]bridge.News{{Kind: bridge.NewsWarning, Text: "old"}})
	done := make(chan NewsAnswer, 1)
	go func() {
		a, err := d.News(context.Background(), d.as("tom"), NewsRequest{After: 1, Wait: 30})
		if err != nil {
			t.Error(err)
		}
		done <- a
	}()
	w.mu.Lock()
	w.tell([]bridge.News{{Kind: bridge.NewsWarning, Text: "new"}})
	w.mu.Unlock()
	a := <-done
	if len(a.News) != 1 || a.News[0].Text != "new" || a.Next != 2 {
		t.Errorf("got %+v", a)
	}
}

func TestExplainSaysWhyAndWhatChangesIt(t *testing.T) {
	d, _ := newWorld(t)
	a, err := d.Explain(t.Context(), d.as("ana"), ExplainRequest{Job: "4711"})
	if err != nil {
		t.Fatal(err)
	}
	if a.Why != "Policy (rule everyone) lets it wait for local nodes first, until 2026-11-30 12:03 UTC." {
		t.Errorf("said %q", a.Why)
	}
	if len(a.Budgets) != 2 || a.Waits != 720 || a.State != "pending" {
		t.Errorf("%d budgets, waited %d s, %s", len(a.Budgets), a.Waits, a.State)
	}
	zh, err := d.Explain(t.Context(), d.as("ana"), ExplainRequest{Job: "4711", Lang: Chinese})
	if err != nil || !strings.HasPrefix(zh.Why, "策略（规则 everyone）") {
		t.Errorf("in Chinese: %v, %q", err, zh.Why)
	}
	if _, err := d.Explain(t.Context(), d.as("ana"), ExplainRequest{Job: "1"}); kind(err) != NotFound {
		t.Errorf("an unknown job: %v", err)
	}
}

func TestFreezeAndThaw(t *testing.T) {
	d, w := newWorld(t)
	root := d.Roles.Of("root", 0, nil)
	for i, c := range []struct{ frozen, changed bool }{{true, true}, {true, false}, {false, true}, {false, false}} {
		a, err := d.Freeze(t.Context(), root, FreezeRequest{Frozen: c.frozen, Text: "prices"})
		if err != nil || a.Changed != c.changed || w.marks.Frozen != c.frozen {
			t.Errorf("step %d: %v, changed %t, frozen %t", i, err, a.Changed, w.marks.Frozen)
		}
	}
	if got := fmt.Sprint(w.news[0].Kind, w.news[0].Who, w.news[1].Kind); len(w.news) != 2 || got != "frozenrootthawed" {
		t.Errorf("told %s in %d lines", got, len(w.news))
	}
}
