package crash_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/bill"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/engine"
	"spillway.sh/spillway/bridge/sim"
	"spillway.sh/spillway/bridge/sim/crash"
	"spillway.sh/spillway/bridge/sim/invariant"
	"spillway.sh/spillway/bridge/sim/slurmctl"
)

// tale is a world in which every call of every port comes up: a job whose spot
// machine is taken back, one whose machine is gone without notice, a gang, a
// question that is approved, machines rented by hand, extended, kept and given
// back.
type tale struct {
	*sim.World
	t     *testing.T
	jobs  map[string]bridge.JobID
	hands map[string]*hand
	took  time.Duration // from its beginning until all was over
}

const (
	// length is how long things happen in a tale; then what is left ends.
	length = 65 * time.Minute
	// cycle is the time between two looks that nothing asked for.
	cycle = 2 * time.Minute
)

// tell plays the tale of a seed, with a bridge that dies where the doom says. It
// returns the world at its end.
func tell(t *testing.T, dir string, seed uint64, doom *crash.Doom) *tale {
	t.Helper()
	w, err := sim.New(t.Context(), sim.Setup{
		Seed: seed, Length: length, Dir: dir, Jobs: -1, Wrap: doom.Wrap, Died: doom.Died, Budgets: budgets,
		Limits: engine.Limits{Cycle: cycle, ListEvery: 2 * time.Minute, QueueAge: 6 * time.Minute},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	x := &tale{World: w, t: t, jobs: map[string]bridge.JobID{}, hands: map[string]*hand{}}
	x.plot()
	began := time.Now()
	err = w.Play(t.Context())
	x.took = time.Since(began)
	if err != nil {
		t.Error(err)
	}
	for _, v := range w.Violations() {
		t.Errorf("%s at %s: %s", v.Invariant, v.At.Format(time.TimeOnly), v.Text)
	}
	for name, id := range x.jobs {
		if j := x.job(name); j.State != "COMPLETED" {
			t.Errorf("job %s (%s) is %s", name, id, j.State)
		}
	}
	return x
}

var usd = func(units int64) bridge.Money { return bridge.Money{Micro: units * bridge.Micro, Currency: "USD"} }

var budgets = []bridge.Budget{
	{Account: "org", Every: bridge.Month, Zone: time.UTC, Limit: usd(100_000)},
	{Account: "org/team/p3", Every: bridge.Day, Zone: time.UTC, Limit: usd(1), Approvers: []string{"lead"}},
}

// plot is what happens when.
func (x *tale) plot() {
	x.submit(0, "block", slurmctl.Job{Nodes: 4, CPUs: 16, Work: 62 * time.Minute, Limit: 3 * time.Hour}) // all of the cluster's own nodes
	x.submit(time.Minute, "spot", slurmctl.Job{
		CPUs: 8, GPUs: 4, Work: 25 * time.Minute, Limit: 2 * time.Hour, Restartable: true, SaveOn: "USR1", SaveTakes: 5 * time.Second, Comment: "spillway:checkpoint",
	})
	x.submit(2*time.Minute, "gang", slurmctl.Job{Nodes: 2, CPUs: 16, Work: 8 * time.Minute, Limit: time.Hour})
	x.submit(3*time.Minute, "asked", slurmctl.Job{Account: "p3", CPUs: 8, GPUs: 4, Work: 8 * time.Minute, Limit: 30 * time.Minute})
	x.submit(4*time.Minute, "lost", slurmctl.Job{CPUs: 16, GPUs: 4, Work: 25 * time.Minute, Limit: 2 * time.Hour, Restartable: true})
	x.submit(5*time.Minute, "ends", slurmctl.Job{CPUs: 8, GPUs: 4, Work: 14 * time.Minute, Limit: time.Hour, Restartable: true})
	x.errand(6*time.Minute, x.rent("asked for", "p3"))
	x.errand(15*time.Minute, x.approve(func() bool { return x.job("asked").State != "PENDING" }))
	x.errand(18*time.Minute, x.take("spot", wire.CommandNotice, 2*time.Minute))
	x.errand(20*time.Minute, x.take("ends", wire.CommandNotice, 690*time.Second))
	x.errand(22*time.Minute, x.take("lost", wire.CommandReclaim, 2*time.Minute))
	x.errand(24*time.Minute, x.rent("at once", "p1"))
	x.errand(26*time.Minute, x.extend("at once"))
	x.errand(19*time.Minute, x.extend("asked for"))
	x.errand(20*time.Minute, x.approve(func() bool { return x.hands["asked for"].grown(x) }))
	x.errand(30*time.Minute, x.keep("at once"))
	x.errand(50*time.Minute, x.release("at once"))
	x.errand(52*time.Minute, x.release("asked for"))
	x.errand(55*time.Minute, x.freeze(true))
	x.errand(58*time.Minute, x.freeze(false))
	x.errand(60*time.Minute, x.bill)
}

// submit sends a job, of ana and project p1 unless it says so.
func (x *tale) submit(at time.Duration, name string, j slurmctl.Job) {
	j.Name, j.User = name, "ana"
	if j.Account == "" {
		j.Account = "p1"
	}
	x.Errand(at, func(context.Context) { x.jobs[name] = x.Submit(j) })
}

// errand is something that a person does, again and again until it is done: whom
// the bridge does not answer because it died, asks once more.
func (x *tale) errand(at time.Duration, do func(context.Context) error) {
	tries := 0
	var try func(context.Context)
	try = func(ctx context.Context) {
		err := error(nil)
		if tries++; x.Alive() {
			err = do(ctx)
		} else {
			err = crash.ErrKilled
		}
		if err == nil {
			return
		}
		if tries > 120 {
			x.t.Errorf("an errand of %s does not come to an end: %v", at, err)
			return
		}
		x.Errand(20*time.Second, try)
	}
	x.Errand(at, try)
}

func (x *tale) job(name string) invariant.Job {
	jobs, _ := x.Slurm.Truth()
	i := slices.IndexFunc(jobs, func(j invariant.Job) bool { return j.ID == x.jobs[name] })
	if i < 0 {
		return invariant.Job{State: "not sent"}
	}
	return jobs[i]
}

// approve says yes to every question, by whoever may, until all is well.
func (x *tale) approve(well func() bool) func(context.Context) error {
	return func(ctx context.Context) error {
		a, err := x.Desk.Rentals(ctx, x.Person("root"), desk.RentalsRequest{})
		if err != nil {
			return err
		}
		for _, q := range a.Rentals {
			if q.State != bridge.StateWaiting {
				continue
			}
			if _, err = x.Desk.Decide(ctx, x.Person("boss"), desk.DecideRequest{Rental: string(q.ID), Revision: q.Revision, Yes: true}); err != nil {
				return err
			}
		}
		if !well() {
			return fmt.Errorf("not well yet: %d rentals are open", len(a.Rentals))
		}
		return nil
	}
}

// hand is a rental by hand.
type hand struct {
	id    bridge.RentalID
	until time.Time // before it was extended
	asked time.Time // when somebody wanted that
}

// grown reports whether a rental by hand has got its later end.
func (h *hand) grown(x *tale) bool {
	r, err := x.Store.Rental(x.t.Context(), h.id)
	return err == nil && (r.Expires.After(h.until) || r.State.Ended())
}

// with does something with a rental by hand, unless no cloud had anything for it.
func (x *tale) with(key string, do func(context.Context, *hand) error) func(context.Context) error {
	return func(ctx context.Context) error {
		h := x.hands[key]
		if r, err := x.Store.Rental(ctx, h.id); err != nil || r.State.Ended() {
			return err
		}
		return do(ctx, h)
	}
}

func (x *tale) rent(key, project string) func(context.Context) error {
	return func(ctx context.Context) error {
		a, err := x.Desk.Rent(ctx, x.Person("ana"), desk.RentRequest{Key: key, Wish: desk.Wish{GPUs: 4, Seconds: 3600, Project: project, Market: bridge.OnDemand}})
		if err == nil {
			x.hands[key] = &hand{id: a.Rental.ID}
		}
		return err
	}
}

// extend asks for half an hour more; again in the same words is the same request.
func (x *tale) extend(key string) func(context.Context) error {
	return x.with(key, func(ctx context.Context, h *hand) error {
		if h.asked.IsZero() {
			r, err := x.Store.Rental(ctx, h.id)
			if err != nil || r.Expires.IsZero() {
				return fmt.Errorf("no end yet: %w", err)
			}
			h.until, h.asked = r.Expires, x.Now()
		}
		_, err := x.Desk.Extend(ctx, x.Person("ana"), desk.ExtendRequest{Rental: string(h.id), Seconds: 1800, Asked: h.asked})
		return err
	})
}

func (x *tale) keep(key string) func(context.Context) error {
	return x.with(key, func(ctx context.Context, h *hand) error {
		_, err := x.Desk.Keep(ctx, x.Person("ana"), desk.KeepRequest{Rental: string(h.id), Seconds: 1800})
		return err
	})
}

func (x *tale) release(key string) func(context.Context) error {
	return x.with(key, func(ctx context.Context, h *hand) error {
		_, err := x.Desk.Release(ctx, x.Person("ana"), desk.ReleaseRequest{Rental: string(h.id)})
		return err
	})
}

func (x *tale) freeze(on bool) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := x.Desk.Freeze(ctx, x.Person("root"), desk.FreezeRequest{Frozen: on, Text: "a trial"})
		return err
	}
}

// take has a cloud take the machine that a job runs on, once it has run so long.
func (x *tale) take(name string, how wire.FaultKind, ran time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		j := x.job(name)
		if j.State == "COMPLETED" {
			return nil // a bridge that was dead for long may have missed it
		}
		if j.State != "RUNNING" || time.Since(j.Starts[len(j.Starts)-1].At) < ran {
			return fmt.Errorf("job %s is %s", name, j.State)
		}
		live, err := x.Store.Live(ctx)
		if err != nil {
			return err
		}
		for _, r := range live {
			for _, m := range r.Machines {
				if slices.Contains(j.Nodes, m.Node) {
					return x.Fault(wire.Fault{Kind: how, Instance: m.ID, Delay: wire.Duration(6 * time.Minute)})
				}
			}
		}
		return nil // it runs on a node of the cluster's own
	}
}

// bill imports a bill that is a dollar dearer than what the books say.
func (x *tale) bill(ctx context.Context) error {
	root := x.Person("root")
	a, err := x.Desk.Rentals(ctx, root, desk.RentalsRequest{All: true})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(a.Rentals, func(r desk.Rental) bool {
		return r.State == bridge.StateSettled && len(r.Machines) == 1 && r.Cost.Micro > 0
	})
	if i < 0 {
		return errors.New("nothing is settled yet")
	}
	r := a.Rentals[i]
	line := bridge.BillLine{
		Cloud: r.Pool.Cloud, Invoice: "INV-1", Key: "line-1", Machine: r.Machines[0].ID, Rental: r.ID, From: r.Created, To: r.Since, Kind: "usage",
		Amount: bridge.Money{Micro: r.Cost.Micro + bridge.Micro, Currency: r.Cost.Currency},
	}
	q := desk.BillRequest{Cloud: r.Pool.Cloud, From: line.From.Add(-time.Hour), To: line.To.Add(time.Hour), Lines: []bill.Line{{BillLine: line, Store: x.Store.StoreID()}}}
	_, err = x.Desk.ImportBill(ctx, root, q)
	return err
}
