package bridge

import "time"

// Policy judges demands. It is implemented by package policies and must be
// pure: the same facts give the same terms.
type Policy interface {
	// Terms returns what policy allows for a demand. The result is shared by all
	// demands policy cannot tell apart and must not be changed.
	Terms(d *Demand, f *Facts) *Terms
}

// SteadyPolicy is a Policy that can tell when figures that changed make no
// difference, so that a long queue need not be judged again each second.
type SteadyPolicy interface {
	Policy
	// SameTerms reports whether every demand gets the same terms under a as under
	// b. False is always right, only slower.
	SameTerms(a, b *Facts) bool
}

// Facts are the figures of a whole cluster that conditions may use.
type Facts struct {
	Cluster       string        `json:"cluster"`
	Pending       int           `json:"pending"`        // demands that more machines would help
	OldestWait    time.Duration `json:"oldest_wait"`    // among them
	UtilisationPM int           `json:"utilisation_pm"` // GPUs (or CPUs where there are none) allocated of the cluster's own, per mille
}

// Terms are what policy allows for one kind of demand.
type Terms struct {
	// Burst is false with the reason why not: opted out, observing only, class P0.
	Burst   bool    `json:"burst"`
	Why     Reason  `json:"why"`
	Rule    string  `json:"rule"` // name of the rule that decided
	Class   Class   `json:"class"`
	Account Account `json:"account"` // organisation/team/project without the user

	Wait    time.Duration `json:"wait"`    // eligible at least this long before bursting
	Markets []Market      `json:"markets"` // allowed, first choice first
	Clouds  []string      `json:"clouds"`  // allowed, empty: all
	Regions []string      `json:"regions"` // allowed, empty: all
	// Attributes are what a provider must have until the rental ends, and Network is
	// the slowest class of network that will do.
	Attributes []string `json:"attributes,omitempty"`
	Network    Network  `json:"network,omitempty"`
	// DataGiB is what leaves the place with each start of a job, and CheckpointGiB
	// what leaves it each time a job goes on elsewhere: both at the offer's egress.
	DataGiB       int64 `json:"data_gib,omitempty"`
	CheckpointGiB int64 `json:"checkpoint_gib,omitempty"`

	MaxRate  Rate          `json:"max_rate"`  // per machine-hour, zero: none
	MaxCost  Money         `json:"max_cost"`  // worst case of one rental, zero: none
	Most     int           `json:"most"`      // machines of this project at once, zero: none allowed
	Least    int           `json:"least"`     // machines one rental has at least
	Idle     time.Duration `json:"idle"`      // without a job before release
	Life     time.Duration `json:"life"`      // longest life; also the hold of a job without a time limit
	Reclaims int           `json:"reclaims"`  // of one job before it goes on demand; after twice as many it waits for local nodes
	AskAbove Money         `json:"ask_above"` // worst case above which a person is asked even within budget, zero: never
	Ask      bool          `json:"ask"`       // may exceed the budget by approval; else over budget is no
	AskFor   time.Duration `json:"ask_for"`   // how long a question stays open
	Share    bool          `json:"share"`     // other projects may use its idle machines, and pay

	Signal       string        `json:"signal,omitempty"`    // sent at a notice to jobs that opted in; empty: none
	SignalTo     string        `json:"signal_to,omitempty"` // batch or steps
	SignalWindow time.Duration `json:"signal_window"`       // for the checkpoint, at most the notice
	Comment      bool          `json:"comment"`             // explain in the job's admin comment

	// Checkpoint says where jobs keep their checkpoints; nil: nobody knows, and
	// freshness is not asked for.
	Checkpoint *CheckpointRule `json:"checkpoint,omitempty"`
	// Progress chooses the market of a job with a deadline by how far it is:
	// spot while there is time, on demand before it would be late.
	Progress bool `json:"progress,omitempty"`
	// Work is how long a job with a deadline computes in all; zero: its time limit.
	Work time.Duration `json:"work,omitempty"`
}

// moves reports whether something leaves the place of a rental that is paid for.
func (t *Terms) moves() bool { return t.DataGiB > 0 || t.CheckpointGiB > 0 }
