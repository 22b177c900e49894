package slurm

import (
	"context"
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

// Admit makes the rental's overlay partition hold exactly the given nodes, all
// in one call, and reads it back. It writes nothing when it does already.
func (c *Cluster) Admit(ctx context.Context, r *bridge.Rental, nodes []string) error {
	name := bridge.PartitionName(r.ID)
	if err := ownNodes(r, nodes); err != nil {
		return fmt.Errorf("admit into %s: %w", name, err)
	}
	c.door.Lock()
	defer c.door.Unlock()
	partitions, err := c.readPartitions(ctx)
	if err != nil {
		return fmt.Errorf("admit into %s: %w", name, err)
	}
	if partitions[name].holds(nodes) {
		return nil
	}
	if err := c.write(ctx, admission(r, partitions, nodes)...); err != nil {
		return fmt.Errorf("admit into %s: %w", name, err)
	}
	if partitions, err = c.readPartitions(ctx); err != nil {
		return fmt.Errorf("admit into %s: %w", name, err)
	}
	if p := partitions[name]; !p.holds(nodes) {
		return fmt.Errorf("admit into %s: it holds %v in state %s after the call", name, p.Nodes, p.Record["State"])
	}
	return nil
}

// holds reports whether an overlay has exactly these nodes and its door closed.
func (p partition) holds(nodes []string) bool {
	return p.Record != nil && p.Record["State"] == closed && joinHosts(p.Nodes) == joinHosts(nodes)
}

// admission is the command that makes or changes an overlay.
func admission(r *bridge.Rental, partitions map[string]partition, nodes []string) []string {
	name := bridge.PartitionName(r.ID)
	if _, exists := partitions[name]; exists {
		return []string{"update", "PartitionName=" + name, "State=" + closed, "Nodes=" + joinHosts(nodes)}
	}
	args := []string{"create", "PartitionName=" + name, "MaxTime=INFINITE", "State=" + closed, "Nodes=" + joinHosts(nodes)}
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
// the overlay goes too. It fails with bridge.ErrBusy while a job holds one of
// them. A node that is gone already is fine. The nodes are drained first, so
// that no job starts in the middle; a busy one stays drained.
func (c *Cluster) Dismiss(ctx context.Context, r *bridge.Rental, nodes []string) error {
	name := bridge.PartitionName(r.ID)
	err := ownNodes(r, nodes)
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
		return fmt.Errorf("dismiss %s from %s: %w", joinHosts(nodes), name, err)
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

func busy(nodes map[string]bridge.Node) error {
	for _, n := range nodes {
		if hasAny(n.States, "ALLOCATED", "MIXED", "COMPLETING") {
			return fmt.Errorf("node %s: %w", n.Name, bridge.ErrBusy)
		}
	}
	return nil
}

// shrink takes nodes out of the overlay, and the overlay away with the last.
func (c *Cluster) shrink(ctx context.Context, r *bridge.Rental, nodes []string) error {
	partitions, err := c.readPartitions(ctx)
	if err != nil {
		return err
	}
	p, exists := partitions[bridge.PartitionName(r.ID)]
	if !exists {
		return nil
	}
	rest := slices.DeleteFunc(slices.Clone(p.Nodes), func(n string) bool { return slices.Contains(nodes, n) })
	switch {
	case len(rest) == 0:
		return c.deletePartition(ctx, r, p)
	case len(rest) < len(p.Nodes):
		return c.write(ctx, "update", "PartitionName="+p.Name, "Nodes="+joinHosts(rest))
	}
	return nil
}

// deletePartition deletes an overlay. Jobs that may still use it get their own
// partitions back; 22.05 does that by itself, later versions refuse.
func (c *Cluster) deletePartition(ctx context.Context, r *bridge.Rental, p partition) error {
	err := c.write(ctx, "delete", "PartitionName="+p.Name)
	if says(err, "partition is in use") {
		jobs, listErr := c.listJobs(ctx, "-p", p.Name)
		if listErr != nil {
			return listErr
		}
		for i := range jobs {
			if !jobs[i].pending() {
				return fmt.Errorf("job %s is in it: %w", jobs[i].ID, bridge.ErrBusy)
			}
			if err := c.Unroute(ctx, r, jobs[i].ID); err != nil {
				return err
			}
		}
		err = c.write(ctx, "delete", "PartitionName="+p.Name)
	}
	if says(err, "invalid partition name") {
		return nil // somebody else was faster
	}
	return err
}

// deleteNodes deletes those of the nodes that exist and are dynamic, in one
// call, and reads back that they are gone.
func (c *Cluster) deleteNodes(ctx context.Context, names []string) error {
	nodes, err := c.showNodes(ctx, names)
	if err != nil {
		return err
	}
	there := known(names, nodes)
	if len(there) == 0 {
		return nil
	}
	for _, name := range there {
		if !nodes[name].Dynamic {
			return fmt.Errorf("node %s stands in slurm.conf", name)
		}
	}
	wrote := c.write(ctx, "delete", "NodeName="+joinHosts(there))
	if nodes, err = c.showNodes(ctx, names); err != nil {
		return err
	}
	if len(nodes) == 0 {
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
