package slurmctl

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// Options describe a cluster. The zero value is a cluster of no nodes.
type Options struct {
	// Now is the true time; nil means time.Now.
	Now func() time.Time
	// Nodes are those of slurm.conf. They answer from the start.
	Nodes []NodeSpec
	// Partitions are those of slurm.conf, the first of which is the default; nil
	// means one, "gpu", of all Nodes.
	Partitions []Partition
	// Overlays is how many partitions sw-1, sw-2, ... are declared for rentals,
	// empty and in state DRAIN.
	Overlays int

	KillWait       time.Duration // from SIGTERM to SIGKILL; 0 means 5 s
	SlurmdTimeout  time.Duration // until a silent node is down; 0 means 30 s
	MinJobAge      time.Duration // until an ended job is forgotten; 0 means 300 s
	MessageTimeout time.Duration // until a command without an answer gives up; 0 means 10 s
	Backfill       time.Duration // between looks at jobs behind the first that waits; 0 means 5 s
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Partitions == nil {
		p := Partition{Name: "gpu"}
		for _, n := range o.Nodes {
			p.Nodes = append(p.Nodes, n.Name)
		}
		o.Partitions = []Partition{p}
	}
	for _, one := range []struct {
		at    *time.Duration
		value time.Duration
	}{
		{&o.KillWait, 5 * time.Second},
		{&o.SlurmdTimeout, 30 * time.Second},
		{&o.MinJobAge, 5 * time.Minute},
		{&o.MessageTimeout, 10 * time.Second},
		{&o.Backfill, 5 * time.Second},
	} {
		if *one.at == 0 {
			*one.at = one.value
		}
	}
	return o
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

// ParseNode reads what slurmd is given as --conf, "CPUs=8 RealMemory=64000
// Gres=gpu:a100:8 Feature=cloud".
func ParseNode(name, conf string) (NodeSpec, error) {
	n := NodeSpec{Name: name}
	for word := range strings.FieldsSeq(conf) {
		key, value, _ := strings.Cut(word, "=")
		var err error
		switch key {
		case "CPUs":
			n.CPUs, err = strconv.Atoi(value)
		case "RealMemory":
			n.MemoryMiB, err = strconv.ParseInt(value, 10, 64)
		case "TmpDisk":
			n.DiskMiB, err = strconv.ParseInt(value, 10, 64)
		case "Feature":
			n.Features = strings.Split(value, ",")
		case "Gres":
			err = n.readGres(value)
		default:
			err = fmt.Errorf("not implemented in this simulation")
		}
		if err != nil {
			return n, fmt.Errorf("read configuration of node %s: %s: %w", name, word, err)
		}
	}
	return n, nil
}

func (n *NodeSpec) readGres(list string) error {
	parts := strings.Split(list, ":")
	if parts[0] != "gpu" || len(parts) < 2 || len(parts) > 3 {
		return fmt.Errorf("not implemented in this simulation")
	}
	if len(parts) == 3 {
		n.GPUType = parts[1]
	}
	var err error
	n.GPUs, err = strconv.Atoi(parts[len(parts)-1])
	return err
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
	MemoryMiB                    int64  // 0 means 1000 for each CPU
	Features                     string // one word, or words joined by &
	Exclusive                    bool
	Limit                        time.Duration // whole minutes; 0 means none
	Begin                        time.Time
	After                        bridge.JobID // it starts when that one has completed
	Held                         bool

	// Restartable is sbatch --requeue.
	Restartable bool
	// Work is how long the job runs where nothing stops it.
	Work time.Duration
	// Checkpoint is how often its progress is saved; 0 means never: a restart
	// begins from what was saved otherwise, or from nothing.
	Checkpoint time.Duration
	// SaveOn is a signal, such as "USR1" or "TERM", on which the progress is
	// saved, after SaveTakes. Other signals but TERM and KILL do nothing to a job.
	SaveOn    string
	SaveTakes time.Duration
	// Grace is how long the script lives after SIGTERM, at most KillWait.
	Grace time.Duration
	// Fails makes it end with exit code 1 when the work is done.
	Fails bool
}

func (j Job) withDefaults(partition string) Job {
	if j.Partition == "" {
		j.Partition = partition
	}
	j.Nodes, j.CPUs = max(1, j.Nodes), max(1, j.CPUs)
	if j.MemoryMiB == 0 {
		j.MemoryMiB = 1000 * int64(j.CPUs)
	}
	return j
}
