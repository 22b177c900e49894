package engine_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
)

// cluster is a small honest scheduler: jobs wait, run on overlay nodes they
// were routed to, end, and are requeued with a delay, as Slurm does it.
type cluster struct {
	mu         sync.Mutex
	jobs       map[bridge.JobID]*job
	nodes      map[string]*node
	overlays   map[string][]string
	down       error         // answers nothing
	slow       time.Duration // of each read
	cost       time.Duration // of each read, as the scheduler itself says
	kill       time.Duration // from requeue to steps dead
	seen       time.Time     // queue frozen at, for stale reads
	calls      map[string]int
	signals    []string
	starts     map[bridge.JobID]int
	comments   map[bridge.JobID][]string // every one ever written
	onRegister func(*node)               // changes a node as it registers
	rash       int                       // nodes dismissed that were neither drained nor dead
}

type job struct {
	id          bridge.JobID
	user        string
	account     string
	nodes       int
	gpus        int
	work        time.Duration // left to do
	limit       time.Duration
	restartable bool
	state       string // pending, running, dying, done, failed, cancelled
	on          []string
	routed      map[string]bool // overlays
	began       time.Time
	died        time.Time // steps dead at
	eligible    time.Time
	submitted   time.Time
	restarts    int
	handler     func(*cluster, *job) // of a signal
	aside       int                  // pending and set aside: so many nudges bring it back
	home        time.Time            // when it would start without machines of ours; zero: not said
	anywhere    bool                 // may start on any node, overlay or not: a job of another money
}

type node struct {
	name    string
	gpus    int
	memory  int64 // MiB
	drained bool
	reason  string
	dead    bool
}

func newCluster() *cluster {
	return &cluster{
		jobs: map[bridge.JobID]*job{}, nodes: map[string]*node{}, overlays: map[string][]string{},
		calls: map[string]int{}, starts: map[bridge.JobID]int{}, comments: map[bridge.JobID][]string{},
	}
}

func (c *cluster) submit(id bridge.JobID, nodes, gpus int, work time.Duration, change ...func(*job)) *job {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := &job{
		id: id, user: "ann", account: "proj", nodes: nodes, gpus: gpus, work: work, limit: time.Hour, restartable: true,
		state: "pending", routed: map[string]bool{}, submitted: time.Now(), eligible: time.Now(),
	}
	for _, f := range change {
		f(j)
	}
	c.jobs[id] = j
	return j
}

// register is a machine's slurmd arriving.
func (c *cluster) register(name string, gpus int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := &node{name: name, gpus: gpus, memory: 64000}
	if c.onRegister != nil {
		c.onRegister(n)
	}
	c.nodes[name] = n
}

// answers reports whether anything can register.
func (c *cluster) answers() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.down == nil }

// lose is a machine's slurmd falling silent.
func (c *cluster) lose(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.nodes[name]; n != nil {
		n.dead = true
	}
}

// restart forgets who is member of what, as slurmctld does.
func (c *cluster) restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range c.overlays {
		c.overlays[p] = nil
	}
}

// advance brings the cluster to the present; mu is held.
func (c *cluster) advance() {
	now := time.Now()
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
		j := c.jobs[id]
		if j.state == "running" && now.Sub(j.began) >= j.work && !c.anyDead(j.on) {
			j.state, j.on = "done", nil
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
		if j := c.jobs[id]; j.state == "pending" && !j.eligible.After(now) && j.aside == 0 {
			c.place(j)
		}
	}
}

func (c *cluster) anyDead(nodes []string) bool {
	return slices.ContainsFunc(nodes, func(n string) bool { return c.nodes[n] == nil || c.nodes[n].dead })
}

func (c *cluster) place(j *job) {
	for _, part := range slices.Sorted(maps.Keys(c.overlays)) {
		if !j.routed[part] && !j.anywhere {
			continue
		}
		var free []string
		for _, n := range c.overlays[part] {
			if x := c.nodes[n]; x != nil && !x.drained && !x.dead && x.gpus >= j.gpus && !c.busy(n) {
				free = append(free, n)
			}
		}
		if len(free) >= j.nodes {
			j.state, j.on, j.began = "running", free[:j.nodes], time.Now()
			c.starts[j.id]++
			return
		}
	}
}

func (c *cluster) busy(n string) bool {
	for _, j := range c.jobs {
		if (j.state == "running" || j.state == "dying") && slices.Contains(j.on, n) {
			return true
		}
	}
	return false
}

// requeue is what Slurm does: steps die, and the job is eligible two minutes later.
func (c *cluster) requeue(j *job) {
	j.work -= time.Since(j.began)
	j.state, j.died, j.restarts = "dying", time.Now().Add(c.kill), j.restarts+1
	j.eligible = j.died.Add(2 * time.Minute)
}

func (c *cluster) bury() {
	for _, j := range c.jobs {
		if j.state == "dying" && !j.died.After(time.Now()) {
			j.state, j.on = "pending", nil
		}
	}
}

// enter is the head of every call.
func (c *cluster) enter(name string) (func(), error) {
	c.mu.Lock()
	c.calls[name]++
	if c.down != nil {
		err := c.down
		c.mu.Unlock()
		return func() {}, err
	}
	c.bury()
	c.advance()
	return c.mu.Unlock, nil
}

func (c *cluster) Observe(ctx context.Context) (bridge.Queue, error) {
	if slow := c.slowness(); slow > 0 {
		select {
		case <-time.After(slow):
		case <-ctx.Done():
			return bridge.Queue{}, ctx.Err()
		}
	}
	leave, err := c.enter("Observe")
	if err != nil {
		return bridge.Queue{}, err
	}
	defer leave()
	q := bridge.Queue{Cluster: "c1", ObservedAt: time.Now(), Cost: c.cost, Overlays: map[string][]string{}}
	if !c.seen.IsZero() {
		q.ObservedAt = c.seen
	}
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
		j := c.jobs[id]
		switch j.state {
		case "pending":
			q.Demands = append(q.Demands, j.demand())
		case "running", "dying":
			q.Runs = append(q.Runs, bridge.Run{
				Job: j.id, User: j.user, Account: j.account, State: strings.ToUpper(j.state), Nodes: slices.Clone(j.on),
				Started: j.began, TimeLimit: j.limit, Restartable: j.restartable, Restarts: j.restarts,
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.nodes)) {
		n := c.nodes[name]
		full := bridge.Shape{CPUs: 8, MemoryMiB: n.memory, GPUs: n.gpus, GPUType: "a100"}
		free := full
		if c.busy(name) {
			free = bridge.Shape{}
		}
		q.Nodes = append(q.Nodes, bridge.Node{
			Name: name, Shape: full, Free: free, Reason: n.reason, Dynamic: true, Responding: !n.dead, Usable: !n.dead && !n.drained,
		})
	}
	for p, nodes := range c.overlays {
		q.Overlays[p] = slices.Clone(nodes)
	}
	return q, nil
}

func (j *job) demand() bridge.Demand {
	d := bridge.Demand{
		Cluster: "c1", Job: j.id, User: j.user, Account: j.account, Partition: "gpu",
		Shape: bridge.Shape{CPUs: 8, MemoryMiB: 64000, GPUs: j.gpus}, Nodes: j.nodes, Count: 1, Priority: 1,
		Submitted: j.submitted, Eligible: j.eligible, TimeLimit: j.limit, Restartable: j.restartable, Restarts: j.restarts,
		Standing: bridge.StandingHelps, Word: "Resources", Overlays: slices.Sorted(maps.Keys(j.routed)),
	}
	if d.StartEstimate = j.home; len(j.routed) > 0 && !j.home.IsZero() {
		d.StartEstimate = time.Now() // it may use machines that are there
	}
	if j.aside > 0 {
		d.Standing, d.Word = bridge.StandingHelps, "BadConstraints"
	}
	if j.eligible.After(time.Now()) {
		d.Standing, d.Word = bridge.StandingSoon, "BeginTime"
	}
	return d
}

func (c *cluster) called(name string) int { c.mu.Lock(); defer c.mu.Unlock(); return c.calls[name] }

func (c *cluster) started(id bridge.JobID) int { c.mu.Lock(); defer c.mu.Unlock(); return c.starts[id] }

func (c *cluster) slowness() time.Duration { c.mu.Lock(); defer c.mu.Unlock(); return c.slow }

// set changes the cluster.
func (c *cluster) set(f func(*cluster)) { c.mu.Lock(); defer c.mu.Unlock(); f(c) }
