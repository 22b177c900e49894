package slurmctl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// setting is one Key=Value of a change.
type setting struct{ key, value string }

// settings reads the words of a change. A word without "=" ends a value that
// held a space.
func settings(words []string) []setting {
	var out []setting
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		out = append(out, setting{key, value})
	}
	return out
}

// change is scontrol update, create or delete.
func (c *Controller) change(a *answer, verb string, words []string) []request {
	all := settings(words)
	if len(all) == 0 {
		a.unknown(append([]string{"scontrol", verb}, words...)...)
		return nil
	}
	what, name, rest := all[0].key, all[0].value, all[1:]
	known := map[string]func() []request{
		"update NodeName":      func() []request { return c.updateNodes(a, name, rest) },
		"update PartitionName": func() []request { return c.setPartition(a, verb, name, rest) },
		"create PartitionName": func() []request { return c.setPartition(a, verb, name, rest) },
		"update JobId":         func() []request { return c.updateJob(a, name, rest) },
		"delete NodeName": func() []request {
			return []request{{do: func(a *answer) { c.deleteNodes(a, name) }, trouble: "delete_node NodeName=" + name + ": %s"}}
		},
		"delete PartitionName": func() []request {
			return []request{{do: func(a *answer) { c.deletePartition(a, name) }, trouble: "delete_partition PartitionName=" + name + ": %s"}}
		},
	}
	read := known[verb+" "+what]
	if read == nil || name == "" || strings.HasPrefix(verb, "delete") && len(rest) > 0 {
		a.unknown(append([]string{"scontrol", verb}, words...)...)
		return nil
	}
	return read()
}

// updateNodes is scontrol update NodeName.
func (c *Controller) updateNodes(a *answer, list string, rest []setting) []request {
	var state, reason string
	var comment *string
	for _, s := range rest {
		switch s.key {
		case "State":
			state = s.value
		case "Reason":
			reason = s.value
		case "Comment":
			comment = &s.value
		default:
			a.unknown("scontrol update NodeName= " + s.key + "=" + s.value)
			return nil
		}
	}
	switch state {
	case "", "DRAIN", "DOWN":
		if state != "" && reason == "" {
			a.fail("You must specify a reason when DOWNING or DRAINING a node. Request denied")
			return nil
		}
	case "UNDRAIN", "RESUME":
	default:
		a.unknown("scontrol update NodeName= State=" + state)
		return nil
	}
	return []request{{do: func(a *answer) { c.setNodes(a, list, state, reason, comment) }, trouble: "slurm_update error: %s"}}
}

func (c *Controller) setNodes(a *answer, list, state, reason string, comment *string) {
	c.count("REQUEST_UPDATE_NODE")
	now := c.at
	c.look(now)
	for _, name := range expand(list) {
		n := c.nodes[name]
		if n == nil { // Those before it are changed.
			a.fail("slurm_update error: Invalid node name specified")
			return
		}
		if state == "RESUME" && !n.drained && !n.down {
			a.fail("slurm_update error: Invalid node state specified")
			continue
		}
		if comment != nil {
			n.comment = *comment
		}
		if reason != "" {
			n.reason, n.reasonAt = reason, now
		}
		switch state {
		case "DRAIN":
			n.drained = true
		case "DOWN":
			if !n.down {
				c.setDown(n, now)
			}
		case "UNDRAIN", "RESUME":
			n.drained, n.reason = false, ""
			n.down = n.down && state == "UNDRAIN"
			n.asked, n.askedAt = true, now
		}
	}
}

// partitionStates are those that a partition can have.
var partitionStates = []string{"UP", "DRAIN", "DOWN", "INACTIVE"}

// setPartition is scontrol update or create PartitionName.
func (c *Controller) setPartition(a *answer, verb, name string, rest []setting) []request {
	trouble := "slurm_update error: %s"
	if verb == "create" {
		trouble = "Error creating the partition: %s"
	}
	for _, s := range rest {
		_, err := strconv.Atoi(s.value)
		switch s.key {
		case "MaxTime":
			err = nil
			if s.value != "INFINITE" {
				err = fmt.Errorf("a limit")
			}
		case "State":
			err = nil
			if !slices.Contains(partitionStates, s.value) {
				err = fmt.Errorf("a state")
			}
		case "Nodes":
			err = nil
		case "OverSubscribe":
			err = nil
			if s.value != "NO" && s.value != "EXCLUSIVE" {
				err = fmt.Errorf("sharing")
			}
		case "PriorityTier", "PriorityJobFactor":
		default:
			err = fmt.Errorf("unknown")
		}
		if err != nil {
			a.unknown("scontrol " + verb + " PartitionName= " + s.key + "=" + s.value)
			return nil
		}
	}
	return []request{{do: func(a *answer) { c.editPartition(a, verb, name, trouble, rest) }, trouble: trouble}}
}

func (c *Controller) editPartition(a *answer, verb, name, trouble string, rest []setting) {
	c.count("REQUEST_UPDATE_PARTITION")
	p := c.partition(name)
	if (p == nil) != (verb == "create") {
		a.fail(trouble, "Invalid partition name specified")
		return
	}
	c.look(c.at)
	if p == nil {
		p = &partition{Name: name, priority: 1, factor: 1, state: "UP", sharing: "NO", least: 1}
		c.partitions = append(c.partitions, p)
	}
	for _, s := range rest {
		number, _ := strconv.Atoi(s.value)
		switch s.key {
		case "MaxTime":
			p.maxTime = 0
		case "State":
			p.state = s.value
		case "PriorityTier":
			p.priority = number
		case "PriorityJobFactor":
			p.factor = number
		case "OverSubscribe":
			p.sharing = s.value
		}
	}
	// Nodes come last: where one is not known, the rest is done.
	for _, s := range rest {
		if s.key != "Nodes" {
			continue
		}
		names := expand(s.value)
		if slices.ContainsFunc(names, func(n string) bool { return c.nodes[n] == nil }) {
			a.fail(trouble, "Invalid node name specified")
			return
		}
		// Slurm keeps the order of its node table.
		p.nodes = slices.DeleteFunc(slices.Clone(c.names), func(n string) bool { return !slices.Contains(names, n) })
	}
}

func (c *Controller) deletePartition(a *answer, name string) {
	c.count("REQUEST_DELETE_PARTITION")
	if c.partition(name) == nil {
		a.fail("delete_partition PartitionName=%s: Invalid partition name specified", name)
		return
	}
	for _, j := range c.active {
		if !j.ended() && slices.Contains(j.partition, name) {
			a.fail("delete_partition PartitionName=%s: Partition is in use", name)
			return
		}
	}
	c.partitions = slices.DeleteFunc(c.partitions, func(p *partition) bool { return p.Name == name })
}

func (c *Controller) deleteNodes(a *answer, list string) {
	c.count("REQUEST_DELETE_NODE")
	var bad []string
	why := ""
	for _, name := range expand(list) {
		switch n := c.nodes[name]; {
		case n == nil:
			bad, why = append(bad, name), "Invalid node name specified"
		case len(n.jobs) > 0 || n.reserved:
			bad, why = append(bad, name), "Requested nodes are busy"
		default:
			c.dropNode(name)
		}
	}
	if bad != nil {
		a.fail("scontrol: error: failed to delete nodes %s\ndelete_node NodeName=%s: %s", compress(bad), list, why)
	}
}
