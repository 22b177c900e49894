package desk

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNoRental is what a Reader answers for an id it does not know.
var ErrNoRental = errors.New("no such rental")

// ErrorKind says what kind of no an answer is; each has one exit code and one
// HTTP status.
type ErrorKind string

// The kinds.
const (
	BadRequest  ErrorKind = "bad-request"
	NotFound    ErrorKind = "not-found"
	Forbidden   ErrorKind = "forbidden"
	Conflict    ErrorKind = "conflict"
	OverBudget  ErrorKind = "over-budget"
	Unavailable ErrorKind = "unavailable"
	Internal    ErrorKind = "internal"
)

// Error is a no that teaches: what was understood, what is wrong, and one
// thing that works. Understood and Try may be empty.
type Error struct {
	Kind       ErrorKind `json:"kind"`
	Understood string    `json:"understood,omitempty"`
	Wrong      string    `json:"wrong"`
	Try        string    `json:"try,omitempty"`
	Err        error     `json:"-"`
}

// Error joins the parts into one line.
func (e *Error) Error() string {
	parts := []string{e.Wrong}
	if e.Understood != "" {
		parts = append(parts, "understood: "+e.Understood)
	}
	if e.Try != "" {
		parts = append(parts, "try: "+e.Try)
	}
	return strings.Join(parts, "; ")
}

// Unwrap returns the cause, if there is one.
func (e *Error) Unwrap() error { return e.Err }

// AsError returns err as an *Error; anything unforeseen becomes Internal.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Kind: Internal, Wrong: err.Error(), Err: err}
}

func wrong(kind ErrorKind, try, format string, args ...any) *Error {
	return &Error{Kind: kind, Wrong: fmt.Sprintf(format, args...), Try: try}
}
