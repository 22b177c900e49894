package drill

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/slurm"
)

//go:embed probe.sh
var probe string

// Desk is what a drill asks of the daemon, as the person who runs it.
type Desk interface {
	Explain(ctx context.Context, q desk.ExplainRequest) (desk.ExplainAnswer, error)
	Rent(ctx context.Context, q desk.RentRequest) (desk.RentAnswer, error)
	Rental(ctx context.Context, q desk.RentalRequest) (desk.RentalAnswer, error)
	News(ctx context.Context, q desk.NewsRequest) (desk.NewsAnswer, error)
	Release(ctx context.Context, q desk.ReleaseRequest) (desk.ReleaseAnswer, error)
	Cancel(ctx context.Context, q desk.CancelRequest) (desk.CancelAnswer, error)
}

// Scheduler sends the probe.
type Scheduler interface {
	SubmitProbe(ctx context.Context, p *slurm.Probe) (bridge.JobID, error)
	Aim(ctx context.Context, id bridge.JobID, node string) error
	ProbeSays(ctx context.Context, id bridge.JobID) (state, comment string, err error)
	Cancel(ctx context.Context, id bridge.JobID) error
}

// Options is one drill.
type Options struct {
	Desk      Desk
	Scheduler Scheduler
	Cluster   string // as the daemon calls it
	Project   string // that pays
	// Offer is the pool to try, with what one machine of it has.
	Offer desk.Quoted
	Probe slurm.Probe // partition, account; the rest is filled in
	// Dir is where checkpoints of jobs lie, the same path here and on machines.
	Dir     string
	SizeMiB int
	Within  time.Duration     // for all of it but the giving back
	Begin   func(step string) // as each is begun; may be nil
	Tell    func(Step)        // as each is done; may be nil
	Now     func() time.Time
}

// Step is one thing that was tried.
type Step struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	Took int64  `json:"took_ms"`
	Text string `json:"text,omitempty"`
}

// Result is what came of a drill.
type Result struct {
	Rental bridge.RentalID `json:"rental"`
	Pool   bridge.Pool     `json:"pool"`
	Node   string          `json:"node,omitempty"`
	Steps  []Step          `json:"steps"`
	Took   int64           `json:"took_ms"` // from the order to given back
	Cost   bridge.Money    `json:"cost"`
	Held   bridge.Money    `json:"held"` // at most, while it ran
	Fit    bool            `json:"fit"`
	Wrong  []string        `json:"wrong"` // what was not as it must be
}

const (
	// pollEvery is the time between two looks at what is waited for.
	pollEvery = 200 * time.Millisecond
	// backWithin is the longest time for giving back. The daemon goes on with it
	// if it takes longer.
	backWithin = 5 * time.Minute
)

// Names of the steps; those between start and back are the probe's own.
const (
	stepOrder  = "order"
	stepCreate = "create"
	stepJoin   = "boot, check and join"
	stepLetIn  = "let in"
	stepStart  = "start of the job"
	stepProbe  = "probe"
	stepBack   = "give back and settle"
)

// drill is one drill under way.
type drill struct {
	Options
	job    bridge.JobID
	began  time.Time
	step   string // under way
	since  time.Time
	result Result
}

// Run runs a drill. Whatever happens, also when ctx ends, the machine is given
// back and the probe is gone. An error says that nothing could be rented, or not
// be given back yet; everything else that went wrong is in the result.
func Run(ctx context.Context, o Options) (Result, error) {
	d := &drill{Options: o, began: o.Now()}
	d.result.Pool, d.result.Wrong, d.result.Steps = o.Offer.Pool, []string{}, []Step{}
	tried, cancel := context.WithTimeoutCause(ctx, o.Within, fmt.Errorf("not within %s", desk.Span(o.Within)))
	err := d.try(tried)
	cancel()
	// Giving back is not up to the time that is over.
	back, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), backWithin, fmt.Errorf("not within %s", desk.Span(backWithin)))
	defer cancel()
	if err != nil && d.result.Rental != "" {
		why := "interrupted"
		if ctx.Err() == nil {
			why = d.whyNot(back, err)
		}
		d.done(false, why)
		err = nil
	}
	err = errors.Join(err, d.giveBack(back))
	d.result.Took = o.Now().Sub(d.began).Milliseconds()
	for _, s := range d.result.Steps {
		if !s.OK {
			d.result.Wrong = append(d.result.Wrong, s.Name+": "+s.Text)
		}
	}
	d.result.Fit = err == nil && len(d.result.Wrong) == 0
	return d.result, err
}

// try takes a machine from the order to the end of its probe.
func (d *drill) try(ctx context.Context) error {
	if err := d.send(ctx); err != nil {
		return err
	}
	if err := d.rent(ctx); err != nil {
		return err
	}
	if err := d.follow(ctx); err != nil {
		return err
	}
	return d.probe(ctx)
}

// send submits the probe, held, and waits until the daemon has seen it.
func (d *drill) send(ctx context.Context) error {
	d.begin(stepOrder)
	p, shape := d.Probe, &d.Offer.Shape
	fill := strings.NewReplacer("@DIR@", quoted(d.Dir), "@GPUS@", strconv.Itoa(shape.GPUs), "@SIZE@", strconv.Itoa(d.SizeMiB))
	p.Name, p.Script = "spillway-drill", fill.Replace(probe)
	p.GPUs, p.GPUType, p.CPUs, p.Limit = shape.GPUs, shape.GPUType, 1, max(d.Within, time.Minute)
	var err error
	if d.job, err = d.Scheduler.SubmitProbe(ctx, &p); err != nil {
		return err
	}
	return d.until(ctx, "the daemon sees the probe", func() (bool, error) {
		a, err := d.Desk.Explain(ctx, desk.ExplainRequest{Job: d.job, Cluster: d.Cluster})
		return err == nil && a.Demand != nil, nil // It is asked again until the time is over.
	})
}

// quoted is a word for the shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// rent rents one machine of the offer for the probe.
func (d *drill) rent(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// An answer that is not waited for might be a machine that nobody knows.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	got, err := d.Desk.Rent(ctx, desk.RentRequest{
		Wish: desk.Wish{
			Job: d.job, Cluster: d.Cluster, Project: d.Project, Type: d.Offer.Pool.Type, Market: d.Offer.Pool.Market, Place: d.Offer.Pool.Zone,
			Machines: 1, Reason: "drill",
		},
		Key: "drill-" + string(d.job), AtMost: d.Offer.AtMost,
	})
	if err != nil {
		return err
	}
	d.result.Rental, d.result.Held = got.Rental.ID, got.Rental.Hold
	if got.Waiting {
		d.done(true, fmt.Sprintf("%s waits for a yes of %s", got.Rental.ID, strings.Join(got.Approvers, ", ")))
		return nil
	}
	d.done(true, fmt.Sprintf("%s, at most %s held", got.Rental.ID, got.Rental.Hold))
	return nil
}

// follow tells each step of the machine until it is let in.
func (d *drill) follow(ctx context.Context) error {
	steps := []struct {
		kind bridge.NewsKind
		name string
	}{{bridge.NewsCreated, stepCreate}, {bridge.NewsJoined, stepJoin}, {bridge.NewsAdmitted, stepLetIn}}
	next := 0
	d.begin(steps[0].name)
	since := d.since
	return d.until(ctx, "the machine is let in", func() (bool, error) {
		if err := d.gone(ctx); err != nil {
			return false, err
		}
		news, err := d.Desk.News(ctx, desk.NewsRequest{Rental: string(d.result.Rental), Limit: 100})
		if err != nil {
			return false, nil //nolint:nilerr // It is asked again until the time is over.
		}
		for next < len(steps) {
			i := slices.IndexFunc(news.News, func(n bridge.News) bool { return n.Kind == steps[next].kind })
			if i < 0 {
				return false, nil
			}
			n := &news.News[i]
			text := n.Text
			if n.Node != "" {
				d.result.Node, text = n.Node, strings.TrimSuffix(n.Node+": "+text, ": ")
			}
			d.add(Step{steps[next].name, true, max(n.At.Sub(since), 0).Milliseconds(), text})
			since = n.At
			if next++; next < len(steps) {
				d.begin(steps[next].name)
			}
		}
		return true, nil
	})
}

// gone says why the rental is one that holds no machine any more; nil: it is
// not, as far as is known.
func (d *drill) gone(ctx context.Context) error {
	a, err := d.Desk.Rental(ctx, desk.RentalRequest{Rental: string(d.result.Rental)})
	if err != nil {
		return nil //nolint:nilerr // It is asked again until the time is over.
	}
	if st := a.Rental.State; st.Ended() || st == bridge.StateReleasing {
		return errors.New("the machine is gone: " + d.reason(ctx, &a))
	}
	return nil
}

// reason is why a rental ended before it was let in.
func (d *drill) reason(ctx context.Context, a *desk.RentalAnswer) string {
	news, err := d.Desk.News(ctx, desk.NewsRequest{Rental: string(d.result.Rental), Limit: 100})
	if err == nil {
		for _, n := range slices.Backward(news.News) {
			if n.Text != "" && n.Kind != bridge.NewsJoined {
				return n.Text
			}
		}
	}
	return string(a.Rental.Why)
}

// probe lets the job go and reads what it found.
func (d *drill) probe(ctx context.Context) error {
	d.begin(stepStart)
	if err := d.Scheduler.Aim(ctx, d.job, d.result.Node); err != nil {
		return err
	}
	seen := 0
	return d.until(ctx, "the probe is done", func() (bool, error) {
		state, comment, err := d.Scheduler.ProbeSays(ctx, d.job)
		if err != nil {
			return false, nil //nolint:nilerr // It is asked again until the time is over.
		}
		said := findings(comment)
		for ; seen < len(said); seen++ {
			switch s := said[seen]; s.Name {
			case "start":
				d.done(true, s.Text)
				d.begin(stepProbe)
			case "end":
				return true, nil
			default:
				d.add(s)
			}
		}
		if slices.Contains(overStates, state) {
			return false, fmt.Errorf("the probe ended as %s and did not come to its end", state)
		}
		return false, d.gone(ctx)
	})
}

// overStates are those of a probe that says nothing more.
var overStates = []string{"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE", "PREEMPTED", "REVOKED"}

// findings reads a probe's comment.
func findings(comment string) []Step {
	var out []Step
	for part := range strings.SplitSeq(comment, "|") {
		w := strings.SplitN(part, " ", 4)
		if len(w) != 4 {
			continue
		}
		if ms, err := strconv.ParseInt(w[2], 10, 64); err == nil {
			out = append(out, Step{w[0], w[1] == "ok", ms, w[3]})
		}
	}
	return out
}

// giveBack ends the probe and the rental, whatever became of them, and waits
// for the last figure.
func (d *drill) giveBack(ctx context.Context) error {
	var errs []error
	if d.job != "" {
		errs = append(errs, d.Scheduler.Cancel(ctx, d.job))
	}
	if d.result.Rental == "" {
		return errors.Join(errs...)
	}
	d.begin(stepBack)
	id := string(d.result.Rental)
	if _, err := d.Desk.Cancel(ctx, desk.CancelRequest{Rental: id}); err != nil {
		if _, err := d.Desk.Release(ctx, desk.ReleaseRequest{Rental: id, Now: true}); err != nil {
			errs = append(errs, err)
		}
	}
	err := d.until(ctx, "the rental is settled", func() (bool, error) {
		a, err := d.Desk.Rental(ctx, desk.RentalRequest{Rental: id})
		if err != nil || !a.Rental.State.Ended() {
			return false, nil //nolint:nilerr // It is asked again until the time is over.
		}
		d.result.Cost = a.Rental.Cost
		return true, nil
	})
	if err == nil {
		d.done(true, d.result.Cost.String())
	}
	return errors.Join(append(errs, err)...)
}

// until polls for a condition until ctx ends.
func (d *drill) until(ctx context.Context, what string, ok func() (bool, error)) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if done, err := ok(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w", what, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

func (d *drill) begin(step string) {
	d.step, d.since = step, d.Now()
	if d.Begin != nil {
		d.Begin(step)
	}
}

// done ends the step under way.
func (d *drill) done(ok bool, text string) {
	d.add(Step{d.step, ok, d.Now().Sub(d.since).Milliseconds(), text})
}

// whyNot says why a step did not come to its end, with what the scheduler says
// of a probe that does not start.
func (d *drill) whyNot(ctx context.Context, err error) string {
	text := err.Error()
	if d.step == stepStart {
		a, err := d.Desk.Explain(ctx, desk.ExplainRequest{Job: d.job, Cluster: d.Cluster})
		if err == nil && a.Demand != nil && a.Demand.Word != "" {
			text += "; the scheduler says " + a.Demand.Word
		}
	}
	return text
}

func (d *drill) add(s Step) {
	d.result.Steps = append(d.result.Steps, s)
	if d.Tell != nil {
		d.Tell(s)
	}
}
