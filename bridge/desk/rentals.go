package desk

import (
	"context"
	"errors"
	"time"

	"spillway.sh/spillway/bridge"
)

// RentalsRequest asks for rentals; All includes those that have ended.
type RentalsRequest struct {
	User  string `json:"user,omitempty"`
	All   bool   `json:"all,omitempty"`
	Limit int    `json:"limit,omitempty"` // of All; zero: 50
}

// RentalsAnswer lists rentals: open ones oldest first, all of them newest first.
type RentalsAnswer struct {
	Rentals []Rental `json:"rentals"`
}

// Rental is a rental as people see it.
type Rental struct {
	ID        bridge.RentalID `json:"id"`
	Version   int64           `json:"version"`
	State     bridge.State    `json:"state"`
	Since     time.Time       `json:"since"`
	Cluster   string          `json:"cluster"`
	Account   bridge.Account  `json:"account"`
	Requester string          `json:"requester"`
	Class     bridge.Class    `json:"class,omitempty"`
	Jobs      []bridge.JobID  `json:"jobs"`
	Pool      bridge.Pool     `json:"pool"`
	Shape     bridge.Shape    `json:"shape"`
	Count     int             `json:"count"` // machines asked for
	Machines  []Machine       `json:"machines"`
	Rate      bridge.Rate     `json:"rate"`
	Hold      bridge.Money    `json:"hold"` // at most
	Cost      bridge.Money    `json:"cost"` // so far
	Created   time.Time       `json:"created"`
	Expires   time.Time       `json:"expires"`
	AskUntil  time.Time       `json:"ask_until"`
	IdleSecs  int64           `json:"idle_seconds"`
	IdleSince time.Time       `json:"idle_since,omitzero"`
	IdleMost  int64           `json:"idle_most_seconds"` // released after this long without a job
	IdleCost  bridge.Money    `json:"idle_cost"`         // of its idle machines since they had a job
	Goes      time.Time       `json:"goes,omitzero"`     // idle as a whole: when it goes back if no job comes
	Keep      time.Time       `json:"keep_until,omitzero"`
	Unowned   bool            `json:"unowned,omitempty"` // idle, and nobody owns it
	Why       bridge.Reason   `json:"why"`
	Note      string          `json:"note,omitempty"`
	Approved  string          `json:"approved_by,omitempty"`
	Revision  int64           `json:"revision,omitempty"` // of the question
	Digest    string          `json:"digest,omitempty"`   // of what an answer is bound to
	Yeses     []bridge.Yes    `json:"yeses,omitempty"`    // so far
	Life      int64           `json:"life_seconds"`
	MaxRate   bridge.Rate     `json:"max_rate"`
	Running   []bridge.JobID  `json:"running,omitempty"`
	Expected  bridge.Money    `json:"expected"`            // for its whole life, at the rate it was decided with
	Extends   bridge.RentalID `json:"extends,omitempty"`   // a question: the rental that it wants to live longer
	ReleaseAt time.Time       `json:"release_at,omitzero"` // a person wants it drained then
	Until     time.Time       `json:"until,omitzero"`      // the end that who asked named
}

// Machine is one machine of a rental as people see it.
type Machine struct {
	Node      string              `json:"node"`
	ID        string              `json:"id,omitempty"`
	State     bridge.MachineState `json:"state"`
	Started   time.Time           `json:"started"`
	Stopped   time.Time           `json:"stopped"`
	ReclaimAt time.Time           `json:"reclaim_at"`
	Fault     string              `json:"fault,omitempty"`
	IdleSince time.Time           `json:"idle_since,omitzero"` // without a job
	Goes      time.Time           `json:"goes,omitzero"`       // idle: when it goes back if no job comes
	// Report is what its agent said last, and Heard when.
	Report *bridge.Report `json:"report,omitempty"`
	Heard  time.Time      `json:"heard,omitzero"`
}

func asRental(r *bridge.Rental, now time.Time) Rental {
	out := Rental{
		ID: r.ID, Version: r.Version, State: r.State, Since: r.Since, Cluster: r.Cluster, Account: r.Account,
		Requester: r.Requester, Class: r.Class, Jobs: append([]bridge.JobID{}, r.Jobs...), Pool: r.Pool, Shape: r.Shape,
		Count: r.Count, Machines: []Machine{}, Rate: r.Rate, Hold: r.Hold, Cost: r.Cost, Created: r.Created,
		Expires: r.Expires, AskUntil: r.AskUntil, Why: r.Why, Note: r.Note, Approved: r.ApprovedBy,
		Revision: r.Revision, Digest: r.Digest, Yeses: r.Yeses, Life: int64(r.Life / time.Second), MaxRate: r.MaxRate, Running: r.Running,
		Extends: r.Extends, ReleaseAt: r.ReleaseAt, Until: r.Until, IdleMost: int64(r.Idle / time.Second),
		Keep: r.KeepUntil, Unowned: r.Unowned > 0,
	}
	offer := bridge.Offer{Pool: r.Pool, Rate: r.Rate, Step: r.Step, Minimum: r.Minimum, Term: r.Term, EarlyPM: r.EarlyPM}
	if price, err := bridge.PriceOf(&offer, &bridge.Terms{}, r.Life, r.Count); err == nil {
		out.Expected = price.Likely
	}
	for i := range r.Machines {
		m := &r.Machines[i]
		out.Machines = append(out.Machines, Machine{
			Node: m.Node, ID: m.ID, State: m.State, Started: m.Started, Stopped: m.Stopped, ReclaimAt: m.ReclaimAt, Fault: m.Fault,
			IdleSince: m.IdleSince, Goes: r.Goes(m),
		})
	}
	if !r.State.Ended() {
		out.IdleCost = r.IdleCost(now)
	}
	if !r.IdleSince.IsZero() && !r.State.Ended() && now.After(r.IdleSince) {
		out.IdleSecs, out.IdleSince = int64(now.Sub(r.IdleSince)/time.Second), r.IdleSince
		out.Goes = r.Goes(nil)
	}
	return out
}

// Rentals lists rentals: members see their own.
func (d *Desk) Rentals(ctx context.Context, p Person, q RentalsRequest) (RentalsAnswer, error) {
	if q.User != "" && q.User != p.Name {
		if err := p.need(SeeAll); err != nil {
			return RentalsAnswer{}, err
		}
	}
	rs, err := d.live(ctx)
	if q.All {
		limit := q.Limit
		if limit <= 0 {
			limit = 50
		}
		if rs, err = d.Reader.Recent(ctx, limit); err != nil {
			err = unreadable(err)
		}
	}
	if err != nil {
		return RentalsAnswer{}, err
	}
	a := RentalsAnswer{Rentals: []Rental{}}
	for i := range rs {
		if r := &rs[i]; d.sees(p, r) && (q.User == "" || r.Requester == q.User) {
			out := asRental(r, d.Now())
			d.hear(&out)
			a.Rentals = append(a.Rentals, out)
		}
	}
	return a, nil
}

// RentalRequest asks about one rental, by its id as people type it.
type RentalRequest struct {
	Rental string `json:"rental"`
}

// RentalAnswer is a rental and what happened to it, oldest first.
type RentalAnswer struct {
	Rental Rental        `json:"rental"`
	News   []bridge.News `json:"news"`
	// Instead is less of what was denied, that could be had now.
	Instead *Smaller `json:"instead,omitempty"`
}

// Rental answers about one rental.
func (d *Desk) Rental(ctx context.Context, p Person, q RentalRequest) (RentalAnswer, error) {
	r, err := d.rental(ctx, p, q.Rental)
	if err != nil {
		return RentalAnswer{}, err
	}
	news, err := d.Reader.News(ctx, NewsFilter{Rental: r.ID, Limit: recentNews})
	if err != nil {
		return RentalAnswer{}, unreadable(err)
	}
	out := asRental(&r, d.Now())
	d.hear(&out)
	return RentalAnswer{out, append([]bridge.News{}, news...), d.smaller(ctx, &r)}, nil
}

// Passed is how many checks were passed.
func Passed(checks []bridge.Check) int {
	n := 0
	for i := range checks {
		if checks[i].OK {
			n++
		}
	}
	return n
}

// Use is how busy a rental's GPUs are, per mille, over the machines that tell;
// false when none does.
func (r *Rental) Use() (perMille int, known bool) {
	sum, n := 0, 0
	for i := range r.Machines {
		if m := &r.Machines[i]; m.Report != nil && m.Report.GPUPM >= 0 && m.State != bridge.MachineGone {
			sum, n = sum+min(m.Report.GPUPM, 1000), n+1
		}
	}
	return sum / max(n, 1), n > 0
}

// hear adds what the agents of a rental's machines said last.
func (d *Desk) hear(r *Rental) {
	if d.Reporter == nil {
		return
	}
	for i := range r.Machines {
		m := &r.Machines[i]
		if report, at, ok := d.Reporter.Reported(r.ID, m.ID); ok {
			m.Report, m.Heard = &report, at
		}
	}
}

// rental reads one rental that the person may see.
func (d *Desk) rental(ctx context.Context, p Person, typed string) (bridge.Rental, error) {
	id, err := bridge.ParseRentalID(typed)
	if err != nil {
		return bridge.Rental{}, wrong(BadRequest, "spillway rentals", "%s is no id of a rental: %s", typed, err)
	}
	r, err := d.Reader.Rental(ctx, id)
	switch {
	case errors.Is(err, ErrNoRental):
		return r, wrong(NotFound, "spillway rentals --all", "there is no rental %s", id)
	case err != nil:
		return r, unreadable(err)
	case !d.sees(p, &r):
		return r, wrong(Forbidden, "spillway rentals", "rental %s is not yours", id)
	}
	return r, nil
}
