package node

import (
	"encoding/json"
	"testing"

	"spillway.sh/spillway/bridge/sim/bulk"
)

// FuzzGrant holds that an agent begins only with an answer that says what it is,
// until when it may run, and by what it is known.
func FuzzGrant(f *testing.F) {
	for _, s := range []string{
		`{"node":"sw-0011-0","lease":"l","expires":"2026-11-30T12:00:00Z","munge_key":"k","other":5}`, `{"node":"","lease":"l"}`,
		`{"expires":"9999-12-31T23:59:59Z","node":"n","lease":"l","node":7}`, `null`, `[]`, `{"node":{}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		g, err := readGrant(text)
		if err != nil {
			return
		}
		if _, told := g.Fields["lease"]; told || g.Node == "" || g.Lease == "" || g.Expires.IsZero() || !json.Valid(text) {
			t.Errorf("%s is the grant %+v", text, g)
		}
	})
}

// FuzzNotice holds that what is no notice is an error, never a machine that is
// taken.
func FuzzNotice(f *testing.F) {
	for _, s := range []string{`{"action":"terminate","time":"2026-11-30T12:00:00Z"}`, `{"action":"stop"}`, `{"time":"2026-11-30T12:00:00Z"}`, `<html>`, `null`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w, err := readEC2Action(text)
		if (w == nil) == (err == nil) || err == nil && (!json.Valid([]byte(text)) || w.Source != sourceEC2Action) {
			t.Errorf("%q is the notice %+v, %v", text, w, err)
		}
	})
}

func TestALargeAnswerIsReadInTime(t *testing.T) {
	bulk.Read(t, "a grant", func() {
		if _, err := readGrant(append([]byte(`{"node":"`), bulk.Of("x")...)); err == nil {
			t.Error("what is cut short is a grant")
		}
	})
	bulk.Read(t, "a notice", func() {
		if _, err := readEC2Action(string(bulk.Of("["))); err == nil {
			t.Error("brackets are a notice")
		}
	})
}
