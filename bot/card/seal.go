package card

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
)

// Verb is what a button is for.
type Verb string

// The verbs of buttons.
const (
	Approve Verb = "approve"
	Deny    Verb = "deny" // opens the form
	Details Verb = "details"
	Cancel  Verb = "cancel" // by who asked
	Release Verb = "release"
	Drain   Verb = "drain" // release after the jobs
	Keep    Verb = "keep"
	KeepOn  Verb = "keep-on" // not given back for an hour, though it has no job
	Budget  Verb = "budget"  // what a budget has left, and what holds it
	Extend  Verb = "extend"  // opens the form
	Rent    Verb = "rent"    // one line of a quote
	Ask     Verb = "ask"     // opens the form to rent
	Show    Verb = "show"    // one rental
	Instead Verb = "instead" // less of what was denied
)

// Value is what a button says once its seal was checked. It is no authority:
// all that counts is read again.
type Value struct {
	ID       string
	Revision int64
	Verb     Verb
}

// ErrSeal refuses a button's value that we did not make.
var ErrSeal = errors.New("not a value of our buttons")

const (
	sealForm  = "v1"
	sealBytes = 16 // of the HMAC
)

// Seal makes the value of a button. Without a key there is none.
func Seal(key []byte, id string, revision int64, verb Verb) string {
	if len(key) == 0 || id == "" || strings.Contains(string(verb), ".") {
		return ""
	}
	body := sealForm + "." + id + "." + strconv.FormatInt(revision, 10) + "." + string(verb)
	return body + "." + mac(key, body)
}

// Open reads a value back; ErrSeal unless it was made with the key.
func Open(key []byte, value string) (Value, error) {
	body, seal := beforeLast(value)
	rest, verb := beforeLast(body)
	head, revision := beforeLast(rest)
	form, id, ok := strings.Cut(head, ".")
	n, err := strconv.ParseInt(revision, 10, 64)
	if len(key) == 0 || !hmac.Equal([]byte(seal), []byte(mac(key, body))) || !ok || form != sealForm || id == "" || err != nil {
		return Value{}, ErrSeal
	}
	return Value{id, n, Verb(verb)}, nil
}

// OpenAs reads a value that has to be of one verb.
func OpenAs(key []byte, value string, verb Verb) (Value, error) {
	v, err := Open(key, value)
	if err == nil && v.Verb != verb {
		err = ErrSeal
	}
	return v, err
}

func beforeLast(s string) (before, last string) {
	i := strings.LastIndex(s, ".")
	return s[:max(i, 0)], s[i+1:]
}

func mac(key []byte, body string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("spillway button\n" + body))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:sealBytes])
}
