package policies

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

const someRules = `version: 1
organisation: lab
currency: USD
mode: burst
zone: Europe/Berlin
accounts: [{account: "*", to: physics/hep}]
rules: [{name: everyone, class: P2}]
budgets: [{account: lab, every: month, limit: 500 USD}]
`

func TestExchangeRatesOfAFile(t *testing.T) {
	f, err := Parse("policy.yaml", []byte(someRules+`exchange:
  max_age: 3d
  file: testdata/rates/good.csv
  rates:
    - {from: CNY, rate: 0.14, source: treasurer, date: 2026-11-20}
    - {from: USD, to: JPY, rate: "156.25", source: BoJ, date: 2026-11-27}
`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Rates(time.Time{})
	on := func(d int) time.Time { return time.Date(2026, 11, d, 0, 0, 0, 0, time.UTC) }
	want := bridge.Rates{MaxAge: 72 * time.Hour, List: []bridge.Exchange{
		{From: "CNY", To: "USD", Micro: 140_000, Source: "treasurer", Date: on(20)},
		{From: "USD", To: "JPY", Micro: 156_250_000, Source: "BoJ", Date: on(27)},
		{From: "CNY", To: "USD", Micro: 139_512, Source: "PBOC central parity", Date: on(28)},
		{From: "CNY", To: "USD", Micro: 139_498, Source: "PBOC central parity", Date: on(27)},
		{From: "EUR", To: "USD", Micro: 1_081_200, Source: "ECB, reference", Date: on(27)},
	}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	none, err := Parse("policy.yaml", []byte(someRules))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := none.Rates(time.Time{}); err != nil || len(got.List) > 0 || got.MaxAge != 7*24*time.Hour {
		t.Errorf("without rates: %+v, %v", got, err)
	}
}

// TestAChangedRateTableIsReadAgain holds that a table is read when it changes, and
// that one that went bad or away leaves the last good rates, and says so.
func TestAChangedRateTableIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rates.csv")
	turn := 0
	write := func(text string) {
		t.Helper()
		turn++
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(int64(1_800_000_000+turn), 0) // two writes within one tick of the file system
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	const head = "from,to,rate,source,date\n"
	write(head + "CNY,USD,0.139512,pboc,2026-11-28\n")
	f, err := Parse("policy.yaml", []byte(someRules+"exchange: {file: "+path+"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	see := func(what string, micro int64, wrong string) {
		t.Helper()
		for range 2 { // what was said once is said as long as it is so
			got, err := f.Rates(time.Time{})
			if len(got.List) != 1 || got.List[0].Micro != micro || (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), wrong) {
				t.Errorf("%s: %+v, %v; want %d and %q", what, got.List, err, micro, wrong)
			}
		}
	}
	see("at first", 139_512, "")
	write(head + "CNY,USD,0.139600,pboc,2026-11-29\n")
	see("changed", 139_600, "")
	write(head + "CNY,USD,0.1396000001,pboc,2026-11-30\n")
	see("too fine", 139_600, "line 2: rate")
	write("")
	see("empty", 139_600, "want a first line")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	see("gone", 139_600, "no such file")
	write(head + "CNY,USD,0.139700,pboc,2026-11-30\n")
	see("back", 139_700, "")
}

func TestRateTablesThatAreNone(t *testing.T) {
	const head = "from,to,rate,source,date\n"
	for name, c := range map[string]struct{ text, wrong string }{
		"no columns":           {"CNY,USD,0.14,pboc,2026-11-28\n", "line 1: no column from"},
		"too few columns":      {"from,to,rate\n", "want a first line"},
		"nothing below":        {head, "no rate in it"},
		"a field too many":     {head + "CNY,USD,0.14,pboc,2026-11-28,x\n", "line 2"},
		"a negative rate":      {head + "CNY,USD,-0.14,pboc,2026-11-28\n", `line 2: rate "-0.14": a rate must be more than nothing`},
		"an unknown currency":  {head + "RMB,USD,0.14,pboc,2026-11-28\n", `line 2: from "RMB"`},
		"to itself":            {head + "USD,USD,1,pboc,2026-11-28\n", "line 2: from USD to itself"},
		"no day":               {head + "CNY,USD,0.14,pboc,yesterday\n", `line 2: date "yesterday"`},
		"a day twice":          {head + "CNY,USD,0.14,a,2026-11-28\nCNY,USD,0.15,b,2026-11-28\n", "line 3: a second rate"},
		"a source of no end":   {head + "CNY,USD,0.14," + strings.Repeat("x", 101) + ",2026-11-28\n", "line 2: source"},
		"a quote without end":  {head + "CNY,USD,0.14,\"pboc,2026-11-28\n", "line 2"},
		"more than is read":    {head + strings.Repeat("# nothing\n", 150_000), "no rate in it"},
		"an exponent for rate": {head + "CNY,USD,1e3,pboc,2026-11-28\n", "line 2: rate"},
	} {
		if got, err := parseTable([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %+v, %v; want %q", name, got, err, c.wrong)
		}
	}
	path := filepath.Join(t.TempDir(), "rates.csv")
	if err := os.WriteFile(path, []byte(head+strings.Repeat("# nothing\n", 150_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loadTable(path); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("a table of megabytes: %v", err)
	}
}
