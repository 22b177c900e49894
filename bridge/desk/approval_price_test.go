package desk

import (
	"testing"

	"spillway.sh/spillway/bridge"
)

func TestADearerPriceIsAskedAnew(t *testing.T) {
	d, w := newWorld(t)
	d.Rules.(*rules).approval.TwoAbove = usd(150)
	r := question(t, d)
	if _, err := d.click(t, d.as("tom"), &r, true); err != nil {
		t.Fatal(err)
	}
	w.snap.Offers[1].Rate, w.snap.Offers[1].FX, w.snap.Offers[1].EarlyPM = rate(33), "1 CNY = 0.141000 USD (pboc, 2026-11-30)", 500
	_, err := d.click(t, d.as("mei"), &r, true)
	if got := resultOf(DecideAnswer{}, err); got != ResultSuperseded {
		t.Fatalf("the click that found it: %v", err)
	}
	now := w.rentals[0]
	if now.FX != w.snap.Offers[1].FX || now.Billing() != w.snap.Offers[1].Billing() {
		t.Errorf("asked anew with %q and %+v", now.FX, now.Billing())
	}
	if now.Revision != 2 || now.Hold.Micro <= r.Hold.Micro || now.MaxRate != rate(33) || len(now.Yeses) != 0 || now.State != bridge.StateWaiting || now.Digest == r.Digest {
		t.Errorf("asked anew: revision %d, at most %s, ceiling %v, yeses %v", now.Revision, now.Hold, now.MaxRate, now.Yeses)
	}
	if _, err := d.click(t, d.as("mei"), &r, true); resultOf(DecideAnswer{}, err) != ResultSuperseded {
		t.Errorf("the old button: %v", err)
	}
	if _, err := d.click(t, d.as("mei"), &r, false); resultOf(DecideAnswer{}, err) != ResultSuperseded {
		t.Errorf("the old button for a no: %v", err)
	}
	fresh := asRental(&now, d.Now())
	if k := w.news[len(w.news)-1]; k.Kind != bridge.NewsChanged || k.Digest != now.Digest {
		t.Errorf("told %+v", k)
	}
	for _, step := range []struct {
		who  string
		want ResultKind
	}{{"mei", ResultAgreed}, {"tom", ResultApproved}} {
		if a, err := d.click(t, d.as(step.who), &fresh, true); resultOf(a, err) != step.want {
			t.Errorf("%s on the new question: %v", step.who, err)
		}
	}
}

// A new price never exceeds what the requester or policy said.
func TestADearerPriceBeyondTheRequestersOwnLimit(t *testing.T) {
	for name, change := range map[string]func(*Desk, *world){
		"the requester's":  func(_ *Desk, w *world) { w.rentals[0].Most = usd(200) },
		"policy's cost":    func(d *Desk, _ *world) { d.Rules.(*rules).terms.MaxCost = usd(200) },
		"policy's rate":    func(d *Desk, _ *world) { d.Rules.(*rules).terms.MaxRate = rate(32.5) },
		"another currency": func(_ *Desk, w *world) { w.snap.Offers[1].Rate.Currency = "EUR" },
	} {
		t.Run(name, func(t *testing.T) {
			d, w := newWorld(t)
			r := question(t, d)
			w.snap.Offers[1].Rate = rate(33)
			change(d, w)
			_, err := d.click(t, d.as("mei"), &r, true)
			if got := resultOf(DecideAnswer{}, err); got != ResultDearer {
				t.Errorf("got %s: %v", got, err)
			}
			if now := w.rentals[0]; now.Revision != 1 || now.Hold != r.Hold {
				t.Errorf("it was asked anew: %s", now.Hold)
			}
		})
	}
}
