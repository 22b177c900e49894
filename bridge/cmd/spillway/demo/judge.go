package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/samber/lo"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/desk/socket"
)

// summarise reads the end from three independent sources: the jobs' own logs,
// the clouds' own ledger, and Spillway's books.
func (p *play) summarise(ctx context.Context) (*Summary, error) {
	s := &Summary{JobsTotal: len(p.jobs), Approvals: len(p.feed.of(bridge.NewsApproved)), length: time.Since(p.story.began)}
	if err := p.fromJobs(ctx, s); err != nil {
		return nil, err
	}
	if err := p.fromClouds(s); err != nil {
		return nil, err
	}
	if err := p.fromBooks(ctx, s); err != nil {
		return nil, err
	}
	waits, err := p.submitToCreate(ctx)
	if err != nil {
		return nil, err
	}
	s.SubmitToCreateP95 = p95(waits)
	s.NoticeToDrainedMax = longest(p.feed.took(bridge.NewsDrained))
	s.StoppedToEligibleMx = longest(p.feed.took(bridge.NewsEligible))
	return s, nil
}

func (p *play) fromJobs(ctx context.Context, s *Summary) error {
	var waited time.Duration
	var admitted []time.Duration
	for _, j := range p.jobs {
		r, err := readRecord(p.scratch(), j.Name)
		if err != nil {
			return err
		}
		if got, err := p.rig.cluster.WaitJob(ctx, j.ID, "COMPLETED"); err == nil && got.State == "COMPLETED" && r.Done && r.LastStep == j.Steps && (j.Nodes == 1 || r.Ranks == j.Nodes) {
			s.JobsCompleted++
		}
		if len(r.Starts) > 0 {
			waited += r.Starts[0].At.Sub(j.Submitted)
		}
		if r.resumed() {
			s.Resumed++
		}
		s.LostWorkSeconds += r.Lost.Seconds()
		admitted = append(admitted, p.admitToRun(j, &r)...)
	}
	s.WaitMeanSeconds = waited.Seconds() / float64(len(p.jobs))
	s.AdmitToRunP95 = p95(admitted)
	return nil
}

// admitToRun is, for each start of a job on rented machines, the time from their
// admission to the first line of its script. Independent machines are let in as
// each one joins, so a later one counts from there.
func (p *play) admitToRun(j *job, r *record) []time.Duration {
	var out []time.Duration
	for _, started := range p.feed.of(bridge.NewsStarted) {
		i := slices.IndexFunc(r.Starts, func(s start) bool { return s.At.After(started.At.Add(-startSeen)) })
		if string(started.Job) != j.ID || i < 0 {
			continue
		}
		var from time.Time
		for _, n := range p.feed.all() {
			if n.Rental == started.Rental && (n.Kind == bridge.NewsAdmitted || n.Kind == bridge.NewsJoined && n.Node == started.Node) && n.At.After(from) {
				from = n.At
			}
		}
		if at := r.Starts[i].At; at.After(from) {
			out = append(out, at.Sub(from))
		}
	}
	return out
}

// startSeen is how long before the news of it a job may have started.
const startSeen = 5 * time.Second

// submitToCreate is, for each job that left, the time from the moment policy
// allowed it to the create call made for it: from sbatch plus the wait that
// policy asks for, or from the answer where a person was asked.
func (p *play) submitToCreate(ctx context.Context) ([]time.Duration, error) {
	c := socket.NewClient(p.rig.socket())
	defer c.Close()
	answered := map[bridge.RentalID]time.Time{}
	for _, n := range p.feed.of(bridge.NewsApproved) {
		answered[n.Rental] = n.At
	}
	var out []time.Duration
	for _, n := range lo.UniqBy(p.feed.of(bridge.NewsCreating), func(n bridge.News) bridge.RentalID { return n.Rental }) {
		if at, asked := answered[n.Rental]; asked {
			out = append(out, n.At.Sub(at))
			continue
		}
		a, err := socket.Call(ctx, c, desk.AskRental, desk.RentalRequest{Rental: string(n.Rental)})
		if err != nil {
			return nil, fmt.Errorf("ask for rental %s: %w", n.Rental, err)
		}
		for _, id := range a.Rental.Jobs {
			if at := p.allowed(id); !at.IsZero() {
				out = append(out, n.At.Sub(at))
			}
		}
	}
	return out, nil
}

// allowedAfter is the wait that policy.yaml asks for.
const allowedAfter = time.Second

// allowed is the moment from which policy let a job leave; zero for one that
// was requeued since, whose clock began anew.
func (p *play) allowed(id bridge.JobID) time.Time {
	for _, j := range p.jobs {
		if j.ID == string(id) && j != p.victim {
			return j.Submitted.Add(allowedAfter)
		}
	}
	return time.Time{}
}

func (p *play) fromClouds(s *Summary) error {
	now := time.Now()
	entries, err := server.ReadLedger(p.rig.path("cloud", "ledger.jsonl"))
	if err != nil {
		return err
	}
	j, err := server.Judge(entries, now)
	if err != nil {
		return err
	}
	s.MachinesRented, s.MachinesLeft = j.Machines, len(j.Live)
	// A noticed machine is often given back before its cloud takes it.
	s.Reclaims = lo.CountBy(entries, func(e wire.Entry) bool { return e.Kind == wire.EntryNotice })
	for c, micro := range j.CostMicro {
		s.billed = bridge.Money{Micro: micro, Currency: c}
		if p.o.EC2 {
			s.slack = int64(s.MachinesRented) * 2 * 28_600_000 / 3600 // of the dearest machine
		}
	}
	if len(j.Doubles)+len(j.Overlaps)+len(j.Late)+len(j.Untagged) > 0 {
		return fmt.Errorf("the clouds saw doubles %v, overlaps %v, late %v, untagged %v: %w", j.Doubles, j.Overlaps, j.Late, j.Untagged, ErrFault)
	}
	s.onDemand, err = p.rig.atListPrice(entries, j)
	return err
}

// atListPrice is what the machines would have cost on demand: each bill scaled
// by the two prices of its own pool.
func (r *rig) atListPrice(entries []wire.Entry, j server.Judgement) (bridge.Money, error) {
	world, err := server.LoadWorld(r.path("world.yaml"))
	if err != nil {
		return bridge.Money{}, err
	}
	list := map[wire.Pool]server.Price{}
	for _, c := range world.Clouds {
		for _, g := range c.Regions {
			for _, z := range g.Zones {
				for _, s := range z.Pools {
					list[wire.Pool{Region: g.Name, Zone: z.Name, Type: s.Type}] = s.OnDemand.Rate
				}
			}
		}
	}
	var sum bridge.Money
	for _, e := range entries {
		if e.Kind != wire.EntryStart {
			continue
		}
		pool := *e.Pool
		pool.Market = ""
		bill := j.Bills[e.Machine]
		bill.Micro = int64(float64(bill.Micro) * float64(list[pool]) / float64(e.Rate.Micro))
		if sum, err = sum.Add(bill); err != nil {
			return sum, fmt.Errorf("sum the list prices: %w", err)
		}
	}
	return sum, nil
}

func (p *play) fromBooks(ctx context.Context, s *Summary) error {
	c := socket.NewClient(p.rig.socket())
	defer c.Close()
	books, err := socket.Call(ctx, c, desk.AskLedger, desk.LedgerRequest{})
	if err != nil {
		return fmt.Errorf("check the ledger: %w", err)
	}
	s.LedgerBalanced = books.Balanced
	spend, err := socket.Call(ctx, c, desk.AskSpend, desk.SpendRequest{})
	if err != nil {
		return fmt.Errorf("ask for the spend: %w", err)
	}
	for _, a := range spend.Accounts {
		if a.Account == "demo/research/vision" {
			s.CostMicro, s.HeldMicro, s.Currency = a.Posted.Micro, a.Held.Micro, a.Posted.Currency
		}
	}
	return nil
}

// judge prints the summary and says whether the story ended well.
func (p *play) judge(s *Summary, tale io.Writer) error {
	fmt.Fprintf(tale, "\nThe end, from the jobs' own logs, the clouds' own ledger and Spillway's books:\n\n")
	s.print(tale)
	if p.o.JSON {
		if err := s.json(p.o.Out); err != nil {
			return fmt.Errorf("print the summary: %w", err)
		}
	}
	var errs []error
	for _, f := range s.faults() {
		errs = append(errs, fmt.Errorf("%s: %w", f, ErrFault))
	}
	return errors.Join(errs...)
}
