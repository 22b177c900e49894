package drill

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
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
	Cancel(ctx context.Context, id bridge.JobID) error
}

// Options is one drill.
type Options struct {
	Desk      Desk
	Scheduler Scheduler
	Cluster   string // as the daemon calls it
	// Offer is the pool to try, with what one machine of it has.
	Offer desk.Quoted
	Probe slurm.Probe // partition, account; the rest is filled in
	// Dir is where checkpoints of jobs lie, the same path here and on machines.
	Dir     string
	SizeMiB int
	Within  time.Duration // for all of it but the giving back
	Tell    func(Step)    // as each step is done; may be nil
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

// pollEvery is the time between two looks at what is waited for.
const pollEvery = 200 * time.Millisecond

// drill is one drill under way.
type drill struct {
	Options
	job    bridge.JobID
	output string
	began  time.Time
	result Result
}

// Run runs a drill. Whatever happens, also when ctx ends, the machine is given
// back and the probe is gone; what was found is in the result beside an error.
func Run(ctx context.Context, o Options) (Result, error) {
	d := &drill{Options: o, began: o.Now()}
	d.result.Pool, d.result.Wrong, d.result.Steps = o.Offer.Pool, []string{}, []Step{}
	tried, cancel := context.WithTimeout(ctx, o.Within)
	err := d.try(tried)
	cancel()
	// Giving back is not up to the time that is over.
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.Within)
	defer cancel()
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
	d.output = fmt.Sprintf("%s/.spillway-drill-%d.out", d.Dir, d.began.UnixNano())
	p, shape := d.Probe, &d.Offer.Shape
	fill := strings.NewReplacer("@DIR@", quoted(d.Dir), "@GPUS@", strconv.Itoa(shape.GPUs), "@SIZE@", strconv.Itoa(d.SizeMiB))
	p.Name, p.Script, p.Output = "spillway-drill", fill.Replace(probe), d.output
	p.GPUs, p.GPUType, p.CPUs, p.Limit = shape.GPUs, shape.GPUType, 1, max(d.Within, time.Minute)
	var err error
	if d.job, err = d.Scheduler.SubmitProbe(ctx, &p); err != nil {
		return err
	}
	return d.until(ctx, "the daemon sees the probe", func() (bool, error) {
		a, err := d.Desk.Explain(ctx, desk.ExplainRequest{Job: d.job, Cluster: d.Cluster})
		return err == nil && a.Demand != nil, nil //nolint:nilerr // It is asked again until the time is over.
	})
}

// quoted is a word for the shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// rent rents one machine of the offer for the probe.
func (d *drill) rent(ctx context.Context) error {
	at := d.Now()
	got, err := d.Desk.Rent(ctx, desk.RentRequest{
		Wish: desk.Wish{
			Job: d.job, Cluster: d.Cluster, Type: d.Offer.Pool.Type, Market: d.Offer.Pool.Market, Place: d.Offer.Pool.Zone,
			Machines: 1, Reason: "drill",
		},
		Key: "drill-" + string(d.job), AtMost: d.Offer.AtMost,
	})
	if err != nil {
		return err
	}
	d.result.Rental, d.result.Held = got.Rental.ID, got.Rental.Hold
	if got.Waiting {
		d.done("order", true, at, "waits for a yes: "+strings.Join(got.Approvers, ", "))
		return nil
	}
	d.done("order", true, at, string(got.Rental.ID)+", at most "+got.Rental.Hold.String()+" held")
	return nil
}

// follow tells each step of the machine until it is let in.
func (d *drill) follow(ctx context.Context) error {
	steps := []struct {
		kind bridge.NewsKind
		name string
	}{{bridge.NewsCreated, "create"}, {bridge.NewsJoined, "boot, check and join"}, {bridge.NewsAdmitted, "let in"}}
	since, next := d.Now(), 0
	return d.until(ctx, "the machine is let in", func() (bool, error) {
		a, err := d.Desk.Rental(ctx, desk.RentalRequest{Rental: string(d.result.Rental)})
		if err != nil {
			return false, nil //nolint:nilerr // It is asked again until the time is over.
		}
		if st := a.Rental.State; st.Ended() || st == bridge.StateReleasing {
			return false, fmt.Errorf("rental %s is %s: %s", d.result.Rental, st, d.reason(ctx, &a))
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
			if n.Kind == bridge.NewsJoined {
				d.result.Node = n.Node
			}
			d.add(Step{steps[next].name, true, max(n.At.Sub(since), 0).Milliseconds(), n.Node})
			since = n.At
			next++
		}
		return true, nil
	})
}

// reason is why a rental ended before it was let in.
func (d *drill) reason(ctx context.Context, a *desk.RentalAnswer) string {
	news, err := d.Desk.News(ctx, desk.NewsRequest{Rental: string(d.result.Rental), Limit: 100})
	if err == nil {
		for _, n := range slices.Backward(news.News) {
			if n.Text != "" {
				return n.Text
			}
		}
	}
	return string(a.Rental.Why)
}

// probe lets the job go and reads what it found.
func (d *drill) probe(ctx context.Context) error {
	at := d.Now()
	if err := d.Scheduler.Aim(ctx, d.job, d.result.Node); err != nil {
		return err
	}
	seen := 0
	return d.until(ctx, "the probe is done", func() (bool, error) {
		lines := found(d.output)
		for ; seen < len(lines); seen++ {
			switch s := lines[seen]; s.Name {
			case "start":
				d.done("start of the job", true, at, s.Text)
			case "end":
				return true, nil
			default:
				d.add(s)
			}
		}
		return false, nil
	})
}

// found reads the probe's output so far, but no line that is being written.
func found(path string) []Step {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	lines := strings.Split(string(text), "\n")
	var out []Step
	for _, line := range lines[:len(lines)-1] {
		w := strings.SplitN(line, " ", 4)
		if len(w) != 4 {
			continue
		}
		ms, err := strconv.ParseInt(w[2], 10, 64)
		if err != nil {
			continue // something that the job's surroundings said
		}
		out = append(out, Step{w[0], w[1] == "ok", ms, w[3]})
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
	if err := os.Remove(d.output); err != nil && !errors.Is(err, os.ErrNotExist) {
		errs = append(errs, fmt.Errorf("remove the probe's output: %w", err))
	}
	if d.result.Rental == "" {
		return errors.Join(errs...)
	}
	at, id := d.Now(), string(d.result.Rental)
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
		d.done("give back and settle", true, at, "")
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

func (d *drill) done(name string, ok bool, since time.Time, text string) {
	d.add(Step{name, ok, d.Now().Sub(since).Milliseconds(), text})
}

func (d *drill) add(s Step) {
	d.result.Steps = append(d.result.Steps, s)
	if d.Tell != nil {
		d.Tell(s)
	}
}
