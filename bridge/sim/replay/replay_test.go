package replay

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

var update = flag.Bool("update", false, "write testdata/table.txt anew; read what changed")

// rival is a strategy of the table, made anew for each run.
type rival struct {
	name  string
	zones string // prefix of those it may use, one at a time where it says one
	one   bool
	make  func(zones []Zone, nodes int) Strategy
}

var (
	onlyDemand = func([]Zone, int) Strategy { return OnDemand{} }
	greedy     = func([]Zone, int) Strategy { return Greedy{} }
	progress   = func([]Zone, int) Strategy { return &Progress{} }
	staying    = func([]Zone, int) Strategy { return &Progress{Stay: true} }
	rules      = func(zones []Zone, nodes int) Strategy {
		return &Rules{Zones: zones, Nodes: nodes, CheckpointGiB: checkpointGiB, Egress: bridge.Money{Micro: egress, Currency: "USD"}}
	}
)

var rivals = []rival{
	{"on demand", "", true, onlyDemand},
	{"greedy, one zone", "", true, greedy},
	{"progress, one zone", "", true, progress},
	{"progress, one zone, stays on demand", "", true, staying},
	{"greedy, us-east-1", "us-east-1", false, greedy},
	{"progress, us-east-1", "us-east-1", false, progress},
	{"greedy, us-west-2", "us-west-2", false, greedy},
	{"progress, us-west-2", "us-west-2", false, progress},
	{"greedy, nine zones", "", false, greedy},
	{"progress, nine zones", "", false, progress},
	{"progress, nine zones, stays on demand", "", false, staying},
	{"the daemon's rules, one zone", "", true, rules},
	{"the daemon's rules, us-east-1", "us-east-1", false, rules},
	{"the daemon's rules, us-west-2", "us-west-2", false, rules},
	{"the daemon's rules, nine zones", "", false, rules},
}

// What leaves a region with a job: a checkpoint for each node, at what AWS asks
// for a GiB between two of its regions in the United States.
const (
	checkpointGiB = 20
	egress        = 20_000 // millionths of a dollar
)

// jobOf is 48 hours of work with a deadline.
func jobOf(deadline time.Duration) Job {
	const work = 48 * time.Hour
	return Job{
		Work: work, Deadline: deadline * time.Hour, Restart: 6 * time.Minute, Every: 15 * time.Minute,
		Move: checkpointGiB * egress / (onDemand * work.Hours()),
	}
}

// sum is what all runs of one strategy came to.
type sum struct {
	cost, floor, hours, lost, egress float64
	reclaims, moves, late, runs      int
	asked, refused                   int
}

func (s *sum) add(o Outcome, floor float64, by Strategy) {
	s.cost += o.Cost
	s.egress += o.Egress
	s.floor += floor
	s.hours += o.Finished.Hours()
	s.lost += o.Lost.Hours()
	s.reclaims += o.Reclaims
	s.moves += o.Moves
	s.runs++
	if o.Late {
		s.late++
	}
	if r, ok := by.(*Rules); ok {
		s.asked, s.refused = s.asked+r.Asked, s.refused+r.Refused
	}
}

func (s *sum) mean() float64 { return s.cost / float64(s.runs) }

// write adds one line to the table.
func (s *sum) write(b *strings.Builder, name string) {
	n := float64(s.runs)
	fmt.Fprintf(b, "%-38s  %.3f  %.3f  %6.1f  %8.1f  %6.2f  %5.1f  %6.3f  %d of %d\n",
		name, s.mean(), s.floor/n, s.hours/n, float64(s.reclaims)/n, s.lost/n, float64(s.moves)/n, s.egress/n, s.late, s.runs)
}

const head = "%29s cost  floor  done h  reclaims  lost h  moves  egress  late of runs\n"

// TestTable replays a job of 48 hours, and a gang of four nodes, and holds the
// table of what each strategy costs, where it loses included.
func TestTable(t *testing.T) {
	zones := zonesOf(nine(t))
	var b strings.Builder
	b.WriteString("48 h of work, 6 min restart, a checkpoint each 15 min, spot at 0.3 of on demand; cost as part of on demand, egress included:\n" +
		"20 GiB of checkpoint a node at 0.02 USD with each move to another region, beside 3.06 USD an hour on demand\n")
	costs := map[string]sum{}
	play := func(nodes int, deadline time.Duration, r rival) {
		if r.name == "the daemon's rules, one zone" && (nodes > 1 || deadline != 60) {
			return // decisions by the million, and no other picture
		}
		s := replayAll(jobOf(deadline), nodes, zones, r)
		costs[fmt.Sprintf("%s/%d/%d", r.name, int(deadline), nodes)] = s
		s.write(&b, r.name)
		if s.late > 0 {
			t.Errorf("%s missed %d of %d deadlines of %d h with %d nodes", r.name, s.late, s.runs, int(deadline), nodes)
		}
	}
	for _, deadline := range []time.Duration{52, 60, 70, 92} {
		fmt.Fprintf(&b, "\ndeadline %d h"+head, int(deadline), "")
		for _, r := range rivals {
			play(1, deadline, r)
		}
	}
	fmt.Fprintf(&b, "\na gang of 4   "+head, "")
	for _, r := range rivals {
		play(4, 60, r)
	}
	t.Log("\n" + b.String())
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
	wins(t, costs, "progress, one zone/60/1", "greedy, one zone/60/1")
	wins(t, costs, "progress, one zone/52/1", "greedy, one zone/52/1")
	wins(t, costs, "the daemon's rules, nine zones/60/1", "the daemon's rules, us-west-2/60/1")
	wins(t, costs, "the daemon's rules, us-west-2/60/1", "the daemon's rules, one zone/60/1")
	wins(t, costs, "the daemon's rules, nine zones/60/4", "progress, one zone/60/4")
	if s := costs["the daemon's rules, nine zones/60/1"]; s.mean() > 0.33 {
		t.Errorf("nine zones cost %.3f of on demand, want at most 0.33", s.mean())
	}
	for _, nodes := range []int{1, 4} { // a pool that has nothing is not asked at every look
		s := costs[fmt.Sprintf("the daemon's rules, nine zones/60/%d", nodes)]
		asked, refused := float64(s.asked)/float64(s.runs), float64(s.refused)/float64(s.runs)
		t.Logf("%d nodes: %.1f requests a job, %.1f of them in vain", nodes, asked, refused)
		if asked > 80 {
			t.Errorf("%.1f requests for a job of 48 hours with %d nodes", asked, nodes)
		}
	}
	docs(t, costs)
}

func wins(t *testing.T, costs map[string]sum, a, b string) {
	t.Helper()
	x, y := costs[a], costs[b]
	if x.mean() >= y.mean() {
		t.Errorf("%s costs %.3f, %s %.3f", a, x.mean(), b, y.mean())
	}
}

// replayAll runs a strategy over several seeds, from several times of each.
func replayAll(job Job, nodes int, zones []Zone, r rival) sum {
	const seeds, starts = 6, 10
	var s sum
	var mine []Zone
	for _, z := range zones {
		if strings.HasPrefix(z.Name, r.zones) {
			mine = append(mine, z)
		}
	}
	for seed := range uint64(seeds) {
		traces := tracesOf(zones, seed, nodes)
		for i := range starts {
			from := i * len(traces[0].Has) / starts
			groups := [][]Trace{groupOf(traces, mine)}
			if r.one {
				groups = nil
				for k := range traces {
					groups = append(groups, traces[k:k+1])
				}
			}
			for _, group := range groups {
				by := r.make(zonesIn(group), nodes)
				s.add(Run(job, group, from, by), Floor(job, group, from), by)
			}
		}
	}
	return s
}

func zonesIn(ts []Trace) []Zone {
	out := make([]Zone, len(ts))
	for i := range ts {
		out[i] = ts[i].Zone
	}
	return out
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
var made = map[weather][]Trace{}

type weather struct {
	seed  uint64
	nodes int
}

func tracesOf(zones []Zone, seed uint64, nodes int) []Trace {
	w := weather{seed, nodes}
	if made[w] == nil {
		made[w] = GangTraces(zones, 20158, seed+100, nodes)
	}
	return made[w]
}

// docs holds the figures of the page about fail-over against this run: each of
// its rows names a strategy, its deadline and its nodes.
func docs(t *testing.T, costs map[string]sum) {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/docs/clouds/failover.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 10 {
			continue
		}
		for i := range cells {
			cells[i] = strings.Trim(cells[i], " *")
		}
		s, ok := costs[cells[1]+"/"+cells[2]+"/"+cells[3]]
		if !ok {
			continue
		}
		rows++
		n := float64(s.runs)
		want := []string{
			fmt.Sprintf("%.3f", s.mean()), fmt.Sprintf("%.3f", s.floor/n), fmt.Sprintf("%.3f", s.egress/n),
			fmt.Sprintf("%.1f", float64(s.reclaims)/n), fmt.Sprintf("%d of %d", s.late, s.runs),
		}
		if diff := cmp.Diff(want, cells[4:9]); diff != "" {
			t.Errorf("failover.md, %s (-run +page):\n%s", strings.Join(cells[1:4], ", "), diff)
		}
	}
	if rows < 10 {
		t.Errorf("failover.md has %d rows of the table, want at least 10", rows)
	}
}
