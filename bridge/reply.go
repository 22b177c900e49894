package bridge

import (
	"errors"
	"time"
)

// Reply is how a cloud last answered one kind of call, and one of its pools the
// last request for machines.
type Reply struct {
	Op   string         `json:"op"`               // offers, list or create
	At   time.Time      `json:"at,omitzero"`      // when it was known; zero: never asked
	Good time.Time      `json:"good_at,omitzero"` // when it was last a good one
	Kind CloudErrorKind `json:"kind,omitempty"`   // empty: all is well
	Code string         `json:"code,omitempty"`   // the cloud's own
	Text string         `json:"text,omitempty"`   // what it said
	// Failures are those in a row, and Until is when it is asked again.
	Failures int       `json:"failures,omitempty"`
	Until    time.Time `json:"until,omitzero"`
}

// Next is the reply after one more answer at now, with an error or without.
func (r Reply) Next(op string, now time.Time, err error) Reply {
	n := Reply{Op: op, At: now, Good: r.Good}
	if err == nil {
		n.Good = now
		return n
	}
	n.Kind, n.Text, n.Failures = CloudUnknown, err.Error(), r.Failures+1
	if ce, ok := errors.AsType[*CloudError](err); ok {
		n.Kind, n.Code, n.Text = ce.Kind, ce.Code, ce.Message
		if ce.Message == "" && ce.Err != nil {
			n.Text = ce.Err.Error()
		}
	}
	return n
}
