package bridge

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func drawExchange(t *rapid.T) Exchange {
	return Exchange{
		From: "CNY", To: "USD", Micro: rapid.Int64Range(1, 1000*Micro).Draw(t, "micro"),
		Source: rapid.SampledFrom([]string{"", "PBOC central parity", "bank (Monday, 9:00)", "inverse of ecb"}).Draw(t, "source"),
		Date:   noon.Truncate(24*time.Hour).AddDate(0, 0, rapid.IntRange(-400, 1).Draw(t, "day")),
	}
}

// TestExchangeRatesAreReadAsTheyArePrinted holds that a rate kept as text with
// what was bought at it is the same rate later.
func TestExchangeRatesAreReadAsTheyArePrinted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawExchange(t)
		got, err := ParseExchange(x.String())
		if err != nil || got != x {
			t.Fatalf("%s: %+v, want %+v: %v", x, got, x, err)
		}
	})
	for _, s := range []string{"", "1 CNY = 0.14 USD (x, 2026-11-28)", "2 CNY = 0.140000 USD (x, 2026-11-28)", "1 CNY = 0.140000 USD (x, 2026-13-28)", "1 CNY = 0.140000 USD"} {
		if _, err := ParseExchange(s); err == nil {
			t.Errorf("%q is a rate", s)
		}
	}
}

// TestACeilingHoldsInBothCurrencies holds that a ceiling sent to a cloud in its own
// currency never lets through what is above it in ours, and always the rate it
// was made of.
func TestACeilingHoldsInBothCurrencies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawExchange(t)
		quoted := Rate{rapid.Int64Range(1, 1000*Micro).Draw(t, "quoted"), "CNY"}
		own, err := x.ConvertRate(quoted)
		if err != nil {
			t.Fatal(err)
		}
		r := Rental{MaxRate: own, Hold: Money{Currency: "USD"}, FX: x.String()}
		back, err := r.CloudRate()
		if err != nil || back.Micro < quoted.Micro {
			t.Fatalf("%d %s is %d here and %d there: %v", quoted.Micro, x, own.Micro, back.Micro, err)
		}
		again, ok := r.OwnRate(back)
		if !ok || again.Micro > own.Micro {
			t.Fatalf("a ceiling of %d lets %d through: %t", own.Micro, again.Micro, ok)
		}
	})
	if _, err := (Exchange{From: "CNY", To: "USD", Micro: 1}).BackRate(Rate{math.MaxInt64, "USD"}); err == nil {
		t.Error("a rate that does not fit was made")
	}
}

func TestWhichExchangeRateIsTaken(t *testing.T) {
	day := func(n int) time.Time { return noon.Truncate(24*time.Hour).AddDate(0, 0, n) }
	at := func(n int, micro int64) Exchange { return Exchange{"CNY", "USD", micro, "pboc", day(n)} }
	back := Exchange{"USD", "CNY", 7_168_000, "pboc", day(-1)}
	for name, c := range map[string]struct {
		list []Exchange
		why  Reason
		want string
	}{
		"none":                              {nil, ReasonNoExchange, ""},
		"of other currencies":               {[]Exchange{{"EUR", "USD", 1, "ecb", day(0)}}, ReasonNoExchange, ""},
		"the newest":                        {[]Exchange{at(-3, 1), at(-1, 139_512), at(-2, 3)}, "", "1 CNY = 0.139512 USD (pboc, 2026-11-29)"},
		"on its last day":                   {[]Exchange{at(-6, 139_512)}, "", "1 CNY = 0.139512 USD (pboc, 2026-11-24)"},
		"too old":                           {[]Exchange{at(-7, 139_512)}, ReasonOldExchange, ""},
		"of tomorrow, further east":         {[]Exchange{at(1, 139_512)}, "", "1 CNY = 0.139512 USD (pboc, 2026-12-01)"},
		"of next week":                      {[]Exchange{at(7, 139_512)}, ReasonNoExchange, ""},
		"of nothing":                        {[]Exchange{at(0, 0)}, ReasonNoExchange, ""},
		"the other direction, inverted":     {[]Exchange{back}, "", "1 CNY = 0.139509 USD (inverse of pboc, 2026-11-29)"},
		"its own direction first":           {[]Exchange{back, at(-5, 139_512)}, "", "1 CNY = 0.139512 USD (pboc, 2026-11-25)"},
		"an old one is not inverted around": {[]Exchange{back, at(-9, 139_512)}, ReasonOldExchange, ""},
	} {
		t.Run(name, func(t *testing.T) {
			x, why := Rates{c.list, 156 * time.Hour}.Find("CNY", "USD", noon)
			if why != c.why || why == "" && x.String() != c.want {
				t.Errorf("%s, %q; want %s, %q", x, why, c.want, c.why)
			}
		})
	}
}

// TestAnOfferInAnotherCurrency holds that an offer is converted with its rate
// named, and is never taken 1:1 without one.
func TestAnOfferInAnotherCurrency(t *testing.T) {
	offer := Offer{Rate: Rate{90 * Micro, "CNY"}, SampledAt: noon, MaxAge: time.Hour}
	rates := Rates{[]Exchange{{"CNY", "USD", 139_512, "pboc", noon.Truncate(24 * time.Hour)}}, 24 * time.Hour}
	if got := offer.In("USD", rates, noon); got.Rate != (Rate{12_556_080, "USD"}) || got.Quoted != offer.Rate || got.FX != rates.List[0].String() || !got.Fresh(noon) {
		t.Errorf("converted: %+v", got)
	}
	for name, c := range map[string]struct {
		rates Rates
		now   time.Time
		why   Reason
	}{
		"no rate":         {Rates{}, noon, ReasonNoExchange},
		"a rate too old":  {rates, noon.Add(13 * time.Hour), ReasonOldExchange},
		"it does not fit": {Rates{[]Exchange{{"CNY", "USD", math.MaxInt64, "x", noon}}, time.Hour}, noon, ReasonNoExchange},
		"of another yuan": {Rates{[]Exchange{{"CNH", "USD", 139_512, "x", noon}}, time.Hour}, noon, ReasonNoExchange},
	} {
		if got := offer.In("USD", c.rates, c.now); got.Bar != c.why || got.Rate != offer.Rate || got.FX != "" || got.Fresh(noon) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := offer.In("CNY", Rates{}, noon); got.FX != "" || got.Bar != "" || got.Rate != offer.Rate {
		t.Errorf("its own currency: %+v", got)
	}
}
