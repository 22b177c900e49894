package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// question is one that somebody saw, and may answer late.
type question struct {
	rental   bridge.RentalID
	revision int64
}

// live plans what people do: they answer questions, rightly or not, twice or too
// late; they rent, extend, keep and release; and an admin freezes and thaws.
func (w *World) live() {
	r := w.draw("people")
	var old []question
	w.every(func() time.Duration { return w.setup.span(after(r, 20*time.Minute)) }, func(ctx context.Context) {
		if w.life == nil || w.life.isDead() {
			return
		}
		for _, q := range w.waiting() {
			old = append(old, question{q.ID, q.Revision})
			if r.IntN(3) > 0 {
				w.click(ctx, r, question{q.ID, q.Revision})
			}
		}
		if len(old) > 0 && r.IntN(5) == 0 {
			w.click(ctx, r, old[r.IntN(len(old))])
		}
		if r.IntN(3) == 0 {
			w.wish(ctx, r)
		}
	})
}

// click answers a question, by whoever it may be; often twice.
func (w *World) click(ctx context.Context, r *rand.Rand, q question) {
	who, yes := pick(r, "boss", "cfo", "boss", "lead", "ana", "root"), r.IntN(4) > 0
	for range 1 + r.IntN(2) {
		if w.life == nil || w.life.isDead() {
			return
		}
		_, err := w.Desk.Decide(ctx, w.Person(who), desk.DecideRequest{Rental: string(q.rental), Revision: q.revision, Yes: yes})
		w.said(fmt.Sprintf("%s says %t to %s", who, yes, q.rental), err)
	}
}

// wish is what people want besides.
func (w *World) wish(ctx context.Context, r *rand.Rand) {
	who := pick(r, users...)
	p, rental := w.Person(who), w.some(r)
	hours := int64(w.setup.span(between(r, 10*time.Minute, 4*time.Hour)) / time.Second)
	switch r.IntN(8) {
	case 0, 1:
		q := desk.RentRequest{Key: fmt.Sprintf("key-%d", r.IntN(40)), Wish: desk.Wish{GPUs: pick(r, 4, 8), Seconds: hours, Project: pick(r, projects...), Reason: "a try"}}
		_, err := w.Desk.Rent(ctx, p, q)
		w.said(fmt.Sprintf("%s rents %d GPUs for %s with %s", who, q.Wish.GPUs, q.Wish.Project, q.Key), err)
		if r.IntN(2) == 0 {
			_, err = w.Desk.Rent(ctx, p, q)
			w.said(who+" rents the same again", err)
		}
	case 2:
		p = w.Person(pick(r, who, "root"))
		_, err := w.Desk.Extend(ctx, p, desk.ExtendRequest{Rental: string(rental), Seconds: hours, Again: true})
		w.said(fmt.Sprintf("%s extends %s by %d s", p.Name, rental, hours), err)
	case 3:
		p = w.Person(pick(r, who, "root"))
		_, err := w.Desk.Keep(ctx, p, desk.KeepRequest{Rental: string(rental), Seconds: hours / 2})
		w.said(fmt.Sprintf("%s keeps %s", p.Name, rental), err)
	case 4, 5:
		p = w.Person(pick(r, who, "root", "root"))
		q := desk.ReleaseRequest{Rental: string(rental), Now: r.IntN(2) == 0}
		_, err := w.Desk.Release(ctx, p, q)
		w.said(fmt.Sprintf("%s releases %s, now %t", p.Name, rental, q.Now), err)
	case 6:
		_, err := w.Desk.Cancel(ctx, p, desk.CancelRequest{Rental: string(rental)})
		w.said(fmt.Sprintf("%s cancels %s", who, rental), err)
	case 7:
		_, err := w.Desk.Freeze(ctx, w.Person("root"), desk.FreezeRequest{Frozen: true, Text: "a look at the spend"})
		w.said("root freezes", err)
		w.in(w.setup.span(between(r, 10*time.Minute, 2*time.Hour)), w.thaw)
	}
}

func (w *World) thaw(ctx context.Context) {
	if w.life == nil || w.life.isDead() {
		return
	}
	_, err := w.Desk.Freeze(ctx, w.Person("root"), desk.FreezeRequest{})
	w.said("root thaws", err)
}

// some is one of the rentals that have not ended, or no rental at all.
func (w *World) some(r *rand.Rand) bridge.RentalID {
	var live []bridge.RentalID
	for id, one := range w.seen.rentals {
		if !one.State.Ended() {
			live = append(live, id)
		}
	}
	if len(live) == 0 {
		return bridge.NewRentalID(1)
	}
	slices.Sort(live)
	return live[r.IntN(len(live))]
}

// byHand are the rentals that people asked for or keep.
func (w *World) byHand() []bridge.RentalID {
	var out []bridge.RentalID
	for id, r := range w.seen.rentals {
		if !r.State.Ended() && r.State != bridge.StateReleasing && r.State != bridge.StateWaiting && (r.Key != "" || !r.KeepUntil.IsZero()) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// said tells what somebody asked and how the bridge answered. An answer that
// blames the bridge itself is a violation.
func (w *World) said(what string, err error) {
	if err == nil {
		w.story.tell(time.Now(), "%s: done", what)
		return
	}
	e := desk.AsError(err)
	w.story.tell(time.Now(), "%s: %s", what, e.Kind)
	w.seen.said = append(w.seen.said, e.Error())
	if e.Kind == desk.Internal && (w.life == nil || !w.life.isDead()) {
		w.blame("I27", "%s: %v", what, err)
	}
}
