package slurmctl

import (
	"slices"
	"strings"
)

// scancel ends jobs, or sends them a signal.
func (c *Controller) scancel(a *answer, args []string) []request {
	signal, to, id := "", "steps", ""
	for _, arg := range args {
		name, isSignal := strings.CutPrefix(arg, "--signal=")
		switch {
		case isSignal:
			signal = name
		case arg == "--batch":
			to = "batch"
		case arg == "--full":
			to = "all"
		case arg == "--verbose":
		case strings.HasPrefix(arg, "-") || id != "":
			a.unknown(append([]string{"scancel"}, args...)...)
			return nil
		default:
			id = arg
		}
	}
	trouble := "scancel: error: Kill job error on job id " + id + ": %s"
	if signal == "" {
		if to != "steps" || id == "" {
			a.unknown(append([]string{"scancel"}, args...)...)
			return nil
		}
		return []request{{do: func(*answer) { c.scancelJob(id) }, trouble: trouble}}
	}
	if numbers[signal] == 0 {
		a.unknown(append([]string{"scancel"}, args...)...)
		return nil
	}
	return []request{{do: func(a *answer) { c.sendSignal(a, id, signal, to) }, trouble: "slurm_load_jobs error: %s"}}
}

// numbers of the signals that jobs are sent.
var numbers = map[string]int{
	"HUP": 1, "INT": 2, "QUIT": 3, "KILL": 9, "USR1": 10, "USR2": 12, "TERM": 15, "CHLD": 17, "CONT": 18, "STOP": 19, "TSTP": 20, "URG": 23, "WINCH": 28,
}

func (c *Controller) scancelJob(id string) {
	c.count("REQUEST_KILL_JOB")
	for _, j := range c.named(id) { // None is no failure, and not worth a word.
		c.cancel(j, c.at)
	}
}

// sendSignal is scancel --signal. A job that waits, or is completing, has it try
// again until it loses patience.
func (c *Controller) sendSignal(a *answer, id, signal, to string) {
	c.count("REQUEST_JOB_INFO")
	list := slices.DeleteFunc(c.named(id), func(j *job) bool { return j.ended() })
	if len(list) == 0 {
		a.fail("scancel: error: Kill job error on job id %s: Invalid job id specified", id)
		return
	}
	words := map[string]string{"batch": "batch job", "all": "full job", "steps": "job"}[to]
	for _, j := range list {
		c.count("REQUEST_KILL_JOB")
		a.err.WriteString("scancel: Signal " + itoa(numbers[signal]) + " to " + words + " " + string(j.id()) + "\n")
		if j.state != running {
			a.fail("scancel: Job is in transitional state, retrying")
			continue
		}
		if to == "steps" {
			continue // The jobs here are scripts without steps.
		}
		c.signal(j, signal, c.at)
	}
}
