package bridge

import (
	"fmt"
	"math"
	"time"
)

// CheckpointJob is what a rule's path may be made of.
type CheckpointJob struct {
	Cluster string `json:"cluster"`
	Job     JobID  `json:"job"`
	User    string `json:"user"`
	Name    string `json:"name,omitempty"`
	Comment string `json:"comment,omitempty"`
	// Annotations are key and value where the scheduler has such a thing.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// CheckpointFlaw says why something that looks like a checkpoint does not count.
type CheckpointFlaw string

// The flaws.
const (
	FlawEmpty      CheckpointFlaw = "empty"      // a file of it has no bytes
	FlawTruncated  CheckpointFlaw = "truncated"  // a file ends before its format does
	FlawShard      CheckpointFlaw = "shard"      // one of several files is missing
	FlawMarker     CheckpointFlaw = "marker"     // what is written last is not there, or older than the rest
	FlawUnsettled  CheckpointFlaw = "unsettled"  // its size may still change
	FlawTemporary  CheckpointFlaw = "temporary"  // it still has the name of something being written
	FlawUnreadable CheckpointFlaw = "unreadable" // the file system does not let it be read
	FlawForeign    CheckpointFlaw = "foreign"    // it belongs to somebody else, or is a link
	FlawUnknown    CheckpointFlaw = "unknown"    // nothing in it says whether it is complete
)

// PassedCheckpoint is a checkpoint that does not count.
type PassedCheckpoint struct {
	Place  string         `json:"place"`
	Step   int64          `json:"step"` // negative: it does not say
	At     time.Time      `json:"at"`
	Flaw   CheckpointFlaw `json:"flaw"`
	Detail string         `json:"detail,omitempty"` // the file, or what is wrong with it
}

// CheckpointLook is one look for the checkpoints of a job.
type CheckpointLook struct {
	At    time.Time `json:"at"`    // when it began
	Place string    `json:"place"` // where, with what the job says filled in
	// Newest is the newest complete one; nil: there is none.
	Newest *Checkpoint `json:"newest,omitempty"`
	// Passed are those that look newer, or all if none is complete, newest first.
	Passed []PassedCheckpoint `json:"passed,omitempty"`
}

// CheckpointTrouble says why nothing is known of a job's checkpoints. It is
// never to be taken for "there are none".
type CheckpointTrouble string

// The troubles.
const (
	TroubleUnsaid    CheckpointTrouble = "unsaid"     // the job does not give what the path is made of
	TroubleOutside   CheckpointTrouble = "outside"    // the path leads out of the roots that policy lists
	TroubleUnmounted CheckpointTrouble = "unmounted"  // the root is not there, or empty
	TroubleDenied    CheckpointTrouble = "denied"     // it may not be read
	TroubleStale     CheckpointTrouble = "stale"      // the file system gave an error of its own
	TroubleSlow      CheckpointTrouble = "slow"       // the storage did not answer in time
	TroubleTooMany   CheckpointTrouble = "too-many"   // more entries than one look may read
	TroubleNoStorage CheckpointTrouble = "no-storage" // no access to object storage is configured
)

// CheckpointError is a look that could not be finished.
type CheckpointError struct {
	Kind  CheckpointTrouble
	Place string
	Err   error // may be nil
}

// Error says what was wrong where.
func (e *CheckpointError) Error() string {
	text := fmt.Sprintf("look for checkpoints in %s: %s", e.Place, e.Kind)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause, if there is one.
func (e *CheckpointError) Unwrap() error { return e.Err }

// Interruption is a run of a job on rented machines that was broken off, until
// it is known what of it was lost.
type Interruption struct {
	Rental   RentalID  `json:"rental"`
	Started  time.Time `json:"started"`
	Stopped  time.Time `json:"stopped"` // last seen running; zero: it still runs
	Restarts int       `json:"restarts"`
	// Rate is what all its machines together cost an hour.
	Rate Rate `json:"rate"`
	Pool Pool `json:"pool"`
	// Again is when it was started again; zero: it waits, or ended.
	Again time.Time `json:"again"`
	// From is the step it resumed from, and Worth what the run that had come
	// there had cost; negative: it did not resume.
	From  int64 `json:"from"`
	Worth Money `json:"worth"`
	// Before is how long earlier runs had computed to where this one began.
	Before time.Duration `json:"before,omitempty"`
}

// Done is how long the job had computed when a checkpoint was written: what it
// began with, for one that is older than this run.
func (i *Interruption) Done(written time.Time) time.Duration {
	return i.Before + max(written.Sub(i.Started), 0)
}

// BestInterval is the time between two checkpoints that loses least to saving
// and to reclaims together: Young's sqrt(2·save·between), where between is the
// mean time between two reclaims of the whole job, and between itself where
// saving takes so long that the formula does not hold (Daly). Zero: unknown.
//
// J. W. Young, A first order approximation to the optimum checkpoint interval,
// CACM 17(9), 1974, doi:10.1145/361147.361115. J. T. Daly, A higher order
// estimate of the optimum checkpoint interval for restart dumps, Future
// Generation Computer Systems 22(3), 2006, doi:10.1016/j.future.2004.11.016.
func BestInterval(save, between time.Duration) time.Duration {
	switch {
	case save <= 0 || between <= 0:
		return 0
	case save >= 2*between:
		return between
	}
	return time.Duration(math.Sqrt(2 * float64(save) * float64(between))).Round(time.Second)
}
