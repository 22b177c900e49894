package slurm

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// readJSON reads a part of an answer.
func readJSON(data []byte, v any) error {
	return json.Unmarshal(data, v) //nolint:wrapcheck // The ParseError of the whole answer wraps it.
}

// loose is a number in every form that Slurm's JSON has had: a number, a
// string, null, or {"set":..., "infinite":..., "number":...}.
type loose struct {
	Set      bool
	Infinite bool
	Number   float64
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *loose) UnmarshalJSON(data []byte) error {
	*n = loose{}
	switch {
	case string(data) == "null":
		return nil
	case data[0] == '{':
		var o struct {
			Set, Infinite bool
			Number        float64
		}
		if err := readJSON(data, &o); err != nil {
			return err
		}
		*n = loose{Set: o.Set && !o.Infinite, Infinite: o.Infinite, Number: o.Number}
		return nil
	case data[0] == '"':
		var s string
		if err := readJSON(data, &s); err != nil {
			return err
		}
		if absent(s) {
			return nil
		}
		if strings.EqualFold(s, "infinite") || strings.EqualFold(s, "unlimited") {
			n.Infinite = true
			return nil
		}
		f, err := strconv.ParseFloat(s, 64)
		*n = loose{Set: true, Number: f}
		return err //nolint:wrapcheck // The ParseError of the whole answer wraps it.
	}
	if err := readJSON(data, &n.Number); err != nil {
		return err
	}
	n.Set = n.Number >= 0
	return nil
}

func (n loose) int() int64 {
	if !n.Set || n.Number < 0 || n.Number > 1<<53 {
		return 0
	}
	return int64(n.Number)
}

func (n loose) time() time.Time {
	if n.int() == 0 {
		return time.Time{}
	}
	return time.Unix(n.int(), 0).UTC()
}

// wordSet is a word or a list of words.
type wordSet []string

// UnmarshalJSON implements json.Unmarshaler.
func (w *wordSet) UnmarshalJSON(data []byte) error {
	*w = nil
	if string(data) == "null" {
		return nil
	}
	if data[0] == '[' {
		return readJSON(data, (*[]string)(w))
	}
	var s string
	if err := readJSON(data, &s); err != nil {
		return err
	}
	*w = wordSet{s}
	return nil
}

func (w wordSet) has(words ...string) bool { return hasAny(w, words...) }

// loosely is a text, also where some versions print a number or a flag.
type loosely string

// UnmarshalJSON implements json.Unmarshaler.
func (l *loosely) UnmarshalJSON(data []byte) error {
	*l = ""
	var s string
	if data[0] == '"' {
		if err := readJSON(data, &s); err != nil {
			return err
		}
		if s != "(null)" && s != "N/A" {
			*l = loosely(s)
		}
		return nil
	}
	return nil // null, or a form without meaning for us
}

// jsonJob holds the keys of all parsers, v0.0.37 to v0.0.45, that we read.
// Keys that are not here are ignored; keys that are missing are zero.
type jsonJob struct {
	JobID         loose   `json:"job_id"`
	ArrayJobID    loose   `json:"array_job_id"`
	ArrayTaskID   loose   `json:"array_task_id"`
	ArrayTasks    loosely `json:"array_task_string"`
	ArrayMaxTasks loose   `json:"array_max_tasks"`
	HetJobID      loose   `json:"het_job_id"`
	HetOffset     loose   `json:"het_job_offset"`

	State       wordSet `json:"job_state"`
	Reason      loosely `json:"state_reason"`
	Description loosely `json:"state_description"`
	Priority    loose   `json:"priority"`

	User         loosely `json:"user_name"`
	Account      loosely `json:"account"`
	Partition    loosely `json:"partition"`
	QOS          loosely `json:"qos"`
	Name         loosely `json:"name"`
	Comment      loosely `json:"comment"`
	AdminComment loosely `json:"admin_comment"`

	Submit    loose `json:"submit_time"`
	Eligible  loose `json:"eligible_time"`
	Start     loose `json:"start_time"`
	Deadline  loose `json:"deadline"`
	TimeLimit loose `json:"time_limit"` // minutes

	Nodes         loose   `json:"node_count"`
	CPUs          loose   `json:"cpus"`
	Tasks         loose   `json:"tasks"`
	CPUsPerTask   loose   `json:"cpus_per_task"`
	MinCPUs       loose   `json:"minimum_cpus_per_node"`
	MemoryPerNode loose   `json:"memory_per_node"`
	MemoryPerCPU  loose   `json:"memory_per_cpu"`
	Disk          loose   `json:"minimum_tmp_disk_per_node"`
	TasksPerNode  loose   `json:"tasks_per_node"`
	TRES          loosely `json:"tres_req_str"`

	PerNode       loosely `json:"tres_per_node"`
	PerTask       loosely `json:"tres_per_task"`
	PerJob        loosely `json:"tres_per_job"`
	PerSocket     loosely `json:"tres_per_socket"`
	MemoryPerTRES loosely `json:"memory_per_tres"`
	CPUsPerTRES   loosely `json:"cpus_per_tres"`

	TasksPerSocket loose `json:"tasks_per_socket"`
	SocketsPerNode loose `json:"sockets_per_node"`
	CoresPerSocket loose `json:"cores_per_socket"`
	ThreadsPerCore loose `json:"threads_per_core"`
	CoreSpec       loose `json:"core_spec"`
	ThreadSpec     loose `json:"thread_spec"`
	RestartCount   loose `json:"restart_cnt"`
	Requeue        bool  `json:"requeue"`
	Batch          *bool `json:"batch_flag"`

	Features    loosely     `json:"features"`
	ReqNodes    loosely     `json:"required_nodes"`
	Licenses    loosely     `json:"licenses"`
	Dependency  loosely     `json:"dependency"`
	Reservation loosely     `json:"resv_name"`
	Exclusive   jsonSharing `json:"exclusive"`
	Shared      jsonSharing `json:"shared"`
	Oversub     jsonSharing `json:"oversubscribe"`
	NodeList    loosely     `json:"nodes"`
}

// jsonSharing is how a job shares its nodes: a word, a list, a flag or a number.
type jsonSharing string

// UnmarshalJSON implements json.Unmarshaler.
func (s *jsonSharing) UnmarshalJSON(data []byte) error {
	var w wordSet
	if data[0] == '"' || data[0] == '[' {
		if err := w.UnmarshalJSON(data); err != nil {
			return err
		}
		*s = jsonSharing(strings.ToUpper(strings.Join(w, ",")))
		return nil
	}
	*s = jsonSharing(strings.ToUpper(string(data)))
	return nil
}

// parseQueueJSON reads "squeue --json" of any data parser. A document without
// jobs, or whose errors are not empty, is an error.
func parseQueueJSON(data []byte) ([]job, error) {
	var document struct {
		Jobs   *[]json.RawMessage `json:"jobs"`
		Errors []struct {
			Description string `json:"description"`
			Error       string `json:"error"`
		} `json:"errors"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, &ParseError{What: "jobs", Count: 1, Text: clip(string(data), 80), Err: err}
	}
	if len(document.Errors) > 0 {
		e := document.Errors[0]
		return nil, &ParseError{What: "jobs", Count: len(document.Errors), Text: clip(e.Description+e.Error, 80), Err: fmt.Errorf("the scheduler reports an error")}
	}
	if document.Jobs == nil {
		return nil, &ParseError{What: "jobs", Count: 1, Text: clip(string(data), 80), Err: fmt.Errorf("no list of jobs")}
	}
	bad := mishaps{what: "jobs"}
	var out []job
	for i, raw := range *document.Jobs {
		var r jsonJob
		err := json.Unmarshal(raw, &r)
		var j job
		if err == nil {
			j, err = r.job()
		}
		if err != nil {
			bad.add(i+1, string(raw), err)
		}
		if !ended(r.State) {
			out = append(out, j)
		}
	}
	return out, bad.err()
}

// ended reports whether a record is history: JSON lists jobs for some minutes
// after their end.
func ended(states wordSet) bool {
	return states.has("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY") &&
		!states.has("COMPLETING")
}

// job brings a record into the common form.
func (r *jsonJob) job() (job, error) {
	if !r.JobID.Set || len(r.State) == 0 {
		return job{}, fmt.Errorf("says no job_id or no job_state")
	}
	j := job{
		State: r.State[0], Reason: string(r.Reason), Priority: r.Priority.int(),
		User: string(r.User), Account: string(r.Account), Partition: string(r.Partition), QOS: string(r.QOS),
		Name: string(r.Name), Comment: string(r.Comment), AdminComment: string(r.AdminComment),
		Submitted: r.Submit.time(), Eligible: r.Eligible.time(), Start: r.Start.time(), Deadline: r.Deadline.time(),
		TimeLimit: time.Duration(r.TimeLimit.int()) * time.Minute,
		Nodes:     int(r.Nodes.int()), CPUs: int(r.CPUs.int()), NumTasks: int(r.Tasks.int()), CPUsPerTask: int(r.CPUsPerTask.int()),
		MinCPUs: int(r.MinCPUs.int()), Disk: r.Disk.int(), TasksPerNode: int(r.TasksPerNode.int()),
		PerNode: string(r.PerNode), PerTask: string(r.PerTask), PerJob: string(r.PerJob), PerSocket: string(r.PerSocket),
		MemoryPerTRES: string(r.MemoryPerTRES), CPUsPerTRES: string(r.CPUsPerTRES),
		Features: string(r.Features), ReqNodes: string(r.ReqNodes), Licenses: string(r.Licenses),
		Dependency: string(r.Dependency), Reservation: string(r.Reservation),
		Requeue: r.Requeue, Batch: r.Batch == nil || *r.Batch, Restarts: int(r.RestartCount.int()), NodeList: string(r.NodeList),
	}
	for _, word := range []string{"COMPLETING", "CONFIGURING"} {
		if r.State.has(word) {
			j.State = word
		}
	}
	r.identify(&j)
	r.addMemory(&j)
	r.addLayout(&j)
	return j, readTRES(&j, string(r.TRES))
}

func (r *jsonJob) identify(j *job) {
	id := strconv.FormatInt(r.JobID.int(), 10)
	array := strconv.FormatInt(r.ArrayJobID.int(), 10)
	switch {
	case r.HetJobID.int() > 0:
		j.HetPart = true
		id = fmt.Sprintf("%d+%d", r.HetJobID.int(), r.HetOffset.int())
	case r.ArrayJobID.int() > 0 && r.ArrayTasks != "":
		j.Array, id = array, array
		j.Tasks = string(r.ArrayTasks)
		if n := r.ArrayMaxTasks.int(); n > 0 && !strings.Contains(j.Tasks, "%") {
			j.Tasks += fmt.Sprintf("%%%d", n)
		}
	case r.ArrayJobID.int() > 0:
		j.Array = array
		id = fmt.Sprintf("%s_%d", array, r.ArrayTaskID.int())
	}
	j.ID = bridge.JobID(id)
}

// addMemory makes the two forms of a memory request what text shows: one
// figure, and a total by which the form can be told.
func (r *jsonJob) addMemory(j *job) {
	if r.MemoryPerCPU.int() > 0 {
		j.Memory = r.MemoryPerCPU.int()
		j.TotalMemory = j.Memory * int64(j.CPUs)
		return
	}
	j.Memory = r.MemoryPerNode.int()
}

// unset and above is how parsers print 16 and 15 bit numbers that are not set.
const unset = 0x7ffe

func (r *jsonJob) addLayout(j *job) {
	for name, n := range map[string]loose{
		"tasks per socket": r.TasksPerSocket, "sockets per node": r.SocketsPerNode,
		"cores per socket": r.CoresPerSocket, "threads per core": r.ThreadsPerCore,
	} {
		if v := n.int(); v > 0 && v < unset {
			j.setTopology(name, int(v))
		}
	}
	for _, n := range []loose{r.CoreSpec, r.ThreadSpec} {
		if v := n.int(); v > 0 && v < unset {
			j.CoreSpec = strconv.FormatInt(v, 10)
		}
	}
	for _, s := range []jsonSharing{r.Exclusive, r.Shared, r.Oversub} {
		switch {
		case s == "NONE" || s == "TRUE" && r.Exclusive == s:
			j.Sharing = "NO"
		case strings.Contains(string(s), "USER"):
			j.Sharing = "USER"
		case strings.Contains(string(s), "MCS"):
			j.Sharing = "MCS"
		case strings.Contains(string(s), "TOPO"):
			j.Sharing = "TOPO"
		}
	}
}
