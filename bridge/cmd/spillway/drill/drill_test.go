package drill_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cmd/spillway/drill"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/slurm"
)

// world is a daemon and a scheduler whose machine becomes ready, or not.
type world struct {
	waiting  bool          // for an approver
	yes      time.Duration // until one says it; zero: nobody does
	dear     bool          // nothing is rented
	silent   bool          // the probe ends without its last word
	stuck    bool          // the probe does not start
	lost     time.Duration // the machine is taken then; zero: never
	rented   time.Time
	sent     *slurm.Probe
	aimed    string
	released bool
	canceled []string
}

func (w *world) ready() bool {
	return !w.rented.IsZero() && (!w.waiting || w.yes > 0 && time.Since(w.rented) >= w.yes)
}

func (w *world) Explain(context.Context, desk.ExplainRequest) (desk.ExplainAnswer, error) {
	return desk.ExplainAnswer{Demand: &bridge.Demand{Word: "Licenses"}}, nil
}

func (w *world) Rent(ctx context.Context, _ desk.RentRequest) (desk.RentAnswer, error) {
	if w.dear {
		return desk.RentAnswer{}, desk.Wrong(desk.OverBudget, "", "nothing is left")
	}
	w.rented = time.Now()
	return desk.RentAnswer{Rental: desk.Rental{ID: "r-0013", Hold: usd(3)}, Waiting: w.waiting, Approvers: []string{"mei"}}, ctx.Err()
}

func (w *world) Rental(context.Context, desk.RentalRequest) (desk.RentalAnswer, error) {
	r := desk.Rental{ID: "r-0013", State: bridge.StateAdmitted, Cost: usd(1)}
	switch {
	case w.released || w.lost > 0 && time.Since(w.rented) >= w.lost:
		r.State, r.Why = bridge.StateSettled, bridge.ReasonReclaimed
	case !w.ready():
		r.State = bridge.StateWaiting
	}
	return desk.RentalAnswer{Rental: r}, nil
}

func (w *world) News(context.Context, desk.NewsRequest) (desk.NewsAnswer, error) {
	if !w.ready() {
		return desk.NewsAnswer{}, nil
	}
	now := time.Now()
	return desk.NewsAnswer{News: []bridge.News{
		{Kind: bridge.NewsCreated, At: now, Node: "sw-0013-0"}, {Kind: bridge.NewsJoined, At: now, Node: "sw-0013-0", Text: "gate 1.0 s"}, {Kind: bridge.NewsAdmitted, At: now},
	}}, nil
}

func (w *world) Release(context.Context, desk.ReleaseRequest) (desk.ReleaseAnswer, error) {
	w.released = true
	return desk.ReleaseAnswer{}, nil
}

func (w *world) Cancel(context.Context, desk.CancelRequest) (desk.CancelAnswer, error) {
	if w.ready() {
		return desk.CancelAnswer{}, desk.Wrong(desk.Conflict, "", "it does not wait")
	}
	w.released = true
	return desk.CancelAnswer{}, nil
}

// scheduler is the world's other side.
type scheduler struct{ *world }

func (s scheduler) SubmitProbe(_ context.Context, p *slurm.Probe) (bridge.JobID, error) {
	s.sent = p
	return "7", nil
}

func (s scheduler) Aim(_ context.Context, _ bridge.JobID, node string) error {
	s.aimed = node
	return nil
}

func (s scheduler) ProbeSays(context.Context, bridge.JobID) (state, comment string, err error) {
	switch {
	case s.stuck:
		return "PENDING", "(null)", nil
	case s.silent:
		return "FAILED", "|start ok 5 sw-0013-0|gpus ok 3 8 of 8", nil
	}
	return "RUNNING", "|start ok 5 sw-0013-0|gpus ok 3 8 of 8|half a|end ok 9 -", nil
}

func (s scheduler) Cancel(_ context.Context, id bridge.JobID) error {
	s.canceled = append(s.canceled, string(id))
	return nil
}

func usd(n int64) bridge.Money { return bridge.Money{Micro: n * bridge.Micro, Currency: "USD"} }

func TestDrillEndsWithAVerdictAndNothingLeft(t *testing.T) {
	for name, c := range map[string]struct {
		world *world
		stop  time.Duration // Ctrl-C after this; zero: none
		fit   bool
		wrong string
		says  string // by a step
	}{
		"all is well":                        {world: &world{}, fit: true, says: "sw-0013-0: gate 1.0 s"},
		"over budget, and somebody says yes": {world: &world{waiting: true, yes: time.Minute}, fit: true, says: "r-0013 waits for a yes of mei"},
		"over budget, and nobody does":       {world: &world{waiting: true}, wrong: "create: wait until the machine is let in: not within 10 min", says: "waits for a yes of mei"},
		"the probe breaks off":               {world: &world{silent: true}, wrong: "probe: the probe ended as FAILED and did not come to its end", says: "8 of 8"},
		"the probe does not start":           {world: &world{stuck: true}, wrong: "start of the job: wait until the probe is done: not within 10 min; the scheduler says Licenses"},
		"the machine is taken":               {world: &world{stuck: true, lost: time.Minute}, wrong: "start of the job: the machine is gone: reclaimed; the scheduler says Licenses"},
		"interrupted":                        {world: &world{stuck: true}, stop: 5 * time.Second, wrong: "start of the job: interrupted"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.stop > 0 {
					defer time.AfterFunc(c.stop, cancel).Stop()
				}
				got, err := drill.Run(ctx, options(c.world))
				if err != nil || got.Fit != c.fit || strings.Join(got.Wrong, "; ") != c.wrong {
					t.Errorf("fit %t, wrong %q, %v; want %t, %q", got.Fit, got.Wrong, err, c.fit, c.wrong)
				}
				if !slices.ContainsFunc(got.Steps, func(s drill.Step) bool { return strings.Contains(s.Text, c.says) }) {
					t.Errorf("no step says %q: %+v", c.says, got.Steps)
				}
				if w := c.world; !w.released || !slices.Equal(w.canceled, []string{"7"}) || got.Cost != usd(1) {
					t.Errorf("released %t, cancelled %q, cost %s", w.released, w.canceled, got.Cost)
				}
			})
		})
	}
}

func options(w *world) drill.Options {
	return drill.Options{
		Desk: w, Scheduler: scheduler{w}, Cluster: "main", Project: "nlp", Dir: "/shared/it's", SizeMiB: 8, Within: 10 * time.Minute, Now: time.Now,
		Offer: desk.Quoted{Shape: bridge.Shape{GPUs: 8, GPUType: "h100"}, AtMost: usd(3)},
	}
}

func TestRefusedDrillIsAnErrorAndLeavesNoProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{dear: true}
		got, err := drill.Run(t.Context(), options(w))
		var no *desk.Error
		if !errors.As(err, &no) || no.Kind != desk.OverBudget || got.Fit || w.released || !slices.Equal(w.canceled, []string{"7"}) {
			t.Errorf("%v, fit %t, released %t, cancelled %q", err, got.Fit, w.released, w.canceled)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w = &world{}
		if _, err := drill.Run(ctx, options(w)); !errors.Is(err, context.Canceled) || !w.rented.IsZero() || !slices.Equal(w.canceled, []string{"7"}) {
			t.Errorf("interrupted first: %v, rented at %s, cancelled %q", err, w.rented, w.canceled)
		}
		if s := w.sent.Script; !strings.Contains(s, `dir='/shared/it'\''s' want_gpus=8 size_mib=8`) || strings.Contains(s, "@") {
			t.Errorf("the probe begins\n%.300s", s)
		}
	})
}
