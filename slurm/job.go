package slurm

import (
	"time"

	"spillway.sh/spillway/bridge"
)

// job is one record of the queue as Slurm shows it, whichever way it was read.
// Memory is in MiB. Zero and empty mean "not said".
type job struct {
	ID       bridge.JobID // "27" for all pending tasks of an array, "27_3" for one of them, "50+1" for a part
	Array    string       // id of the array it belongs to
	Tasks    string       // the pending tasks of an array record, "1-9:2,20%4"
	HetPart  bool         // part of a heterogeneous job
	State    string
	Reason   string
	Priority int64

	User, Account, Partition, QOS string
	Name, Comment, AdminComment   string

	Submitted, Eligible, Start, Deadline time.Time
	TimeLimit                            time.Duration

	Nodes        int // least number of nodes
	CPUs         int // least number of CPUs, all nodes together
	NumTasks     int
	CPUsPerTask  int
	MinCPUs      int   // per node
	Memory       int64 // per node or per CPU, see TotalMemory
	TotalMemory  int64
	Disk         int64 // per node
	TasksPerNode int

	PerNode, PerTask, PerJob, PerSocket string // generic resources
	MemoryPerTRES, CPUsPerTRES          string
	// Topology holds requests on a node's inner layout by name: sockets, cores,
	// threads, tasks per socket.
	Topology map[string]int

	Features, ReqNodes, Licenses, Dependency, Reservation string
	Sharing                                               string // OK, NO, YES, USER, MCS, TOPO
	CoreSpec                                              string

	Requeue  bool
	Batch    bool
	Restarts int
	NodeList string
}

const pendingState = "PENDING"

// pending reports whether the record waits for nodes.
func (j *job) pending() bool { return j.State == pendingState }
