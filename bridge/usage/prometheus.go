package usage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// DefaultLabel is the label of the node in what NVIDIA's DCGM exporter writes.
const DefaultLabel = "Hostname"

// DefaultQuery is the mean utilisation of a node's GPUs in per cent, by DCGM.
func DefaultQuery(label string) string { return "avg by (" + label + ") (DCGM_FI_DEV_GPU_UTIL)" }

// Access is how a Prometheus is asked.
type Access struct {
	URL     string
	Query   string // its values are per cent by node; empty: DefaultQuery
	Label   string // that names the node; empty: DefaultLabel
	Timeout time.Duration
	// Token is sent as a bearer token, and asked for each time so that it may
	// change; nil: none is sent.
	Token func() (string, error)
}

// Prometheus knows the utilisation of GPUs.
type Prometheus struct {
	access Access
	api    promv1.API
	idle   func()
}

// NewPrometheus returns a reader. It connects when it is asked.
func NewPrometheus(a Access) (*Prometheus, error) {
	if a.Label == "" {
		a.Label = DefaultLabel
	}
	if a.Query == "" {
		a.Query = DefaultQuery(a.Label)
	}
	if a.Timeout == 0 {
		a.Timeout = DefaultTimeout
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	p, err := newPrometheus(a, transport)
	if err == nil {
		p.idle = transport.CloseIdleConnections
	}
	return p, err
}

// newPrometheus returns a reader that asks through a transport.
func newPrometheus(a Access, through http.RoundTripper) (*Prometheus, error) {
	c, err := api.NewClient(api.Config{Address: a.URL, RoundTripper: bearer{through, a.Token}})
	if err != nil {
		return nil, fmt.Errorf("read utilisation from %s: %w", a.URL, err)
	}
	return &Prometheus{a, promv1.NewAPI(c), func() {}}, nil
}

// DefaultTimeout is how long an answer may take: a sample is taken each minute.
const DefaultTimeout = 10 * time.Second

// Close lets go of connections.
func (p *Prometheus) Close() { p.idle() }

// bearer sends a token.
type bearer struct {
	next  http.RoundTripper
	token func() (string, error)
}

// RoundTrip sends a request with the token.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != nil {
		secret, err := b.token()
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	return b.next.RoundTrip(r) //nolint:wrapcheck // Its caller names what was asked.
}

// Errors of answers that say nothing of use.
var (
	ErrShape  = errors.New("the answer is no list of values")
	ErrLabel  = errors.New("no value has the label of the node")
	ErrValues = errors.New("values that are no per cent")
)

// Utilisation asks for the utilisation of nodes, per mille. Values that are no
// per cent are left out and named in an error beside those that are; nodes the
// answer does not have are left out.
func (p *Prometheus) Utilisation(ctx context.Context, nodes []string, at time.Time) (map[string]int, error) {
	ctx, cancel := context.WithTimeout(ctx, p.access.Timeout)
	defer cancel()
	value, _, _, err := p.api.Query(ctx, p.access.Query, at)
	if err != nil {
		return nil, fmt.Errorf("ask Prometheus for the utilisation of GPUs: %w", err)
	}
	if value == nil { // a kind that the client does not know, or none
		return nil, fmt.Errorf("%q gives nothing: %w", p.access.Query, ErrShape)
	}
	vector, ok := value.(model.Vector)
	if !ok {
		return nil, fmt.Errorf("%q gives a %s: %w", p.access.Query, value.Type(), ErrShape)
	}
	return p.judge(vector, nodes)
}

// judge takes what can be true.
func (p *Prometheus) judge(vector model.Vector, nodes []string) (map[string]int, error) {
	sums, counts := map[string]float64{}, map[string]int{}
	labelled, odd := 0, []string{}
	for _, s := range vector {
		host, ok := s.Metric[model.LabelName(p.access.Label)]
		if !ok {
			continue
		}
		labelled++
		node := nodeOf(string(host), nodes)
		if node == "" {
			continue
		}
		v := float64(s.Value)
		if math.IsNaN(v) || v < 0 || v > 100 {
			odd = append(odd, fmt.Sprintf("%s: %v", host, v))
			continue
		}
		sums[node] += v
		counts[node]++
	}
	if len(vector) > 0 && labelled == 0 {
		return nil, fmt.Errorf("%q, label %s: %w", p.access.Query, p.access.Label, ErrLabel)
	}
	out := map[string]int{}
	for node, sum := range sums {
		out[node] = int(math.Round(10 * sum / float64(counts[node])))
	}
	if len(odd) > 0 {
		slices.Sort(odd)
		return out, fmt.Errorf("%s: %w", strings.Join(odd[:min(len(odd), 3)], ", "), ErrValues)
	}
	return out, nil
}

// nodeOf finds which of the nodes a label means: by itself, without a port, or
// without a domain.
func nodeOf(host string, nodes []string) string {
	if i := strings.LastIndexByte(host, ':'); i > 0 && !slices.Contains(nodes, host) {
		host = host[:i]
	}
	if !slices.Contains(nodes, host) {
		host, _, _ = strings.Cut(host, ".")
	}
	if slices.Contains(nodes, host) {
		return host
	}
	return ""
}
