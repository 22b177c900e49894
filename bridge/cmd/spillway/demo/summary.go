package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// Summary is the end of the story in figures. Its JSON keys are stable.
type Summary struct {
	JobsTotal           int             `json:"jobs_total"`
	JobsCompleted       int             `json:"jobs_completed"`
	MachinesRented      int             `json:"machines_rented"`
	MachinesLeft        int             `json:"machines_left"`
	Reclaims            int             `json:"reclaims"`
	Resumed             int             `json:"resumed"`
	LostWorkSeconds     float64         `json:"lost_work_seconds"`
	Approvals           int             `json:"approvals"`
	WaitMeanSeconds     float64         `json:"wait_mean_seconds"`
	SubmitToCreateP95   float64         `json:"submit_to_create_p95_seconds"`
	AdmitToRunP95       float64         `json:"admit_to_run_p95_seconds"`
	NoticeToDrainedMax  float64         `json:"notice_to_drained_max_seconds"`
	StoppedToEligibleMx float64         `json:"stopped_to_eligible_max_seconds"`
	CostMicro           int64           `json:"cost_micro"`
	Currency            bridge.Currency `json:"currency"`
	HeldMicro           int64           `json:"held_micro"`
	LedgerBalanced      bool            `json:"ledger_balanced"`

	// onDemand is what the same machine time would have cost at list price.
	onDemand bridge.Money
	// billed is the clouds' own sum.
	billed bridge.Money
	// slack is how far the books may be from the bill: what is told in whole seconds
	// only can be off by one at both ends.
	slack  int64
	length time.Duration
}

// faults lists what is not as it should be; empty when the story ended well.
func (s *Summary) faults() []string {
	var out []string
	check := func(ok bool, format string, args ...any) {
		if !ok {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	check(s.JobsCompleted == s.JobsTotal, "%d of %d jobs completed", s.JobsCompleted, s.JobsTotal)
	check(s.MachinesLeft == 0, "%d machines are left in the clouds", s.MachinesLeft)
	check(s.MachinesRented > 0, "no machine was rented")
	check(s.Reclaims > 0, "no machine was taken back")
	check(s.Resumed >= s.Reclaims, "%d of %d reclaimed jobs went on from a checkpoint", s.Resumed, s.Reclaims)
	check(s.Approvals > 0, "nothing was approved")
	check(s.HeldMicro == 0, "%s is still held", bridge.Money{Micro: s.HeldMicro, Currency: s.Currency})
	check(s.LedgerBalanced, "the ledger does not balance")
	check(max(s.CostMicro-s.billed.Micro, s.billed.Micro-s.CostMicro) <= s.slack, "the books say %s, the clouds billed %s", bridge.Money{Micro: s.CostMicro, Currency: s.Currency}, s.billed)
	return out
}

// print writes the summary for a person.
func (s *Summary) print(w io.Writer) {
	cost := bridge.Money{Micro: s.CostMicro, Currency: s.Currency}
	saved := 0.0
	if s.onDemand.Micro > 0 {
		saved = 100 * (1 - float64(s.CostMicro)/float64(s.onDemand.Micro))
	}
	rows := [][2]string{
		{"jobs", fmt.Sprintf("%d of %d completed, mean wait %.0f s", s.JobsCompleted, s.JobsTotal, s.WaitMeanSeconds)},
		{"machines", fmt.Sprintf("%d rented, %d left", s.MachinesRented, s.MachinesLeft)},
		{"reclaimed", fmt.Sprintf("%d, of which %d went on from a checkpoint; %.1f s of work lost", s.Reclaims, s.Resumed, s.LostWorkSeconds)},
		{"approvals", fmt.Sprint(s.Approvals)},
		{"cost", fmt.Sprintf("%s (the clouds' own bill: %s), %.0f %% below the on-demand price", cost, s.billed, saved)},
		{"books", fmt.Sprintf("%s held, ledger balanced: %t", bridge.Money{Micro: s.HeldMicro, Currency: s.Currency}, s.LedgerBalanced)},
		{"speed", fmt.Sprintf("submission to create call %.2f s (p95), admission to running %.2f s (p95)", s.SubmitToCreateP95, s.AdmitToRunP95)},
		{"reclaim", fmt.Sprintf("notice to drained and signalled %.2f s, stopped to eligible again %.2f s (max)", s.NoticeToDrainedMax, s.StoppedToEligibleMx)},
		{"took", fmt.Sprintf("%.0f s", s.length.Seconds())},
	}
	for _, r := range rows {
		fmt.Fprintf(w, "  %-10s %s\n", r[0], r[1])
	}
}

// json writes the summary as one line.
func (s *Summary) json(w io.Writer) error { return json.NewEncoder(w).Encode(s) }

// p95 is the nearest-rank 95th percentile in seconds; zero of nothing.
func p95(d []time.Duration) float64 {
	if len(d) == 0 {
		return 0
	}
	d = slices.Sorted(slices.Values(d))
	return d[int(math.Ceil(0.95*float64(len(d))))-1].Seconds()
}

// longest is the largest of d in seconds; zero of nothing.
func longest(d []time.Duration) float64 {
	if len(d) == 0 {
		return 0
	}
	return slices.Max(d).Seconds()
}
