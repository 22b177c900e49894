package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/samber/lo"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/sim/invariant"
)

// invariants is how many there are.
const invariants = 28

// simSummary is the end of the story in a simulated world.
type simSummary struct {
	Summary
	Seed       uint64 `json:"seed"`
	Invariants int    `json:"invariants"`
	Checks     int    `json:"checks"` // how often each was checked
	Violations int    `json:"violations"`
}

// judge has the whole world checked once more, and sums it up.
func (p *simPlay) judge(tale io.Writer) error {
	ctx := context.Background() // All is over; only files are read.
	if err := p.world.End(ctx); err != nil {
		return fmt.Errorf("look at the end: %w", err)
	}
	p.checks += 2
	found := p.world.Violations()
	s := simSummary{Seed: p.o.Seed, Invariants: invariants, Checks: p.checks, Violations: len(found)}
	if err := p.summarise(ctx, &s.Summary); err != nil {
		return err
	}
	fmt.Fprintf(tale, "\nThe end, from the scheduler's own record, the clouds' own ledger and Spillway's books:\n\n")
	s.print(tale)
	fmt.Fprintf(tale, "  %-10s %d invariants checked %d times: %d violations\n", "proof", s.Invariants, s.Checks, s.Violations)
	fmt.Fprintf(tale, "\nAnother world: spillway demo --scheduler sim --seed %d\n", p.o.Seed+1)
	if p.o.JSON {
		if err := json.NewEncoder(p.o.Out).Encode(&s); err != nil {
			return fmt.Errorf("print the summary: %w", err)
		}
	}
	return verdict(found, p.faults(&s.Summary))
}

// verdict is nil when nothing was found.
func verdict(found []invariant.Violation, faults []string) error {
	var errs []error
	for _, v := range found {
		errs = append(errs, fmt.Errorf("%s: %w", v, ErrFault))
	}
	for _, f := range faults {
		errs = append(errs, fmt.Errorf("%s: %w", f, ErrFault))
	}
	return errors.Join(errs...)
}

// faults are those of every demo. A person may say no: then the gang waits for
// room at home.
func (p *simPlay) faults(s *Summary) []string {
	if len(p.feed.of(bridge.NewsDenied))+len(p.feed.of(bridge.NewsLapsed)) == 0 {
		return s.faults()
	}
	said := *s
	said.Approvals = max(said.Approvals, 1)
	return said.faults()
}

func (p *simPlay) summarise(ctx context.Context, s *Summary) error {
	s.JobsTotal, s.Approvals, s.length = len(p.jobs), len(p.feed.of(bridge.NewsApproved)), time.Since(p.story.began)
	p.fromJobs(s)
	if err := p.fromClouds(s); err != nil {
		return err
	}
	books, err := p.world.Desk.CheckBooks(ctx, p.world.Person("root"), desk.LedgerRequest{})
	if err != nil {
		return fmt.Errorf("check the ledger: %w", err)
	}
	s.LedgerBalanced = books.Balanced
	spend, err := p.world.Desk.Spend(ctx, p.world.Person("root"), desk.SpendRequest{})
	if err != nil {
		return fmt.Errorf("ask for the spend: %w", err)
	}
	for _, a := range spend.Accounts {
		if a.Account == "org" {
			s.CostMicro, s.HeldMicro, s.Currency = a.Posted.Micro, a.Held.Micro, a.Posted.Currency
		}
	}
	s.SubmitToCreateP95 = p95(p.toCreate())
	s.AdmitToRunP95 = p95(lo.Filter(p.feed.took(bridge.NewsStarted), func(d time.Duration, _ int) bool { return d > 0 }))
	s.NoticeToDrainedMax = longest(p.feed.took(bridge.NewsDrained))
	s.StoppedToEligibleMx = longest(p.feed.took(bridge.NewsEligible))
	return nil
}

// fromJobs reads the scheduler's own record. A job that ran in parts has lost
// what its parts come to beyond its work, and has gone on from a checkpoint when its
// last part was shorter than that.
func (p *simPlay) fromJobs(s *Summary) {
	var waited time.Duration
	for _, j := range p.jobs {
		if j.seen.State == completed {
			s.JobsCompleted++
		}
		if len(j.seen.Starts) == 0 {
			continue
		}
		waited += j.seen.Starts[0].At.Sub(j.sent)
		var ran, last time.Duration
		for _, r := range j.seen.Starts {
			last = r.End.Sub(r.At)
			ran += last
		}
		if len(j.seen.Starts) > 1 {
			s.LostWorkSeconds += (ran - j.Work).Seconds()
			if last < j.Work {
				s.Resumed++
			}
		}
	}
	s.WaitMeanSeconds = waited.Seconds() / float64(len(p.jobs))
}

func (p *simPlay) fromClouds(s *Summary) error {
	entries, err := server.ReadLedger(p.world.Cloud.LedgerFile())
	if err != nil {
		return err
	}
	j, err := server.Judge(entries, time.Now())
	if err != nil {
		return err
	}
	s.MachinesRented, s.MachinesLeft = j.Machines, len(j.Live)
	s.Reclaims = lo.CountBy(entries, func(e wire.Entry) bool { return e.Kind == wire.EntryNotice })
	for c, micro := range j.CostMicro {
		s.billed = bridge.Money{Micro: micro, Currency: c}
	}
	if len(j.Doubles)+len(j.Overlaps)+len(j.Late)+len(j.Untagged) > 0 {
		return fmt.Errorf("the clouds saw doubles %v, overlaps %v, late %v, untagged %v: %w", j.Doubles, j.Overlaps, j.Late, j.Untagged, ErrFault)
	}
	for _, e := range entries {
		if e.Kind != wire.EntryStart {
			continue
		}
		bill := j.Bills[e.Machine]
		pool := bridge.Pool{Cloud: e.Cloud, Region: e.Pool.Region, Zone: e.Pool.Zone, Type: e.Pool.Type, Market: bridge.OnDemand}
		if list := p.list[pool]; list.Micro > 0 {
			bill.Micro = int64(float64(bill.Micro) * float64(list.Micro) / float64(e.Rate.Micro))
		}
		if s.onDemand, err = s.onDemand.Add(bill); err != nil {
			return fmt.Errorf("sum the list prices: %w", err)
		}
	}
	return nil
}

// toCreate is, for each rental, the time from the moment it was decided on, or
// approved, to its create call.
func (p *simPlay) toCreate() []time.Duration {
	began := map[bridge.RentalID]time.Time{}
	var out []time.Duration
	for _, n := range p.feed.all() {
		switch n.Kind {
		case bridge.NewsReserved, bridge.NewsApproved:
			began[n.Rental] = n.At
		case bridge.NewsCreating:
			if at, ok := began[n.Rental]; ok {
				out = append(out, n.At.Sub(at))
				delete(began, n.Rental)
			}
		default: // Nothing of it begins or ends here.
		}
	}
	return out
}
