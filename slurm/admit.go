package slurm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"spillway.sh/spillway/bridge"
)

// copied are the attributes of the jobs' own partition that its overlay has
// too, so that a job's place in the queue and its sharing do not change.
var copied = []string{"PriorityJobFactor", "PriorityTier", "OverSubscribe", "TRESBillingWeights"}

// closed is the state of an overlay: jobs that were let in start, no other job
// gets in. RootOnly would be no use, since slurmctld then refuses to start the
// jobs of ordinary users there, whoever routed them.
const closed = "DRAIN"

// Admit makes the rental's overlay hold exactly the given nodes, all in one
// call, and reads it back. It writes nothing when it does already.
func (c *Cluster) Admit(ctx context.Context, r *bridge.Rental, nodes []string) error {
	if err := c.admit(ctx, r, nodes); err != nil {
		return fmt.Errorf("admit %s to rental %s: %w", joinHosts(nodes), r.ID, err)
	}
	return nil
}

func (c *Cluster) admit(ctx context.Context, r *bridge.Rental, names []string) error {
	if err := ownNodes(r, names); err != nil {
		return err
	}
	c.door.Lock()
	defer c.door.Unlock()
	nodes, err := c.allNodes(ctx)
	if err != nil {
		return err
	}
	partitions, err := c.readPartitions(ctx)
	if err != nil {
		return err
	}
	tenants := tenants(nodes, partitions)
	overlay := c.find(r, tenants)
	if overlay == "" {
		if overlay, err = c.choose(ctx, r, partitions, tenants); err != nil {
			return err
		}
	}
	if partitions[overlay].holds(names) {
		return nil
	}
	comment, err := tie(overlay, names, nodes)
	if err != nil {
		return err
	}
	commands := [][]string{admission(r, overlay, partitions, names)}
	if comment != nil {
		commands = slices.Insert(commands, 0, comment) // first: a door without a name belongs to nobody
	}
	if err := c.script(ctx, commands...); err != nil {
		return err
	}
	c.serve(r, overlay)
	if partitions, err = c.readPartitions(ctx); err != nil {
		return err
	}
	if p := partitions[overlay]; !p.holds(names) {
		return fmt.Errorf("partition %s holds %v in state %s after the call", overlay, p.Nodes, p.Record["State"])
	}
	return nil
}

// holds reports whether an overlay has exactly these nodes and its door closed.
func (p partition) holds(nodes []string) bool {
	return p.Record != nil && p.Record["State"] == closed && joinHosts(p.Nodes) == joinHosts(nodes)
}

// admission is the command that makes or changes an overlay.
func admission(r *bridge.Rental, overlay string, partitions map[string]partition, nodes []string) []string {
	verb := "create"
	if _, exists := partitions[overlay]; exists {
		verb = "update"
	}
	args := []string{verb, "PartitionName=" + overlay, "MaxTime=INFINITE", "State=" + closed, "Nodes=" + joinHosts(nodes)}
	origin := originOf(r, partitions)
	for _, key := range copied {
		if value := origin.Record[key]; !absent(value) {
			args = append(args, key+"="+value)
		}
	}
	return args
}

// originOf is the partition that the rental's jobs were sent to; of several
// the first, of none the cluster's default.
func originOf(r *bridge.Rental, partitions map[string]partition) partition {
	for _, name := range words(r.Origin) {
		if p, ok := partitions[name]; ok {
			return p
		}
	}
	for _, p := range partitions {
		if p.Record["Default"] == "YES" {
			return p
		}
	}
	return partition{}
}

// Dismiss takes nodes out of the overlay and deletes them; with the last node
// the overlay is given up. It fails with bridge.ErrBusy while a job holds one
// of them. A node that is gone already is fine. The nodes are drained first, so
// that no job starts in the middle; a busy one stays drained. The record of one
// that does not answer stays for a while, out of every partition: dismissing it
// again later deletes it.
func (c *Cluster) Dismiss(ctx context.Context, r *bridge.Rental, nodes []string) error {
	err := ownNodes(r, nodes)
	if err == nil && c.allSilent(nodes) {
		return nil
	}
	if err == nil {
		err = c.idle(ctx, nodes)
	}
	if err == nil {
		err = c.shrink(ctx, r, nodes)
	}
	if err == nil {
		err = c.deleteNodes(ctx, nodes)
	}
	if err != nil {
		return fmt.Errorf("dismiss %s of rental %s: %w", joinHosts(nodes), r.ID, err)
	}
	return nil
}

// idle drains the nodes and makes sure that no job holds one, before and after.
func (c *Cluster) idle(ctx context.Context, names []string) error {
	nodes, err := c.showNodes(ctx, names)
	if err != nil {
		return err
	}
	if err := busy(nodes); err != nil {
		return err
	}
	var open []string
	for _, name := range known(names, nodes) {
		if n := nodes[name]; n.Usable {
			open = append(open, name)
		}
	}
	if len(open) == 0 {
		return nil
	}
	if err := c.write(ctx, "update", "NodeName="+joinHosts(open), "State=DRAIN", "Reason="+reasonFor("dismissed")); err != nil {
		return err
	}
	if nodes, err = c.showNodes(ctx, names); err != nil {
		return err
	}
	return busy(nodes)
}

func busy(nodes map[string]node) error {
	for _, n := range nodes {
		if hasAny(n.States, "ALLOCATED", "MIXED", "COMPLETING") {
			return fmt.Errorf("node %s: %w", n.Name, bridge.ErrBusy)
		}
	}
	return nil
}

// shrink takes nodes out of the overlay, and gives the overlay up with the last.
func (c *Cluster) shrink(ctx context.Context, r *bridge.Rental, nodes []string) error {
	overlay, err := c.overlayOf(ctx, r)
	if err != nil || overlay == "" {
		return err
	}
	partitions, err := c.readPartitions(ctx)
	if err != nil {
		return err
	}
	p, exists := partitions[overlay]
	if !exists {
		c.forget(r)
		return nil
	}
	rest := slices.DeleteFunc(slices.Clone(p.Nodes), func(n string) bool { return slices.Contains(nodes, n) })
	switch {
	case len(rest) == 0:
		return c.giveUp(ctx, r, overlay)
	case len(rest) < len(p.Nodes):
		return c.write(ctx, "update", "PartitionName="+overlay, "Nodes="+joinHosts(rest))
	}
	return nil
}

// giveUp empties a declared overlay and deletes one made at run time. Jobs that
// may still use it get their own partitions back first: the next rental that it
// serves is not theirs.
func (c *Cluster) giveUp(ctx context.Context, r *bridge.Rental, overlay string) error {
	jobs, err := c.listJobs(ctx, "-p", overlay)
	if err != nil {
		return err
	}
	for i := range jobs {
		if !jobs[i].pending() {
			return fmt.Errorf("job %s is in partition %s: %w", jobs[i].ID, overlay, bridge.ErrBusy)
		}
		if err := c.evict(ctx, r, overlay, jobs[i].ID); err != nil && !errors.Is(err, bridge.ErrNoJob) {
			return err
		}
	}
	args := []string{"update", "PartitionName=" + overlay, "State=" + closed, "Nodes="}
	if !declared.MatchString(overlay) {
		args = []string{"delete", "PartitionName=" + overlay}
	}
	if err := c.write(ctx, args...); err != nil && !says(err, "invalid partition name") {
		return err
	}
	c.forget(r)
	return nil
}

// deleteNodes deletes those of the nodes that exist and are dynamic, in one
// call, and reads back that they are gone.
func (c *Cluster) deleteNodes(ctx context.Context, names []string) error {
	nodes, err := c.showNodes(ctx, names)
	if err != nil {
		return err
	}
	for _, name := range known(names, nodes) {
		if !nodes[name].Dynamic {
			return fmt.Errorf("node %s stands in slurm.conf", name)
		}
	}
	names = c.deletable(names, nodes)
	if len(names) == 0 {
		return nil
	}
	wrote := c.write(ctx, "delete", "NodeName="+joinHosts(names))
	if nodes, err = c.showNodes(ctx, names); err != nil {
		return err
	}
	if len(nodes) == 0 {
		c.spoke(names)
		return nil
	}
	if err := busy(nodes); err != nil {
		return err
	}
	if wrote == nil || says(wrote, "busy") {
		return fmt.Errorf("%s still there: %w", joinHosts(known(names, nodes)), bridge.ErrBusy)
	}
	return wrote
}
