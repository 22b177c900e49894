package engine

import (
	"context"

	"spillway.sh/spillway/bridge"
)

// urge asks approvers once more about a question that is still open: half way
// to its end, and again, together with the escalation, when a quarter of its
// time is left. Each is told once, whatever restarts come between.
func (e *Engine) urge(ctx context.Context, c *cycle, r *bridge.Rental) error {
	kind := bridge.NewsReminded
	switch {
	case r.Escalated.IsZero() && c.over(r.EscalateAt()):
		kind, r.Escalated = bridge.NewsEscalated, c.now
		r.Reminded = later(r.Reminded, c.now)
	case r.Reminded.IsZero() && c.over(r.RemindAt()):
		r.Reminded = c.now
	default:
		return nil
	}
	news := c.tell(kind, r)
	news.Cost, news.Digest = r.Hold, r.Digest
	return e.save(ctx, c, r, news)
}
