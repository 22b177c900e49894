package bot

import (
	"cmp"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// figures are the bot's. Names and labels are an interface.
type figures struct {
	received    *prometheus.CounterVec
	acks        prometheus.Histogram
	answers     prometheus.Histogram
	outbox      *prometheus.GaugeVec
	calls       *prometheus.CounterVec
	limited     *prometheus.CounterVec
	dropped     *prometheus.CounterVec
	refused     *prometheus.CounterVec
	reconnects  prometheus.Counter
	connections prometheus.Gauge
}

var seconds = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2, 3, 10}

func newFigures(reg prometheus.Registerer) *figures {
	if reg == nil {
		reg = prometheus.NewRegistry()
	}
	f := promauto.With(reg)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: "spillway_slack_" + name, Help: help}, labels)
	}
	histogram := func(name, help string) prometheus.Histogram {
		return f.NewHistogram(prometheus.HistogramOpts{Name: "spillway_slack_" + name, Help: help, Buckets: seconds})
	}
	return &figures{
		received:    counter("received_total", "Interactions, by kind and outcome: new, duplicate, ignored, unreadable, lost.", "kind", "outcome"),
		acks:        histogram("ack_seconds", "From an interaction's arrival to its acknowledgement."),
		answers:     histogram("answer_seconds", "From an interaction's arrival to its answer on the way."),
		outbox:      f.NewGaugeVec(prometheus.GaugeOpts{Name: "spillway_slack_outbox", Help: "Messages that wait to be delivered, by lane."}, []string{"lane"}),
		calls:       counter("calls_total", "Calls to Slack, by method and outcome.", "method", "outcome"),
		limited:     counter("rate_limited_total", "Calls that Slack answered with 429, by method.", "method"),
		dropped:     counter("dropped_total", "Messages given up, by reason.", "reason"),
		refused:     counter("refused_total", "Requests refused before anybody was asked, by reason.", "reason"),
		reconnects:  f.NewCounter(prometheus.CounterOpts{Name: "spillway_slack_reconnects_total", Help: "Socket Mode connections that had to be made anew."}),
		connections: f.NewGauge(prometheus.GaugeOpts{Name: "spillway_slack_connections", Help: "Socket Mode connections that are up."}),
	}
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
