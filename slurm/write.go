package slurm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"

	"spillway.sh/spillway/bridge"
)

// Pauses between tries of a write that slurmctld puts off.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = time.Second
	putOffMost = 5 * time.Second
)

// putOff is the patience with a slurmctld that says "later": 24.11 does so at
// random.
type putOff struct{ pause, waited time.Duration }

// again reports whether an error means "later", after a pause; false when it
// does not, or when it did for long enough.
func (p *putOff) again(ctx context.Context, err error) bool {
	if !says(err, "temporarily unavailable", "try again") || p.waited >= putOffMost {
		return false
	}
	p.pause = min(max(2*p.pause, firstPause), lastPause)
	select {
	case <-ctx.Done():
		return false
	case <-time.After(p.pause):
		p.waited += p.pause
		return true
	}
}

// write runs a scontrol command that changes something. It repeats one that
// slurmctld puts off, and explains a lack of rights.
func (c *Cluster) write(ctx context.Context, args ...string) error {
	args = append([]string{"scontrol"}, args...)
	for later := (putOff{}); ; {
		if _, err := c.run(ctx, args...); !later.again(ctx, err) {
			return explained(err)
		}
	}
}

// script runs several changes in one scontrol, one after the other whether or
// not one before has failed. No argument may hold a space.
func (c *Cluster) script(ctx context.Context, commands ...[]string) error {
	var input strings.Builder
	for _, command := range commands {
		input.WriteString(strings.Join(command, " ") + "\n")
	}
	_, err := c.feed(ctx, input.String(), "scontrol")
	return explained(err)
}

// explained adds to a lack of rights what to do about it.
func explained(err error) error {
	if says(err, "access/permission denied", "invalid user id", "user not authorized") {
		return fmt.Errorf("%w (run Spillway as root, as SlurmUser, or as an account with AdminLevel=Administrator; see spillway doctor)", err)
	}
	return err
}

// records reads what the queue says of some jobs and arrays. It fails with
// bridge.ErrNoJob when nothing of them waits or runs.
func (c *Cluster) records(ctx context.Context, ids ...bridge.JobID) ([]job, error) {
	list := lo.Map(ids, func(id bridge.JobID, _ int) string { return string(id) })
	jobs, err := c.listJobs(ctx, "-j", strings.Join(list, ","))
	if says(err, "invalid job id") || err == nil && len(jobs) == 0 {
		return nil, fmt.Errorf("jobs %s: %w", ids, bridge.ErrNoJob)
	}
	return jobs, err
}

// showNodes reads the named nodes. Names that Slurm does not know are left out.
func (c *Cluster) showNodes(ctx context.Context, names []string) (map[string]node, error) {
	// All are read, since one unknown name among others fails the command.
	nodes, err := c.allNodes(ctx)
	maps.DeleteFunc(nodes, func(name string, _ node) bool { return !slices.Contains(names, name) })
	return nodes, err
}

// known returns those of the names that Slurm knows, sorted.
func known(names []string, nodes map[string]node) []string {
	var out []string
	for _, name := range names {
		if _, ok := nodes[name]; ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ownNodes refuses names that do not follow from the rental: nothing of
// anybody else is ever changed.
func ownNodes(r *bridge.Rental, names []string) error {
	for _, name := range names {
		if !strings.HasPrefix(name, bridge.PartitionName(r.ID)+"-") {
			return fmt.Errorf("node %s is not of rental %s", name, r.ID)
		}
	}
	return nil
}

// plain makes a text fit for one value of a scontrol command and one line of
// its output.
func plain(text string) string {
	text = strings.Map(func(c rune) rune {
		switch {
		case c == '"' || c == '\'':
			return '\''
		case c < ' ' || c == 0x7f:
			return ' '
		}
		return c
	}, text)
	return strings.TrimSpace(text)
}

// reasonFor is a text with our prefix, once.
func reasonFor(why string) string {
	return plain(Prefix + strings.TrimPrefix(why, Prefix))
}
