package bridge

import "time"

// Measure is what an alert of a budget looks at.
type Measure string

// The measures. Forecast is what a period is likely to come to by its end.
const (
	OfPosted   Measure = "posted"
	OfHeld     Measure = "held" // posted and held together
	OfForecast Measure = "forecast"
)

// Alert says that a budget has reached a share of its limit.
type Alert struct {
	Scope   Scope      `json:"scope"`
	Every   PeriodKind `json:"every"`
	Period  string     `json:"period"` // for example 2026-11
	Measure Measure    `json:"measure"`
	// Percent is the highest of the thresholds 50, 80 and 100 that is reached.
	Percent int   `json:"percent"`
	Amount  Money `json:"amount"` // of the measure
	Limit   Money `json:"limit"`
	Hard    bool  `json:"hard"`
}

// Once is news that is told a single time, whatever happens: after a restart,
// by another process, after a lost answer.
type Once struct {
	Name     string   // what must not be told twice
	Silences []string // further names that are then as good as told
	News     News
}

// Usage is what the GPUs of one cluster and class did in one hour. All figures
// but Seconds are GPU-seconds.
type Usage struct {
	Hour    time.Time `json:"hour"` // its first instant, UTC
	Cluster string    `json:"cluster"`
	GPU     string    `json:"gpu"` // class; empty: nodes whose class is not said
	// Seconds is how much of the hour was looked at.
	Seconds int64 `json:"seconds"`
	// Owned and Rented are GPUs of the cluster's own nodes and of rented machines
	// that are admitted; the busy ones are allocated to a job.
	Owned      int64 `json:"owned"`
	OwnedBusy  int64 `json:"owned_busy"`
	Rented     int64 `json:"rented"`
	RentedBusy int64 `json:"rented_busy"`
	// Waiting are GPUs that pending jobs ask for, which could start if they were free.
	Waiting int64 `json:"waiting"`
	// Measured are GPU-seconds of busy rented GPUs whose utilisation a metrics
	// server knows, and Useful that time their utilisation.
	Measured int64 `json:"measured"`
	Useful   int64 `json:"useful"`
}
