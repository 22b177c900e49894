// Package wire is the protocol of the local cloud: what its server sends and
// accepts over HTTP as JSON. Package server documents the calls; package local
// speaks them for the engine.
package wire

import "time"

// Pool is where machines of one kind come from in one cloud.
type Pool struct {
	Region string `json:"region"`
	Zone   string `json:"zone"`
	Type   string `json:"type"`
	Market string `json:"market"` // on-demand or spot
}

// String prints region/zone/type/market.
func (p Pool) String() string { return p.Region + "/" + p.Zone + "/" + p.Type + "/" + p.Market }

// Rate is a price in micro-units of a currency per machine-hour.
type Rate struct {
	Micro    int64  `json:"micro_per_hour"`
	Currency string `json:"currency"`
}

// Create asks for Count machines or none.
type Create struct {
	Token    string            `json:"token,omitempty"` // at most 64 printable ASCII characters
	Pool     Pool              `json:"pool"`
	Count    int               `json:"count"`
	MaxRate  Rate              `json:"max_rate"` // zero: no ceiling
	Tags     map[string]string `json:"tags,omitempty"`
	UserData string            `json:"user_data,omitempty"`
	Expires  time.Time         `json:"expires,omitzero"` // zero: never
}

// Update changes a machine that exists. Fields left out stay as they are.
type Update struct {
	Expires time.Time         `json:"expires,omitzero"`
	Tags    map[string]string `json:"tags,omitempty"` // merged into the machine's
}

// Error is a call's failure.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// The codes of failures.
const (
	CodeNoCapacity   = "InsufficientCapacity"
	CodeQuota        = "QuotaExceeded"
	CodePrice        = "PriceAboveMaximum"
	CodeUnauthorised = "AuthFailure"
	CodeForbidden    = "Forbidden"
	CodeInvalid      = "InvalidParameter"
	CodeMismatch     = "IdempotentParameterMismatch"
	CodeThrottled    = "RequestLimitExceeded"
	CodeNotFound     = "NotFound"
	CodeBadPage      = "InvalidPageToken"
	CodeInternal     = "InternalError"
	// CodeBootFailed is a machine's fault, never a call's.
	CodeBootFailed = "BootFailed"
)

// Failure is the body of every answer that is not a success.
type Failure struct {
	Error Error `json:"error"`
}

// Status is how far an operation is.
type Status string

// The states of an operation.
const (
	StatusRunning Status = "running"
	StatusDone    Status = "done"
	StatusFailed  Status = "failed"
)

// Operation is an accepted create.
type Operation struct {
	ID        string   `json:"id"`
	Status    Status   `json:"status"`
	Instances []string `json:"instances,omitempty"`
	Ended     []string `json:"ended,omitempty"` // those of Instances that ended so long ago that no list has them
	Error     *Error   `json:"error,omitempty"`
}

// Created answers a create. Errors may be set in a success: then nothing was
// made and Operation is nil.
type Created struct {
	Operation *Operation `json:"operation,omitempty"`
	Errors    []Error    `json:"errors,omitempty"`
}

// State is where a machine stands.
type State string

// The states of a machine. One in error never ran and costs nothing.
const (
	StatePending    State = "pending"
	StateRunning    State = "running"
	StateStopping   State = "stopping"
	StateTerminated State = "terminated"
	StateError      State = "error"
)

// Instance is one machine.
type Instance struct {
	ID        string            `json:"id"`
	Pool      Pool              `json:"pool"`
	State     State             `json:"state"`
	Address   string            `json:"address,omitempty"`
	Tags      map[string]string `json:"tags,omitempty"`
	Token     string            `json:"token,omitempty"`
	Rate      Rate              `json:"rate"`
	Launched  time.Time         `json:"launched,omitzero"`
	Stopped   time.Time         `json:"stopped,omitzero"`
	Expires   time.Time         `json:"expires,omitzero"`
	NoticeAt  time.Time         `json:"notice_at,omitzero"`
	ReclaimAt time.Time         `json:"reclaim_at,omitzero"`
	Ended     string            `json:"ended,omitempty"` // why it is or will be off
	Fault     *Error            `json:"fault,omitempty"` // of a machine that ended by itself
}

// Page is one page of a listing. Total counts the machines of all pages
// together as they were when the first was asked for.
type Page struct {
	Instances []Instance `json:"instances"`
	Total     int        `json:"total"`
	Next      string     `json:"next,omitempty"`
}

// Offer is a pool at a rate.
type Offer struct {
	Pool      Pool   `json:"pool"`
	CPUs      int    `json:"cpus"`
	MemoryMiB int64  `json:"memory_mib"`
	DiskMiB   int64  `json:"disk_mib,omitempty"`
	GPUType   string `json:"gpu_type,omitempty"`
	GPUs      int    `json:"gpus,omitempty"`
	// GPUMemoryMiB is that of one GPU, and Network the class of the network, as far
	// as the cloud says.
	GPUMemoryMiB int64     `json:"gpu_memory_mib,omitempty"`
	Network      string    `json:"network,omitempty"`
	Features     []string  `json:"features,omitempty"`
	Rate         Rate      `json:"rate"`
	SampledAt    time.Time `json:"sampled_at"`
	MaxAge       Duration  `json:"max_age"`
	Boot         Duration  `json:"boot"`
	Available    *int      `json:"available,omitempty"` // nil: the cloud does not tell
	Step         Duration  `json:"step"`
	Minimum      Duration  `json:"minimum"`
	Term         Duration  `json:"term,omitempty"`     // a machine is taken for this long
	EarlyPM      int       `json:"early_pm,omitempty"` // per mille of the rest of it that an earlier end costs
	Notice       Duration  `json:"notice"`
}

// Offers is the answer to the offers call.
type Offers struct {
	Offers []Offer `json:"offers"`
}

// Event is one change of a machine.
type Event struct {
	Seq      int64     `json:"seq"`
	At       time.Time `json:"at"`
	Kind     string    `json:"kind"` // created, running, notice, stopping, terminated, failed
	Instance string    `json:"instance"`
}

// Events answers the events call. Cursor is for the next one.
type Events struct {
	Cursor string  `json:"cursor"`
	Events []Event `json:"events"`
}

// Duration is a time.Duration written as text such as "90s".
type Duration time.Duration

// MarshalText writes the duration as Go prints it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads a duration as time.ParseDuration does.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}
