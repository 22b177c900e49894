package enrol

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// errTicket is all a stranger is told.
var errTicket = errors.New("not a valid ticket")

// ticket is what the bearer may enrol for.
type ticket struct {
	rental   bridge.RentalID
	attempt  int
	deadline time.Time
}

// lease is what the bearer may ask the end of.
type lease struct {
	rental   bridge.RentalID
	instance string
}

// seal writes fields with their MAC. The kind keeps a lease from being used as
// a ticket.
func seal(secret []byte, kind string, fields ...string) string {
	body := base64.RawURLEncoding.EncodeToString([]byte(strings.Join(append([]string{kind}, fields...), "\n")))
	return body + "." + base64.RawURLEncoding.EncodeToString(mac(secret, body))
}

// unseal returns the fields, or errTicket.
func unseal(secret []byte, kind, token string, n int) ([]string, error) {
	body, sum, _ := strings.Cut(token, ".")
	got, err := base64.RawURLEncoding.DecodeString(sum)
	if err != nil || !hmac.Equal(got, mac(secret, body)) {
		return nil, errTicket
	}
	text, err := base64.RawURLEncoding.DecodeString(body)
	fields := strings.Split(string(text), "\n")
	if err != nil || len(fields) != n+1 || fields[0] != kind {
		return nil, errTicket
	}
	return fields[1:], nil
}

func mac(secret []byte, body string) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(body))
	return h.Sum(nil)
}

func (t ticket) seal(secret []byte) string {
	return seal(secret, "ticket", string(t.rental), strconv.Itoa(t.attempt), strconv.FormatInt(t.deadline.Unix(), 10))
}

func openTicket(secret []byte, token string, now time.Time) (ticket, error) {
	f, err := unseal(secret, "ticket", token, 3)
	if err != nil {
		return ticket{}, err
	}
	attempt, err1 := strconv.Atoi(f[1])
	unix, err2 := strconv.ParseInt(f[2], 10, 64)
	t := ticket{bridge.RentalID(f[0]), attempt, time.Unix(unix, 0).UTC()}
	if err1 != nil || err2 != nil || now.After(t.deadline) {
		return ticket{}, errTicket
	}
	return t, nil
}

func (l lease) seal(secret []byte) string {
	return seal(secret, "lease", string(l.rental), l.instance)
}

func openLease(secret []byte, token string) (lease, error) {
	f, err := unseal(secret, "lease", token, 2)
	if err != nil {
		return lease{}, err
	}
	return lease{bridge.RentalID(f[0]), f[1]}, nil
}
