package bridge

import "time"

// Health is what a machine's own checks say of it.
type Health string

// The healths. A machine takes jobs only when it is fit.
const (
	HealthChecking Health = "checking"
	HealthFit      Health = "fit"
	HealthUnfit    Health = "unfit"
)

// Report is what a machine's agent says of its machine, and of nothing else:
// which machine it is follows from the lease it is sent with.
type Report struct {
	At     time.Time `json:"at"` // by the machine's clock
	Health Health    `json:"health"`
	Checks []Check   `json:"checks,omitempty"` // of the gate, those that failed first
	Stages []Stage   `json:"stages,omitempty"` // of getting ready, in order
	Busy   bool      `json:"busy"`             // a job has processes on it
	// GPUPM is the use of its GPUs, per mille; negative: unknown.
	GPUPM  int      `json:"gpu_pm"`
	Notice *Warning `json:"notice,omitempty"` // in force; nil: none, or taken back by the cloud
}

// Check is one thing looked at before a machine takes jobs.
type Check struct {
	Name string        `json:"name"`
	OK   bool          `json:"ok"`
	Got  string        `json:"got"`
	Want string        `json:"want,omitempty"`
	Took time.Duration `json:"took"`
}

// Stage is one step of a machine getting ready: an image pulled, a data set
// cached, the gate passed.
type Stage struct {
	Name string        `json:"name"`
	OK   bool          `json:"ok"`
	Took time.Duration `json:"took"`
	Text string        `json:"text,omitempty"`
}

// Warning is a provider's word that it takes a machine back. Advice says that
// it is only more likely than usual.
type Warning struct {
	Source string    `json:"source"` // the provider's own name of the event
	Seen   time.Time `json:"seen"`
	At     time.Time `json:"at"` // of the taking; zero: not said
	Advice bool      `json:"advice,omitempty"`
}
