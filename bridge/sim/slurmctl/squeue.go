package slurmctl

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// column is one field of squeue -O.
type column struct {
	value func(*Controller, *row) string
	width int    // 0: as wide as it is
	after string // what follows it
}

// row is a record of the queue: a job, or the pending tasks of an array that
// nothing has set apart.
type row struct {
	*job
	tasks []int // of an array's record
}

// selection is what squeue was asked for.
type selection struct {
	ids        []string
	partitions []string
	nodes      []string
	byJob      bool
}

// squeue reads the options that the adapter and people here use.
func (c *Controller) squeue(a *answer, args []string) []request {
	var columns []column
	var s selection
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-h", "-a", "--noconvert":
			continue
		case "-O", "-j", "-p", "-w":
		default:
			a.unknown(append([]string{"squeue"}, args...)...)
			return nil
		}
		if i+1 == len(args) {
			a.fail("squeue: option requires an argument -- '%s'", args[i][1:])
			return nil
		}
		option, value := args[i], args[i+1]
		i++
		switch option {
		case "-O":
			var bad string
			if columns, bad = parseColumns(value); bad != "" {
				a.err.WriteString("squeue: error: Invalid job format specification: " + bad + "\n")
				return nil // and it is no failure to squeue
			}
		case "-j":
			s.ids, s.byJob = strings.Split(value, ","), true
		case "-p":
			s.partitions = strings.Split(value, ",")
		case "-w":
			s.nodes = expand(value)
		}
	}
	if columns == nil || !slices.Contains(args, "-h") || !slices.Contains(args, "-a") {
		a.unknown(append([]string{"squeue"}, args...)...)
		return nil
	}
	return []request{{do: func(a *answer) { c.list(a, columns, &s) }, trouble: "slurm_load_jobs error: %s"}}
}

// parseColumns reads "name:width,name:<separator>,name".
func parseColumns(format string) ([]column, string) {
	var out []column
	for item := range strings.SplitSeq(format, ",") {
		name, how, shaped := strings.Cut(item, ":")
		value := fieldsOf[strings.ToLower(name)]
		if value == nil {
			return nil, name
		}
		one := column{value: value, width: 20}
		if shaped {
			width, err := strconv.Atoi(how)
			if one.width = width; err != nil {
				one.width, one.after = 0, how
			}
		}
		out = append(out, one)
	}
	return out, ""
}

// list prints the queue.
func (c *Controller) list(a *answer, columns []column, s *selection) {
	c.count("REQUEST_NODE_INFO")
	for _, name := range s.nodes {
		if c.nodes[name] == nil {
			a.fail("squeue: error: Invalid node name %s", name)
			return
		}
	}
	kind := "REQUEST_JOB_INFO"
	if s.byJob && len(s.ids) == 1 {
		if kind = "REQUEST_JOB_INFO_SINGLE"; len(c.named(s.ids[0])) == 0 {
			c.count(kind)
			a.fail("slurm_load_jobs error: Invalid job id specified")
			return
		}
	}
	c.count(kind)
	for _, r := range c.rows(s) {
		for _, column := range columns {
			text := column.value(c, &r)
			a.out.WriteString(text)
			switch {
			case column.width == 0:
				a.out.WriteString(column.after)
			case len(text) < column.width:
				fmt.Fprintf(&a.out, "%*s", column.width-len(text), "")
			case len(text) > column.width:
				a.out.Truncate(a.out.Len() - len(text) + column.width)
			}
		}
		a.out.WriteByte('\n')
	}
}

// rows are the records that are selected, in squeue's own order.
func (c *Controller) rows(s *selection) []row {
	var out []row
	arrays := map[int]int{} // number of an array to its record
	for _, j := range c.active {
		if j.ended() || !s.wants(j) {
			continue
		}
		if !j.joined || j.state != pending {
			out = append(out, row{job: j})
			continue
		}
		at, known := arrays[j.number]
		if !known {
			at = len(out)
			arrays[j.number] = at
			out = append(out, row{job: j})
		}
		out[at].tasks = append(out[at].tasks, j.task)
	}
	slices.SortStableFunc(out, func(a, b row) int {
		return cmp.Or(
			strings.Compare(strings.Join(a.partition, ","), strings.Join(b.partition, ",")),
			cmp.Compare(rank(a.job), rank(b.job)), cmp.Compare(b.priority, a.priority),
		)
	})
	return out
}

// rank is the place of a job's state among the states.
func rank(j *job) int {
	switch {
	case j.completing: // a flag above the number, which makes it negative
		return 0
	case j.state == pending:
		return 1
	}
	return 2
}

func (s *selection) wants(j *job) bool {
	if s.ids != nil && !slices.ContainsFunc(s.ids, func(id string) bool { return id == itoa(j.number) || id == string(j.id()) || meansTask(id, j) }) {
		return false
	}
	if s.partitions != nil && !slices.ContainsFunc(j.partition, func(p string) bool { return slices.Contains(s.partitions, p) }) {
		return false
	}
	return s.nodes == nil || j.holds() && slices.ContainsFunc(j.nodes, func(n string) bool { return slices.Contains(s.nodes, n) })
}

// meansTask reports whether "27_[1-3]" means a task.
func meansTask(id string, j *job) bool {
	base, tasks, some := strings.Cut(id, "_[")
	return some && base == itoa(j.number) && slices.Contains(expand("["+tasks), itoa(j.task))
}

// state is the word that squeue shows.
func (j *job) stateShown() string {
	if j.completing {
		return "COMPLETING"
	}
	return j.state
}

// shownID is a record's id: 12, 12_7, 12_[1-9:2%4].
func (r *row) shownID() string {
	if r.tasks == nil {
		return string(r.id())
	}
	id := itoa(r.number) + "_[" + taskList(r.tasks)
	if r.Throttle > 0 {
		id += "%" + itoa(r.Throttle)
	}
	return id + "]"
}

// taskList is "0-3,7".
func taskList(tasks []int) string {
	names := make([]string, len(tasks))
	for i, t := range tasks {
		names[i] = itoa(t)
	}
	list := compress(names)
	return strings.Trim(list, "[]")
}

func epoch(t time.Time) string {
	if t.IsZero() {
		return "N/A"
	}
	return strconv.FormatInt(t.Unix(), 10)
}

func orNull(s string) string {
	if s == "" {
		return "(null)"
	}
	return s
}

func always(s string) func(*Controller, *row) string {
	return func(*Controller, *row) string { return s }
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// fieldsOf are the fields of squeue -O by name, in lower case.
var fieldsOf = map[string]func(*Controller, *row) string{
	"jobarrayid":      func(_ *Controller, r *row) string { return r.shownID() },
	"state":           func(_ *Controller, r *row) string { return r.stateShown() },
	"partition":       func(_ *Controller, r *row) string { return strings.Join(r.partition, ",") },
	"username":        func(_ *Controller, r *row) string { return r.User },
	"userid":          func(_ *Controller, r *row) string { return itoa(account(r.User)) },
	"groupid":         func(_ *Controller, r *row) string { return itoa(account(r.User)) },
	"account":         func(_ *Controller, r *row) string { return orNull(r.Account) },
	"qos":             always("(null)"),
	"prioritylong":    func(_ *Controller, r *row) string { return strconv.FormatInt(r.priority, 10) },
	"submittime":      func(_ *Controller, r *row) string { return epoch(r.submitted) },
	"eligibletime":    func(_ *Controller, r *row) string { return epoch(r.eligible) },
	"starttime":       func(_ *Controller, r *row) string { return epoch(r.startShown()) },
	"deadline":        always("N/A"),
	"timelimit":       func(c *Controller, r *row) string { return minutes(c.limitShown(r.job)) },
	"numnodes":        func(_ *Controller, r *row) string { return itoa(r.Nodes) },
	"numcpus":         func(_ *Controller, r *row) string { return itoa(r.Nodes * r.CPUs) },
	"numtasks":        func(_ *Controller, r *row) string { return itoa(r.Nodes * r.CPUs) },
	"cpus-per-task":   always("1"),
	"mincpus":         always("1"),
	"minmemory":       func(_ *Controller, r *row) string { return strconv.FormatInt(r.MemoryMiB, 10) + "M" },
	"mintmpdisk":      always("0"),
	"ntpernode":       always("0"),
	"tres-alloc":      func(_ *Controller, r *row) string { return r.tres() },
	"tres-per-node":   func(_ *Controller, r *row) string { return r.gresShown() },
	"tres-per-task":   always("N/A"),
	"tres-per-job":    always("N/A"),
	"tres-per-socket": always("N/A"),
	"mem-per-tres":    always("N/A"),
	"cpus-per-tres":   always("N/A"),
	"ntpersocket":     always("N/A"),
	"sockets":         always("*"),
	"cores":           always("*"),
	"threads":         always("*"),
	"feature":         func(_ *Controller, r *row) string { return orNull(r.Features) },
	"reqnodes":        always(""),
	"licenses":        always("(null)"),
	"dependency":      func(_ *Controller, r *row) string { return r.dependency() },
	"reservation":     always("(null)"),
	"oversubscribe":   func(_ *Controller, r *row) string { return r.sharing() },
	"corespec":        always("N/A"),
	"requeue":         func(_ *Controller, r *row) string { return flag(r.Restartable) },
	"batchflag":       always("1"),
	"restartcnt":      func(_ *Controller, r *row) string { return itoa(r.restarts) },
	"nodelist":        func(_ *Controller, r *row) string { return r.nodeList() },
	"reason":          func(_ *Controller, r *row) string { return orNone(r.reason) },
	"admin_comment":   func(_ *Controller, r *row) string { return r.adminShown() },
	"comment":         func(_ *Controller, r *row) string { return orNull(r.Comment) },
	"name":            func(_ *Controller, r *row) string { return r.Name },
}

// adminShown is the admin comment; one that was taken away is empty, not null.
func (j *job) adminShown() string {
	if j.commented {
		return j.adminComment
	}
	return "(null)"
}

func orNone(reason string) string {
	if reason == "" {
		return reasonNone
	}
	return reason
}

// account is a number for a user's name.
func account(user string) int {
	n := 0
	for _, c := range user {
		n = (n*31 + int(c)) % 50000
	}
	return 5000 + n
}

func (j *job) startShown() time.Time {
	switch {
	case j.state == running, j.completing:
		return j.start
	case j.reason == reasonBegin:
		return j.eligible
	}
	return j.estimate
}

// limitShown is a job's own limit, or its partition's once it runs.
func (c *Controller) limitShown(j *job) time.Duration {
	if j.state == running {
		return c.limit(j)
	}
	return j.Limit
}

// minutes is a limit as squeue shows it.
func minutes(d time.Duration) string {
	if d == 0 {
		return "UNLIMITED"
	}
	s := int64(d.Round(time.Minute).Seconds())
	days, hours, mins := s/86400, s/3600%24, s/60%60
	switch {
	case days > 0:
		return fmt.Sprintf("%d-%02d:%02d:00", days, hours, mins)
	case hours > 0:
		return fmt.Sprintf("%d:%02d:00", hours, mins)
	}
	return fmt.Sprintf("%d:00", mins)
}

// size is memory in a list of resources: in gigabytes where that is a whole or a
// half one.
func size(mib int64) string {
	switch {
	case mib < 1024 || mib%512 != 0:
		return strconv.FormatInt(mib, 10) + "M"
	case mib%1024 == 0:
		return strconv.FormatInt(mib/1024, 10) + "G"
	}
	return strconv.FormatFloat(float64(mib)/1024, 'f', 2, 64) + "G"
}

func (j *job) tres() string {
	cpus := j.Nodes * j.CPUs
	return fmt.Sprintf("cpu=%d,mem=%s,node=%d,billing=%d", cpus, size(int64(j.Nodes)*j.MemoryMiB), j.Nodes, cpus)
}

func (j *job) gresShown() string {
	switch {
	case j.GPUs == 0:
		return "N/A"
	case j.GPUType == "":
		return "gres:gpu:" + itoa(j.GPUs)
	}
	return "gres:gpu:" + j.GPUType + ":" + itoa(j.GPUs)
}

func (j *job) dependency() string {
	switch {
	case j.After == "":
		return "(null)"
	case j.never:
		return "afterok:" + string(j.After) + "(failed)"
	}
	return "afterok:" + string(j.After) + "(unfulfilled)"
}

func (j *job) sharing() string {
	if j.Exclusive {
		return "NO"
	}
	return "OK"
}

func (j *job) nodeList() string {
	if !j.holds() {
		return ""
	}
	return compress(j.nodes)
}
