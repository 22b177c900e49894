package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

func TestDefaultWorldHasACheaperCloudThatSellsOut(t *testing.T) {
	w := server.DefaultWorld()
	r := &rig{T: t, dir: t.TempDir(), world: w, clock: newClock(), host: server.NewNullHost()}
	r.open()
	defer r.close()
	cheapest := map[string]int64{}
	stock := map[string]int{}
	for _, c := range w.Clouds {
		for _, region := range c.Regions {
			for _, zone := range region.Zones {
				for _, s := range zone.Pools {
					if !strings.HasSuffix(s.Type, ".gpu8") {
						continue
					}
					stock[c.Name] += s.OnDemand.Stock + s.Spot.Stock
					if least := int64(s.OnDemand.Rate); cheapest[c.Name] == 0 || least < cheapest[c.Name] {
						cheapest[c.Name] = least
					}
				}
			}
		}
	}
	if cheapest["stratus"] >= cheapest["nimbus"] || stock["stratus"] >= stock["nimbus"] || len(w.Clouds) != 2 {
		t.Errorf("rates %v, stock %v", cheapest, stock)
	}
}

func TestWorldsThatAreWrong(t *testing.T) {
	for name, tc := range map[string]struct{ from, to, want string }{
		"an unknown key":              {"notice: 2m", "notize: 2m", "[6:5]"},
		"a wrong type":                {"boot: 1m", "boot: [1m]", "[7:"},
		"a duration without a unit":   {"boot: 1m", "boot: 60", `[7:11] "60" is not a duration`},
		"a negative duration":         {"boot: 1m", "boot: -1m", "boot is negative"},
		"another version":             {"version: 1", "version: 2", "version is 2"},
		"a fee that is more than all": {"billing: {step: 1m, minimum: 5m}", "billing: {step: 1m, term: 1h, early: 101}", "0 to 100 per cent"},
		"a fee of no term":            {"billing: {step: 1m, minimum: 5m}", "billing: {step: 1m, early: 50}", "without a billing.term"},
		"a currency that is none":     {"currency: USD", "currency: dollars", "three capital letters"},
		"a price that is none":        {`rate: "12.00"`, "rate: cheap", `price "cheap" is not a decimal`},
		"a price too fine":            {`rate: "12.00"`, `rate: "12.0000001"`, "six places"},
		"a price of nothing":          {`rate: "12.00"`, `rate: "0"`, "rate must be positive"},
		"a type that is not there":    {"{type: gpu8, on_demand", "{type: gpu9, on_demand", `type "gpu9" is not among types`},
		"GPUs without a type":         {"gpu_type: a100, ", "", "gpus and gpu_type go together"},
		"a shape that is not known":   {"{type: gpu8, on_demand", "{failure: shrug, type: gpu8, on_demand", `failure "shrug" is not one of`},
		"a swing on demand":           {`on_demand: {rate: "12.00"`, `on_demand: {swing: 5, rate: "12.00"`, "only spot prices move"},
		"a swing beyond the price":    {`spot: {rate: "6.00"`, `spot: {swing: 150, rate: "6.00"`, "swing is percent"},
		"a timeline out of order":     {`spot: {rate: "6.00"`, `spot: {timeline: [{after: 2m, rate: "1"}, {after: 1m, rate: "2"}], rate: "6.00"`, "not in order"},
		"a quota that limits nothing": {"quotas: [{machines: 4}", "quotas: [{region: east}", "limits neither"},
		"nobody to rent":              {"- {name: beta}", "- {name: 'Beta!'}", "account name"},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Count(plain, tc.from) != 1 {
				t.Fatalf("%q is not there once", tc.from)
			}
			_, err := server.ParseWorld([]byte(strings.Replace(plain, tc.from, tc.to, 1)))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want it to say %q", err, tc.want)
			}
		})
	}
	if _, err := server.LoadWorld(filepath.Join(t.TempDir(), "none.yaml")); err == nil {
		t.Error("a file that is not there: no error")
	}
}

func TestPricesMoveWithinTheirSwingAndTheSameForASeed(t *testing.T) {
	text := strings.Replace(plain, `spot: {rate: "6.00"`, `spot: {swing: 20, every: 1m, rate: "6.00"`, 1)
	record := func(text string) []int64 {
		r := start(t, text)
		var rates []int64
		for range 300 {
			rates = append(rates, r.spotRate())
			r.clock.advance(time.Minute)
			if len(rates) == 150 {
				r.restart()
			}
		}
		return rates
	}
	first, second := record(text), record(text)
	other := record(strings.Replace(text, "version: 1", "version: 1\nseed: 99", 1))
	changes, same, differ := 0, true, false
	for i, rate := range first {
		if rate < 4_800_000 || rate > 7_200_000 {
			t.Fatalf("minute %d: rate %d is outside of 6.00 ± 20 %%", i, rate)
		}
		if i > 0 && rate != first[i-1] {
			changes++
		}
		same, differ = same && rate == second[i], differ || rate != other[i]
	}
	if changes < 200 || !same || !differ {
		t.Errorf("%d changes in 300 minutes; same again %t; another seed differs %t", changes, same, differ)
	}
}

func TestC_F23_spot_may_cost_more_than_on_demand(t *testing.T) {
	r := start(t, strings.Replace(plain, `spot: {rate: "6.00"`, `spot: {timeline: [{after: 10m, rate: "13.00"}, {after: 20m, rate: "5.00"}], rate: "6.00"`, 1))
	for _, want := range []int64{6_000_000, 13_000_000, 5_000_000} {
		if got := r.spotRate(); got != want {
			t.Errorf("rate %d, want %d", got, want)
		}
		r.clock.advance(10 * time.Minute)
	}
}

// spotRate is what spot costs now, to beta.
func (r *rig) spotRate() int64 {
	r.Helper()
	var got wire.Offers
	r.as("beta", http.MethodGet, "/offers", nil, &got)
	for _, o := range got.Offers {
		if o.Pool.Market == "spot" {
			if !o.SampledAt.Equal(r.clock.Now()) {
				r.Errorf("sampled at %s, now is %s", o.SampledAt, r.clock.Now())
			}
			return o.Rate.Micro
		}
	}
	r.Fatal("no spot offer")
	return 0
}

func TestMachineKeepsTheRateItWasRentedAt(t *testing.T) {
	r := start(t, strings.Replace(plain, `spot: {rate: "6.00"`, `spot: {timeline: [{after: 10m, rate: "9.00"}], rate: "6.00"`, 1))
	id := r.rent(order("spot", 1))[0]
	r.clock.advance(time.Hour)
	if m := r.machine(id); m.Rate.Micro != 6_000_000 {
		t.Errorf("after the price rose it costs %d", m.Rate.Micro)
	}
	if _, j := r.ledger(); j.CostMicro["USD"] != 6_000_000 {
		t.Errorf("an hour cost %d", j.CostMicro["USD"])
	}
}

func TestTokensAreTheirOwnersOnly(t *testing.T) {
	r := start(t, plain)
	for _, path := range []string{r.server.TokenFile("nimbus", "alpha"), r.server.AdminTokenFile()} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	before := token(t, r.server.TokenFile("nimbus", "alpha"))
	r.restart()
	if after := token(t, r.server.TokenFile("nimbus", "alpha")); after != before {
		t.Error("a restart changed an account's token")
	}
	own := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(own, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := start(t, strings.Replace(plain, "{name: beta}", "{name: beta, token_file: "+own+"}", 1))
	if w := other.raw("mine", http.MethodGet, "/v1/nimbus/offers", ""); w.Code != http.StatusOK {
		t.Errorf("with a token file of its own: %d", w.Code)
	}
}
