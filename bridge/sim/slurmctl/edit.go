package slurmctl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// updateJob is scontrol update JobId.
func (c *Controller) updateJob(a *answer, id string, rest []setting) []request {
	for _, s := range rest {
		if !slices.Contains([]string{"Partition", "StartTime", "AdminComment"}, s.key) {
			a.unknown("scontrol update JobId= " + s.key + "=" + s.value)
			return nil
		}
		if s.key == "StartTime" {
			if _, err := startTime(s.value, time.Time{}); err != nil {
				a.unknown("scontrol update JobId= StartTime=" + s.value)
				return nil
			}
		}
	}
	return []request{{do: func(a *answer) { c.editJobs(a, id, rest) }, trouble: "Unexpected message received for job " + id}}
}

// startTime reads "now" and "now+2".
func startTime(text string, now time.Time) (time.Time, error) {
	after, ok := strings.CutPrefix(text, "now")
	if !ok {
		return now, fmt.Errorf("%q is not now", text)
	}
	if after == "" {
		return now, nil
	}
	seconds, err := strconv.ParseUint(strings.TrimPrefix(after, "+"), 10, 31)
	return now.Add(time.Duration(seconds) * time.Second), err
}

func (c *Controller) editJobs(a *answer, id string, rest []setting) {
	c.count("REQUEST_UPDATE_JOB")
	list := c.named(id)
	if len(list) == 0 {
		a.fail("Invalid job id specified for job %s", id)
		return
	}
	// A task that is named alone gets a record of its own.
	if base, tasks, some := strings.Cut(id, "_"); some && base != "" && !strings.HasPrefix(tasks, "[") {
		list[0].joined = false
	}
	all := list
	list = slices.DeleteFunc(slices.Clone(list), (*job).finished)
	if len(list) == 0 {
		if all[0].task >= 0 && len(all) > 1 {
			a.fail("%d_%s: Job has already finished", all[0].number, taskList(tasksOf(all)))
			return
		}
		a.fail("Job has already finished for job %s", id)
		return
	}
	for _, s := range rest {
		for _, j := range list {
			if why := c.editJob(j, s); why != "" {
				a.fail("%s for job %s", why, id)
				return
			}
		}
	}
	c.look(c.at)
}

func tasksOf(list []*job) []int {
	var out []int
	for _, j := range list {
		out = append(out, j.task)
	}
	slices.Sort(out)
	return out
}

// editJob changes one thing about a job; the text says why not.
func (c *Controller) editJob(j *job, s setting) string {
	switch s.key {
	case "AdminComment":
		j.adminComment, j.commented = s.value, true
		return ""
	case "StartTime":
		if j.completing {
			return "" // said, and not done
		}
		if j.state != pending {
			return "Job is no longer pending execution"
		}
		begin, err := startTime(s.value, c.at)
		if err != nil {
			return "Invalid time specification"
		}
		c.begin(j, begin)
		return ""
	}
	if j.state != pending {
		return "Job is no longer pending execution"
	}
	names := strings.Split(s.value, ",")
	added := false
	for _, name := range names {
		p := c.partition(name)
		if p == nil {
			return "Invalid partition name specified"
		}
		if p.state == "UP" || slices.Contains(j.partition, name) && len(names) > 1 {
			added = true
			continue
		}
		if len(names) == 1 {
			return "Required partition not available (inactive or drain)"
		}
		return "" // said, and not done
	}
	if added {
		j.partition, j.reasons = names, nil
		if j.reason != reasonHeld && j.reason != reasonDepends && j.reason != reasonNever && j.reason != reasonBegin {
			j.reason = reasonNone
		}
	}
	return ""
}

// begin makes a job eligible at a moment. One that was set aside stays so.
func (c *Controller) begin(j *job, at time.Time) {
	if j.reason == reasonHeld || j.reason == reasonDepends || j.reason == reasonNever {
		return
	}
	j.eligible, j.reasons = at, nil
	if at.After(c.at) {
		j.reason = reasonBegin
		return
	}
	if j.priority > 0 {
		j.reason = reasonNone
	}
}

// requeues is scontrol requeue Incomplete.
func (c *Controller) requeues(a *answer, id string) {
	c.count("REQUEST_JOB_REQUEUE")
	list := c.named(id)
	if len(list) == 0 {
		a.fail("Invalid job id specified for job %s", id)
		return
	}
	for _, j := range list {
		if j.state != running {
			continue
		}
		if !j.Restartable {
			a.fail("Requested operation is presently disabled for job %s", id)
			return
		}
		c.requeue(j, "requeued", c.at)
	}
}

// releases is scontrol release.
func (c *Controller) releases(a *answer, id string) {
	c.count("REQUEST_UPDATE_JOB")
	list := c.named(id)
	if len(list) == 0 {
		a.fail("Invalid job id specified for job %s\nslurm_suspend error: Invalid job id specified", id)
		return
	}
	list = slices.DeleteFunc(list, (*job).finished)
	if len(list) == 0 {
		a.fail("Job has already finished for job %s\nslurm_suspend error: Job has already finished", id)
		return
	}
	// Whoever is released goes to the end of the queue, held or not.
	priority := c.nextPriority()
	for _, j := range list {
		if j.state == pending && j.priority == 0 {
			j.reason, j.reasons = reasonNone, nil
			if j.eligible.IsZero() && j.After == "" {
				j.eligible = c.at
			}
		}
		j.priority = priority
	}
	c.look(c.at)
}
