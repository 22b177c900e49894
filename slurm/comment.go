package slurm

import (
	"context"
	"fmt"
	"strings"

	"spillway.sh/spillway/bridge"
)

// commentMost bounds an admin comment, in bytes.
const commentMost = 400

// Comment writes an explanation into the job's admin comment, where scontrol
// show job prints it to its owner. It writes only what changed, and leaves an
// admin comment alone that is not ours. An empty text takes ours away.
func (c *Cluster) Comment(ctx context.Context, id bridge.JobID, text string) error {
	want := ""
	if text != "" {
		want = strings.ToValidUTF8(clip(reasonFor(text), commentMost), "")
	}
	have := c.commentOf(id)
	if have == want || have != "" && !strings.HasPrefix(have, Prefix) {
		return nil
	}
	err := c.write(ctx, "update", "JobId="+string(id), "AdminComment="+want)
	if noJob(err) {
		return fmt.Errorf("comment on job %s: %w", id, bridge.ErrNoJob)
	}
	if err != nil {
		return fmt.Errorf("comment on job %s: %w", id, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.comments[id] = want
	return nil
}

// commentOf is the job's admin comment as of the latest cycle.
func (c *Cluster) commentOf(id bridge.JobID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.comments[id]
}
