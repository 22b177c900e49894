// Package wire is the protocol between Spillway and a cloud's plugin: one
// request on standard input, one answer on standard output, both JSON, then the
// plugin ends. deploy/docs/clouds/plugin.md says it for authors.
package wire

import (
	"encoding/json"
	"time"
)

// Version is the only one there is.
const Version = 1

// Call is what is asked of a plugin.
type Call string

// The calls. All but create may be repeated without harm; whether create may
// is what Description.Idempotency says.
const (
	CallDescribe  Call = "describe"
	CallOffers    Call = "offers"
	CallCreate    Call = "create"
	CallObserve   Call = "observe"
	CallList      Call = "list"
	CallTerminate Call = "terminate"
	CallExtend    Call = "extend"
)

// Request is what a plugin reads. The part named after the call is there.
type Request struct {
	Version  int             `json:"spillway"`
	Call     Call            `json:"call"`
	Cloud    string          `json:"cloud"`              // its name in the configuration
	Settings json.RawMessage `json:"settings,omitempty"` // the configuration's, as it is

	Create    *Create    `json:"create,omitempty"`
	Observe   *Observe   `json:"observe,omitempty"`
	List      *List      `json:"list,omitempty"`
	Terminate *Terminate `json:"terminate,omitempty"`
	Extend    *Extend    `json:"extend,omitempty"`
}

// Create asks for Count machines or none. The same token is the same create.
type Create struct {
	Token    string            `json:"token"`
	Region   string            `json:"region,omitempty"`
	Zone     string            `json:"zone,omitempty"`
	Type     string            `json:"type"`
	Market   string            `json:"market"` // on-demand or spot
	Count    int               `json:"count"`
	MaxRate  Rate              `json:"max_rate"` // per machine-hour; a dearer machine is refused
	Tags     map[string]string `json:"tags"`
	UserData string            `json:"user_data"` // a script that root runs at boot
	Expires  time.Time         `json:"expires"`   // the machine is off by then
}

// Observe asks for the machines of a create, by its handle or, where its answer
// was lost, by token or tags.
type Observe struct {
	Token  string            `json:"token"`
	Handle string            `json:"handle,omitempty"`
	Tags   map[string]string `json:"tags"`
}

// List asks for every machine that has one of two tags.
type List struct {
	Store   string `json:"store"`   // of spillway-store
	Cluster string `json:"cluster"` // of spillway-cluster
}

// Terminate asks for the end of machines. One that is gone is no error.
type Terminate struct {
	IDs []string `json:"ids"`
}

// Extend moves the end of machines, in the cloud and in their tags.
type Extend struct {
	IDs     []string  `json:"ids"`
	Expires time.Time `json:"expires"`
}

// Rate is a price of one machine for one hour, in decimal: 12.80 USD.
type Rate struct {
	Amount   json.Number `json:"amount"`
	Currency string      `json:"currency"`
}

// Answer is what a plugin writes: an error, or what the call asked for.
type Answer struct {
	Version int    `json:"spillway"`
	Error   *Error `json:"error,omitempty"`

	Describe *Description `json:"describe,omitempty"`
	Offers   []Offer      `json:"offers,omitempty"`
	Handle   string       `json:"handle,omitempty"`
	Machines []Machine    `json:"machines,omitempty"`
	// Complete says of a list that nothing is missing. One that is not proves
	// nothing gone.
	Complete bool `json:"complete,omitempty"`
}

// Error is a call that failed.
type Error struct {
	// Kind is no-capacity, quota, price, denied, invalid, mismatch (these prove
	// that nothing was made), throttled, not-found or unknown.
	Kind       string   `json:"kind"`
	Code       string   `json:"code,omitempty"` // the provider's own
	Message    string   `json:"message,omitempty"`
	RetryAfter Duration `json:"retry_after,omitempty"`
}

// Description is what a plugin says of itself.
type Description struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Idempotency is token (the same token is the same machines) or none (each
	// create makes machines; Spillway then lists before it creates).
	Idempotency string `json:"idempotency"`
	Extends     bool   `json:"extends,omitempty"` // it answers extend
}

// Offer is a pool at a rate, with what a machine of it has.
type Offer struct {
	Region    string    `json:"region,omitempty"`
	Zone      string    `json:"zone,omitempty"`
	Type      string    `json:"type"`
	Market    string    `json:"market"`
	CPUs      int       `json:"cpus"`
	MemoryMiB int64     `json:"memory_mib"`
	DiskMiB   int64     `json:"disk_mib,omitempty"`
	GPUs      int       `json:"gpus,omitempty"`
	GPUType   string    `json:"gpu_type,omitempty"`
	Features  []string  `json:"features,omitempty"`
	Network   string    `json:"network,omitempty"` // class: 25g, 100g or rdma
	Rate      Rate      `json:"rate"`
	SampledAt time.Time `json:"sampled_at"`
	MaxAge    Duration  `json:"max_age"`
	Boot      Duration  `json:"boot"`                // from create to joined, as expected
	Available *int      `json:"available,omitempty"` // missing: not known
	Step      Duration  `json:"step,omitempty"`      // of billing; a second unless given
	Minimum   Duration  `json:"minimum,omitempty"`   // that is charged at least
	Notice    Duration  `json:"notice,omitempty"`    // before a spot machine is taken
}

// Machine is one machine.
type Machine struct {
	ID        string            `json:"id"`
	Region    string            `json:"region,omitempty"`
	Zone      string            `json:"zone,omitempty"`
	Type      string            `json:"type"`
	Market    string            `json:"market"`
	State     string            `json:"state"` // pending, running, stopping (these cost) or gone
	Address   string            `json:"address,omitempty"`
	Tags      map[string]string `json:"tags,omitempty"`
	Token     string            `json:"token,omitempty"`
	Rate      Rate              `json:"rate"`
	Launched  time.Time         `json:"launched,omitzero"` // it costs from then
	Stopped   time.Time         `json:"stopped,omitzero"`
	NoticeAt  time.Time         `json:"notice_at,omitzero"`
	ReclaimAt time.Time         `json:"reclaim_at,omitzero"`
	Fault     string            `json:"fault,omitempty"` // why it ended by itself
}

// Duration is written as text such as 90s.
type Duration time.Duration

// MarshalText writes it as Go prints it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration takes.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}
