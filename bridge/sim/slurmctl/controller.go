package slurmctl

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/sim/invariant"
)

// Controller is the cluster. Its methods may be called from several goroutines.
type Controller struct {
	options Options

	mu         sync.Mutex
	at         time.Time // until when all has happened
	booted     time.Time
	stopped    bool
	hungUntil  time.Time
	held       []message // what came in while it hung
	jobs       []*job    // all there ever were, in order of submission
	active     []*job    // those that are not forgotten
	byID       map[int][]*job
	nodes      map[string]*node
	names      []string // of nodes, in their order
	partitions []*partition
	reserved   map[string][]string
	lastJob    int
	priority   int64
	passAt     time.Time // next look at the queue; zero: none is due
	backfillAt time.Time
	calls      map[string]int // requests by kind, since slurmctld's start
	kinds      []string
	asked      map[string]bool // kinds of commands so far
}

// message is something that slurmctld was sent while it hung.
type message struct {
	at time.Time
	do func()
}

// passDelay is how long after a change the queue is looked at.
const passDelay = 500 * time.Millisecond

// New returns a cluster whose slurmctld has just started.
func New(o Options) *Controller {
	o = o.withDefaults()
	now := o.Now()
	c := &Controller{
		options: o, at: now, booted: now, priority: 4294901760,
		byID: map[int][]*job{}, nodes: map[string]*node{}, reserved: map[string][]string{}, calls: map[string]int{}, asked: map[string]bool{},
	}
	for _, spec := range o.Nodes {
		c.addNode(spec, false, now)
	}
	c.declare(true)
	return c
}

// declare makes the partitions of slurm.conf. Their state outlives a restart
// that is not cold.
func (c *Controller) declare(cold bool) {
	before := c.partitions
	c.partitions = nil
	for i := range c.options.Partitions {
		p := &c.options.Partitions[i]
		c.partitions = append(c.partitions, &partition{
			Name: p.Name, nodes: slices.Clone(p.Nodes), maxTime: p.MaxTime, priority: max(1, p.Priority), factor: max(1, p.Priority), state: "UP",
			isDefault: i == 0, sharing: "NO", declared: true,
		})
	}
	for i := range c.options.Overlays {
		name := "sw-" + itoa(i+1)
		c.partitions = append(c.partitions, &partition{
			Name: name, priority: 1, factor: 1, state: "DRAIN", sharing: "NO", declared: true,
		})
	}
	for _, was := range before {
		if p := c.partition(was.Name); p != nil && !cold {
			p.state = was.state
		}
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func (c *Controller) addNode(spec NodeSpec, dynamic bool, now time.Time) {
	spec.CPUs, spec.MemoryMiB = max(1, spec.CPUs), max(1, spec.MemoryMiB)
	c.nodes[spec.Name] = &node{NodeSpec: spec, dynamic: dynamic, lastBusy: now, started: now}
	c.names = append(c.names, spec.Name)
}

func (c *Controller) dropNode(name string) {
	delete(c.nodes, name)
	c.names = slices.DeleteFunc(c.names, func(n string) bool { return n == name })
	for _, p := range c.partitions {
		p.nodes = slices.DeleteFunc(p.nodes, func(n string) bool { return n == name })
	}
}

func (c *Controller) partition(name string) *partition {
	for _, p := range c.partitions {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// nextPriority is that of a job that comes new to the queue, or anew.
func (c *Controller) nextPriority() int64 {
	c.priority--
	return c.priority
}

// Submit sends a job as sbatch does, and returns its id. It panics on one that
// sbatch would refuse: a world is made by its writer.
func (c *Controller) Submit(spec Job) bridge.JobID {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.advance()
	spec = spec.withDefaults(c.options.Partitions[0].Name)
	if err := c.refuse(&spec); err != nil {
		panic("slurmctl: " + err.Error())
	}
	c.lastJob++
	first, last := -1, -1
	if spec.Tasks > 0 {
		first, last = 0, spec.Tasks-1
	}
	priority := c.nextPriority()
	for task := first; task <= last; task++ {
		j := &job{
			Job: spec, number: c.lastJob, task: task, joined: task >= 0, partition: strings.Split(spec.Partition, ","),
			state: pending, reason: reasonNone, priority: priority, submitted: now, eligible: now,
		}
		switch {
		case spec.Held:
			j.priority, j.reason, j.eligible = 0, reasonHeld, time.Time{}
		case spec.After != "":
			j.reason, j.eligible = reasonDepends, time.Time{}
		case spec.Begin.After(now):
			j.reason, j.eligible = reasonBegin, spec.Begin
		}
		c.jobs, c.active = append(c.jobs, j), append(c.active, j)
		c.byID[j.number] = append(c.byID[j.number], j)
	}
	c.look(now)
	return bridge.JobID(itoa(c.lastJob))
}

// refuse is what sbatch says of a job that could never run.
func (c *Controller) refuse(spec *Job) error {
	for name := range strings.SplitSeq(spec.Partition, ",") {
		p := c.partition(name)
		if p == nil {
			return fmt.Errorf("sbatch: error: invalid partition specified: %s", name)
		}
		if p.state == "DRAIN" || p.state == "INACTIVE" {
			return fmt.Errorf("sbatch: error: Batch job submission failed: Required partition not available (inactive or drain)")
		}
		probe := &job{Job: *spec}
		if slices.ContainsFunc(p.nodes, func(n string) bool { return c.nodes[n] != nil && c.nodes[n].could(probe) }) {
			return nil
		}
	}
	return fmt.Errorf("sbatch: error: Batch job submission failed: Requested node configuration is not available: %+v", *spec)
}

// Cancel ends a job, or all tasks of an array, as its owner's scancel does.
func (c *Controller) Cancel(id bridge.JobID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	cancel := func() {
		for _, j := range c.named(string(id)) {
			c.cancel(j, c.at)
		}
	}
	if c.awake(c.at) {
		cancel()
		return
	}
	c.held = append(c.held, message{c.at, cancel}) // the owner tries until it works
}

// Register is a slurmd that starts: of a machine that is new, as a dynamic node,
// or of one that was known. A slurmctld that is away refuses it.
func (c *Controller) Register(spec NodeSpec) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.advance()
	if c.stopped || c.hung() {
		return fmt.Errorf("register node %s: %s", spec.Name, away)
	}
	n := c.nodes[spec.Name]
	if n == nil {
		c.addNode(spec, true, now)
		c.look(now)
		return nil
	}
	rebooted := !n.gone.IsZero()
	n.gone, n.unanswered, n.asked, n.started = time.Time{}, false, false, now
	if rebooted { // What ran there is unknown to it.
		for _, j := range slices.Clone(n.jobs) {
			if j.state == running {
				c.fail(j, now)
			} else if j.dead.IsZero() && !c.waitsFor(j) {
				c.cleared(j, now)
			}
		}
	}
	if n.down { // ReturnToService=2
		n.down = false
		if !n.drained {
			n.reason = ""
		}
	}
	c.look(now)
	return nil
}

// Lose ends a machine: its slurmd falls silent, its jobs' processes are gone.
func (c *Controller) Lose(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.advance()
	n := c.nodes[name]
	if n == nil || !n.gone.IsZero() {
		return
	}
	n.gone = now
	for _, j := range n.jobs {
		c.stopWork(j, now)
	}
}

// Reserve gives nodes to a reservation from now on, as an administrator does;
// without nodes the one of that name ends.
func (c *Controller) Reserve(name string, nodes ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.advance()
	c.reserved[name] = nodes
	for _, n := range c.nodes {
		n.reserved = false
	}
	for _, list := range c.reserved {
		for _, one := range list {
			if n := c.nodes[one]; n != nil {
				n.reserved = true
			}
		}
	}
	c.look(now)
}

// Advance does all that has happened until now.
func (c *Controller) Advance() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
}

// Next is when something happens by itself; zero: never.
func (c *Controller) Next() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	return c.next()
}

// Truth is every job there ever was, in order of submission with each task of an
// array for itself, and the dynamic nodes by name. A job that a cold restart made
// slurmctld forget is in state LOST.
func (c *Controller) Truth() ([]invariant.Job, []invariant.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	jobs := make([]invariant.Job, 0, len(c.jobs))
	for _, j := range c.jobs {
		one := invariant.Job{
			ID: j.id(), State: j.state, Starts: slices.Clone(j.starts), Restarts: j.restarts, Restartable: j.Restartable,
			Cancelled: j.cancelled, Priority: j.priority, Submitted: j.submitted, Limit: j.Limit,
		}
		if j.holds() {
			one.Nodes = slices.Clone(j.nodes)
		}
		jobs = append(jobs, one)
	}
	var nodes []invariant.Node
	for _, name := range slices.Sorted(maps.Keys(c.nodes)) {
		if n := c.nodes[name]; n.dynamic {
			parked := !slices.ContainsFunc(c.partitions, func(p *partition) bool { return slices.Contains(p.nodes, name) })
			nodes = append(nodes, invariant.Node{Name: name, Drained: n.drained, Dead: !n.gone.IsZero(), Parked: parked})
		}
	}
	return jobs, nodes
}
