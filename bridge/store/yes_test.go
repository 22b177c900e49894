package store_test

import (
	"errors"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/store"
)

// The first of two yeses is kept over a restart and holds nothing; the second
// one holds.
func TestTheFirstOfTwoYesesIsDurable(t *testing.T) {
	dir, clock := t.TempDir(), newHands(noon)
	is := must[bridge.Rental](t)
	s := must[*store.Store](t)(store.Open(t.Context(), dir, store.Options{Now: clock.now}))
	asked := is(s.Propose(t.Context(), newRental(t, s, bridge.StateWaiting, 10)))
	d := yes(asked, "boss")
	d.Needs = 2
	first := is(s.Approve(t.Context(), d, asked, wide, news(bridge.NewsAgreed)))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = open(t, dir, clock)
	kept := is(s.Rental(t.Context(), asked.ID))
	if kept.State != bridge.StateWaiting || !kept.Agreed("boss") || len(kept.Yeses) != 1 || kept.Revision != 1 {
		t.Fatalf("kept: %s, yeses %+v, revision %d", kept.State, kept.Yeses, kept.Revision)
	}
	if report := checked(t, s); report.OpenHolds != 0 {
		t.Fatalf("%d holds after one of two yeses", report.OpenHolds)
	}
	refused := map[string]func(d *bridge.Decision, r *bridge.Rental){
		"the same person again":     func(d *bridge.Decision, _ *bridge.Rental) { d.Who = "boss" },
		"the requester":             func(d *bridge.Decision, _ *bridge.Rental) { d.Who = "ann" },
		"three are needed":          func(d *bridge.Decision, _ *bridge.Rental) { d.Needs = 3 },
		"the question before it":    func(d *bridge.Decision, _ *bridge.Rental) { d.Digest = "other" },
		"more machines for as much": func(_ *bridge.Decision, r *bridge.Rental) { r.Count++ },
		"another place":             func(_ *bridge.Decision, r *bridge.Rental) { r.Pool.Zone = "elsewhere" },
		"a longer life":             func(_ *bridge.Decision, r *bridge.Rental) { r.Life += time.Hour },
	}
	for name, change := range refused {
		r, d := first, yes(first, "vice")
		r.State, d.Needs = bridge.StateLaunching, 2
		change(&d, &r)
		if _, err := s.Approve(t.Context(), d, r, wide); err == nil {
			t.Errorf("%s: it was let through", name)
		}
	}
	r, d := first, yes(first, "vice")
	r.State, d.Needs = bridge.StateLaunching, 2
	got := is(s.Approve(t.Context(), d, r, wide))
	if got.State != bridge.StateLaunching || len(got.Yeses) != 2 || got.ApprovedBy != "vice" {
		t.Errorf("%s by %s after %+v", got.State, got.ApprovedBy, got.Yeses)
	}
	if report := checked(t, s); report.OpenHolds != 1 {
		t.Errorf("%d holds", report.OpenHolds)
	}
	if _, err := s.Approve(t.Context(), d, r, wide); err == nil {
		t.Error("a third yes was let through")
	}
}

// A question with another price is another question: nobody said yes to it.
func TestAChangedQuestionIsANewOne(t *testing.T) {
	s := open(t, t.TempDir(), newHands(noon))
	is := must[bridge.Rental](t)
	asked := is(s.Propose(t.Context(), newRental(t, s, bridge.StateWaiting, 10)))
	d := yes(asked, "boss")
	d.Needs = 2
	first := is(s.Approve(t.Context(), d, asked, wide))

	same := first
	same.Reminded, same.Digest, same.Revision, same.Yeses = noon, "forged", 7, nil
	reminded := is(s.Save(t.Context(), same, news(bridge.NewsReminded)))
	if reminded.Revision != 1 || !reminded.Agreed("boss") || reminded.Digest != first.Digest {
		t.Errorf("a reminder changed the question: revision %d, yeses %v", reminded.Revision, reminded.Yeses)
	}
	dearer := reminded
	dearer.Hold = usd(12)
	changed := is(s.Save(t.Context(), dearer, news(bridge.NewsChanged)))
	if changed.Revision != 2 || len(changed.Yeses) != 0 || changed.Digest == first.Digest || !changed.Reminded.IsZero() {
		t.Errorf("revision %d, yeses %v, reminded %s", changed.Revision, changed.Yeses, changed.Reminded)
	}
	r, d := changed, yes(changed, "vice")
	r.State, d.Digest = bridge.StateLaunching, first.Digest
	if _, err := s.Approve(t.Context(), d, r, wide); !errors.Is(err, bridge.ErrVersion) {
		t.Errorf("an answer to the question before: %v", err)
	}
}

// The time of the transaction counts, not that of the click.
func TestB_F5_AYesAfterTheEndIsRefusedInTheTransaction(t *testing.T) {
	clock := newHands(noon)
	s := open(t, t.TempDir(), clock)
	waiting := newRental(t, s, bridge.StateWaiting, 10)
	waiting.AskUntil = noon.Add(time.Minute)
	asked := must[bridge.Rental](t)(s.Propose(t.Context(), waiting))
	r, d := asked, yes(asked, "boss")
	r.State = bridge.StateLaunching
	clock.add(time.Minute)
	if _, err := s.Approve(t.Context(), d, r, wide); !errors.Is(err, bridge.ErrLapsed) {
		t.Errorf("got %v, want %v", err, bridge.ErrLapsed)
	}
	if report := checked(t, s); report.OpenHolds != 0 || report.Transactions != 0 {
		t.Errorf("a late yes wrote to the ledger: %+v", report)
	}
}

// A yes to a rental whose end was named may come late: it lives shorter then and
// holds less, and nothing else of it may differ.
func TestALateYesMayHoldLessOfARentalWithAnEnd(t *testing.T) {
	s := open(t, t.TempDir(), newHands(noon))
	is := must[bridge.Rental](t)
	ends := newRental(t, s, bridge.StateWaiting, 10)
	ends.Until = noon.Add(ends.Life)
	asked := is(s.Propose(t.Context(), ends))
	endless := is(s.Propose(t.Context(), newRental(t, s, bridge.StateWaiting, 10)))
	shorter := func(r bridge.Rental) bridge.Rental {
		r.State, r.Life, r.Hold = bridge.StateLaunching, r.Life-time.Minute, usd(8)
		return r
	}
	for name, r := range map[string]bridge.Rental{
		"no end was named": shorter(endless),
		"a longer life":    func() bridge.Rental { r := shorter(asked); r.Life += time.Hour; return r }(),
		"more is held":     func() bridge.Rental { r := shorter(asked); r.Hold = usd(11); return r }(),
		"a later end":      func() bridge.Rental { r := shorter(asked); r.Until = r.Until.Add(time.Hour); return r }(),
		"more machines":    func() bridge.Rental { r := shorter(asked); r.Count++; return r }(),
	} {
		if _, err := s.Approve(t.Context(), yes(r, "boss"), r, wide); err == nil {
			t.Errorf("%s: it was let through", name)
		}
	}
	got := is(s.Approve(t.Context(), yes(asked, "boss"), shorter(asked), wide))
	if got.Hold != usd(8) || got.Digest != asked.Digest || got.Revision != asked.Revision {
		t.Errorf("held %s, question %d", got.Hold, got.Revision)
	}
	if b, err := s.Balances(t.Context(), noon, wide); err != nil || b[0].Held != usd(8) {
		t.Errorf("the budget holds %v (%v)", b, err)
	}
	checked(t, s)
}
