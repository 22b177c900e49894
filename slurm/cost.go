package slurm

import (
	"context"
	"regexp"
	"strconv"
	"time"
)

// costEvery is how long what a read costs is believed.
const costEvery = time.Minute

// rpcCost matches a line of sdiag: a kind of request, how many there were, and
// their average time in microseconds.
var rpcCost = regexp.MustCompile(`(?m)^\s*(REQUEST_\w+)\s+\(\s*\d+\)\s+count:(\d+)\s+ave_time:(\d+)`)

// reads are the requests that one observation makes.
var reads = map[string]bool{"REQUEST_JOB_INFO": true, "REQUEST_NODE_INFO": true, "REQUEST_PARTITION_INFO": true}

// cost is the time that one observation keeps slurmctld busy, as its own
// averages say; zero when it does not say.
func (c *Cluster) cost(ctx context.Context, now time.Time) time.Duration {
	c.mu.Lock()
	cost, fresh := c.priced, now.Sub(c.pricedAt) < costEvery && !now.Before(c.pricedAt)
	c.mu.Unlock()
	if fresh {
		return cost
	}
	out, err := c.run(ctx, "sdiag")
	if err != nil {
		return cost // Some sites keep sdiag from us; the last figure serves on.
	}
	cost = parseCost(out)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.priced, c.pricedAt = cost, now
	return cost
}

// parseCost sums the averages of the requests that one observation makes.
func parseCost(sdiag []byte) time.Duration {
	var sum time.Duration
	for _, m := range rpcCost.FindAllSubmatch(sdiag, -1) {
		if !reads[string(m[1])] {
			continue
		}
		if us, err := strconv.ParseInt(string(m[3]), 10, 64); err == nil {
			sum += time.Duration(us) * time.Microsecond
		}
	}
	return sum
}
