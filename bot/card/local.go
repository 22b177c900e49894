package card

import (
	"strconv"
	"time"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bridge/desk"
)

// local says what the local queue would do instead, and who says so.
func (p Pen) local(l *desk.Local, now time.Time) []slack.Block {
	if l == nil {
		return nil
	}
	w := p.words()
	text, length := w.QueueWaits, seconds(l.Oldest)
	switch {
	case l.Source == desk.FromScheduler:
		text, length = w.QueueStarts, max(0, l.Start.Sub(now))
	case l.Waiting == 0:
		text = w.QueueFree
	}
	return []slack.Block{small(put(text, "cluster", escape(l.Cluster), "job", escape(string(l.Job)), "start", p.when(l.Start), "for", p.span(length),
		"n", strconv.Itoa(l.Waiting), "at", p.when(l.At)))}
}

// ifDenied says when the scheduler would start a question's jobs without it.
func (p Pen) ifDenied(q *desk.Question, now time.Time) string {
	l := q.Local
	if l == nil || l.Source != desk.FromScheduler {
		return ""
	}
	return put(p.words().QueueIfAt, "start", p.when(l.Start), "for", p.span(max(0, l.Start.Sub(now))))
}
