package replay

import (
	"encoding/csv"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"
)

// measured is one zone of the table.
type measured struct {
	Zone
	upMean, upMedian, downMean float64 // hours
}

// nine are the zones of the probes of 2023, with what was measured of them.
func nine(t testing.TB) []measured {
	t.Helper()
	f, err := os.Open("testdata/spot-availability-stats.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	var out []measured
	for _, row := range rows[1:] {
		if !strings.Contains(row[0], "1-node/aws-02-15-2023") {
			continue
		}
		number := func(name string) float64 {
			v, err := strconv.ParseFloat(row[column[name]], 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		zone, _, _ := strings.Cut(path.Base(row[0]), "_")
		out = append(out, measured{Zone{zone, number("avail_all_nodes")}, number("up_mean_h"), number("up_p50_h"), number("down_mean_h")})
	}
	if len(out) != 9 {
		t.Fatalf("the table has %d zones, want 9", len(out))
	}
	return out
}

func zonesOf(ms []measured) []Zone {
	var out []Zone
	for _, m := range ms {
		out = append(out, m.Zone)
	}
	return out
}

// TestTracesAreLikeTheMeasuredOnes holds the generator against the table: share
// of time, length of runs, heavy tails, correlation, and the share of time in
// which any zone is up, which zones drawn apart would make far too good.
func TestTracesAreLikeTheMeasuredOnes(t *testing.T) {
	ms := nine(t)
	traces := Traces(zonesOf(ms), 20158*6, 7)
	for i, m := range ms {
		up, down := runs(traces[i].Has, true), runs(traces[i].Has, false)
		t.Logf("%s up %.3f (%.3f), run %.2f h (%.2f), median %.2f h (%.2f), down %.2f h (%.2f)", m.Name, share(traces[i].Has), m.Up, mean(up), m.upMean, median(up), m.upMedian, mean(down), m.downMean)
		near(t, m.Name+": share of time up", share(traces[i].Has), m.Up, 0.09)
		within(t, m.Name+": mean run up, hours", mean(up), m.upMean, 2)
		if median(up) > mean(up)/2 {
			t.Errorf("%s: the median run of %.2f h is not far below the mean of %.2f h: no heavy tail", m.Name, median(up), mean(up))
		}
	}
	same, apart := correlations(traces)
	near(t, "correlation inside a region", same, 0.43, 0.08)
	near(t, "correlation across regions", apart, 0.14, 0.06)
	near(t, "any of nine up", share(anyOf(traces)), 0.992, 0.012)
	near(t, "any of us-west-2 up", share(anyOf(traces[6:])), 0.961, 0.025)
	near(t, "any of us-east-1 up", share(anyOf(traces[:4])), 0.713, 0.10)
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s: %.3f, measured %.3f", what, got, want)
	}
}

func within(t *testing.T, what string, got, want, factor float64) {
	t.Helper()
	if got > want*factor || got < want/factor {
		t.Errorf("%s: %.2f, measured %.2f", what, got, want)
	}
}
