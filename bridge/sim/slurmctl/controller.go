package slurmctl

import (
	"context"
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/sim/invariant"
	"spillway.sh/spillway/slurm"
)

// Options describe a cluster. The zero value is a cluster of no nodes.
type Options struct {
	// Now is the true time; nil means time.Now.
	Now func() time.Time
	// Nodes are those of slurm.conf. They answer from the start.
	Nodes []NodeSpec
	// Partitions are those of slurm.conf; nil means one, "gpu", of all Nodes.
	Partitions []Partition
	// Overlays is how many partitions sw-1, sw-2, ... are declared for rentals,
	// empty and in state DRAIN.
	Overlays int

	KillWait       time.Duration // from SIGTERM to SIGKILL; 0 means 5 s
	SlurmdTimeout  time.Duration // until a silent node is down; 0 means 30 s
	MinJobAge      time.Duration // until an ended job is forgotten; 0 means 300 s
	MessageTimeout time.Duration // of a command without an answer; 0 means 10 s
	// Backfill is how often jobs behind the first that waits are looked at; 0 means 5 s.
	Backfill time.Duration
}

// Partition is a partition of slurm.conf.
type Partition struct {
	Name     string
	Nodes    []string
	MaxTime  time.Duration // 0: none
	Priority int           // PriorityTier; 0 means 1
}

// NodeSpec is what a node declares to have.
type NodeSpec struct {
	Name      string
	CPUs      int   // 0 means 1
	MemoryMiB int64 // 0 means 1
	GPUs      int
	GPUType   string
	DiskMiB   int64
	Features  []string
}

// Job is a job to submit. Figures of CPUs, GPUs and memory are per node.
type Job struct {
	Name, User, Account, Comment string
	Partition                    string // empty: the first one of the cluster
	Nodes                        int    // 0 means 1
	Tasks                        int    // of a job array, 0 to Tasks-1; 0 means no array
	Throttle                     int    // of an array: tasks that run at once; 0 means all
	CPUs                         int    // 0 means 1
	GPUs                         int
	GPUType                      string
	MemoryMiB                    int64 // 0 means 100 for each CPU
	Features                     string
	Exclusive                    bool
	Limit                        time.Duration // 0 means none
	Begin                        time.Time
	After                        bridge.JobID // it starts when that one has completed
	Held                         bool

	// Restartable is sbatch --requeue.
	Restartable bool
	// Work is how long the job runs where nothing stops it.
	Work time.Duration
	// Checkpoint is how often its progress is saved; 0 means never: a restart
	// begins from nothing.
	Checkpoint time.Duration
	// SaveOn is a signal, such as "USR1", on which the progress is saved too,
	// after SaveTakes; empty means none. SIGTERM counts when SaveOn is "TERM".
	SaveOn    string
	SaveTakes time.Duration
	// Grace is how long the script lives after SIGTERM, at most KillWait.
	Grace time.Duration
	// Fails makes it end with exit code 1 when the work is done.
	Fails bool
}

// Controller is the cluster. Its methods may be called from several goroutines.
type Controller struct {
	options Options
	mu      sync.Mutex
}

// New returns a cluster whose slurmctld has just started.
func New(o Options) *Controller { return &Controller{options: o} }

// Exec runs one command as slurm.Options.Exec does.
func (c *Controller) Exec(ctx context.Context, input string, args ...string) (slurm.Output, error) {
	return slurm.Output{}, nil
}

// Submit sends a job as sbatch does, and returns its id. It panics on one that
// sbatch would refuse: a world is made by its writer.
func (c *Controller) Submit(j Job) bridge.JobID { return "" }

// Cancel ends a job as its owner's scancel does.
func (c *Controller) Cancel(id bridge.JobID) {}

// Register is a slurmd that starts: of a machine that is new, as a dynamic node,
// or of one that was known.
func (c *Controller) Register(n NodeSpec) error { return nil }

// Lose ends a machine: its slurmd falls silent, its jobs' processes are gone.
func (c *Controller) Lose(name string) {}

// Reserve gives nodes to a reservation from now on, as an administrator does; a
// duration of 0 ends the one of that name.
func (c *Controller) Reserve(name string, d time.Duration, nodes ...string) {}

// Stop ends slurmctld. Machines and jobs go on.
func (c *Controller) Stop() {}

// Restart starts slurmctld, after Stop or in place of the one that runs. A cold
// one comes back without its saved state: jobs and dynamic nodes are unknown to it.
func (c *Controller) Restart(cold bool) {}

// Hang makes slurmctld do nothing for a while. What is sent to it meanwhile is
// done after that, whether or not the sender still waits.
func (c *Controller) Hang(d time.Duration) {}

// Advance does all that has happened until now.
func (c *Controller) Advance() {}

// Next is when something happens by itself; zero: never.
func (c *Controller) Next() time.Time { return time.Time{} }

// Truth is every job there ever was, in order of their ids with each task of an
// array for itself, and the dynamic nodes by name. A job that a cold restart
// made slurmctld forget is in state LOST.
func (c *Controller) Truth() ([]invariant.Job, []invariant.Node) { return nil, nil }
