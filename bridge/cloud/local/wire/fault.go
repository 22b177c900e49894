package wire

import "time"

// FaultKind names what goes wrong.
type FaultKind string

// Faults of calls. They hit calls of the fault's cloud and operation, skip the
// first Skip of them, hit each with Probability, and end after Count hits.
const (
	FaultTimeoutBefore FaultKind = "timeout-before"    // no answer, no effect
	FaultTimeoutAfter  FaultKind = "timeout-after"     // no answer, the effect is there
	FaultErrorBefore   FaultKind = "error-before"      // 500, no effect
	FaultErrorAfter    FaultKind = "error-after"       // 500, the effect is there
	FaultThrottle      FaultKind = "throttle"          // 429 with Retry-After of Delay
	FaultSlow          FaultKind = "slow"              // answers after Delay, 30 s unless given
	FaultAuth          FaultKind = "auth-expired"      // 401
	FaultCode          FaultKind = "code"              // 400 with the Code given, no effect
	FaultNoStock       FaultKind = "no-stock"          // create: the pool fails in its own shape
	FaultQuota         FaultKind = "quota"             // create: the quota is exceeded
	FaultPartial       FaultKind = "partial"           // create: only Machines of them come up, the rest end in error
	FaultSlowBoot      FaultKind = "slow-boot"         // create: boot takes Delay longer
	FaultNeverJoins    FaultKind = "never-joins"       // create: machines come up and do not run their user-data
	FaultDiesAtBoot    FaultKind = "dies-at-boot"      // create: machines end as they come up
	FaultWrongGPUs     FaultKind = "wrong-gpus"        // create: machines lack Machines GPUs, one unless given
	FaultHidden        FaultKind = "hidden"            // create: no list shows the machines until Delay later, 3 min unless given
	FaultDearer        FaultKind = "dearer"            // create: the pool's price doubles just before, and stays
	FaultStaleList     FaultKind = "stale-list"        // list: as it was when the fault was set
	FaultLostPage      FaultKind = "lost-page"         // list: the page is left out, silently
	FaultDuplicate     FaultKind = "duplicate"         // list: the page's first machine is there twice
	FaultWrongTags     FaultKind = "wrong-tags"        // list: Tags are merged into the first machine's, "" takes one away
	FaultNoAddress     FaultKind = "no-address"        // list: addresses are missing
	FaultAbsent        FaultKind = "absent"            // list: Instance, or the first, is missing and not counted
	FaultDeafTerminate FaultKind = "terminate-ignored" // terminate: success is answered, nothing is done
	FaultShownAlive    FaultKind = "shown-alive"       // terminate: lists show the machine as it was until Delay later, 3 min unless given
)

// Commands change the world once, at once.
const (
	CommandNotice  FaultKind = "notice"  // Instance, or all of Pool, get a notice of Delay, the cloud's lead unless given
	CommandReclaim FaultKind = "reclaim" // Instance, or all of Pool, are taken without notice
	CommandPrice   FaultKind = "price"   // Pool costs Rate (micro-units per hour) from now on; without a rate, what the market says
	CommandStock   FaultKind = "stock"   // Pool has Machines in stock, running ones included
)

// Fault is what the faults call sets and lists.
type Fault struct {
	ID          string            `json:"id,omitempty"` // given by the server
	Kind        FaultKind         `json:"kind"`
	Cloud       string            `json:"cloud,omitempty"` // empty: all
	Op          string            `json:"op,omitempty"`    // create, operation, list, get, terminate, update, offers, events, or an action of EC2 such as RunInstances; empty: all
	Pool        string            `json:"pool,omitempty"`  // region/zone/type/market of a create or a command
	Instance    string            `json:"instance,omitempty"`
	Skip        int               `json:"skip,omitempty"`
	Count       int               `json:"count,omitempty"`       // zero: until taken away
	Probability float64           `json:"probability,omitempty"` // zero: always
	Delay       Duration          `json:"delay,omitempty"`
	Machines    int               `json:"machines,omitempty"`
	Rate        *int64            `json:"rate,omitempty"`
	Code        string            `json:"code,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
	Hits        int               `json:"hits,omitempty"` // so far, filled by the server
}

// Faults is a list of them, in the order in which they apply: the first that
// matches a call hits it, alone, so that several with counts make a script.
type Faults struct {
	Faults []Fault `json:"faults"`
}

// EntryKind is what a line of the ledger records.
type EntryKind string

// The lines of the ledger. A machine costs from start to stop.
const (
	EntryStart  EntryKind = "start"
	EntryNotice EntryKind = "notice"
	EntryExtend EntryKind = "extend" // a new end was set
	EntryStop   EntryKind = "stop"
)

// Entry is one line of the server's ledger.
type Entry struct {
	Seq     int64     `json:"seq"`
	At      time.Time `json:"at"`
	Kind    EntryKind `json:"kind"`
	Cloud   string    `json:"cloud"`
	Machine string    `json:"machine"`

	// Of starts:
	Account   string            `json:"account,omitempty"`
	Pool      *Pool             `json:"pool,omitempty"`
	Operation string            `json:"operation,omitempty"`
	Token     string            `json:"token,omitempty"`
	Tags      map[string]string `json:"tags,omitempty"`
	Rate      *Rate             `json:"rate,omitempty"`
	Step      Duration          `json:"step,omitempty"`
	Minimum   Duration          `json:"minimum,omitempty"`
	Term      Duration          `json:"term,omitempty"`
	EarlyPM   int               `json:"early_pm,omitempty"`
	Expires   time.Time         `json:"expires,omitzero"` // also of extensions

	// Of notices:
	ReclaimAt time.Time `json:"reclaim_at,omitzero"`
	// Of stops: terminated, expired, reclaimed, boot-failed, shutdown, purged.
	Why string `json:"why,omitempty"`
}
