package engine

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"spillway.sh/spillway/bridge"
)

// gauges are the figures of the engine. Names and labels are an interface:
// they are changed like one.
type gauges struct {
	cycles    prometheus.Counter
	took      prometheus.Histogram
	errors    *prometheus.CounterVec
	rentals   *prometheus.GaugeVec
	machines  *prometheus.GaugeVec
	demands   *prometheus.GaugeVec
	held      *prometheus.GaugeVec
	posted    *prometheus.GaugeVec
	limit     *prometheus.GaugeVec
	queueAge  *prometheus.GaugeVec
	protected prometheus.Gauge
	frozen    prometheus.Gauge
	creates   *prometheus.CounterVec
	refused   *prometheus.CounterVec
	settled   *prometheus.CounterVec
	unheard   prometheus.Counter
	unfit     *prometheus.CounterVec
	drained   prometheus.Histogram
	eligible  prometheus.Histogram
	started   prometheus.Histogram
	sent      prometheus.Histogram
}

var seconds = []float64{.05, .1, .2, .5, 1, 2, 5, 10, 30, 60, 300}

func newGauges(reg prometheus.Registerer) *gauges {
	if reg == nil {
		reg = prometheus.NewRegistry()
	}
	f := promauto.With(reg)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: "spillway_" + name, Help: help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return f.NewGaugeVec(prometheus.GaugeOpts{Name: "spillway_" + name, Help: help}, labels)
	}
	histogram := func(name, help string) prometheus.Histogram {
		return f.NewHistogram(prometheus.HistogramOpts{Name: "spillway_" + name, Help: help, Buckets: seconds})
	}
	return &gauges{
		cycles:    counter("cycles_total", "Looks at the world.").WithLabelValues(),
		took:      histogram("cycle_seconds", "Time one look took."),
		errors:    counter("step_errors_total", "Steps that could not do all they had to, by step.", "step"),
		rentals:   gauge("rentals", "Rentals that have not ended, by state.", "cluster", "state"),
		machines:  gauge("machines", "Machines that may cost money, by cloud, market and state.", "cloud", "market", "state"),
		demands:   gauge("demands", "Waiting demands, by verdict and reason.", "cluster", "verdict", "reason"),
		held:      gauge("held_micro", "Money set aside in this period, in micro-units.", "account", "cloud", "gpu", "period", "currency"),
		posted:    gauge("posted_micro", "Money spent in this period, in micro-units.", "account", "cloud", "gpu", "period", "currency"),
		limit:     gauge("limit_micro", "Budget of this period, in micro-units.", "account", "cloud", "gpu", "period", "currency"),
		queueAge:  gauge("queue_age_seconds", "Age of the newest view of a cluster.", "cluster"),
		protected: gauge("protected", "1 while the breaker is open.").WithLabelValues(),
		frozen:    gauge("frozen", "1 while a person has stopped new money.").WithLabelValues(),
		creates:   counter("creates_total", "Create calls sent.", "cloud"),
		refused:   counter("create_failures_total", "Create calls that did not succeed, by kind.", "cloud", "kind"),
		settled:   counter("settled_total", "Rentals settled.", "cloud"),
		unheard:   counter("reports_ignored_total", "Reports of machines that are not rented.").WithLabelValues(),
		unfit:     counter("machines_unfit_total", "Machines that failed their own checks.", "cloud"),
		drained:   histogram("notice_to_drained_seconds", "From a cloud's notice to drained and signalled."),
		eligible:  histogram("stopped_to_eligible_seconds", "From steps dead to job eligible again."),
		started:   histogram("admit_to_run_seconds", "From machines admitted to their first job running."),
		sent:      histogram("reserve_to_create_seconds", "From an order decided to its create call sent."),
	}
}

// measure brings the gauges up to a cycle's state.
func (g *gauges) measure(c *cycle) {
	g.cycles.Inc()
	for _, v := range []*prometheus.GaugeVec{g.rentals, g.machines, g.demands, g.held, g.posted, g.limit} {
		v.Reset()
	}
	for _, r := range c.live {
		g.rentals.WithLabelValues(r.Cluster, string(r.State)).Inc()
		for _, m := range r.Live() {
			if r.State != bridge.StateWaiting {
				g.machines.WithLabelValues(r.Pool.Cloud, string(r.Pool.Market), string(m.State)).Inc()
			}
		}
	}
	for i := range c.plan.Verdicts {
		v := &c.plan.Verdicts[i]
		g.demands.WithLabelValues(v.Cluster, string(v.Kind), string(v.Why)).Inc()
	}
	for _, b := range c.budgets {
		labels := []string{string(b.Account), b.Cloud, b.GPU, b.Period, string(b.Limit.Currency)}
		g.held.WithLabelValues(labels...).Set(float64(b.Held.Micro))
		g.posted.WithLabelValues(labels...).Set(float64(b.Posted.Micro))
		g.limit.WithLabelValues(labels...).Set(float64(b.Limit.Micro))
	}
	for name, q := range c.queues {
		g.queueAge.WithLabelValues(name).Set(c.now.Sub(q.ObservedAt).Seconds())
	}
	g.protected.Set(truth(c.marks.Protected != ""))
	g.frozen.Set(truth(c.marks.Frozen))
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
