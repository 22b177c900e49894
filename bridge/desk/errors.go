package desk

import (
	"errors"
	"fmt"
	"strings"

	"spillway.sh/spillway/bridge"
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
	// Result says more of a refused answer to a question.
	Result *Result `json:"result,omitempty"`

	// What Wrong was made of, to say it in another language.
	format  string
	args    []any
	verdict *bridge.Verdict
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
	e := &Error{Kind: kind, Try: try}
	return e.says(format, args...)
}

// Wrong is a no made of a format that has its twin in errors_zh.go.
func Wrong(kind ErrorKind, try, format string, args ...any) *Error {
	return wrong(kind, try, format, args...)
}

// no is a refusal of a request, with what was understood of it.
func (r *request) no(kind ErrorKind, try, format string, args ...any) *Error {
	e := &Error{Kind: kind, Understood: r.wish.String(), Try: try}
	return e.says(format, args...)
}

// unstored says that a change did not reach the store.
func unstored(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	e := wrong(Unavailable, "spillway status", "that was not stored: %s", err)
	e.Err = err
	return e
}

// says sets what is wrong. Every format has its twin in errors_zh.go.
func (e *Error) says(format string, args ...any) *Error {
	e.Wrong, e.format, e.args = fmt.Sprintf(format, args...), format, args
	return e
}

// judges sets what is wrong to a verdict in words.
func (e *Error) judges(v *bridge.Verdict) *Error {
	e.Wrong, e.verdict = English.Why(v), v
	return e
}

// Wrong says what is wrong in a language; in English where there is no other.
func (l Lang) Wrong(e *Error) string {
	switch format, ok := chineseErrors[e.format]; {
	case l != Chinese:
	case e.Result != nil:
		return l.Result(e.Result)
	case e.verdict != nil:
		return l.Why(e.verdict)
	case ok && e.format != "":
		return fmt.Sprintf(format, inChinese(e.args)...)
	}
	return e.Wrong
}

// inChinese says the rights and roles among facts in Chinese; all others are
// names.
func inChinese(args []any) []any {
	out := make([]any, 0, len(args))
	for _, a := range args {
		switch x := a.(type) {
		case Right:
			a = chineseRights[x]
		case anyOf:
			a = x.joined(" 或 ")
		case bridge.Scope:
			a = Chinese.Scope(x)
		}
		out = append(out, a)
	}
	return out
}
