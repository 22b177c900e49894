package invariant

import (
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/ledger"
)

// Sight is the whole world at one moment, between two steps.
type Sight struct {
	At     time.Time // true time, UTC; the bridge's own clock may be wrong
	Bridge Bridge
	// Rentals are all that the store has, ended ones too.
	Rentals  []bridge.Rental
	Balances []bridge.Balance
	Marks    bridge.Marks
	// Faults and OpenHolds are what the store's own check of the ledger has just
	// found; not judged unless Audited.
	Audited   bool
	Faults    []string
	OpenHolds int
	News      []bridge.News // since the previous sight, oldest first
	// Ledger is what was written into it since the previous sight, in order. Where
	// it is left out, what is replayed from it is not judged.
	Ledger []ledger.Transaction
	// Machines are all there ever were, by the clouds' own ledgers.
	Machines []Machine
	Jobs     []Job
	Nodes    []Node // of ours, in the scheduler
	Calls    []Call // that ended since the previous sight, in order
	Stored   int64  // rows of events or transactions that the store has written so far
	// Log is what the bridge has logged since the previous sight, and Said what it
	// showed elsewhere: metrics, comments on jobs, answers to people.
	Log  []byte
	Said []string
}

// Bridge is the bridge itself.
type Bridge struct {
	Life    int // number of this life, from 1; 0: none lives
	Since   time.Time
	Now     time.Time // by its own clock
	StoreID string
	Epoch   int64
	Cycles  int // of this life
	// Fell is why it ended by itself: a panic, or an error of its run that is not
	// bridge.ErrEpoch. Empty: it lives, or was ended from outside.
	Fell string
}

// Machine is one machine as its cloud knows it.
type Machine struct {
	wire.Instance
	Cloud string
	// Untouched is set of machines that are not ours: other tags, another store.
	Untouched bool
}

// Job is one job as the scheduler knows it.
type Job struct {
	ID          bridge.JobID
	State       string // Slurm's base state: PENDING, RUNNING, COMPLETED, ...
	Nodes       []string
	Starts      []Start
	Restarts    int
	Restartable bool
	Cancelled   bool // by its owner
	Priority    int64
	Submitted   time.Time
	Limit       time.Duration
}

// Start is one start of a job; End is zero while it runs.
type Start struct {
	At, End time.Time
	Nodes   []string
	// Why it ended: completed, requeued, node-fail, cancelled, timeout, failed.
	Why string
}

// Node is a node of ours in the scheduler.
type Node struct {
	Name    string
	Drained bool
	Dead    bool // does not answer
	Parked  bool // is in no partition: no job can start there
}

// Call is one call through a port.
type Call struct {
	Begun, Ended time.Time
	Life         int
	Epoch        int64
	Port, Method string         // Cloud, Create
	Of           string         // name of the cloud or cluster
	Launch       *bridge.Launch // of creates
	IDs          []string       // of terminates and extends
	Nodes        []string       // of Dismiss, Drain, Down, Admit
	Job          bridge.JobID
	Rental       bridge.RentalID
	State        bridge.State // of a rental that was written
	Version      int64
	Token        string          // of the create call that a rental was written with
	Listing      *bridge.Listing // of lists
	// Garbled is set where the world answered with what cannot be understood.
	Garbled bool
	Err     error
}

// Violation is one thing that is not as it must be.
type Violation struct {
	Invariant string // I1 to I28
	At        time.Time
	Text      string
}
