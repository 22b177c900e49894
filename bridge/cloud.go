package bridge

import (
	"errors"
	"fmt"
	"time"
)

// Launch is one create call, frozen in the store before it is made.
type Launch struct {
	Rental   RentalID          `json:"rental"`
	Attempt  int               `json:"attempt"`
	Token    string            `json:"token"`
	Pool     Pool              `json:"pool"`
	Count    int               `json:"count"` // all or nothing
	MaxRate  Rate              `json:"max_rate"`
	Contract string            `json:"contract,omitempty"` // in market reserved: whose machines are meant
	Tags     map[string]string `json:"tags"`
	UserData string            `json:"user_data"`
	Expires  time.Time         `json:"expires"`
}

// InstanceState is a cloud's word for a machine, in our spelling.
type InstanceState string

// The states of an instance. Stopping still costs; gone does not.
const (
	InstancePending  InstanceState = "pending"
	InstanceRunning  InstanceState = "running"
	InstanceStopping InstanceState = "stopping"
	InstanceGone     InstanceState = "gone"
)

// Instance is a machine as its cloud shows it. Empty fields mean "not said",
// never "none": clouds answer with parts missing.
type Instance struct {
	ID       string            `json:"id"`
	Pool     Pool              `json:"pool"`
	State    InstanceState     `json:"state"`
	Address  string            `json:"address,omitempty"`
	Tags     map[string]string `json:"tags,omitempty"`
	Token    string            `json:"token,omitempty"`
	Contract string            `json:"contract,omitempty"` // in market reserved: whose machine it is
	Rate     Rate              `json:"rate"`
	Launched time.Time         `json:"launched"`
	Stopped  time.Time         `json:"stopped"`
	// NoticeAt is when the cloud said it takes the machine back, ReclaimAt when
	// it will; both zero while it does not.
	NoticeAt  time.Time `json:"notice_at"`
	ReclaimAt time.Time `json:"reclaim_at"`
	// Fault is the cloud's reason for a machine that ended by itself.
	Fault string `json:"fault,omitempty"`
}

// Listing is what one cloud says exists. Only a complete one may prove absence.
type Listing struct {
	Cloud     string     `json:"cloud"`
	At        time.Time  `json:"at"` // when the request was sent
	Complete  bool       `json:"complete"`
	Instances []Instance `json:"instances"`
}

// Handle names a create that a cloud accepted, for Observe.
type Handle string

// CloudErrorKind says what a failed call means, whatever the cloud's words.
type CloudErrorKind string

// The kinds. Everything that is not clearly a refusal is Unknown: the effect
// may exist.
const (
	CloudNoCapacity CloudErrorKind = "no-capacity" // this pool is sold out
	CloudQuota      CloudErrorKind = "quota"       // our limit there is reached
	CloudPrice      CloudErrorKind = "price"       // dearer than the ceiling
	CloudDenied     CloudErrorKind = "denied"      // credentials or rights
	CloudInvalid    CloudErrorKind = "invalid"     // the request itself is wrong
	CloudMismatch   CloudErrorKind = "mismatch"    // token used before with other parameters
	CloudThrottled  CloudErrorKind = "throttled"   // nothing happened; later
	CloudNotFound   CloudErrorKind = "not-found"
	CloudUnknown    CloudErrorKind = "unknown" // the effect may or may not exist
)

// CloudError is the only error a cloud adapter returns from a call it sent.
type CloudError struct {
	Kind       CloudErrorKind
	Op         string // create, observe, list, terminate, offers
	Cloud      string
	Code       string // the cloud's own code
	Message    string
	RetryAfter time.Duration
	Reach      Reach // of a refusal
	Err        error
}

// Error names the operation, the cloud, the kind and the cloud's own words.
func (e *CloudError) Error() string {
	s := fmt.Sprintf("%s on %s: %s", e.Op, e.Cloud, e.Kind)
	if e.Code != "" {
		s += " (" + e.Code + ")"
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the transport's error, if any.
func (e *CloudError) Unwrap() error { return e.Err }

// KindOf returns the kind of a cloud's error; anything unrecognised is unknown.
func KindOf(err error) CloudErrorKind {
	if ce, ok := errors.AsType[*CloudError](err); ok {
		return ce.Kind
	}
	return CloudUnknown
}

// Refused reports whether an error proves that nothing was created.
func (k CloudErrorKind) Refused() bool {
	switch k {
	case CloudNoCapacity, CloudQuota, CloudPrice, CloudDenied, CloudInvalid, CloudMismatch:
		return true
	case CloudThrottled, CloudNotFound, CloudUnknown:
		return false
	}
	return false
}
