package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/mattn/go-isatty"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cmd/spillway/drill"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/slurm"
)

type drillCmd struct {
	format
	Type      string        `required:"" help:"The cloud's name of the machine type to try." placeholder:"NAME"`
	In        string        `help:"Cloud, region or zone." placeholder:"NAME"`
	Spot      bool          `xor:"market" help:"A spot machine (default: the cheapest offer there is)."`
	OnDemand  bool          `xor:"market" help:"An on-demand machine."`
	Dir       string        `required:"" help:"Where jobs keep checkpoints: a folder at the same path here and on every machine." placeholder:"DIR"`
	Size      int           `help:"Size of the files that are written and read." default:"64" placeholder:"MIB"`
	Within    time.Duration `help:"Longest time for all of it; the machine is held for so long." default:"20m" placeholder:"TIME"`
	Project   string        `short:"A" help:"Project that pays." placeholder:"NAME"`
	Account   string        `help:"Scheduler account the probe is sent with (default: yours)." placeholder:"NAME"`
	Cluster   string        `help:"Cluster the machine joins, where there are several." placeholder:"NAME"`
	Partition string        `help:"Partition the probe is sent to (default: the cluster's)." placeholder:"NAME"`
	Yes       bool          `short:"y" help:"Do not ask at the terminal first."`
}

// Help gives examples.
func (drillCmd) Help() string {
	return `Examples:
  spillway drill --type p4d.24xlarge --spot --dir /shared/checkpoints
  spillway drill --type s.gpu8 --in north-1 --on-demand --dir /shared/ckpt --yes -o json

Rents one machine as a job would get it, lets it join, runs a probe on it (GPUs, disk, network, a checkpoint written and read
back), gives it back, and says how long each step took and what it cost. Do this before the day you need the offer.
The probe is an ordinary job of yours. Exit code 7: the machine is not fit, or did not come.

JSON keys: rental, pool, node, steps[] (name, ok, took_ms, text), took_ms, cost, held, fit, wrong[].`
}

// Run drills.
func (c *drillCmd) Run(a *app) error {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return fmt.Errorf("find %s: %w", c.Dir, err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return &desk.Error{Kind: desk.BadRequest, Wrong: fmt.Sprintf("%s is no folder here", dir), Try: "spillway drill --type " + c.Type + " --dir /shared/checkpoints"}
	}
	quote, err := ask(a, desk.AskQuote, desk.QuoteRequest{Wish: c.wish(), Lang: a.lang()})
	if err != nil {
		return err
	}
	if len(quote.Offers) == 0 {
		return &desk.Error{Kind: desk.NotFound, Wrong: quote.Why, Try: "spillway prices"}
	}
	offer := quote.Offers[0]
	if offer.Outcome == desk.Refused {
		return &desk.Error{Kind: desk.Conflict, Wrong: fmt.Sprintf("%s cannot be had: %s", desk.Place(offer.Pool), offer.Text), Try: "spillway quote 1x" + c.Type + " for " + c.Within.String()}
	}
	if err := a.confirm(c.Yes, c.question(&offer, &quote)); err != nil {
		return err
	}
	scheduler, err := c.scheduler(a, quote.Cluster)
	if err != nil {
		return err
	}
	bar := &drillBar{w: a.errs, live: isatty.IsTerminal(os.Stderr.Fd()), began: time.Now()}
	got, err := drill.Run(a.ctx, drill.Options{
		Desk: asker{a}, Scheduler: scheduler, Cluster: quote.Cluster, Project: path.Base(string(quote.Account.Project())), Offer: offer, Dir: dir, SizeMiB: c.Size, Within: c.Within,
		Probe: slurm.Probe{Partition: c.Partition, Account: c.Account}, Begin: bar.begin, Tell: bar.step, Now: utcNow,
	})
	if err != nil && got.Rental == "" {
		if a.ctx.Err() != nil {
			return &desk.Error{Kind: desk.BadRequest, Wrong: "interrupted; nothing was rented"}
		}
		return err
	}
	if err != nil {
		got.Wrong = append(got.Wrong, fmt.Sprintf("%s (the daemon goes on with giving %s back)", err, got.Rental))
	}
	if err := c.print(a, got, func(p *page) { sayDrill(p, &got) }); err != nil {
		return err
	}
	if !got.Fit {
		return errFound
	}
	return nil
}

// question is what a person says yes to.
func (c *drillCmd) question(o *desk.Quoted, q *desk.QuoteAnswer) string {
	asks := ""
	if o.Outcome == desk.AskOne {
		asks = " An approver has to say yes first (" + o.Text + ")."
	}
	return fmt.Sprintf("A drill rents 1 x %s for %s at most: at most %s, paid by %s.%s Do it?", desk.Place(o.Pool), desk.Span(c.Within), o.AtMost, q.Account, asks)
}

func (c *drillCmd) wish() desk.Wish {
	w := desk.Wish{Machines: 1, Type: c.Type, Place: c.In, Project: c.Project, Cluster: c.Cluster, Seconds: int64(c.Within / time.Second)}
	switch {
	case c.Spot:
		w.Market = bridge.Spot
	case c.OnDemand:
		w.Market = bridge.OnDemand
	}
	return w
}

// scheduler is the cluster as the configuration has it, or where that cannot be
// read, as ordinary users may not, as the commands on PATH have it.
func (c *drillCmd) scheduler(a *app, cluster string) (*slurm.Cluster, error) {
	s, err := loadSite(a.Config)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) {
		return slurm.New(slurm.Options{Name: cluster}), nil
	}
	if err != nil {
		return nil, err
	}
	if k := s.clusters[cluster]; k != nil {
		return k, nil
	}
	return nil, &desk.Error{Kind: desk.NotFound, Wrong: fmt.Sprintf("no Slurm cluster is called %q in %s", cluster, a.Config), Try: "spillway status"}
}

// asker asks the daemon as the person at the keyboard.
type asker struct{ a *app }

func (k asker) Explain(ctx context.Context, q desk.ExplainRequest) (desk.ExplainAnswer, error) {
	return askIn(ctx, k.a, desk.AskExplain, q)
}

func (k asker) Rent(ctx context.Context, q desk.RentRequest) (desk.RentAnswer, error) {
	return askIn(ctx, k.a, desk.AskRent, q)
}

func (k asker) Rental(ctx context.Context, q desk.RentalRequest) (desk.RentalAnswer, error) {
	return askIn(ctx, k.a, desk.AskRental, q)
}

func (k asker) News(ctx context.Context, q desk.NewsRequest) (desk.NewsAnswer, error) {
	return askIn(ctx, k.a, desk.AskNews, q)
}

func (k asker) Release(ctx context.Context, q desk.ReleaseRequest) (desk.ReleaseAnswer, error) {
	return askIn(ctx, k.a, desk.AskRelease, q)
}

func (k asker) Cancel(ctx context.Context, q desk.CancelRequest) (desk.CancelAnswer, error) {
	return askIn(ctx, k.a, desk.AskCancel, q)
}

// drillSteps is how many steps a drill has that goes well.
const drillSteps = 11

// drillBar shows how far a drill is.
type drillBar struct {
	w     io.Writer
	live  bool
	began time.Time
	steps int
}

// begin shows what is under way, where it can be wiped away again.
func (b *drillBar) begin(step string) {
	if b.live {
		fmt.Fprintf(b.w, "\r\x1b[K%s %s ...", b.bar(), step)
	}
}

func (b *drillBar) step(s drill.Step) {
	b.steps++
	mark := "ok"
	if !s.OK {
		mark = "BAD"
	}
	if b.live {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
	fmt.Fprintln(b.w, strings.TrimRight(fmt.Sprintf("%s %-3s %-20s %6.1f s  %s", b.bar(), mark, s.Name, float64(s.Took)/1000, plain(s.Text)), " "))
}

func (b *drillBar) bar() string {
	full := min(b.steps, drillSteps)
	return fmt.Sprintf("[%s%s] %4d s ", strings.Repeat("#", full), strings.Repeat(".", drillSteps-full), int(time.Since(b.began).Seconds()))
}

func sayDrill(p *page, r *drill.Result) {
	verdict := "is fit for jobs"
	if !r.Fit {
		verdict = "is NOT fit for jobs"
	}
	p.line("")
	p.line("%s %s.", desk.Place(r.Pool), verdict)
	for _, w := range r.Wrong {
		p.line("  wrong: %s", plain(w))
	}
	p.line("It took %s in all and cost %s (%s was held).", desk.Span((time.Duration(r.Took) * time.Millisecond).Round(time.Second)), r.Cost, r.Held)
}
