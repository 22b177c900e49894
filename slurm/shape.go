package slurm

import (
	"fmt"
	"strings"

	"spillway.sh/spillway/bridge"
)

// request is what a job asks for, brought into the engine's terms.
type request struct {
	shape bridge.Shape
	nodes int
	// hurdle is why it cannot be placed with certainty, as a sentence that goes
	// on from "the job"; empty when it can.
	hurdle string
}

// shapeOf turns a job into a request for machines. What is not understood
// fully is a hurdle: it is never bought for.
func shapeOf(j *job, v *view) request {
	r := request{nodes: max(1, j.Nodes)}
	r.hurdle = hurdleOf(j)
	tasks := tasksPerNode(j, r.nodes)
	r.shape.CPUs = max(1, j.MinCPUs, tasks*cpusPerTask(j))
	r.shape.DiskMiB = j.Disk
	r.shape.Exclusive = exclusive(j, v)
	r.note(r.addFeatures(j))
	r.note(r.addResources(j, tasks))
	r.addMemory(j, v)
	return r
}

func (r *request) note(err error) {
	if err != nil && r.hurdle == "" {
		r.hurdle = err.Error()
	}
}

// hurdleOf tells the first property of a job that a rented machine cannot
// meet with certainty.
func hurdleOf(j *job) string {
	switch {
	case j.HetPart:
		return "is part of a heterogeneous job, whose parts start all together or not at all"
	case j.ReqNodes != "":
		return "names the nodes it wants: " + j.ReqNodes
	case j.Reservation != "":
		return "is bound to the reservation " + j.Reservation
	case j.Licenses != "":
		return "needs licences: " + j.Licenses
	case !absent(j.CoreSpec) && j.CoreSpec != "0":
		return "asks for specialised cores or threads: " + j.CoreSpec
	case !j.Batch:
		return "is interactive: its terminal must reach its nodes"
	case !absent(j.PerSocket):
		return "asks for resources per socket: " + j.PerSocket
	case j.Sharing == "TOPO":
		return "wants a part of the network topology for itself"
	}
	for _, name := range []string{"sockets per node", "cores per socket", "threads per core", "tasks per socket"} {
		if n := j.Topology[name]; n > 1 {
			return fmt.Sprintf("asks for a layout inside its nodes: %d %s", n, name)
		}
	}
	return ""
}

// tasksPerNode is how many tasks the fullest node has.
func tasksPerNode(j *job, nodes int) int {
	return max(1, j.TasksPerNode, ceilDiv(j.NumTasks, nodes))
}

// cpusPerTask is at least one; where it is not said, the total tells.
func cpusPerTask(j *job) int {
	if j.CPUsPerTask > 0 {
		return j.CPUsPerTask
	}
	return max(1, ceilDiv(j.CPUs, max(1, j.NumTasks)))
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

func exclusive(j *job, v *view) bool {
	switch j.Sharing {
	case "NO", "USER", "MCS":
		return true
	}
	for name := range strings.SplitSeq(j.Partition, ",") {
		if v.partitions[name].Record["OverSubscribe"] == "EXCLUSIVE" {
			return true
		}
	}
	return false
}

func (r *request) addFeatures(j *job) (err error) {
	r.shape.Features, err = parseFeatures(j.Features)
	return err
}

// addResources adds what is asked for per node, per task and for the whole
// job. What stands in more than one of these is one need, not a sum.
func (r *request) addResources(j *job, tasks int) error {
	for _, part := range []struct {
		list  string
		share func(n int) int
	}{
		{j.PerNode, func(n int) int { return n }},
		{j.PerTask, func(n int) int { return n * tasks }},
		{j.PerJob, func(n int) int { return ceilDiv(n, r.nodes) }},
	} {
		list, err := parseGRES(part.list)
		if err != nil {
			return fmt.Errorf("asks for %s, which is not understood", part.list)
		}
		if err := r.addList(list, part.list, part.share); err != nil {
			return err
		}
	}
	per, err := parseGRES(j.CPUsPerTRES)
	if err != nil {
		return fmt.Errorf("asks for %s CPUs, which is not understood", j.CPUsPerTRES)
	}
	r.shape.CPUs = max(r.shape.CPUs, per.total("gpu")*r.shape.GPUs)
	return nil
}

func (r *request) addList(list resources, text string, share func(int) int) error {
	gpus := 0
	for _, one := range list {
		n := share(one.Count)
		switch {
		case one.Count == 0, one.Name == "cpu", one.Name == "mem", one.Name == "node", one.Name == "billing", one.Name == "energy":
			// Said elsewhere in the record.
		case strings.Contains(one.Name, "/"):
			return fmt.Errorf("asks for %s, which machines do not have", text)
		case one.Name == "gpu":
			if one.Type != "" && r.shape.GPUType != "" && one.Type != r.shape.GPUType {
				return fmt.Errorf("asks for GPUs of two types: %s", text)
			}
			if one.Type != "" {
				r.shape.GPUType = one.Type
			}
			if gpus++; gpus > 1 {
				return fmt.Errorf("asks for GPUs twice: %s", text)
			}
			r.shape.GPUs = max(r.shape.GPUs, n)
		case one.Type != "":
			return fmt.Errorf("asks for a type of %s: %s", one.Name, text)
		default:
			if r.shape.GRES == nil {
				r.shape.GRES = map[string]int{}
			}
			r.shape.GRES[one.Name] = max(r.shape.GRES[one.Name], n)
		}
	}
	return nil
}

// addMemory finds the memory of one node. Slurm prints the request without
// saying whether it is per node or per CPU; the total of the job tells.
func (r *request) addMemory(j *job, v *view) {
	perGPU := j.MemoryPerTRES != "" && j.Memory == 0
	switch {
	case perGPU:
		r.shape.MemoryMiB = ceilDiv64(j.TotalMemory, int64(r.nodes))
	case j.Memory == 0:
		// No memory asked for, or --mem=0: all of the node's, where Slurm counts
		// memory at all.
		r.shape.Exclusive = r.shape.Exclusive || v.countsMemory
	case j.TotalMemory == j.Memory*int64(j.CPUs) && j.CPUs > r.nodes:
		r.shape.MemoryMiB = j.Memory * int64(r.shape.CPUs)
	default:
		r.shape.MemoryMiB = max(j.Memory, ceilDiv64(j.TotalMemory, int64(r.nodes)))
	}
}

func ceilDiv64(a, b int64) int64 { return (a + b - 1) / b }

// gangs is how many gangs of a record may run at once: one, or the tasks of an
// array within its throttle, of which some may be running already.
func gangs(j *job, v *view) (int, error) {
	if j.Tasks == "" {
		return 1, nil
	}
	tasks, throttle, err := parseTasks(j.Tasks)
	if err != nil {
		return 0, err
	}
	if throttle > 0 {
		tasks = min(tasks, throttle-v.running[j.Array])
	}
	return tasks, nil
}

// workflow names the manager that a job belongs to; empty if none.
func (c *Cluster) workflow(j *job) string {
	for _, w := range c.options.Workflows {
		if w.NamePrefix != "" && strings.HasPrefix(j.Name, w.NamePrefix) ||
			w.CommentPrefix != "" && strings.HasPrefix(j.Comment, w.CommentPrefix) {
			return w.Manager
		}
	}
	return ""
}
