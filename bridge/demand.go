package bridge

import (
	"strings"
	"time"
)

// JobID is the scheduler's own id of a job: "123", or "123_7" for one task of
// an array. Writes always use the id as the scheduler prints it.
type JobID string

// Base is a job itself, or the array that a task belongs to.
func (j JobID) Base() JobID {
	if i := strings.IndexByte(string(j), '_'); i > 0 {
		return j[:i]
	}
	return j
}

// Standing is what a pending reason means for us, whatever scheduler said it.
type Standing string

// The standings, from field practice: only Helps and Behind are ever bought for.
const (
	StandingHelps       Standing = "helps"        // waits for resources: more machines would help
	StandingBehind      Standing = "behind"       // waits behind jobs that wait for resources
	StandingSoon        Standing = "soon"         // will be eligible at once (requeue delay, cleaning): keep capacity
	StandingDoubtful    Standing = "doubtful"     // might help; explained, never bought for
	StandingPolicy      Standing = "policy"       // a limit of the site stops it
	StandingUser        Standing = "user"         // its owner holds it: hold, dependency, begin time
	StandingConfig      Standing = "config"       // the cluster's configuration stops it
	StandingUnplaceable Standing = "unplaceable"  // asks for something we cannot place with certainty
	StandingWorkflow    Standing = "workflow"     // belongs to a workflow manager that polls its own partition
	StandingHasNode     Standing = "fits-locally" // a local node that fits is free: the scheduler starts it itself
)

// Class is a job's place in the field's practice.
type Class string

// P0 never leaves reserved capacity, P1 may wait briefly and runs on demand,
// P2 is resumable and goes to spot first.
const (
	P0 Class = "P0"
	P1 Class = "P1"
	P2 Class = "P2"
)

// Demand is one waiting record of a queue: a job, or all pending tasks of an
// array, which then is its Count.
type Demand struct {
	Cluster   string `json:"cluster"`
	Job       JobID  `json:"job"`
	Name      string `json:"name,omitempty"`
	User      string `json:"user"`
	Account   string `json:"account,omitempty"`
	Partition string `json:"partition,omitempty"` // as submitted, may be a comma list
	// Overlays are the overlay partitions of ours that it may use already,
	// whoever let it in.
	Overlays []string `json:"overlays,omitempty"`
	QOS      string   `json:"qos,omitempty"`
	Comment  string   `json:"comment,omitempty"`

	Shape Shape `json:"shape"`
	Nodes int   `json:"nodes"` // size of one gang, at least 1
	Count int   `json:"count"` // gangs of this record that may run at once, at least 1

	Priority      int64         `json:"priority"`
	Submitted     time.Time     `json:"submitted"`
	Eligible      time.Time     `json:"eligible"`
	TimeLimit     time.Duration `json:"time_limit"`     // zero: none
	Deadline      time.Time     `json:"deadline"`       // zero: none
	StartEstimate time.Time     `json:"start_estimate"` // zero: unknown

	Restartable bool `json:"restartable"` // the scheduler may requeue it
	Restarts    int  `json:"restarts"`

	Standing Standing `json:"standing"`
	// Word is the scheduler's own word for why it waits; Hurdle says what makes
	// an unplaceable demand so, in one sentence for its owner.
	Word   string `json:"word,omitempty"`
	Hurdle string `json:"hurdle,omitempty"`
}

// Machines is the number of nodes all gangs of the demand need together.
func (d *Demand) Machines() int { return d.Nodes * d.Count }

// Run is a job that holds nodes: configuring, running, completing.
type Run struct {
	Job       JobID         `json:"job"`
	Name      string        `json:"name,omitempty"`
	User      string        `json:"user"`
	Account   string        `json:"account,omitempty"`
	Partition string        `json:"partition,omitempty"`
	State     string        `json:"state"` // the scheduler's word
	Nodes     []string      `json:"nodes"`
	Started   time.Time     `json:"started"`
	TimeLimit time.Duration `json:"time_limit"` // zero: none
	// Restartable is the scheduler's requeue flag at this moment.
	Restartable bool   `json:"restartable"`
	Restarts    int    `json:"restarts"`
	Comment     string `json:"comment,omitempty"`
}

// Node is a node as the scheduler shows it. States is a set: unknown words are
// kept and ignored.
type Node struct {
	Name       string   `json:"name"`
	Address    string   `json:"address,omitempty"` // where the scheduler reaches it; empty: not said
	States     []string `json:"states"`
	Partitions []string `json:"partitions,omitempty"`
	Shape      Shape    `json:"shape"` // what it has
	Free       Shape    `json:"free"`  // what is not allocated; empty when not schedulable or kept for a planned job
	// IdleSince is since when no job is on it; zero while one is, or unknown.
	IdleSince  time.Time `json:"idle_since"`
	Features   []string  `json:"features,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	Dynamic    bool      `json:"dynamic"` // registered itself, not in the configuration
	Responding bool      `json:"responding"`
	Usable     bool      `json:"usable"` // up, not drained, not failing: the scheduler may place jobs on it
}

// Queue is one complete observation of one cluster.
type Queue struct {
	Cluster    string    `json:"cluster"`
	ObservedAt time.Time `json:"observed_at"`
	// Cost is how long one observation keeps the scheduler itself busy; zero: unknown.
	Cost    time.Duration `json:"cost"`
	Demands []Demand      `json:"demands"`
	Runs    []Run         `json:"runs"`
	Nodes   []Node        `json:"nodes"`
	// Overlays maps each overlay partition of ours that exists to its nodes.
	Overlays map[string][]string `json:"overlays,omitempty"`
}
