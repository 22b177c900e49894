package bridge

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// scenario is a small world in words. What a file does not say is as in the
// methods below: one cluster "c", now is 12:00, jobs of ana wait for an hour,
// money is in USD, times are relative to now.
type scenario struct {
	Clusters map[string]struct {
		Seen time.Duration `yaml:"seen"` // relative to now
	} `yaml:"clusters"`
	Offers   []scenarioOffer   `yaml:"offers"`
	Budgets  []scenarioBudget  `yaml:"budgets"`
	Terms    map[string]*words `yaml:"terms"` // by the job's account; "" for the rest
	Jobs     []scenarioJob     `yaml:"jobs"`
	Runs     []scenarioRun     `yaml:"runs"`
	Nodes    []scenarioNode    `yaml:"nodes"`
	Rentals  []scenarioRental  `yaml:"rentals"`
	Down     map[string]string `yaml:"down"` // pool to how long yet
	Answers  []scenarioAnswer  `yaml:"answers"`
	Reclaims map[JobID]int     `yaml:"reclaims"`
	Marks    []scenarioMark    `yaml:"checkpoints"`
	Looking  []JobID           `yaml:"looking"`
	Hazards  []scenarioHazard  `yaml:"hazards"`
	Frozen   bool              `yaml:"frozen"`
	Shut     bool              `yaml:"protected"`
}

type words struct {
	Burst    *bool          `yaml:"burst"`
	Why      Reason         `yaml:"why"`
	Class    Class          `yaml:"class"`
	Account  *Account       `yaml:"account"`
	Wait     time.Duration  `yaml:"wait"`
	Markets  []Market       `yaml:"markets"`
	Clouds   []string       `yaml:"clouds"`
	Regions  []string       `yaml:"regions"`
	MaxRate  string         `yaml:"max_rate"`
	MaxCost  string         `yaml:"max_cost"`
	Most     *int           `yaml:"most"`
	Least    int            `yaml:"least"`
	Life     *time.Duration `yaml:"life"`
	Reclaims int            `yaml:"reclaims"`
	AskAbove string         `yaml:"ask_above"`
	Ask      bool           `yaml:"ask"`
	Fresh    time.Duration  `yaml:"checkpoint_age"` // with checkpoint_required: a rule
	Required bool           `yaml:"checkpoint_required"`
	Progress bool           `yaml:"progress"`
	Work     time.Duration  `yaml:"work"`
	Share    bool           `yaml:"share"`
}

// Hardware is what a machine has or a job wants.
type Hardware struct {
	CPUs      int            `yaml:"cpus"`
	Mem       int64          `yaml:"mem"` // GiB
	GPUs      int            `yaml:"gpus"`
	Type      string         `yaml:"type"`
	Disk      int64          `yaml:"disk"` // GiB
	GRES      map[string]int `yaml:"gres"`
	Features  []string       `yaml:"features"`
	Exclusive bool           `yaml:"exclusive"`
}

func (m *Hardware) shape() Shape {
	return Shape{CPUs: m.CPUs, MemoryMiB: m.Mem << 10, GPUs: m.GPUs, GPUType: m.Type, DiskMiB: m.Disk << 10, GRES: m.GRES, Exclusive: m.Exclusive}
}

type scenarioOffer struct {
	Pool     string        `yaml:"pool"`
	Rate     string        `yaml:"rate"`
	Boot     time.Duration `yaml:"boot"`
	Stock    *int          `yaml:"stock"`
	Age      time.Duration `yaml:"age"`
	Step     time.Duration `yaml:"step"`
	Minimum  time.Duration `yaml:"minimum"`
	Term     time.Duration `yaml:"term"`
	Early    int           `yaml:"early"` // per mille
	Bar      Reason        `yaml:"bar"`
	Contract string        `yaml:"contract"`
	Until    time.Duration `yaml:"until"`
	Hardware `yaml:",inline"`
}

type scenarioBudget struct {
	Account Account `yaml:"account"`
	Cloud   string  `yaml:"cloud"`
	GPU     string  `yaml:"gpu"`
	Limit   string  `yaml:"limit"`
	Posted  string  `yaml:"posted"`
	Held    string  `yaml:"held"`
	Hard    bool    `yaml:"hard"`
}

type scenarioJob struct {
	Job       JobID          `yaml:"job"`
	Cluster   string         `yaml:"cluster"`
	User      string         `yaml:"user"`
	Account   string         `yaml:"account"`
	Partition string         `yaml:"partition"`
	Nodes     int            `yaml:"nodes"`
	Count     int            `yaml:"count"`
	Priority  int64          `yaml:"priority"`
	Waits     *time.Duration `yaml:"waits"`
	Limit     *time.Duration `yaml:"limit"`
	Deadline  time.Duration  `yaml:"deadline"`
	Starts    time.Duration  `yaml:"starts"`
	Stays     bool           `yaml:"not_restartable"`
	Restarts  int            `yaml:"restarts"`
	Standing  Standing       `yaml:"standing"`
	Hurdle    string         `yaml:"hurdle"`
	Word      string         `yaml:"word"`
	Overlays  []string       `yaml:"overlays"`
	Any       [][]string     `yaml:"constraint"`
	Hardware  `yaml:",inline"`
}

type scenarioRun struct {
	Job   JobID    `yaml:"job"`
	Nodes []string `yaml:"nodes"`
}

type scenarioNode struct {
	Name       string        `yaml:"name"`
	Partitions []string      `yaml:"partitions"`
	Free       *Hardware     `yaml:"free"`
	Drained    bool          `yaml:"drained"`
	Dynamic    bool          `yaml:"dynamic"`
	Idle       time.Duration `yaml:"idle"`
	Hardware   `yaml:",inline"`
}

type scenarioRental struct {
	ID       RentalID        `yaml:"id"`
	State    State           `yaml:"state"`
	Since    time.Duration   `yaml:"since"`
	Cluster  string          `yaml:"cluster"`
	Account  Account         `yaml:"account"`
	Jobs     []JobID         `yaml:"jobs"`
	Gang     int             `yaml:"gang"`
	Count    int             `yaml:"count"`
	Pool     string          `yaml:"pool"`
	Rate     string          `yaml:"rate"`
	Expires  *time.Duration  `yaml:"expires"`
	Idle     time.Duration   `yaml:"idle"`
	IdleFor  time.Duration   `yaml:"idle_for"`
	AskUntil time.Duration   `yaml:"ask_until"`
	Step     time.Duration   `yaml:"step"`
	Term     time.Duration   `yaml:"term"`
	Early    int             `yaml:"early"` // per mille
	Machines []scenarioState `yaml:"machines"`
	Hardware `yaml:",inline"`
}

type scenarioState struct {
	Node    string        `yaml:"node"`
	State   MachineState  `yaml:"state"`
	Age     time.Duration `yaml:"age"`
	IdleFor time.Duration `yaml:"idle_for"`
}

type scenarioMark struct {
	Job   JobID         `yaml:"job"`
	Age   time.Duration `yaml:"age"`
	Done  time.Duration `yaml:"done"`
	Every time.Duration `yaml:"every"`
}

type scenarioHazard struct {
	Pool  string        `yaml:"pool"`
	Lived time.Duration `yaml:"lived"`
	Taken int64         `yaml:"taken"`
	Age   time.Duration `yaml:"age"`
}

type scenarioAnswer struct {
	Jobs  []JobID       `yaml:"jobs"`
	Why   Reason        `yaml:"why"`
	Until time.Duration `yaml:"until"`
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func readScenario(data []byte) (*scenario, error) {
	var w scenario
	err := yaml.UnmarshalWithOptions(data, &w, yaml.Strict())
	return &w, err
}

// money reads "12.50", "12.50 EUR" or nothing.
func money(s string) Money {
	if s == "" {
		return Money{}
	}
	var amount float64
	c := "USD"
	if n, err := fmt.Sscanf(s, "%f %s", &amount, &c); n == 0 {
		panic(fmt.Sprintf("amount %q: %v", s, err))
	}
	return Money{int64(math.Round(amount * Micro)), Currency(c)}
}

func pool(s string) Pool {
	p := strings.Split(s, "/")
	return Pool{p[0], p[1], p[2], p[3], Market(p[4])}
}

func at(d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return noon.Add(d)
}

func or[T any](p *T, v T) T {
	if p == nil {
		return v
	}
	return *p
}

func (w *scenario) snapshot() *Snapshot {
	s := &Snapshot{Now: noon, MaxQueueAge: time.Minute, Frozen: w.Frozen, Protected: w.Shut}
	if len(w.Reclaims) > 0 {
		s.Reclaims = map[string]map[JobID]int{"c": w.Reclaims}
	}
	for _, m := range w.Marks {
		if s.Checkpoints == nil {
			s.Checkpoints = map[string]map[JobID]Checkpoint{"c": {}}
		}
		s.Checkpoints["c"][m.Job] = Checkpoint{Job: m.Job, At: noon.Add(-m.Age), Done: m.Done, Every: m.Every}
	}
	for _, j := range w.Looking {
		if s.Looking == nil {
			s.Looking = map[string]map[JobID]bool{"c": {}}
		}
		s.Looking["c"][j] = true
	}
	for _, h := range w.Hazards {
		s.Hazards = append(s.Hazards, Hazard{Pool: pool(h.Pool), Lived: h.Lived, Taken: 1000 * h.Taken, At: noon.Add(-h.Age)})
	}
	for i := range w.Offers {
		s.Offers = append(s.Offers, w.Offers[i].offer())
	}
	for _, b := range w.Budgets {
		limit := money(b.Limit)
		s.Budgets = append(s.Budgets, Balance{Account: b.Account, Cloud: b.Cloud, GPU: b.GPU, Period: "2026-11", Limit: limit, Posted: money(b.Posted), Held: money(b.Held), Hard: b.Hard})
	}
	for _, a := range w.Answers {
		s.Answers = append(s.Answers, Answer{Jobs: a.Jobs, Why: a.Why, Until: at(a.Until)})
	}
	for _, p := range sortedKeys(w.Down) {
		d, err := time.ParseDuration(w.Down[p])
		if err != nil {
			panic(err)
		}
		s.Pools = append(s.Pools, PoolHealth{Pool: pool(p), DownUntil: noon.Add(d), Failures: 1})
	}
	for i := range w.Rentals {
		s.Rentals = append(s.Rentals, w.Rentals[i].rental())
	}
	seen := map[string]time.Duration{"c": -time.Second}
	for name, c := range w.Clusters {
		seen[name] = c.Seen
	}
	for _, name := range sortedKeys(seen) {
		s.Queues = append(s.Queues, w.queue(name, seen[name]))
	}
	return s
}

func (w *scenario) queue(name string, seen time.Duration) Queue {
	q := Queue{Cluster: name, ObservedAt: noon.Add(seen)}
	for i := range w.Jobs {
		if d := w.Jobs[i].demand(); d.Cluster == name {
			q.Demands = append(q.Demands, d)
		}
	}
	if name != "c" {
		return q
	}
	for _, r := range w.Runs {
		q.Runs = append(q.Runs, Run{Job: r.Job, User: "ana", State: "RUNNING", Nodes: r.Nodes})
	}
	for _, n := range w.Nodes {
		node := Node{Name: n.Name, Usable: !n.Drained, Responding: true, Partitions: n.Partitions, Shape: n.shape(), Features: n.Features, Dynamic: n.Dynamic}
		if n.Idle > 0 {
			node.IdleSince = noon.Add(-n.Idle)
		}
		node.Free = node.Shape
		if n.Free != nil {
			node.Free = n.Free.shape()
		}
		q.Nodes = append(q.Nodes, node)
	}
	return q
}

func (o *scenarioOffer) offer() Offer {
	boot := o.Boot
	if boot == 0 {
		boot = 2 * time.Minute
	}
	return Offer{
		Pool: pool(o.Pool), Shape: o.shape(), Features: o.Features, Rate: Rate(money(o.Rate)), SampledAt: noon.Add(-o.Age),
		MaxAge: 10 * time.Minute, Boot: boot, Available: or(o.Stock, -1), Step: o.Step, Minimum: o.Minimum,
		Term: o.Term, EarlyPM: o.Early, Bar: o.Bar, Contract: o.Contract, Until: at(o.Until),
	}
}

func (j *scenarioJob) demand() Demand {
	d := Demand{
		Cluster: "c", Job: j.Job, User: "ana", Account: j.Account, Partition: j.Partition, Shape: j.shape(),
		Nodes: max(j.Nodes, 1), Count: max(j.Count, 1), Priority: j.Priority, TimeLimit: or(j.Limit, time.Hour),
		Deadline: at(j.Deadline), StartEstimate: at(j.Starts), Restartable: !j.Stays, Standing: StandingHelps,
		Hurdle: j.Hurdle, Word: j.Word, Overlays: j.Overlays, Restarts: j.Restarts,
	}
	d.Shape.Features = j.Any
	d.Submitted = noon.Add(-or(j.Waits, time.Hour))
	d.Eligible = d.Submitted
	if j.Cluster != "" {
		d.Cluster = j.Cluster
	}
	if j.User != "" {
		d.User = j.User
	}
	if j.Standing != "" {
		d.Standing = j.Standing
	}
	return d
}

func (r *scenarioRental) rental() Rental {
	out := Rental{
		ID: r.ID, State: r.State, Since: at(r.Since), Cluster: "c", Account: "uni/ai/llm/ana", Requester: "ana", Jobs: r.Jobs,
		Gang: max(r.Gang, 1), Count: max(r.Count, 1), Pool: pool(r.Pool), Shape: r.shape(), Features: r.Features,
		Step: r.Step, Term: r.Term, EarlyPM: r.Early, Idle: r.Idle, Expires: noon.Add(or(r.Expires, 3*time.Hour)), AskUntil: at(r.AskUntil), IdleSince: at(-r.IdleFor),
		MaxRate: Rate(money(r.Rate)), Hold: money("20"),
	}
	if r.Cluster != "" {
		out.Cluster = r.Cluster
	}
	if r.Account != "" {
		out.Account = r.Account
	}
	for i, m := range r.Machines {
		k := Machine{Ordinal: i, Node: m.Node, State: m.State, Started: noon.Add(-m.Age), IdleSince: at(-m.IdleFor)}
		if k.State == "" {
			k.State = MachineJoined
		}
		out.Machines = append(out.Machines, k)
	}
	return out
}

// spoken is a policy that goes by the job's account alone.
type spoken map[string]*Terms

// Terms returns the terms of the account, or of all others, or none.
func (p spoken) Terms(d *Demand, _ *Facts) *Terms {
	if t, ok := p[d.Account]; ok {
		return t
	}
	return p[""]
}

func (w *scenario) policy() spoken {
	p := spoken{}
	for account, x := range w.Terms {
		if x == nil {
			continue
		}
		p[account] = &Terms{
			Burst: or(x.Burst, true), Why: x.Why, Rule: "rule", Class: P1, Account: or(x.Account, "uni/ai/llm"),
			Wait: x.Wait, Markets: x.Markets, Clouds: x.Clouds, Regions: x.Regions, MaxRate: Rate(money(x.MaxRate)),
			MaxCost: money(x.MaxCost), Most: or(x.Most, 100), Least: x.Least, Life: or(x.Life, 24*time.Hour),
			Reclaims: x.Reclaims, AskAbove: money(x.AskAbove), Ask: x.Ask, Share: x.Share, Progress: x.Progress, Work: x.Work,
		}
		if x.Required || x.Fresh > 0 {
			p[account].Checkpoint = &CheckpointRule{Name: "rule", MaxAge: x.Fresh, Required: x.Required}
		}
		if x.Class != "" {
			p[account].Class = x.Class
		}
		if x.Markets == nil {
			p[account].Markets = []Market{OnDemand}
		}
	}
	return p
}
