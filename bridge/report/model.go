package report

import (
	"time"

	"spillway.sh/spillway/bridge"
)

// Report is one week. A nil figure is absent; Notes say why.
type Report struct {
	Week string    `json:"week"` // ISO, as 2026-W48
	From time.Time `json:"from"` // first instant of the week in Zone, UTC
	To   time.Time `json:"to"`   // first instant after it, UTC
	Zone string    `json:"zone"`
	Made time.Time `json:"made"` // what it knows is from then
	// Open is true while the week is not over: its figures end at Made.
	Open bool `json:"open,omitempty"`
	// Account is whose spending it is about; empty: all.
	Account  bridge.Account  `json:"account,omitempty"`
	Currency bridge.Currency `json:"currency"`

	Headline  Headline  `json:"headline"`
	Spend     Spend     `json:"spend"`
	Use       Use       `json:"use"`
	Wait      Wait      `json:"wait"`
	Mix       Mix       `json:"mix"`
	Spot      Spot      `json:"spot"`
	Top       Top       `json:"top"`
	Waste     Waste     `json:"waste"`
	Approvals Approvals `json:"approvals"`
	Guard     Guard     `json:"guard"`
	Advice    []Advice  `json:"advice"` // at most three, the one worth most first
	Notes     []Note    `json:"notes"`
}

// Part names one of the ten parts of a report.
type Part string

// The parts, in order.
const (
	PartSpend     Part = "spend"
	PartUse       Part = "use"
	PartWait      Part = "wait"
	PartMix       Part = "mix"
	PartSpot      Part = "spot"
	PartTop       Part = "top"
	PartWaste     Part = "waste"
	PartApprovals Part = "approvals"
	PartGuard     Part = "guard"
	PartAdvice    Part = "advice"
)

// Parts are all of them, in order.
func Parts() []Part {
	return []Part{PartSpend, PartUse, PartWait, PartMix, PartSpot, PartTop, PartWaste, PartApprovals, PartGuard, PartAdvice}
}

// Headline is what the first sentence says.
type Headline struct {
	Elastic   bridge.Money `json:"elastic"`
	Total     bridge.Money `json:"total"`      // elastic, owned and reserved together
	ElasticPM *int         `json:"elastic_pm"` // of Total, per mille
	Saved     *Hours       `json:"saved"`      // job-hours of waiting, an estimate
	// Reserve is the class for which more or less reserved capacity would have been
	// cheapest by most.
	Reserve *Reserve `json:"reserve"`
}

// Reserve says how much of a class would have been best to reserve.
type Reserve struct {
	GPU   string       `json:"gpu"`
	Now   int          `json:"now"`
	Best  int          `json:"best"`
	Saves bridge.Money `json:"saves"` // a week, against Now
}

// Spend is part 1. Elastic is OnDemand and Spot together; Total is Elastic and
// Kept together; Days add up to each of them.
type Spend struct {
	OnDemand  bridge.Money `json:"on_demand"`
	Spot      bridge.Money `json:"spot"`
	Elastic   bridge.Money `json:"elastic"`
	Kept      bridge.Money `json:"kept"` // owned and reserved, amortised, used or not
	Total     bridge.Money `json:"total"`
	ElasticPM *int         `json:"elastic_pm"`
	// LastWeek and Mean are elastic spend of the week before and of the up to four
	// weeks before that have any.
	LastWeek  *bridge.Money  `json:"last_week"`
	Change    *bridge.Money  `json:"change"` // against LastWeek
	ChangePM  *int           `json:"change_pm"`
	Mean      *bridge.Money  `json:"mean"`
	MeanWeeks int            `json:"mean_weeks"`
	Unsettled bridge.Money   `json:"unsettled"` // of Elastic: bills are still to come
	Days      []SpendDay     `json:"days"`      // oldest first
	Weeks     []SpendWeek    `json:"weeks"`     // up to five, oldest first, this one last
	Capacity  []CapacityLine `json:"capacity"`  // adds up to Kept
	Budgets   []BudgetLine   `json:"budgets"`
	Forecast  *Forecast      `json:"forecast"`
	Month     []MonthDay     `json:"month"` // that the forecast is of: its days up to Made, oldest first
}

// MonthDay is elastic spend from the first of a month to the end of a day of it.
type MonthDay struct {
	Date  string       `json:"date"`
	SoFar bridge.Money `json:"so_far"`
}

// SpendDay is one day of the week in the report's zone.
type SpendDay struct {
	Date     string       `json:"date"`
	OnDemand bridge.Money `json:"on_demand"`
	Spot     bridge.Money `json:"spot"`
	Kept     bridge.Money `json:"kept"`
}

// SpendWeek is elastic spend of one week.
type SpendWeek struct {
	Week    string       `json:"week"`
	Elastic bridge.Money `json:"elastic"`
}

// CapacityLine is what one piece of owned or reserved capacity cost in the week.
type CapacityLine struct {
	Name string              `json:"name"`
	Kind bridge.CapacityKind `json:"kind"`
	GPU  string              `json:"gpu"`
	GPUs int                 `json:"gpus"`
	Cost bridge.Money        `json:"cost"`
}

// BudgetLine is a budget in its period that contains the week's end, or Made.
type BudgetLine struct {
	Scope  bridge.Scope `json:"scope"`
	Period string       `json:"period"` // 2026-11-30, 2026-W49 or 2026-11
	Limit  bridge.Money `json:"limit"`
	Posted bridge.Money `json:"posted"`
	Held   bridge.Money `json:"held"`
	Left   bridge.Money `json:"left"`
	UsedPM int          `json:"used_pm"` // posted and held of the limit
	Hard   bool         `json:"hard"`
}

// Forecast is elastic spend to the end of a month: a range of P10 to P90.
type Forecast struct {
	Month  string       `json:"month"`
	Low    bridge.Money `json:"low"`
	Likely bridge.Money `json:"likely"`
	High   bridge.Money `json:"high"`
	Days   int          `json:"days"` // of history it is made of
}

// Source says where a utilisation is from.
type Source string

// Measured is from a metrics server, Allocated from what the scheduler gave to
// jobs.
const (
	Measured  Source = "measured"
	Allocated Source = "allocation"
)

// Use is part 2. Classes add up to Total.
type Use struct {
	Total   UseClass   `json:"total"`
	Classes []UseClass `json:"classes"` // by GPU class
	// Unused is what was paid and ran nothing, by why; it adds up to UnusedCost.
	Unused      []Unused     `json:"unused"`
	UnusedCost  bridge.Money `json:"unused_cost"`
	UnusedHours Hours        `json:"unused_hours"` // of GPUs
	UnusedPM    *int         `json:"unused_pm"`    // of elastic spend
}

// UseClass is what rented GPUs of one class did.
type UseClass struct {
	GPU  string       `json:"gpu"` // empty: all, or machines without one
	Cost bridge.Money `json:"cost"`
	Paid Hours        `json:"paid"` // GPU-hours that were paid for
	Busy *Hours       `json:"busy"` // of them, given to jobs
	// UtilisationPM is useful of paid GPU-hours, per mille: busy ones times their
	// measured utilisation, or busy ones where nothing is measured.
	UtilisationPM *int          `json:"utilisation_pm"`
	Source        Source        `json:"source,omitempty"`
	MeasuredPM    int           `json:"measured_pm"` // of busy GPU-hours, how much was measured
	PerUseful     *bridge.Money `json:"per_useful"`  // cost of one useful GPU-hour
	// Owned and OwnedBusy are GPU-hours of the clusters' own nodes.
	Owned     Hours `json:"owned"`
	OwnedBusy Hours `json:"owned_busy"`
}

// UnusedKind is why paid machines ran nothing.
type UnusedKind string

// The kinds.
const (
	Starting UnusedKind = "starting" // from the first second paid until admitted
	Idling   UnusedKind = "idle"     // admitted, without a job
	Stopping UnusedKind = "stopping" // from the end of admission until gone
	Failed   UnusedKind = "failed"   // never admitted at all
)

// Unused is what was paid for machines that ran nothing.
type Unused struct {
	Kind UnusedKind   `json:"kind"`
	GPU  Hours        `json:"gpu_hours"`
	Cost bridge.Money `json:"cost"`
	PM   *int         `json:"pm"` // of elastic spend
}

// Wait is part 3. What the clusters would have done is their schedulers' own
// word: the last start estimate seen before the job started on rented machines.
type Wait struct {
	Jobs        int     `json:"jobs"`  // started on rented machines in the week
	Known       int     `json:"known"` // of them, with an estimate: what the figures below are of
	Median      *Span   `json:"median"`
	P90         *Span   `json:"p90"`
	LocalMedian *Span   `json:"local_median"`
	LocalP90    *Span   `json:"local_p90"`
	Saved       *Hours  `json:"saved"`     // job-hours, those that started later than estimated taken off
	SavedGPU    *Hours  `json:"saved_gpu"` // the same, times each job's GPUs
	Later       int     `json:"later"`     // of Known, those that would have started sooner at home
	ByClass     []WaitK `json:"by_class"`
	// PerHour is elastic spend of the rentals of Known for each job-hour saved.
	PerHour *bridge.Money `json:"per_hour"`
}

// WaitK is the wait of jobs of one GPU class.
type WaitK struct {
	GPU         string `json:"gpu"`
	Known       int    `json:"known"`
	Median      Span   `json:"median"`
	LocalMedian Span   `json:"local_median"`
	Saved       Hours  `json:"saved"`
}

// Mix is part 4: how much to reserve and how much to rent.
type Mix struct {
	Classes []MixClass `json:"classes"`
}

// MixClass is one GPU class, by its hourly demand of the last weeks: GPUs that
// jobs had, owned and rented, on average over each hour.
type MixClass struct {
	GPU   string    `json:"gpu"`
	From  time.Time `json:"from"`  // of the demand looked at
	To    time.Time `json:"to"`    // end of it
	Hours int       `json:"hours"` // of it, with data
	// Have is owned and reserved GPUs at the week's end, Contract those of them that
	// are not owned.
	Have     int `json:"have"`
	Contract int `json:"contract"`
	// Peak, Median and Mean are of hourly demand; the mean in tenths.
	Peak   int   `json:"peak"`
	Median int   `json:"median"`
	Mean   Hours `json:"mean"`
	// Waiting is GPUs that waiting jobs asked for, on average, in tenths; they are
	// not in the demand, for they would count again each hour they wait.
	Waiting Hours        `json:"waiting"`
	Curve   []CurvePoint `json:"curve"` // from no GPU to the peak
	// Sets is the best number under each of up to three price sets, as paid first.
	Sets []PriceSet `json:"sets"`
	// Steps are the best numbers when the first set's prices are other by a fifth.
	Steps []Sensitivity `json:"steps"`
	// Plans are none, now and best under the first set, for the hours looked at.
	Plans  []PlanCost `json:"plans"`
	Online *Online    `json:"online"`
}

// CurvePoint says for how much of the time at least so many GPUs were wanted.
type CurvePoint struct {
	GPUs int `json:"gpus"`
	PM   int `json:"pm"` // of the hours
}

// PriceSet is a pair of prices of one GPU-hour and what is best under it.
type PriceSet struct {
	Name     PriceName    `json:"name"`
	Elastic  bridge.Money `json:"elastic"`
	Reserved bridge.Money `json:"reserved"`
	// QuantilePM is 1 - Reserved/Elastic, never below 0: the K that is best is this
	// quantile of hourly demand.
	QuantilePM int `json:"quantile_pm"`
	Best       int `json:"best"`
}

// PriceName says which elastic price is compared.
type PriceName string

// The price sets.
const (
	AsPaid       PriceName = "as-paid"   // what GPU-hours of the class cost, all markets
	ListPrice    PriceName = "on-demand" // machines on demand alone
	SpotWithLoss PriceName = "spot"      // spot machines alone, lost work counted
)

// Sensitivity is the best number when a price is other than it was.
type Sensitivity struct {
	ElasticPM  int `json:"elastic_pm"`  // of the set's price: 800, 1000 or 1200
	ReservedPM int `json:"reserved_pm"` // likewise
	Best       int `json:"best"`
}

// PlanName is a number of reserved GPUs that is compared.
type PlanName string

// The plans.
const (
	PlanNone PlanName = "none"
	PlanNow  PlanName = "now"
	PlanBest PlanName = "best"
)

// PlanCost is what the demand would have cost with so many reserved GPUs.
type PlanCost struct {
	Name   PlanName     `json:"name"`
	GPUs   int          `json:"gpus"`
	Cost   bridge.Money `json:"cost"`
	Regret bridge.Money `json:"regret"` // against the best
}

// Online is what a rule that knows nothing of the future would have paid on the
// same demand, beside who had known it all.
type Online struct {
	AlphaPM   int          `json:"alpha_pm"`   // price of a used reserved hour of an hour on demand
	BoundPM   int          `json:"bound_pm"`   // 2 - alpha: never more than this times the optimum
	Term      int          `json:"term"`       // hours a reservation lasts
	Cost      bridge.Money `json:"cost"`       // of the rule
	Optimum   bridge.Money `json:"optimum"`    // in hindsight
	RatioPM   int          `json:"ratio_pm"`   // Cost of Optimum
	Reserved  int          `json:"reserved"`   // reservations the rule made
	OnlyRent  bridge.Money `json:"only_rent"`  // had nothing been reserved
	HoursSeen int          `json:"hours_seen"` // of demand
}
