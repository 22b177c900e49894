package slurmctl

import (
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/sim/invariant"
)

// Base states of jobs.
const (
	pending   = "PENDING"
	running   = "RUNNING"
	completed = "COMPLETED"
	cancelled = "CANCELLED"
	failed    = "FAILED"
	timeout   = "TIMEOUT"
	nodeFail  = "NODE_FAIL"
	lost      = "LOST" // not a word of Slurm's: a cold restart forgot it
)

// Reasons of jobs that wait.
const (
	reasonNone      = "None"
	reasonPriority  = "Priority"
	reasonResources = "Resources"
	reasonDown      = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
	reasonBegin     = "BeginTime"
	reasonHeld      = "JobHeldUser"
	reasonBad       = "BadConstraints"
	reasonThrottle  = "JobArrayTaskLimit"
	reasonPartition = "PartitionConfig"
	reasonTooMany   = "PartitionNodeLimit"
	reasonPartTime  = "PartitionTimeLimit"
	reasonPartDown  = "PartitionDown"
	reasonOff       = "PartitionInactive"
	reasonDepends   = "Dependency"
	reasonNever     = "DependencyNeverSatisfied"
)

// job is a job, or one task of an array.
type job struct {
	Job
	number    int      // of the job or its array
	task      int      // -1: no array
	joined    bool     // with the other tasks that wait, in one record
	never     bool     // its dependency can not be fulfilled any more
	partition []string // those it may run in; the one it runs in first, or alone
	runsIn    string   // empty: it does not run
	others    []string // those it may run in, while it runs

	state        string
	reason       string
	reasons      []string // for each partition of its list, of the latest look
	priority     int64
	submitted    time.Time
	eligible     time.Time // zero: not known yet
	estimate     time.Time // of its start, by backfill
	start, end   time.Time
	adminComment string
	commented    bool // with an admin comment, ever
	exit         string

	nodes      []string
	completing bool
	signalled  time.Time // SIGTERM; zero: none
	dead       time.Time // when its last process is gone, if that can be known
	returns    bool      // to the queue, when it is dead
	restarts   int
	forgotten  bool

	saved  time.Duration // work that no interruption takes
	before time.Duration // work done when this run began
	saves  []time.Time   // when saves on signals of this run are through

	starts    []invariant.Start
	cancelled bool // by its owner
}

// id is how Slurm names exactly this job.
func (j *job) id() bridge.JobID {
	if j.task < 0 {
		return bridge.JobID(itoa(j.number))
	}
	return bridge.JobID(itoa(j.number) + "_" + itoa(j.task))
}

// ended reports whether it is over, its processes included.
func (j *job) ended() bool { return j.finished() && !j.completing }

// finished reports whether its end is decided, whether or not its processes are
// gone.
func (j *job) finished() bool { return j.state != pending && j.state != running }

// holds reports whether it has nodes.
func (j *job) holds() bool { return j.state == running || j.completing }

// node is a machine as slurmctld sees it, and whether it is there.
type node struct {
	NodeSpec
	dynamic    bool
	gone       time.Time // its slurmd fell silent; zero: it answers
	unanswered bool      // slurmctld has noticed
	down       bool
	drained    bool
	reason     string
	reasonAt   time.Time
	comment    string
	reserved   bool
	asked      bool // it is to answer a ping first
	askedAt    time.Time
	lastBusy   time.Time
	started    time.Time
	jobs       []*job // that hold it

	cpus   int // taken
	memory int64
	gpus   int
	whole  bool // by one job
}

// usable reports whether slurmctld would start a job there.
func (n *node) usable() bool {
	return !n.down && !n.drained && !n.unanswered && !n.asked && !n.reserved
}

// fits reports whether a job's share fits into what is free.
func (n *node) fits(j *job) bool {
	return !n.whole && (!j.Exclusive || len(n.jobs) == 0) &&
		n.cpus+j.CPUs <= n.CPUs && n.memory+j.MemoryMiB <= n.MemoryMiB && n.gpus+j.GPUs <= n.GPUs
}

// could reports whether a job's share fits when the node is empty.
func (n *node) could(j *job) bool {
	if j.CPUs > n.CPUs || j.MemoryMiB > n.MemoryMiB || j.GPUs > n.GPUs || j.GPUs > 0 && j.GPUType != "" && j.GPUType != n.GPUType {
		return false
	}
	if j.Features == "" {
		return true
	}
	for word := range strings.SplitSeq(j.Features, "&") {
		if !slices.Contains(n.Features, word) {
			return false
		}
	}
	return true
}

func (n *node) take(j *job) {
	n.jobs = append(n.jobs, j)
	n.cpus, n.memory, n.gpus = n.cpus+j.CPUs, n.memory+j.MemoryMiB, n.gpus+j.GPUs
	n.whole = n.whole || j.Exclusive
}

// free gives a job's share back; it is still there until it leaves.
func (n *node) free(j *job) {
	n.cpus, n.memory, n.gpus = n.cpus-j.CPUs, n.memory-j.MemoryMiB, n.gpus-j.GPUs
	n.whole = n.whole && !j.Exclusive
}

func (n *node) leave(j *job, now time.Time) {
	n.jobs = slices.DeleteFunc(n.jobs, func(one *job) bool { return one == j })
	n.lastBusy = now
}

// completing reports whether processes of a job that is over are still there.
func (n *node) completing() bool {
	return slices.ContainsFunc(n.jobs, func(j *job) bool { return j.completing })
}

// partition is a partition as slurmctld has it.
type partition struct {
	Name      string
	nodes     []string
	maxTime   time.Duration
	priority  int // PriorityTier
	factor    int // PriorityJobFactor
	state     string
	isDefault bool
	declared  bool   // in slurm.conf
	sharing   string // OverSubscribe
	least     int    // MinNodes
}
