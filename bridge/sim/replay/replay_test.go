package replay

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/table.txt anew; read what changed")

// rivals are the strategies of the table, each made anew for each run.
var rivals = []struct {
	name  string
	zones string // prefix of those it may use, one at a time where it says one
	one   bool
	make  func() Strategy
}{
	{"on demand", "", true, func() Strategy { return OnDemand{} }},
	{"greedy, one zone", "", true, func() Strategy { return Greedy{} }},
	{"progress, one zone", "", true, func() Strategy { return &Progress{} }},
	{"progress, one zone, stays on demand", "", true, func() Strategy { return &Progress{Stay: true} }},
	{"greedy, us-east-1", "us-east-1", false, func() Strategy { return Greedy{} }},
	{"progress, us-east-1", "us-east-1", false, func() Strategy { return &Progress{} }},
	{"greedy, us-west-2", "us-west-2", false, func() Strategy { return Greedy{} }},
	{"progress, us-west-2", "us-west-2", false, func() Strategy { return &Progress{} }},
	{"greedy, nine zones", "", false, func() Strategy { return Greedy{} }},
	{"progress, nine zones", "", false, func() Strategy { return &Progress{} }},
	{"progress, nine zones, stays on demand", "", false, func() Strategy { return &Progress{Stay: true} }},
}

// sum is what all runs of one strategy came to.
type sum struct {
	cost, floor, hours, lost float64
	reclaims, late, runs     int
}

func (s *sum) add(o Outcome, floor float64) {
	s.cost += o.Cost
	s.floor += floor
	s.hours += o.Finished.Hours()
	s.lost += o.Lost.Hours()
	s.reclaims += o.Reclaims
	s.runs++
	if o.Late {
		s.late++
	}
}

// TestTable replays a job of 48 hours under four deadlines and holds the table
// of what each strategy costs, where it loses included.
func TestTable(t *testing.T) {
	zones := zonesOf(nine(t))
	var b strings.Builder
	b.WriteString("48 h of work, 6 min restart, a checkpoint each 15 min, spot at 0.3 of on demand; cost as part of on demand\n")
	costs := map[string]sum{}
	for _, deadline := range []time.Duration{52, 60, 70, 92} {
		fmt.Fprintf(&b, "\ndeadline %d h%29s cost  floor  done h  reclaims  lost h  late of runs\n", int(deadline), "")
		job := Job{Work: 48 * time.Hour, Deadline: deadline * time.Hour, Restart: 6 * time.Minute, Every: 15 * time.Minute}
		for _, r := range rivals {
			s := replayAll(job, zones, r.zones, r.one, r.make)
			costs[fmt.Sprintf("%s/%d", r.name, int(deadline))] = s
			n := float64(s.runs)
			fmt.Fprintf(&b, "%-38s  %.3f  %.3f  %6.1f  %8.1f  %6.2f  %d of %d\n", r.name, s.cost/n, s.floor/n, s.hours/n, float64(s.reclaims)/n, s.lost/n, s.late, s.runs)
			if s.late > 0 {
				t.Errorf("%s missed %d of %d deadlines of %d h", r.name, s.late, s.runs, int(deadline))
			}
		}
	}
	if *update {
		if err := os.WriteFile("testdata/table.txt", []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile("testdata/table.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	wins(t, costs, "progress, one zone/60", "greedy, one zone/60")
	wins(t, costs, "progress, one zone/52", "greedy, one zone/52")
	wins(t, costs, "progress, nine zones/60", "progress, us-west-2/60")
	wins(t, costs, "progress, us-west-2/60", "progress, one zone/60")
	if s := costs["progress, nine zones/60"]; s.cost/float64(s.runs) > 0.33 {
		t.Errorf("nine zones cost %.3f of on demand, want at most 0.33", s.cost/float64(s.runs))
	}
}

func wins(t *testing.T, costs map[string]sum, a, b string) {
	t.Helper()
	x, y := costs[a], costs[b]
	if x.cost/float64(x.runs) >= y.cost/float64(y.runs) {
		t.Errorf("%s costs %.3f, %s %.3f", a, x.cost/float64(x.runs), b, y.cost/float64(y.runs))
	}
}

// replayAll runs a strategy over several seeds, from several times of each.
func replayAll(job Job, zones []Zone, prefix string, one bool, fresh func() Strategy) sum {
	const seeds, starts = 6, 10
	var s sum
	var mine []Zone
	for _, z := range zones {
		if strings.HasPrefix(z.Name, prefix) {
			mine = append(mine, z)
		}
	}
	for seed := range uint64(seeds) {
		traces := tracesOf(zones, seed)
		for i := range starts {
			from := i * len(traces[0].Has) / starts
			if !one {
				group := groupOf(traces, mine)
				s.add(Run(job, group, from, fresh()), Floor(job, group, from))
				continue
			}
			for k := range traces {
				s.add(Run(job, traces[k:k+1], from, fresh()), Floor(job, traces[k:k+1], from))
			}
		}
	}
	return s
}

func groupOf(ts []Trace, zones []Zone) []Trace {
	var out []Trace
	for _, t := range ts {
		for _, z := range zones {
			if t.Zone == z {
				out = append(out, t)
			}
		}
	}
	return out
}

// tracesOf keeps the traces that every strategy runs on.
var made = map[uint64][]Trace{}

func tracesOf(zones []Zone, seed uint64) []Trace {
	if made[seed] == nil {
		made[seed] = Traces(zones, 20158, seed+100)
	}
	return made[seed]
}
