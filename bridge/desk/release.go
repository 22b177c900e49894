package desk

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// ReleaseRequest gives machines back: one of Rental, Job, Node or All (the asker's
// own). Without Now running jobs may end first.
type ReleaseRequest struct {
	Rental  string       `json:"rental,omitempty"`
	Job     bridge.JobID `json:"job,omitempty"`
	Node    string       `json:"node,omitempty"`
	All     bool         `json:"all,omitempty"`
	Cluster string       `json:"cluster,omitempty"` // narrows Job and All
	Now     bool         `json:"now,omitempty"`
	// At drains it then instead of now. Words say the same: "at fri 18:00" in
	// Zone, "now" or "drain".
	At    time.Time `json:"at,omitzero"`
	Words []string  `json:"words,omitempty"`
	Zone  string    `json:"zone,omitempty"`
}

// ReleaseAnswer says what became of each rental that was meant.
type ReleaseAnswer struct {
	Released []Released `json:"released"`
}

// Released is one rental that was meant. Changed is false when it was on its
// way out already.
type Released struct {
	Rental  Rental       `json:"rental"`
	Was     bridge.State `json:"was"`
	Changed bool         `json:"changed"`
	Text    string       `json:"text"`
}

// Release gives machines back. It waits for no budget and no approval, and
// asking again is harmless.
func (d *Desk) Release(ctx context.Context, p Person, q ReleaseRequest) (ReleaseAnswer, error) {
	if err := d.open(); err != nil {
		e := AsError(err)
		e.Try = "spillway release --by-tag"
		return ReleaseAnswer{}, e
	}
	if err := d.whenToRelease(&q); err != nil {
		return ReleaseAnswer{}, err
	}
	meant, err := d.meant(ctx, p, &q)
	if err != nil {
		return ReleaseAnswer{}, err
	}
	a := ReleaseAnswer{Released: []Released{}}
	for _, r := range meant {
		if !d.disposes(p, &r) {
			return a, wrong(Forbidden, "spillway rentals", "rental %s belongs to %s; only they or an admin may give it back", r.ID, r.Requester)
		}
		do := func(r bridge.Rental) (Released, error) { return d.release(ctx, p, r, q.Now) }
		if !q.At.IsZero() {
			do = func(r bridge.Rental) (Released, error) { return d.releaseAt(ctx, p, r, q.At) }
		}
		done, err := do(r)
		if err != nil {
			return a, err
		}
		a.Released = append(a.Released, done)
	}
	d.Loop.Wake()
	return a, nil
}

// meant returns the rentals a request names. It never widens a request: a node
// means its rental only if that has no other machine.
func (d *Desk) meant(ctx context.Context, p Person, q *ReleaseRequest) ([]bridge.Rental, error) {
	given := 0
	for _, is := range []bool{q.Rental != "", q.Job != "", q.Node != "", q.All} {
		if is {
			given++
		}
	}
	if given != 1 {
		return nil, wrong(BadRequest, "spillway release "+string(bridge.NewRentalID(1)), "say one of: a rental, --job, --node, or --all for all of yours")
	}
	if q.Rental != "" {
		r, err := d.rental(ctx, p, q.Rental)
		return []bridge.Rental{r}, err
	}
	live, err := d.live(ctx)
	if err != nil {
		return nil, err
	}
	live = slices.DeleteFunc(live, func(r bridge.Rental) bool { return q.Cluster != "" && r.Cluster != q.Cluster })
	switch {
	case q.Job != "":
		live = slices.DeleteFunc(live, func(r bridge.Rental) bool {
			return !slices.ContainsFunc(r.Jobs, func(j bridge.JobID) bool { return sameJob(j, q.Job) })
		})
		if len(live) == 0 {
			return nil, wrong(NotFound, "spillway rentals", "nothing is rented for job %s", q.Job)
		}
	case q.Node != "":
		return nodeRental(live, q.Node)
	default:
		live = slices.DeleteFunc(live, func(r bridge.Rental) bool { return !p.owns(&r) })
	}
	return live, nil
}

func nodeRental(live []bridge.Rental, node string) ([]bridge.Rental, error) {
	i := slices.IndexFunc(live, func(r bridge.Rental) bool {
		return slices.ContainsFunc(r.Machines, func(m bridge.Machine) bool { return m.Node == node && m.State != bridge.MachineGone })
	})
	if i < 0 {
		return nil, wrong(NotFound, "spillway rentals", "no rented machine is called %s", node)
	}
	r := live[i]
	if n := len(r.Live()); n > 1 {
		return nil, wrong(Conflict, "spillway release "+string(r.ID), "%s is one of %s of %s, which are given back together", node, Count(n, "machine"), r.ID)
	}
	return []bridge.Rental{r}, nil
}

// release takes one rental a step towards its end, again if somebody else
// changed it meanwhile.
func (d *Desk) release(ctx context.Context, p Person, r bridge.Rental, now bool) (Released, error) {
	was := r.State
	for range 5 {
		event, kind, text := wayOut(&r, now)
		if event == "" {
			return Released{asRental(&r, d.Now()), was, false, text}, nil
		}
		next, err := bridge.Advance(r.State, event)
		if err != nil {
			return Released{}, wrong(Conflict, "spillway rentals "+string(r.ID), "a rental that is %s cannot %s", r.State, event)
		}
		changed := r
		changed.State, changed.Since, changed.Why = next, d.Now(), bridge.ReasonAskedRelease
		saved, err := d.Writer.Save(ctx, changed, bridge.News{
			At: d.Now(), Kind: kind, Cluster: r.Cluster, Rental: r.ID, Who: p.Name, Why: bridge.ReasonAskedRelease, Pool: &r.Pool, Cost: r.Cost,
		})
		if err == nil {
			return Released{asRental(&saved, d.Now()), was, true, text}, nil
		}
		if !errors.Is(err, bridge.ErrVersion) {
			return Released{}, wrong(Unavailable, "spillway release --by-tag "+string(r.ID), "release of %s was not stored: %s", r.ID, err)
		}
		if r, err = d.Reader.Rental(ctx, r.ID); err != nil {
			return Released{}, unreadable(err)
		}
	}
	return Released{}, wrong(Conflict, "spillway release "+string(r.ID), "rental %s keeps changing; nothing was done", r.ID)
}

// wayOut is the next step towards the end, the news of it, and what to say;
// no event when there is nothing left to do.
func wayOut(r *bridge.Rental, now bool) (bridge.Event, bridge.NewsKind, string) {
	machines := Count(len(r.Live()), "machine")
	switch r.State {
	case bridge.StateWaiting:
		return bridge.EventWithdraw, bridge.NewsWithdrawn, "the question is withdrawn; nothing was rented or held"
	case bridge.StateLaunching, bridge.StateJoining:
		return bridge.EventRelease, bridge.NewsReleasing, "the launch is called off; what the cloud already made goes back"
	case bridge.StateAdmitted:
		if now {
			return bridge.EventRelease, bridge.NewsReleasing, machines + " going back now; jobs on them are requeued where they may be"
		}
		return bridge.EventDrain, bridge.NewsDraining, machines + " going back when their jobs have ended" + runningOn(r)
	case bridge.StateDraining:
		if now {
			return bridge.EventRelease, bridge.NewsReleasing, machines + " going back now; jobs on them are requeued where they may be"
		}
		return "", "", "it is draining already" + runningOn(r)
	case bridge.StateReleasing:
		return "", "", "it is going back already; " + machines + " left"
	case bridge.StateSettled:
		return "", "", "it was given back already, and cost " + r.Cost.String()
	case bridge.StateClosed:
		return "", "", "it was never rented"
	}
	return "", "", "it is " + string(r.State)
}

func runningOn(r *bridge.Rental) string {
	if len(r.Running) == 0 {
		return ""
	}
	jobs := make([]string, 0, len(r.Running))
	for _, j := range r.Running {
		jobs = append(jobs, string(j))
	}
	return " (running: " + strings.Join(jobs, ", ") + ")"
}
