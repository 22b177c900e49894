package slurm

import (
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// requeueDelay is longer than Slurm's own delay after a requeue: the life of a
// credential, 120 s unless configured, and a second.
const requeueDelay = 150 * time.Second

// standings says what each pending reason means for us, by Slurm's word. A
// word that is not here, nor in standingPrefixes, is StandingConfig: never
// bought for what is not understood.
var standings = map[string]bridge.Standing{
	"Resources": bridge.StandingHelps,
	"NodeDown":  bridge.StandingHelps,
	// ReqNodeNotAvail is ambiguous; see Cluster.confirm.
	"ReqNodeNotAvail": bridge.StandingDoubtful,

	"":         bridge.StandingBehind, // not looked at yet
	"None":     bridge.StandingBehind,
	"Priority": bridge.StandingBehind,

	"Cleaning":    bridge.StandingSoon,
	"PlannedNode": bridge.StandingSoon,
	"Prolog":      bridge.StandingSoon,

	"PartitionNodeLimit": bridge.StandingDoubtful,
	"PartitionConfig":    bridge.StandingDoubtful,
	"BadConstraints":     bridge.StandingDoubtful,
	"Licenses":           bridge.StandingDoubtful,
	"FrontEndDown":       bridge.StandingDoubtful,
	"ReservationDeleted": bridge.StandingDoubtful,

	"AccountingPolicy":  bridge.StandingPolicy,
	"InvalidAccount":    bridge.StandingPolicy,
	"InvalidQOS":        bridge.StandingPolicy,
	"AccountNotAllowed": bridge.StandingPolicy,
	"QOSNotAllowed":     bridge.StandingPolicy,
	"JobArrayTaskLimit": bridge.StandingPolicy,

	"JobHeldUser":              bridge.StandingUser,
	"JobHeldAdmin":             bridge.StandingUser,
	"JobHoldMaxRequeue":        bridge.StandingUser,
	"Dependency":               bridge.StandingUser,
	"DependencyNeverSatisfied": bridge.StandingUser,
	"BeginTime":                bridge.StandingUser, // after a requeue: Soon
	"DeadLine":                 bridge.StandingUser,
	"Reservation":              bridge.StandingUser,

	"PartitionTimeLimit": bridge.StandingConfig,
	"PartitionDown":      bridge.StandingConfig,
	"PartitionInactive":  bridge.StandingConfig,
	"SchedDefer":         bridge.StandingConfig,
	"NonZeroExitCode":    bridge.StandingConfig,
	"JobLaunchFailure":   bridge.StandingConfig,
	"SystemFailure":      bridge.StandingConfig,
	"OutOfMemory":        bridge.StandingConfig,
	"PowerNotAvail":      bridge.StandingConfig,
	"PowerReserved":      bridge.StandingConfig,
	"FedJobLock":         bridge.StandingConfig,
	"MaxMemPerLimit":     bridge.StandingConfig,
	"TimeLimit":          bridge.StandingConfig,
	"InactiveLimit":      bridge.StandingConfig,
}

// standingPrefixes are the families of words: limits of associations and QOS
// have some sixty each, and each version adds some.
var standingPrefixes = []struct {
	prefix   string
	standing bridge.Standing
}{
	{"Assoc", bridge.StandingPolicy},
	{"QOS", bridge.StandingPolicy},
	{"Max", bridge.StandingPolicy}, // MaxCpuPerAccount, MaxJobsPerUser, ...
	{"BurstBuffer", bridge.StandingConfig},
}

// downText begins the sentence that Slurm prints in place of Resources.
const downText = "nodes required for job are down, drained or reserved"

// reasonWord is the word of a reason, before any comma or parenthesis, and in
// the spelling of the enumeration for Slurm's one sentence.
func reasonWord(reason string) string {
	plain := strings.ToLower(strings.ReplaceAll(reason, "_", " "))
	if strings.HasPrefix(plain, downText) {
		return "Resources"
	}
	end := strings.IndexAny(reason, ",( ")
	if end < 0 {
		end = len(reason)
	}
	return reason[:end]
}

// standingOf says what a word means, and whether it is known.
func standingOf(word string) (bridge.Standing, bool) {
	if standing, known := standings[word]; known {
		return standing, true
	}
	for _, family := range standingPrefixes {
		if strings.HasPrefix(word, family.prefix) {
			return family.standing, true
		}
	}
	return bridge.StandingConfig, false
}

// standing judges why a pending job waits. What the record itself says
// (dependency, begin time, hold) counts before the reason, which may be as old
// as the scheduler's last look at the job.
func (c *Cluster) standing(j *job, v *view) bridge.Standing {
	word := reasonWord(j.Reason)
	standing, known := standingOf(word)
	if !known && c.firstTime(word) {
		c.options.Log.Warn("unknown pending reason; jobs that wait for it are never bought for", "cluster", c.options.Name, "reason", word)
	}
	if j.Dependency != "" {
		return bridge.StandingUser
	}
	if word == "BadConstraints" && j.Restarts > 0 {
		return bridge.StandingHelps // it ran before, on nodes that are missing now; see Nudge
	}
	if word == "BeginTime" || j.Eligible.After(v.now) {
		return delay(j, v.now)
	}
	if j.Priority == 0 && word != "BadConstraints" && standing != bridge.StandingPolicy && standing != bridge.StandingConfig {
		return bridge.StandingUser // held, whatever its last reason was
	}
	if word == "ReqNodeNotAvail" && j.ReqNodes == "" && c.confirm(j, v) {
		return bridge.StandingHelps
	}
	return standing
}

// delay says what a begin time in the record means: Slurm sets one itself for a
// job that was requeued.
func delay(j *job, now time.Time) bridge.Standing {
	if j.Restarts > 0 && !j.Eligible.After(now.Add(requeueDelay)) {
		return bridge.StandingSoon
	}
	return bridge.StandingUser
}

// confirm decides on ReqNodeNotAvail, which Slurm also shows for a while to
// everybody when it has not finished looking: it must stand for two cycles,
// and the nodes it calls unavailable must not be usable.
func (c *Cluster) confirm(j *job, v *view) bool {
	v.doubts[j.ID] = true
	if !c.doubted(j.ID) {
		return false
	}
	_, list, found := strings.Cut(j.Reason, "UnavailableNodes:")
	if !found {
		return true
	}
	names, err := expandHosts(strings.TrimRight(strings.TrimSpace(list), ")"))
	if err != nil {
		return false
	}
	for _, name := range names {
		if v.nodes[name].Usable {
			return false
		}
	}
	return true
}

func (c *Cluster) doubted(id bridge.JobID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.doubts[id]
}

// firstTime reports whether a word is seen for the first time.
func (c *Cluster) firstTime(word string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.words[word] {
		return false
	}
	c.words[word] = true
	return true
}
