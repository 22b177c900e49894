package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
)

// deliver brings what is in the box to Slack, the most urgent first, until ctx
// ends; calls under way are finished.
func (b *Bot) deliver(ctx context.Context) error {
	longer, end := outlive(ctx)
	defer end()
	var air sync.WaitGroup
	defer air.Wait()
	var list []bridge.Parcel
	for {
		if b.outbox.stale() {
			fresh, err := b.o.Box.Parcels(ctx, listMost)
			if err != nil && ctx.Err() == nil {
				b.log.WarnContext(ctx, "the box cannot be read", "error", err)
				b.outbox.nudge()
			}
			if err == nil {
				list = fresh
			}
		}
		var next time.Duration
		list, next = b.launch(longer, &air, list)
		t := time.NewTimer(next)
		select {
		case <-ctx.Done():
			t.Stop()
			return over(ctx)
		case <-b.outbox.wake:
			t.Stop()
		case <-t.C:
		}
	}
}

func (b *Bot) measure(list []bridge.Parcel) {
	n := map[int]float64{}
	for i := range list {
		n[list[i].Lane]++
	}
	for lane := range 4 {
		b.figure.outbox.WithLabelValues(strconv.Itoa(lane)).Set(n[lane])
	}
}

// lookAgain is how often the outbox is looked at when nothing stirs.
const lookAgain = 30 * time.Second

// launch starts every call that may be made now, and returns what is left and
// when to look again.
func (b *Bot) launch(ctx context.Context, air *sync.WaitGroup, list []bridge.Parcel) (left []bridge.Parcel, next time.Duration) {
	now, next := b.o.Clock(), lookAgain
	list = b.outbox.waiting(list)
	b.measure(list)
	cards := map[string]bool{} // that wait: what hangs under them waits too
	for i := range list {
		if list[i].Surface == string(talk.Card) {
			cards[list[i].Target] = true
		}
	}
	held := map[string]bool{}  // targets of which an earlier one waits: order is kept
	paced := map[string]bool{} // kinds of which an earlier one waits for Slack's limits
	for i := range list {
		p := list[i]
		if (p.Surface == string(talk.Thread) || p.Surface == string(talk.Upload)) && cards[p.Target] {
			continue
		}
		if paced[kindOf(&p)] && !b.outbox.knows(p.ID) {
			held[p.Target] = true
			continue
		}
		until, limited := b.hold(&p, now, held)
		if limited {
			paced[kindOf(&p)] = true
		}
		if until.IsZero() {
			air.Go(func() { b.fly(ctx, p) })
		} else {
			next = min(next, max(until.Sub(now), time.Millisecond))
		}
		held[p.Target] = true
	}
	return list, next
}

// kindOf groups parcels that most likely need the same call in the same
// channel, so that not each of a thousand has to find out that it must wait.
func kindOf(p *bridge.Parcel) string {
	return p.Surface + p.Key[strings.LastIndexByte(p.Key, '@')+1:]
}

// hold says until when a parcel has to wait, and whether it is for Slack's
// limits; the zero time: it goes now, and what it needs is taken.
func (b *Bot) hold(p *bridge.Parcel, now time.Time, held map[string]bool) (until time.Time, limited bool) {
	x := b.outbox
	x.mu.Lock()
	defer x.mu.Unlock()
	later := now.Add(lookAgain) // the end of a flight stirs
	switch {
	case x.flying[p.Target], len(x.flying) >= flyingMost, held[p.Target]:
		return later, false
	case p.After.After(now):
		return p.After, false
	}
	n, ok := x.need[p.ID]
	if ok && n.method == "" && n.at.After(now) {
		return n.at, false
	}
	if ok && n.method != "" {
		if free, at := b.pace.take(n.method, n.channel); !free {
			return at, true
		}
		n.paid = true
		x.need[p.ID] = n
	}
	x.flying[p.Target] = true
	return time.Time{}, false
}

// pay takes what one call needs, or says until when to wait. A call that the
// last try found out about was paid for before this one began.
func (b *Bot) pay(p *bridge.Parcel, method, channel string) error {
	x := b.outbox
	x.mu.Lock()
	defer x.mu.Unlock()
	if n := x.need[p.ID]; n.paid && n.method == method && n.channel == channel {
		n.paid = false
		x.need[p.ID] = n
		return nil
	}
	if free, at := b.pace.take(method, channel); !free {
		return &errWait{need{method: method, channel: channel, at: at}}
	}
	return nil
}

// errWait says that a call may not be made yet.
type errWait struct{ need }

func (e *errWait) Error() string {
	return "wait for " + e.method + " until " + e.at.Format(time.TimeOnly)
}

// errDrop gives a message up, with the reason.
type errDrop struct {
	why string
	err error
}

func (e *errDrop) Error() string { return "give up: " + e.why }
func (e *errDrop) Unwrap() error { return e.err }

// fly delivers one parcel and keeps what came of it.
func (b *Bot) fly(ctx context.Context, p bridge.Parcel) {
	ctx, cancel := context.WithTimeout(ctx, 2*callFor)
	defer cancel()
	err := func() (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = &errDrop{"panic", fmt.Errorf("panic: %v\n%s", v, debug.Stack())}
			}
		}()
		return b.show(ctx, &p)
	}()
	over, keep := b.landed(ctx, &p, err)
	x := b.outbox
	x.mu.Lock()
	delete(x.flying, p.Target)
	if n := x.need[p.ID]; n.paid {
		b.pace.done(n.method, n.channel) // something else was needed
	}
	switch {
	case keep != nil:
		x.need[p.ID] = *keep
	case over:
		delete(x.need, p.ID)
		delete(x.plain, p.ID)
		delete(x.files, p.ID)
		x.landed[p.ID] = p.Rev
	default: // the box knows more
		delete(x.need, p.ID)
		x.changed = true
	}
	x.mu.Unlock()
	x.stir()
}

// show reads what is to be shown and shows it.
func (b *Bot) show(ctx context.Context, p *bridge.Parcel) error {
	full, ok, err := b.o.Box.Parcel(ctx, p.ID)
	if err != nil || !ok {
		return err
	}
	*p = full
	var e talk.Effect
	if err := json.Unmarshal(p.Body, &e); err != nil {
		return &errDrop{"unreadable", err}
	}
	return b.bring(ctx, p, &e)
}

// landed keeps the end of a flight: whether the parcel is off the list, or else
// what it needs next; neither: it waits in the box.
func (b *Bot) landed(ctx context.Context, p *bridge.Parcel, err error) (over bool, _ *need) {
	now := b.o.Clock()
	wait, waits := errors.AsType[*errWait](err)
	drop, dropped := errors.AsType[*errDrop](err)
	switch {
	case err == nil:
		return true, nil
	case waits:
		return false, &wait.need
	case !dropped && isOneOf(err, revokedErrors):
		b.doubtToken()
		return false, &need{at: now.Add(10 * time.Second)} // the look at the token decides
	case !dropped && passing(err):
		b.log.WarnContext(ctx, "a message is tried again", "surface", p.Surface, "tries", p.Tries+1, "error", err)
		return false, b.putOff(ctx, p, now.Add(backoff(p.Tries, time.Second, time.Minute)))
	case !dropped && isOneOf(err, placeErrors) && now.Sub(p.Made) < placeFor:
		b.trouble("channel", fmt.Sprintf("Slack does not let the bot post (%s): invite it with /invite, or set another channel", wordOf(err)))
		return false, b.putOff(ctx, p, now.Add(backoff(p.Tries, 5*time.Second, 10*time.Minute)))
	case !dropped && p.Tries+1 < triesMost:
		b.log.ErrorContext(ctx, "a message could not be shown", "surface", p.Surface, "tries", p.Tries+1, "error", err)
		return false, b.putOff(ctx, p, now.Add(backoff(p.Tries, time.Second, time.Minute)))
	}
	why := wordOf(err)
	if dropped {
		why = drop.why
	}
	b.log.ErrorContext(ctx, "a message is given up", "surface", p.Surface, "key", p.Key, "why", why, "error", err)
	b.figure.dropped.WithLabelValues(firstOf(why, "failed")).Inc()
	if err := b.o.Box.Delivered(ctx, *p, time.Time{}); err != nil {
		b.log.WarnContext(ctx, "it stays in the box", "error", err)
		return false, &need{at: now.Add(time.Minute)}
	}
	return true, nil
}

func (b *Bot) putOff(ctx context.Context, p *bridge.Parcel, until time.Time) *need {
	if err := b.o.Box.PutOff(ctx, p.ID, until); err != nil {
		b.log.WarnContext(ctx, "the box cannot be written", "error", err)
		return &need{at: until}
	}
	return nil
}

// backoff doubles a pause with every try, up to most.
func backoff(tries int, first, most time.Duration) time.Duration {
	return min(first<<min(tries, 20), most)
}
