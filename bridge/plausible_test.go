package bridge

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// listedPrice is one line of the shipped price lists.
type listedPrice struct {
	family    string
	spot      bool
	low, high float64 // of one GPU or CPU, dollars an hour
	zero      bool
}

func listedPrices() []listedPrice {
	var out []listedPrice
	for _, p := range lists() {
		units := float64(p.GPUs) * float64(perDollar[p.Low.Currency]) * float64(Micro)
		out = append(out, listedPrice{p.GPU, p.Market == Spot, float64(p.Low.Micro) / units, float64(p.High.Micro) / units, p.Low.Micro == 0})
	}
	return out
}

// TestUsualPricesAreThoseOfTheLists works the table out from the lists that it is
// of, and holds that no price in them would be refused but the one that is 0.
func TestUsualPricesAreThoseOfTheLists(t *testing.T) {
	type span = struct{ low, high int64 }
	want, zeros := map[string]span{}, 0
	for _, p := range listedPrices() {
		if p.zero {
			zeros++
			continue
		}
		u, ok := usual[p.family]
		if !ok || p.low*1000 < float64(u.low)/plausibleLow || p.high*1000 > float64(u.high)*plausibleHigh {
			t.Errorf("%+v would be refused by %+v", p, u)
		}
		if p.spot {
			continue
		}
		w, ok := want[p.family]
		if !ok {
			w.low = math.MaxInt64
		}
		want[p.family] = span{min(w.low, int64(math.Round(p.low*1000))), max(w.high, int64(math.Round(p.high*1000)))}
	}
	if diff := cmp.Diff(want, map[string]span(maps.Collect(func(yield func(string, span) bool) {
		for k, v := range usual {
			if !yield(k, span(v)) {
				return
			}
		}
	})), cmp.AllowUnexported(span{})); diff != "" {
		t.Errorf("the lists (-) and the table (+):\n%s", diff)
	}
	if zeros != 1 {
		t.Errorf("%d prices of 0, want the one that is known", zeros)
	}
}

// gpuOffer is one machine of so many GPUs at so many thousandths an hour.
func gpuOffer(gpu string, gpus int, rate int64, c Currency) Offer {
	return Offer{
		Pool:  Pool{Cloud: "n", Region: "r", Zone: "z", Type: "t" + strconv.FormatInt(rate, 10) + gpu, Market: OnDemand},
		Shape: Shape{CPUs: 64, MemoryMiB: 1 << 19, GPUs: gpus, GPUType: gpu}, Rate: Rate{rate * 1000, c},
		SampledAt: noon, MaxAge: time.Hour, Boot: time.Minute, Available: -1,
	}
}

// TestC_22_NoPriceAndFloorPricesAreRefused is field fault C-22: a price API that
// answers 0, or a bid's floor, would win every comparison.
func TestC_22_NoPriceAndFloorPricesAreRefused(t *testing.T) {
	h20 := []Offer{gpuOffer("h20", 8, 16000, "USD"), gpuOffer("h20", 8, 15000, "USD"), gpuOffer("h20", 4, 7000, "USD")}
	for name, c := range map[string]struct {
		offer Offer
		with  []Offer
		own   []PriceRange
		says  string // empty: it may be bought
	}{
		"an H100 for nothing":             {offer: gpuOffer("h100", 8, 0, "USD"), says: "0.00 USD an hour is no price"},
		"less than nothing":               {offer: gpuOffer("h100", 8, -5, "USD"), says: "is no price"},
		"a B200 at a bid's floor":         {offer: gpuOffer("b200", 1, 10, "USD"), says: "0.01 USD an hour is 0.01 USD for each of 1 b200; by public price lists it is 0.72 USD to 142.42 USD"},
		"an hour at the price of a month": {offer: gpuOffer("l4", 1, 500_000, "USD"), says: "by public price lists"},
		"the same by eight":               {offer: gpuOffer("a100-80", 8, 800, "USD"), says: "for each of 8 a100-80"},
		"as in no list: by its peers":     {offer: gpuOffer("h20", 8, 100, "USD"), with: h20, says: "by 4 offers"},
		"a CPU for a thousandth":          {offer: gpuOffer("", 0, 10, "USD"), says: "cpu"},
		"in yuan":                         {offer: gpuOffer("h100", 8, 2000, "CNY"), says: "2.41 CNY to"},
		"outside the site's own range":    {offer: gpuOffer("a100-80", 8, 16000, "USD"), own: []PriceRange{{"a100", Rate{10_000, "USD"}, Rate{Micro, "USD"}}}, says: "by the policy file"},

		"usual":                        {offer: gpuOffer("h100", 8, 64000, "USD")},
		"a tenth, as spot was seen":    {offer: gpuOffer("h100", 8, 9738, "USD")},
		"of a family, memory not said": {offer: gpuOffer("a100", 8, 22000, "USD")},
		"alone in no list":             {offer: gpuOffer("h20", 8, 100, "USD")},
		"usual in yuan":                {offer: gpuOffer("a10", 1, 9100, "CNY")},
		"a currency nobody knows":      {offer: gpuOffer("h100", 8, 900_000, "JPY")},
		"cheap, and the site says so":  {offer: gpuOffer("a100-80", 8, 800, "USD"), own: []PriceRange{{"a100", Rate{10_000, "USD"}, Rate{Micro, "USD"}}}},
		"a CPU":                        {offer: gpuOffer("", 0, 3000, "USD")},
	} {
		t.Run(name, func(t *testing.T) {
			offers := append([]Offer{c.offer}, c.with...)
			CheckPrices(offers, c.own)
			o := &offers[0]
			if (o.Bar != "") != (c.says != "") || !strings.Contains(o.BarWhy, c.says) {
				t.Errorf("barred for %q: %q, want %q", o.Bar, o.BarWhy, c.says)
			}
			if o.Bar != "" && o.Fresh(noon) {
				t.Error("it may be bought all the same")
			}
		})
	}
	paid := gpuOffer("h100", 8, 0, "USD")
	paid.Pool.Market = Reserved
	one := []Offer{paid}
	if CheckPrices(one, nil); one[0].Bar != "" {
		t.Errorf("what is paid for already is refused: %s", one[0].BarWhy)
	}
}

// TestC_22_RefusedPriceIsNeverBought holds over all markets that a price which was
// refused is not bought, that the verdict says so where nothing else fits, and
// that the others are bought as if it were not there.
func TestC_22_RefusedPriceIsNeverBought(t *testing.T) {
	refused := 0
	rapid.Check(t, func(t *rapid.T) {
		s, terms := drawChoice(t)
		for i := range s.Offers {
			if rapid.IntRange(0, 2).Draw(t, "wild") == 0 && s.Offers[i].Pool.Market != Reserved {
				s.Offers[i].Rate.Micro = rapid.SampledFrom([]int64{-1, 0, 1, 1000, 1 << 50}).Draw(t, "rate")
			}
		}
		CheckPrices(s.Offers, nil)
		without := copySnapshot(&s)
		without.Offers = slices.DeleteFunc(without.Offers, func(o Offer) bool { return o.Bar != "" })
		refused += len(s.Offers) - len(without.Offers)
		is, want := Decide(&s, always{terms}), Decide(without, always{terms})
		if diff := cmp.Diff(want.Rent, is.Rent); diff != "" {
			t.Fatalf("without them (-), with prices that were refused (+):\n%s", diff)
		}
	})
	if refused == 0 {
		t.Error("no price was ever refused")
	}
}

// TestC_22_TheVerdictSaysWhichPrice holds that a demand which only a refused price
// would serve waits with that price in words.
func TestC_22_TheVerdictSaysWhichPrice(t *testing.T) {
	s := smallWorld()
	s.Offers = []Offer{gpuOffer("b200", 1, 10, "USD")}
	s.Queues[0].Demands[0].Shape = Shape{GPUs: 1, GPUType: "b200"}
	CheckPrices(s.Offers, nil)
	v := Decide(&s, always{smallTerms()}).Verdicts[0]
	if v.Kind != Wait || v.Why != ReasonImplausible || !strings.Contains(v.Detail, "0.01 USD an hour") {
		t.Errorf("the verdict is %+v", v)
	}
}

// TestC_23_SpotDearerThanOnDemand is field fault C-23: spot is not preferred by
// name when it costs more, at the moment of the decision.
func TestC_23_SpotDearerThanOnDemand(t *testing.T) {
	for name, c := range map[string]struct {
		spot int64
		want Market
	}{
		"0.49 against 0.44":           {490, OnDemand},
		"as dear, but may be taken":   {440, OnDemand},
		"a little cheaper, with loss": {437, OnDemand},
		"half":                        {220, Spot},
	} {
		t.Run(name, func(t *testing.T) {
			s := smallWorld()
			s.Offers = []Offer{gpuOffer("t4", 1, 440, "USD"), gpuOffer("t4", 1, c.spot, "USD")}
			s.Offers[1].Pool.Market = Spot
			terms := smallTerms()
			terms.Class, terms.Markets = P2, []Market{Spot, OnDemand}
			p := Decide(&s, always{terms})
			if len(p.Rent) != 1 || p.Rent[0].Offer.Pool.Market != c.want {
				t.Errorf("bought %+v, want %s", p.Rent, c.want)
			}
		})
	}
}
