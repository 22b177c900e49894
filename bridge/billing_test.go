package bridge

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func drawBilling(t *rapid.T) Billing {
	span := func(name string, most time.Duration) time.Duration {
		d := rapid.Int64Range(0, int64(most)).Draw(t, name)
		return rapid.SampledFrom([]time.Duration{0, 1, time.Second, time.Minute, time.Hour, time.Duration(d)}).Draw(t, name+" as")
	}
	return Billing{
		Step: span("step", 3*time.Hour), Minimum: span("minimum", 5*time.Hour),
		Term:    span("term", 400*24*time.Hour) * time.Duration(rapid.IntRange(0, 3).Draw(t, "times")),
		EarlyPM: rapid.SampledFrom([]int{-1, 0, 1, 250, 333, 999, 1000, 1500}).Draw(t, "early"),
	}
}

// TestALongerLifeNeverCostsLess holds that what is charged grows with life, is
// no less than the life itself, and is the same for all lives that Paid says.
func TestALongerLifeNeverCostsLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBilling(t)
		short := time.Duration(rapid.Int64Range(0, int64(30*time.Hour)).Draw(t, "life"))
		long := short + time.Duration(rapid.Int64Range(0, int64(30*time.Hour)).Draw(t, "more"))
		was, is := b.Charged(short), b.Charged(long)
		if is < was || was < short || was < b.Minimum {
			t.Fatalf("%+v: %s is charged as %s, %s as %s", b, short, was, long, is)
		}
		paid := b.Paid(short)
		if paid < short {
			t.Fatalf("%+v: %s is paid until %s", b, short, paid)
		}
		if at := b.Charged(paid); at != was {
			t.Fatalf("%+v: %s is charged as %s, paid until %s, which is charged as %s", b, short, was, paid, at)
		}
		if after := b.Charged(paid + time.Millisecond); after <= was {
			t.Fatalf("%+v: %s is paid until %s, and yet a longer life costs no more: %s, %s", b, short, paid, was, after)
		}
	})
}

// TestAHoldCoversEveryObedientLife holds invariant I11 for one machine: what is
// held for a life at the ceiling covers what any shorter life costs at any rate
// up to it, also when each is rounded its own way.
func TestAHoldCoversEveryObedientLife(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Offer{Rate: Rate{rapid.Int64Range(1, 100*Micro).Draw(t, "rate"), "USD"}, Pool: Pool{Market: rapid.SampledFrom([]Market{Spot, OnDemand}).Draw(t, "market")}}
		b := drawBilling(t)
		o.Step, o.Minimum, o.Term, o.EarlyPM = b.Step, b.Minimum, b.Term, b.EarlyPM
		life := time.Duration(rapid.Int64Range(0, int64(60*time.Hour)).Draw(t, "life"))
		machines := rapid.IntRange(1, 9).Draw(t, "machines")
		price, err := PriceOf(&o, &Terms{}, life, machines)
		if err != nil {
			t.Fatal(err)
		}
		var actual Money
		for range machines {
			lived, rate := life, price.Ceiling
			if rapid.Bool().Draw(t, "sooner") {
				lived = time.Duration(rapid.Int64Range(0, int64(life)).Draw(t, "lived"))
			}
			if rapid.Bool().Draw(t, "cheaper") {
				rate.Micro = rapid.Int64Range(1, price.Ceiling.Micro).Draw(t, "charged")
			}
			one, err := rate.Cost(o.Billing().Charged(lived), 1, RoundHalfEven)
			if err != nil {
				t.Fatal(err)
			}
			if actual, err = actual.Add(one); err != nil {
				t.Fatal(err)
			}
		}
		if actual.Micro > price.Most.Micro {
			t.Fatalf("%+v: held %d, cost %d", o.Billing(), price.Most.Micro, actual.Micro)
		}
	})
}

func TestWhatIsCharged(t *testing.T) {
	const h, m = time.Hour, time.Minute
	for name, c := range map[string]struct {
		billing Billing
		lived   time.Duration
		want    time.Duration
		paid    time.Duration
	}{
		"by the second":                             {Billing{}, 7 * m, 7 * m, 7 * m},
		"a started hour is whole":                   {Billing{Step: h}, 61 * m, 2 * h, 2 * h},
		"no less than the minimum":                  {Billing{Step: m, Minimum: h}, 5 * m, h, h},
		"the minimum itself in whole steps":         {Billing{Step: h, Minimum: 90 * m}, 5 * m, 2 * h, 2 * h},
		"half of a day's rest":                      {Billing{Term: 24 * h, EarlyPM: 500}, 4 * h, 14 * h, 4 * h},
		"half of a day's rest, in steps":            {Billing{Step: h, Term: 24 * h, EarlyPM: 500}, 3*h + m, 14 * h, 4 * h},
		"all of the rest":                           {Billing{Step: h, Term: 24 * h, EarlyPM: 1000}, 3 * h, 24 * h, 24 * h},
		"none of the rest":                          {Billing{Step: h, Term: 24 * h}, 3 * h, 3 * h, 3 * h},
		"the term is over":                          {Billing{Step: h, Term: 24 * h, EarlyPM: 1000}, 25*h + m, 26 * h, 26 * h},
		"a term that ends inside a step":            {Billing{Step: h, Term: 90 * m, EarlyPM: 1000}, 20 * m, 90 * m, h},
		"a clock that is behind that of the cloud":  {Billing{Step: h}, -m, 0, 0},
		"at its start the minimum is owed already":  {Billing{Step: m, Minimum: h}, 0, h, h},
		"at its start the whole term is owed if so": {Billing{Term: 2 * h, EarlyPM: 1000}, 0, 2 * h, 2 * h},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.billing.Charged(c.lived); got != c.want {
				t.Errorf("%s is charged as %s, want %s", c.lived, got, c.want)
			}
			if got := c.billing.Paid(c.lived); got != c.paid {
				t.Errorf("%s is paid until %s, want %s", c.lived, got, c.paid)
			}
		})
	}
}

// TestAnIdleMachineStaysWhileItIsPaidFor holds that inside a minimum or a term
// that is paid whatever happens a machine is kept, and that it goes at once where
// each hour more costs something.
func TestAnIdleMachineStaysWhileItIsPaidFor(t *testing.T) {
	const h, m = time.Hour, time.Minute
	for name, c := range map[string]struct {
		billing Billing
		lived   time.Duration
		back    bool
	}{
		"by the second":                            {Billing{}, 30 * m, true},
		"in the middle of a paid hour":             {Billing{Step: h}, 30 * m, false},
		"near the end of a paid hour":              {Billing{Step: h}, 59 * m, true},
		"inside the minimum":                       {Billing{Step: m, Minimum: 4 * h}, 2 * h, false},
		"inside a term that is paid in full":       {Billing{Step: m, Term: 8 * h, EarlyPM: 1000}, 2 * h, false},
		"at the end of such a term":                {Billing{Step: m, Term: 8 * h, EarlyPM: 1000}, 8*h - m, true},
		"inside a term that costs half when left":  {Billing{Step: m, Term: 8 * h, EarlyPM: 500}, 2 * h, true},
		"inside a term that costs nothing to end":  {Billing{Step: m, Term: 8 * h}, 2 * h, true},
		"in a paid hour of a term that costs half": {Billing{Step: h, Term: 8 * h, EarlyPM: 500}, 90 * m, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := Rental{Idle: m, IdleSince: noon.Add(-10 * m), Step: c.billing.Step, Minimum: c.billing.Minimum, Term: c.billing.Term, EarlyPM: c.billing.EarlyPM}
			if got := idleOver(&r, nil, noon.Add(-c.lived), noon); got != c.back {
				t.Errorf("given back: %v, want %v", got, c.back)
			}
		})
	}
}

// TestExtensionsKeepAHoldWhole holds that a life prolonged in any number of steps
// is held for as one that was as long from the start.
func TestExtensionsKeepAHoldWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBilling(t)
		r := Rental{
			MaxRate: Rate{rapid.Int64Range(0, 100*Micro).Draw(t, "rate"), "USD"}, Step: b.Step, Minimum: b.Minimum, Term: b.Term, EarlyPM: b.EarlyPM,
			Life: time.Duration(rapid.Int64Range(1, int64(30*time.Hour)).Draw(t, "life")), Count: rapid.IntRange(1, 4).Draw(t, "machines"),
		}
		r.Machines = make([]Machine, r.Count)
		r.Expires = noon.Add(r.Life)
		r.Launch.Expires = r.Expires
		hold, err := b.Worst(r.MaxRate, r.Life, r.Count)
		for range rapid.IntRange(1, 4).Draw(t, "extensions") {
			until := r.Expires.Add(time.Duration(rapid.Int64Range(1, int64(9*time.Hour)).Draw(t, "more")))
			more, wrong := r.Longer(until)
			if wrong != nil || more.Micro < 0 {
				t.Fatalf("%d more until %s: %v", more.Micro, until, wrong)
			}
			r.Expires = until
			hold, _ = hold.Add(more)
		}
		want, wrong := b.Worst(r.MaxRate, r.Expires.Sub(noon), r.Count)
		if err != nil || wrong != nil || hold != want {
			t.Fatalf("held %d in steps, %d at once: %v, %v", hold.Micro, want.Micro, err, wrong)
		}
	})
}
