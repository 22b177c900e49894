package slurm

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"spillway.sh/spillway/bridge"
)

// An overlay is the partition in which a rental's machines are offered. It is
// one of those that slurm.conf declares for this, sw-1 and up, empty and
// closed: partitions made at run time are lost when slurmctld restarts, and
// Slurm then ends the jobs that run in them for good. Only where none is
// declared free is one made at run time, named after the rental.
//
// Which rental a declared overlay serves is written nowhere but in Slurm: it
// holds the rental's nodes, and the nodes' comments name it, which outlives a
// restart. To the engine every overlay bears the name bridge.PartitionName.

// declared matches the names of overlays in slurm.conf. No rental's id is that short.
var declared = regexp.MustCompile(`^sw-[0-9]{1,3}$`)

// tenancy begins the comment of a node in a declared overlay.
const tenancy = "spillway:overlay:"

// isOverlay reports whether a partition is one of ours, by its name: the check
// character of ids keeps a site's own "sw-lab" out.
func isOverlay(partition string) bool {
	return declared.MatchString(partition) || tenantByName(partition) != ""
}

// tenantByName is the rental that a partition made at run time is named after.
func tenantByName(partition string) bridge.RentalID {
	rest, found := strings.CutPrefix(partition, "sw-")
	if !found || declared.MatchString(partition) {
		return ""
	}
	id, err := bridge.ParseRentalID("r-" + rest)
	if err != nil || bridge.PartitionName(id) != partition {
		return ""
	}
	return id
}

// tenantOfNode is the rental that a node is named after.
func tenantOfNode(name string) bridge.RentalID {
	at := strings.LastIndexByte(name, '-')
	if at < 0 {
		return ""
	}
	return tenantByName(name[:at])
}

// tenants tells which rental each overlay serves.
func tenants(nodes map[string]node, partitions map[string]partition) map[string]bridge.RentalID {
	out := map[string]bridge.RentalID{}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		overlay, found := strings.CutPrefix(nodes[name].comment, tenancy)
		if tenant := tenantOfNode(name); found && tenant != "" && declared.MatchString(overlay) {
			out[overlay] = tenant
		}
	}
	for name, p := range partitions {
		if tenant := tenantByName(name); tenant != "" {
			out[name] = tenant
		}
		if !declared.MatchString(name) {
			continue
		}
		for _, n := range p.Nodes {
			if tenant := tenantOfNode(n); tenant != "" {
				out[name] = tenant
			}
		}
	}
	return out
}

// shown is the name of a partition to the engine.
func shown(partition string, tenants map[string]bridge.RentalID) string {
	if tenant := tenants[partition]; tenant != "" {
		return bridge.PartitionName(tenant)
	}
	return partition
}

// splitOverlays tells the partitions a job was submitted to from overlays that
// were added to them.
func splitOverlays(list string, tenants map[string]bridge.RentalID) (origin string, overlays []string) {
	var own []string
	for name := range strings.SplitSeq(list, ",") {
		if isOverlay(name) {
			overlays = append(overlays, shown(name, tenants))
		} else {
			own = append(own, name)
		}
	}
	return strings.Join(own, ","), overlays
}

// overlays lists our partitions and their nodes. One whose door was left open,
// by a crash in the middle of Route, is shown without nodes: then it is
// admitted anew.
func overlays(partitions map[string]partition, tenants map[string]bridge.RentalID) map[string][]string {
	out := map[string][]string{}
	for name, tenant := range tenants {
		p, exists := partitions[name]
		if !exists {
			continue
		}
		out[bridge.PartitionName(tenant)] = nil
		if p.Record["State"] == closed {
			out[bridge.PartitionName(tenant)] = p.Nodes
		}
	}
	return out
}

// overlayOf returns the partition that serves the rental; empty if none does.
func (c *Cluster) overlayOf(ctx context.Context, r *bridge.Rental) (string, error) {
	c.mu.Lock()
	name := c.overlays[r.ID]
	c.mu.Unlock()
	if name != "" {
		return name, nil
	}
	nodes, err := c.allNodes(ctx)
	if err != nil {
		return "", err
	}
	partitions, err := c.readPartitions(ctx)
	if err != nil {
		return "", err
	}
	return c.find(r, tenants(nodes, partitions)), nil
}

// find looks the rental's overlay up and remembers it.
func (c *Cluster) find(r *bridge.Rental, tenants map[string]bridge.RentalID) string {
	for name, tenant := range tenants {
		if tenant == r.ID {
			c.serve(r, name)
			return name
		}
	}
	return ""
}

func (c *Cluster) serve(r *bridge.Rental, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.overlays[r.ID] != name {
		c.overlays[r.ID] = name
		c.edits++
	}
}

func (c *Cluster) forget(r *bridge.Rental) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.overlays, r.ID)
	c.edits++
}

// choose takes a declared overlay that is empty, serves nobody and is in no
// job's partition list, so that nobody is let in by an old permission. Without
// one the rental gets a partition of its own, made at run time.
func (c *Cluster) choose(ctx context.Context, r *bridge.Rental, partitions map[string]partition, tenants map[string]bridge.RentalID) (string, error) {
	jobs, err := c.listJobs(ctx)
	if err != nil {
		return "", err
	}
	taken := map[string]bool{}
	for i := range jobs {
		for name := range strings.SplitSeq(jobs[i].Partition, ",") {
			taken[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(partitions)) {
		if declared.MatchString(name) && !taken[name] && tenants[name] == "" && len(partitions[name].Nodes) == 0 {
			return name, nil
		}
	}
	name := bridge.PartitionName(r.ID)
	c.options.Log.Warn("no declared overlay partition is free; one is made at run time, and its running jobs end if slurmctld restarts: see spillway doctor",
		"cluster", c.options.Name, "rental", r.ID, "partition", name)
	return name, nil
}

// tie is the command that writes the overlay into the comments of the nodes,
// where it outlives slurmctld; nil when it stands there.
func tie(overlay string, names []string, nodes map[string]node) ([]string, error) {
	if !declared.MatchString(overlay) {
		return nil, nil
	}
	var todo []string
	for _, name := range names {
		n, exists := nodes[name]
		if !exists {
			return nil, fmt.Errorf("node %s is not registered", name)
		}
		if n.comment != tenancy+overlay {
			todo = append(todo, name)
		}
	}
	if len(todo) == 0 {
		return nil, nil
	}
	return []string{"update", "NodeName=" + joinHosts(todo), "Comment=" + tenancy + overlay}, nil
}
