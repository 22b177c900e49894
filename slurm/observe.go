package slurm

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"spillway.sh/spillway/bridge"
)

// view is what one cycle sees beside the jobs themselves.
type view struct {
	now          time.Time
	nodes        map[string]node
	partitions   map[string]partition
	tenants      map[string]bridge.RentalID // of overlays
	running      map[string]int             // tasks of each array that hold nodes
	doubts       map[bridge.JobID]bool
	comments     map[bridge.JobID]string // admin comments that are not empty
	countsMemory bool
	edits        int // of overlays before the nodes were read
}

// Observe reads the cluster: one node and one partition dump, then one job dump.
// A job that starts in between is then seen running and its node as free, which
// costs the next job a cycle; the other way round it would be seen waiting and
// its node as taken, and a machine would be bought for it. The error is a
// *ParseError or a *CommandError, and then nothing is known.
func (c *Cluster) Observe(ctx context.Context) (bridge.Queue, error) {
	settings, err := c.currentSettings(ctx)
	if err != nil {
		return bridge.Queue{}, err
	}
	at := c.options.Now()
	v, err := c.look(ctx, at, settings)
	if err != nil {
		return bridge.Queue{}, err
	}
	jobs, err := c.readJobs(ctx)
	if err != nil {
		return bridge.Queue{}, err
	}
	if !jobs.plausible(v) {
		// The last job may have ended in between; what is still so then is wrong.
		if v, err = c.look(ctx, at, settings); err != nil {
			return bridge.Queue{}, err
		}
		if !jobs.plausible(v) {
			return bridge.Queue{}, c.understood(&ParseError{What: "jobs", Count: 1, Err: errEmptyQueue})
		}
	}
	q := bridge.Queue{Cluster: c.options.Name, ObservedAt: at, Cost: c.cost(ctx, at), Overlays: overlays(v.partitions, v.tenants)}
	for _, name := range slices.Sorted(maps.Keys(v.nodes)) {
		q.Nodes = append(q.Nodes, v.nodes[name].Node)
	}
	if err := c.sortJobs(&q, jobs, v); err != nil {
		c.unreadable.Add(1)
		return bridge.Queue{}, err
	}
	c.remember(&q, v)
	return q, nil
}

// listed is a queue as it was read: jobs, and the text of more of them that wait.
type listed struct {
	jobs    []job
	text    queueText
	waiting int // in the text
}

// readJobs reads the queue in the way that was chosen.
func (c *Cluster) readJobs(ctx context.Context) (l listed, err error) {
	if c.options.Read == JSON {
		out, err := c.run(ctx, "squeue", "-a", "--json")
		if err != nil {
			return l, err
		}
		l.jobs, err = parseQueueJSON(out)
		return l, c.understood(err)
	}
	out, nonce, err := c.listText(ctx)
	if err != nil {
		return l, err
	}
	l.text = queueText{string(out), nonce}
	l.jobs, l.waiting, err = l.text.others()
	return l, c.understood(err)
}

// listJobs reads the queue as text, all of it or what the arguments select.
func (c *Cluster) listJobs(ctx context.Context, selection ...string) ([]job, error) {
	out, nonce, err := c.listText(ctx, selection...)
	if err != nil {
		return nil, err
	}
	jobs, err := parseQueue(out, nonce)
	return jobs, c.understood(err)
}

func (c *Cluster) listText(ctx context.Context, selection ...string) (out []byte, nonce string, err error) {
	nonce = rand.Text()[:8]
	args := []string{"squeue", "-h", "-a", "--noconvert", "-O", queueFormat(nonce)}
	out, err = c.run(ctx, append(args, selection...)...)
	return out, nonce, err
}

// understood counts the answers that were not understood.
func (c *Cluster) understood(err error) error {
	if err != nil {
		c.unreadable.Add(1)
	}
	return err
}

// look reads nodes and partitions.
func (c *Cluster) look(ctx context.Context, now time.Time, s settings) (*view, error) {
	c.mu.Lock()
	edits := c.edits
	c.mu.Unlock()
	var nodes map[string]node
	var partitions map[string]partition
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() (err error) { nodes, err = c.allNodes(ctx); return err })
	both.Go(func() (err error) { partitions, err = c.readPartitions(ctx); return err })
	if err := both.Wait(); err != nil {
		return nil, err //nolint:wrapcheck // Ours, handed on by the group.
	}
	return &view{
		now: now, nodes: nodes, partitions: partitions, tenants: tenants(nodes, partitions),
		running: map[string]int{}, doubts: map[bridge.JobID]bool{}, comments: map[bridge.JobID]string{}, countsMemory: s.countsMemory(), edits: edits,
	}, nil
}

// allNodes reads every node by its name.
func (c *Cluster) allNodes(ctx context.Context) (map[string]node, error) {
	out, err := c.run(ctx, "scontrol", "--details", "-o", "show", "nodes")
	if err != nil {
		return nil, err
	}
	list, err := parseNodes(out)
	if c.understood(err) != nil {
		return nil, err
	}
	nodes := make(map[string]node, len(list))
	for _, n := range list {
		nodes[n.Name] = n
	}
	return nodes, nil
}

func (c *Cluster) readPartitions(ctx context.Context) (map[string]partition, error) {
	out, err := c.run(ctx, "scontrol", "-a", "-o", "show", "partitions")
	if err != nil {
		return nil, err
	}
	partitions, err := parsePartitions(out)
	return partitions, c.understood(err)
}

// errEmptyQueue reports a queue without jobs on a cluster whose nodes are busy.
var errEmptyQueue = errors.New("no jobs listed, but nodes are allocated")

// plausible reports whether a job dump can be true: an empty one is not while
// nodes are allocated.
func (l *listed) plausible(v *view) bool {
	return len(l.jobs)+l.waiting > 0 || !slices.ContainsFunc(slices.Collect(maps.Values(v.nodes)), func(n node) bool {
		return hasAny(n.States, "ALLOCATED", "MIXED")
	})
}

// sortJobs fills in the queue's demands and runs.
func (c *Cluster) sortJobs(q *bridge.Queue, l listed, v *view) error {
	bad := mishaps{what: "jobs"}
	waiting := l.waiting
	for i := range l.jobs {
		j := &l.jobs[i]
		v.note(j)
		if j.pending() {
			waiting++
			continue
		}
		run, err := runOf(j, v)
		if err != nil {
			bad.add(i+1, j.NodeList, err)
		}
		q.Runs = append(q.Runs, run)
		if j.Array != "" {
			v.running[j.Array]++
		}
	}
	if waiting > 0 {
		q.Demands = make([]bridge.Demand, 0, waiting)
	}
	demand := func(part int, j *job) {
		d, err := c.demandOf(j, v)
		if err != nil {
			bad.add(part, string(j.ID), err)
		}
		q.Demands = append(q.Demands, d)
	}
	for i := range l.jobs {
		if j := &l.jobs[i]; j.pending() {
			demand(i+1, j)
		}
	}
	l.text.waiting(&bad, func(part int, j *job) {
		v.note(j)
		demand(part, j)
	})
	return bad.err()
}

// note keeps a job's admin comment.
func (v *view) note(j *job) {
	if j.AdminComment != "" {
		v.comments[j.ID] = j.AdminComment
	}
}

func runOf(j *job, v *view) (bridge.Run, error) {
	nodes, err := expandHosts(j.NodeList)
	return bridge.Run{
		Job: j.ID, Name: j.Name, User: j.User, Account: j.Account, Partition: shown(j.Partition, v.tenants), State: j.State, Nodes: nodes,
		Started: j.Start, TimeLimit: j.TimeLimit, Restartable: j.Requeue && j.Batch, Restarts: j.Restarts, Comment: j.Comment,
	}, err
}

func (c *Cluster) demandOf(j *job, v *view) (bridge.Demand, error) {
	origin, overlays := splitOverlays(j.Partition, v.tenants)
	r := shapeOf(j, v)
	d := bridge.Demand{
		Cluster: c.options.Name, Job: j.ID, Name: j.Name, User: j.User, Account: j.Account,
		Partition: origin, Overlays: overlays, QOS: j.QOS, Comment: j.Comment,
		Shape: r.shape, Nodes: r.nodes, Priority: j.Priority,
		Submitted: j.Submitted, Eligible: j.Eligible, TimeLimit: j.TimeLimit, Deadline: j.Deadline, StartEstimate: j.Start,
		Restartable: j.Requeue && j.Batch, Restarts: j.Restarts,
		Standing: c.standing(j, v), Word: reasonWord(j.Reason),
	}
	n, err := gangs(j, v)
	if err != nil {
		return d, err
	}
	if d.Count = max(1, n); n < 1 {
		d.Standing = bridge.StandingPolicy // its own throttle is used up
	}
	switch d.Standing {
	case bridge.StandingHelps, bridge.StandingBehind, bridge.StandingSoon, bridge.StandingDoubtful:
		if manager := c.workflow(j); manager != "" {
			d.Standing, d.Hurdle = bridge.StandingWorkflow, "belongs to "+manager+", which looks for its jobs in their own partition"
		} else if r.hurdle != "" {
			d.Standing, d.Hurdle = bridge.StandingUnplaceable, r.hurdle
		}
	default: // It does not leave for another reason already.
	}
	return d, nil
}

// remember keeps what the next cycle compares with.
func (c *Cluster) remember(q *bridge.Queue, v *view) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.doubts, c.comments = v.doubts, v.comments
	ran := map[bridge.JobID][]string{}
	for i := range q.Demands {
		if d := &q.Demands[i]; d.Restarts > 0 && c.ran[d.Job] != nil {
			ran[d.Job] = c.ran[d.Job]
		}
	}
	for i := range q.Runs {
		ran[q.Runs[i].Job] = q.Runs[i].Nodes
	}
	c.ran = ran
	if v.edits != c.edits {
		return // the overlays were changed while we looked
	}
	clear(c.overlays)
	for overlay, tenant := range v.tenants {
		c.overlays[tenant] = overlay
	}
}

// settings are the lines of "scontrol show config" by name.
type settings map[string]string

// settingsAge is how long the configuration is believed to be unchanged.
const settingsAge = 5 * time.Minute

func (c *Cluster) currentSettings(ctx context.Context) (settings, error) {
	now := c.options.Now()
	c.mu.Lock()
	have, at := c.settings, c.settled
	c.mu.Unlock()
	if age := now.Sub(at); have != nil && age >= 0 && age < settingsAge {
		return have, nil
	}
	out, err := c.run(ctx, "scontrol", "show", "config")
	if err != nil {
		return nil, err
	}
	read, err := parseSettings(out)
	if c.understood(err) != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settings, c.settled = read, now
	return read, nil
}

func parseSettings(data []byte) (settings, error) {
	s := settings{}
	for line := range strings.Lines(string(data)) {
		if key, value, found := strings.Cut(line, "="); found {
			s[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	if s["SLURM_VERSION"] == "" || s["SelectType"] == "" {
		return nil, &ParseError{What: "configuration", Count: 1, Text: clip(string(data), 80), Err: fmt.Errorf("says no SLURM_VERSION and SelectType")}
	}
	return s, nil
}

// countsMemory reports whether memory is a resource that jobs hold.
func (s settings) countsMemory() bool {
	return strings.Contains(strings.ToUpper(s["SelectTypeParameters"]), "MEMORY")
}
