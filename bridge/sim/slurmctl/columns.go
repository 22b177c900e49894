package slurmctl

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

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
