package usage

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// answering is a server that answers every query with one result.
func answering(t *testing.T, kind, result string, a Access) *Prometheus {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":%q,"result":%s}}`, kind, result)
	}))
	t.Cleanup(srv.Close)
	a.URL = srv.URL
	p, err := NewPrometheus(a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// vector is a result with a value for each pair of label value and value.
func vector(label string, pairs ...string) string {
	var out []string
	for i := 0; i < len(pairs); i += 2 {
		name, err := json.Marshal(pairs[i])
		if err != nil {
			panic(err)
		}
		out = append(out, fmt.Sprintf(`{"metric":{%q:%s},"value":[1764504000,%q]}`, label, name, pairs[i+1]))
	}
	return "[" + strings.Join(out, ",") + "]"
}

func TestNodesAreFoundByTheirLabel(t *testing.T) {
	p := answering(t, "vector", vector("Hostname", "r1", "72.5", "r2.cloud.example:9400", "100", "own1", "50", "10.0.0.5:9400", "10", "r3", "0"), Access{})
	got, err := p.Utilisation(t.Context(), []string{"r1", "r2", "r3", "r4"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]int{"r1": 725, "r2": 1000, "r3": 0}, got); d != "" {
		t.Error(d)
	}
}

func TestNonsenseIsNotMeasured(t *testing.T) {
	nodes := []string{"r1", "r2"}
	for name, c := range map[string]struct {
		kind, result string
		want         map[string]int
		err          error
	}{
		"no number":       {"vector", vector("Hostname", "r1", "NaN", "r2", "30"), map[string]int{"r2": 300}, ErrValues},
		"without end":     {"vector", vector("Hostname", "r1", "+Inf"), map[string]int{}, ErrValues},
		"over a hundred":  {"vector", vector("Hostname", "r1", "100.5"), map[string]int{}, ErrValues},
		"below nothing":   {"vector", vector("Hostname", "r1", "-1"), map[string]int{}, ErrValues},
		"another label":   {"vector", vector("instance", "r1", "40"), nil, ErrLabel},
		"no nodes at all": {"vector", "[]", map[string]int{}, nil},
		"one number":      {"scalar", `[1764504000,"40"]`, nil, ErrShape},
		"over time":       {"matrix", `[{"metric":{"Hostname":"r1"},"values":[[1764504000,"40"]]}]`, nil, ErrShape},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := answering(t, c.kind, c.result, Access{}).Utilisation(t.Context(), nodes, time.Now())
			if !errors.Is(err, c.err) || (c.err == nil) != (err == nil) {
				t.Errorf("asked with %v", err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestNobodyAnswers(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	url := srv.URL
	srv.Close()
	p, err := NewPrometheus(Access{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got, err := p.Utilisation(t.Context(), []string{"r1"}, time.Now()); err == nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// A server that never answers costs the time it is given, and no more.
func TestAnAnswerMayNotTakeLong(t *testing.T) {
	over := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	defer srv.Close()
	defer close(over)
	p, err := NewPrometheus(Access{URL: srv.URL, Timeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	begun := time.Now()
	if _, err := p.Utilisation(t.Context(), []string{"r1"}, time.Now()); err == nil || time.Since(begun) > 5*time.Second {
		t.Errorf("answered after %s with %v", time.Since(begun), err)
	}
}

func TestTheTokenOfNowIsSent(t *testing.T) {
	var got []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		fmt.Fprint(w, `{"status":"success","data":{"resultType":"vector","result":[]}}`)
	}))
	defer srv.Close()
	n := 0
	p, err := NewPrometheus(Access{URL: srv.URL, Token: func() (string, error) {
		if n++; n == 3 {
			return "", errors.New("the file is gone")
		}
		return fmt.Sprint("token", n), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 2 {
		if _, err := p.Utilisation(t.Context(), nil, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([]string{"Bearer token1", "Bearer token2"}, got); d != "" {
		t.Error(d)
	}
	if _, err := p.Utilisation(t.Context(), nil, time.Now()); err == nil || !strings.Contains(err.Error(), "the file is gone") {
		t.Errorf("asked without a token: %v", err)
	}
}
