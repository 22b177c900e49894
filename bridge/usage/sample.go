package usage

import (
	"cmp"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// Gap is the longest time between two samples that is counted: over a longer
// one nobody looked.
const Gap = 5 * time.Minute

// row is one cluster's GPUs of one class at one moment.
type row struct {
	owned, ownedBusy, rented, rentedBusy, waiting int64
	measured, useful                              int64 // GPUs, and GPUs × per mille
}

// class is where a row counts.
type class struct{ cluster, gpu string }

// Sample is what GPUs did in [prev, now), taken to be what the snapshot shows,
// split by hours. Queues that are stale count for nothing, and so does a time
// longer than Gap or a prev that is zero. Utilisation is per mille by node, of
// rented nodes where it is known; nil: of none.
func Sample(prev, now time.Time, s *bridge.Snapshot, utilisation map[string]int) []bridge.Usage {
	prev, now = prev.Truncate(time.Second), now.Truncate(time.Second)
	if d := now.Sub(prev); prev.Unix() <= 0 || d <= 0 || d > Gap {
		return nil
	}
	seen := *s
	seen.Now = now
	rows := map[class]*row{}
	for i := range s.Queues {
		if q := &s.Queues[i]; !seen.Stale(q) {
			count(rows, q, s.Rentals, utilisation)
		}
	}
	var out []bridge.Usage
	for hour := prev.Truncate(time.Hour); hour.Before(now); hour = hour.Add(time.Hour) {
		from, to := later(prev, hour), earlier(now, hour.Add(time.Hour))
		seconds := int64(to.Sub(from) / time.Second)
		for c, r := range rows {
			out = append(out, bridge.Usage{
				Hour: hour.UTC(), Cluster: c.cluster, GPU: c.gpu, Seconds: seconds,
				Owned: r.owned * seconds, OwnedBusy: r.ownedBusy * seconds, Rented: r.rented * seconds, RentedBusy: r.rentedBusy * seconds,
				Waiting: r.waiting * seconds, Measured: r.measured * seconds, Useful: (r.useful*seconds + 500) / 1000,
			})
		}
	}
	slices.SortFunc(out, func(a, b bridge.Usage) int {
		return cmp.Or(a.Hour.Compare(b.Hour), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.GPU, b.GPU))
	})
	return out
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// machine is a rented one of a node's name.
type machine struct {
	rental   *bridge.Rental
	admitted bool
}

// counting adds one cluster at one moment.
type counting struct {
	rows        map[class]*row
	queue       *bridge.Queue
	rented      map[string]machine
	busy        map[string]bool // nodes that a job holds
	own         map[string]bool // classes of the cluster's own nodes
	utilisation map[string]int
}

func count(rows map[class]*row, q *bridge.Queue, rentals []bridge.Rental, utilisation map[string]int) {
	c := &counting{rows, q, machines(q.Cluster, rentals), map[string]bool{}, map[string]bool{}, utilisation}
	for i := range q.Runs {
		for _, n := range q.Runs[i].Nodes {
			c.busy[n] = true
		}
	}
	for i := range q.Nodes {
		c.node(&q.Nodes[i])
	}
	for i := range q.Demands {
		d := &q.Demands[i]
		if gpus := d.Shape.GPUs; gpus > 0 && (d.Standing == bridge.StandingHelps || d.Standing == bridge.StandingBehind) {
			c.of(asked(d.Shape.GPUType, c.own)).waiting += int64(gpus) * int64(d.Machines())
		}
	}
}

// of is the row of a class.
func (c *counting) of(gpu string) *row {
	key := class{c.queue.Cluster, gpu}
	if c.rows[key] == nil {
		c.rows[key] = &row{}
	}
	return c.rows[key]
}

// node adds one node. A rented one that is not admitted yet serves nobody, and a
// dynamic one that is of no use is what an ended rental left.
func (c *counting) node(n *bridge.Node) {
	m, ours := c.rented[n.Name]
	if ours {
		c.machine(n, m)
		return
	}
	gpus := int64(n.Shape.GPUs)
	if gpus <= 0 || n.Dynamic && !n.Usable {
		return
	}
	c.own[n.Shape.GPUType] = true
	r := c.of(n.Shape.GPUType)
	r.owned += gpus
	r.ownedBusy += allocated(n, gpus, c.busy[n.Name])
}

// machine adds the node of a rented machine.
func (c *counting) machine(n *bridge.Node, m machine) {
	gpus := int64(m.rental.Shape.GPUs)
	if gpus <= 0 || !m.admitted {
		return
	}
	r, used := c.of(m.rental.Shape.GPUType), allocated(n, gpus, c.busy[n.Name])
	r.rented += gpus
	r.rentedBusy += used
	if pm, known := c.utilisation[n.Name]; known {
		r.measured += used
		r.useful += used * int64(pm)
	}
}

// machines are the rented ones of a cluster, by node.
func machines(cluster string, rentals []bridge.Rental) map[string]machine {
	out := map[string]machine{}
	for i := range rentals {
		r := &rentals[i]
		if r.Cluster != cluster {
			continue
		}
		in := r.State == bridge.StateAdmitted || r.State == bridge.StateDraining
		for j := range r.Machines {
			m := &r.Machines[j]
			out[m.Node] = machine{r, in && (m.State == bridge.MachineJoined || m.State == bridge.MachineNoticed)}
		}
	}
	return out
}

// allocated is how many of a node's GPUs jobs hold. A node that takes no more
// jobs does not say; then all of them are the job's.
func allocated(n *bridge.Node, gpus int64, busy bool) int64 {
	switch {
	case !busy:
		return 0
	case !n.Usable, n.Free.CPUs == 0 && n.Free.MemoryMiB == 0 && n.Free.GPUs == 0:
		return gpus
	}
	return min(max(int64(n.Shape.GPUs-n.Free.GPUs), 0), gpus)
}

// asked is the class that a pending job counts in: its own, or that of the
// cluster's own nodes where it takes any and they have one only.
func asked(gpu string, classes map[string]bool) string {
	if gpu == "" && len(classes) == 1 {
		for c := range classes {
			return c
		}
	}
	return gpu
}

// Rented are the nodes of rented machines that are admitted, for which
// utilisation is wanted.
func Rented(s *bridge.Snapshot) []string {
	var out []string
	for i := range s.Queues {
		for node, m := range machines(s.Queues[i].Cluster, s.Rentals) {
			if m.admitted && m.rental.Shape.GPUs > 0 {
				out = append(out, node)
			}
		}
	}
	slices.Sort(out)
	return out
}
