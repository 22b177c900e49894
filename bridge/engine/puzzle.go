package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"spillway.sh/spillway/bridge"
)

// puzzle is a word of a cloud in answer to a create that its driver knows no
// meaning of: neither yes nor no.
type puzzle struct {
	cause error
	code  string
	times int       // in a row
	at    time.Time // the last
}

// puzzleTimes is how often a cloud says the same unknown word before its pool
// is left for another.
const puzzleTimes = 3

// puzzle counts an answer that says neither yes nor no. No answer at all is
// none: the cloud may be at work.
func (m *memory) puzzle(c *cycle, r *bridge.Rental, cause error) {
	ce, ok := errors.AsType[*bridge.CloudError](cause)
	if !ok || ce.Code == "" {
		delete(m.puzzles, r.ID)
		return
	}
	p := m.puzzles[r.ID]
	if p.code != ce.Code {
		p = puzzle{code: ce.Code}
	}
	p.cause, p.at = cause, c.now
	p.times++
	m.puzzles[r.ID] = p
}

// baffled reports whether a launch leads nowhere: its cloud said the same
// unknown word again and again to the same call, and lists nothing of it since.
// It may have made machines all the same; as long as it might, the launch stays
// in the books. Until then nothing is launched elsewhere for the same demand.
func (e *Engine) baffled(c *cycle, r *bridge.Rental) bool {
	p := e.memory.puzzles[r.ID]
	list := c.lists[r.Pool.Cloud]
	if p.times < puzzleTimes || list == nil || !list.Complete || !list.At.After(p.at) || e.calls.busy("create/"+string(r.ID)) || len(named(r)) > 0 {
		return false
	}
	for _, in := range list.near(r) {
		if e.ours(r, &in) {
			return false
		}
	}
	return true
}

// goElsewhere leaves a launch that leads nowhere: its pool rests, the demand is
// free for the next one. What turns up of it later is ended, and its books stay
// open until lists prove that nothing does.
func (e *Engine) goElsewhere(ctx context.Context, c *cycle, r *bridge.Rental) error {
	p := e.memory.puzzles[r.ID]
	if err := move(r, bridge.EventLate, bridge.ReasonUnknown, c.now); err != nil {
		return err
	}
	n := c.tell(bridge.NewsReleasing, r)
	n.Text = fmt.Sprintf("its cloud gives no answer that can be understood and lists nothing of it, so another pool is asked: %s", p.cause)
	c.again = true
	return errors.Join(e.save(ctx, c, r, n), e.poolDown(ctx, c, r.Pool, bridge.CloudUnknown, p.cause))
}
