package node

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// says answers every request with the same.
type says struct {
	status int
	body   string
}

// RoundTrip implements http.RoundTripper.
func (s says) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: s.status, Header: http.Header{flavor: {flavorGoogle}, "Etag": {"e1"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(s.body)),
	}, nil
}

// FuzzMetadata holds of every cloud's metadata service that only a good answer in
// its own form is a notice: what is none takes no job off its machine, and what
// cannot be read is an error, never "nothing".
func FuzzMetadata(f *testing.F) {
	for _, text := range []string{
		`{"action":"terminate","time":"2026-11-30T12:00:00Z"}`, "2026-11-30T12:00:00Z", "2026-11-30 12:00:00", "TRUE", "false", "",
		`{"DocumentIncarnation":3,"Events":[{"EventType":"Preempt","Resources":["m1"],"NotBefore":"Mon, 30 Nov 2026 12:00:00 GMT"}]}`,
		`{"DocumentIncarnation":3,"Events":[{"EventType":"Preempt","Resources":["_M1"],"NotBefore":""},{}]}`, `{"DocumentIncarnation":null}`, `{"Events":[]}`,
		"<html>not here</html>", "null", "0001-01-01T00:00:00Z", "9999-99-99 99:99:99",
	} {
		for status := range uint8(len(statuses)) {
			f.Add(status, text)
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, text string) {
		answer := says{statuses[int(n)%len(statuses)], text}
		for name, look := range lookers(answer) {
			w, err := look.Look(t.Context())
			switch {
			case w != nil && err != nil:
				t.Errorf("%s: %q is both %+v and %v", name, text, w, err)
			case answer.status != http.StatusOK && w != nil:
				t.Errorf("%s: a notice out of an answer %d", name, answer.status)
			case answer.status > 499 && err == nil:
				t.Errorf("%s: an answer %d is taken for no notice", name, answer.status)
			case w != nil && w.Source == "":
				t.Errorf("%s: %q is the notice %+v", name, text, w)
			case w != nil && !speaks[name](strings.TrimSpace(text)):
				t.Errorf("%s: %q is taken for a notice", name, text)
			}
		}
	})
}

var statuses = []int{http.StatusOK, http.StatusNotFound, http.StatusInternalServerError, http.StatusServiceUnavailable}

// lookers are the clouds, whose service says the same whatever it is asked.
func lookers(s says) map[string]Cloud {
	via := func(m *metadata) *metadata { m.client.Transport = s; return m }
	ali, ten, goo, azu := NewAlibaba(""), NewTencent(""), NewGCP(""), NewAzure("")
	for _, m := range []*metadata{ali.meta.metadata, ten.meta, goo.meta, azu.meta} {
		via(m).base = "http://metadata"
	}
	azu.name = "m1"
	return map[string]Cloud{"alibaba": ali, "tencent": ten, "gcp": goo, "azure": azu}
}

// speaks is each cloud's own form of a notice.
var speaks = map[string]func(string) bool{
	"alibaba": func(s string) bool { _, err := time.Parse(time.RFC3339, s); return err == nil },
	"tencent": func(s string) bool { _, err := time.Parse(time.DateTime, s); return err == nil },
	"gcp":     func(s string) bool { return strings.EqualFold(s, "true") },
	"azure": func(s string) bool {
		return json.Valid([]byte(s)) && strings.Contains(strings.ToLower(s), "documentincarnation")
	},
}
