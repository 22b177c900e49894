package slurm

import "slices"

// deletable are those of the nodes that exist and whose records may go now: the
// others do not answer, and that is not known for long enough.
func (c *Cluster) deletable(names []string, nodes map[string]node) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.options.Now()
	return slices.DeleteFunc(known(names, nodes), func(name string) bool {
		if !hasAny(nodes[name].States, silent...) {
			return false
		}
		if _, since := c.silent[name]; !since {
			c.silent[name] = now
		}
		return now.Sub(c.silent[name]) < c.options.Silence
	})
}

// allSilent reports whether all of the nodes were dismissed already and are only
// waited for.
func (c *Cluster) allSilent(names []string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.options.Now()
	return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool {
		at, ok := c.silent[name]
		return !ok || now.Sub(at) >= c.options.Silence
	})
}

// spoke forgets nodes whose records are gone.
func (c *Cluster) spoke(names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names {
		delete(c.silent, name)
	}
}
