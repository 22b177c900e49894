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
	upMean, upMedian, upLong, downMean float64 // hours; long: one run in twenty is longer
}

// table is the table of statistics, by column.
func table(t testing.TB) []map[string]string {
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
	var out []map[string]string
	for _, row := range rows[1:] {
		named := map[string]string{}
		for i, name := range rows[0] {
			named[name] = row[i]
		}
		out = append(out, named)
	}
	return out
}

func number(t testing.TB, row map[string]string, name string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(row[name], 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func nameIn(row map[string]string) string {
	zone, _, _ := strings.Cut(path.Base(row["trace"]), "_")
	return zone
}

// nine are the zones of the probes of 2023, with what was measured of them.
func nine(t testing.TB) []measured {
	t.Helper()
	var out []measured
	for _, row := range table(t) {
		if !strings.Contains(row["trace"], "1-node/aws-02-15-2023") {
			continue
		}
		n := func(name string) float64 { return number(t, row, name) }
		out = append(out, measured{Zone{nameIn(row), n("avail_all_nodes")}, n("up_mean_h"), n("up_p50_h"), n("up_p95_h"), n("down_mean_h")})
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
		within(t, m.Name+": one run up in twenty, hours", long(up), m.upLong, 4) // the steadiest zone is made less steady than it was
		if median(up) > mean(up)/2 {
			t.Errorf("%s: the median run of %.2f h is not far below the mean of %.2f h: no heavy tail", m.Name, median(up), mean(up))
		}
	}
	same, apart := correlations(traces)
	t.Logf("inside a region %.3f, across %.3f, any of nine %.4f, of us-west-2 %.4f, of us-east-1 %.4f", same, apart, share(anyOf(traces)), share(anyOf(traces[6:])), share(anyOf(traces[:4])))
	near(t, "correlation inside a region", same, 0.43, 0.08)
	near(t, "correlation across regions", apart, 0.14, 0.06)
	near(t, "any of nine up", share(anyOf(traces)), 0.992, 0.012)
	near(t, "any of us-west-2 up", share(anyOf(traces[6:])), 0.961, 0.025)
	near(t, "any of us-east-1 up", share(anyOf(traces[:4])), 0.713, 0.10)
	none := 1.0
	for _, z := range traces[6:] {
		none *= 1 - z.Up
	}
	if drawnApart := 1 - none; drawnApart < 0.998 || share(anyOf(traces[6:])) > drawnApart-0.01 {
		t.Errorf("us-west-2 is up %.4f of the time; zones drawn apart are far too kind with %.4f", share(anyOf(traces[6:])), drawnApart)
	}
}

// TestGangsFindRoomAsSeldomAsMeasured holds what is made of several nodes against
// the three zones in which one and sixteen were probed, months apart.
func TestGangsFindRoomAsSeldomAsMeasured(t *testing.T) {
	one, sixteen := map[string]float64{}, map[string]float64{}
	for _, row := range table(t) {
		switch {
		case strings.Contains(row["trace"], "availability/1-node/aws-02-15-2023"):
			one[nameIn(row)] = number(t, row, "avail_all_nodes")
		case strings.Contains(row["trace"], "availability/16-node"):
			sixteen[nameIn(row)] = number(t, row, "avail_all_nodes")
		}
	}
	fall := 0.0
	for zone, all := range sixteen {
		fall += (quantile(one[zone]) - quantile(all)) / 4 // sixteen is four doublings
		traces := GangTraces([]Zone{{zone, one[zone]}}, 20158*6, 7, 16)
		near(t, zone+": sixteen nodes up", share(traces[0].Has), all, 0.20)
	}
	near(t, "fall of a doubling", fall/float64(len(sixteen)), perDoubling, 0.002)
	if len(sixteen) != 3 {
		t.Errorf("the table has %d zones with sixteen nodes, want 3", len(sixteen))
	}
	four := GangTraces(zonesOf(nine(t)), 20158*6, 7, 4)
	for i, tr := range Traces(zonesOf(nine(t)), 20158*6, 7) {
		for k := range tr.Has {
			if four[i].Has[k] && !tr.Has[k] {
				t.Fatalf("%s has four nodes at step %d and not one", tr.Name, k)
			}
		}
	}
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
