package policies

import (
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// FuzzRateTable holds that what is read from a table can be used to buy: it is a
// rate of a day between two currencies, above zero, from somebody, said once.
func FuzzRateTable(f *testing.F) {
	for _, s := range []string{
		"from,to,rate,source,date\nCNY,USD,0.139512,central parity,2026-11-28\n", "\ufeffdate, source, rate, to, from\n2026-11-28,bank,7.17,CNY,USD\n",
		"# noon\nfrom,to,rate,source,date\nUSD,CNY,1e9,x,2026-11-28\n", "from,to,rate,source,date\nUSD,CNY,-1,x,2026-11-28\nUSD,USD,1,x,2026-11-28\n",
		"from,to,rate,source,date\n\"USD,CNY,7,x,2026-11-28\n", "from,from,to,rate,date\n", "", ",,,,\n",
	} {
		f.Add([]byte(s))
	}
	type pair struct {
		from, to bridge.Currency
		on       time.Time
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := parseTable(text)
		if (err == nil) == (len(list) == 0) {
			t.Fatalf("%d rates and the error %v", len(list), err)
		}
		seen := map[pair]bool{}
		for _, x := range list {
			p := pair{x.From, x.To, x.Date}
			if seen[p] || x.Micro <= 0 || x.From == x.To || x.Source == "" || x.Date.IsZero() || x.Date.Location() != time.UTC {
				t.Errorf("%q holds %+v", text, x)
			}
			seen[p] = true
			if back, err := bridge.ParseExchange(x.String()); err != nil || back.String() != x.String() {
				t.Errorf("%s is not read back: %v, %v", x, back, err)
			}
		}
	})
}
