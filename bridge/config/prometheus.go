package config

import (
	"regexp"
	"time"

	"spillway.sh/spillway/bridge/config/strict"
)

// Prometheus is the server that knows how busy GPUs are.
type Prometheus struct {
	URL     string        `json:"url"`
	Query   string        `json:"query"` // per cent by node; empty: what NVIDIA's DCGM exporter writes
	Label   string        `json:"label"` // that names the node; empty: Hostname
	Token   Secret        `json:"token"` // a bearer token; may be none
	Timeout time.Duration `json:"timeout"`
}

var metricLabel = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

func (r *reader) prometheus(n strict.Node) {
	p := &Prometheus{}
	r.config.Prometheus = p
	fields := []strict.Field{
		strict.Need("url", "url: http://127.0.0.1:9090", address(&p.URL)),
		strict.May("query", `query: "avg by (Hostname) (DCGM_FI_DEV_GPU_UTIL)"`, strict.Text(&p.Query)),
		strict.May("label", "label: Hostname", strict.Text(&p.Label, matches(metricLabel, "want the name of a label of Prometheus"))),
		strict.May("timeout", "timeout: 10s", strict.Span(&p.Timeout, time.Second, 50*time.Second)),
	}
	fields = append(fields, r.secretIfGiven(n, "token", &p.Token)...)
	n.Object(fields...)
}

// secretIfGiven are the fields of a secret that may be left out.
func (r *reader) secretIfGiven(n strict.Node, key string, dst *Secret) []strict.Field {
	file, env := key+"_file", key+"_env"
	for _, k := range []string{key, file, env} {
		if _, ok := n.Get(k); ok {
			return r.secret(n, key, dst)
		}
	}
	return []strict.Field{ // known keys, so that a slip of the pen is understood
		strict.May(file, file+": /etc/spillway/"+key, func(strict.Node) {}), strict.May(env, env+": SPILLWAY_TOKEN", func(strict.Node) {}),
	}
}
