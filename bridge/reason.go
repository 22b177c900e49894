package bridge

// Reason is the named cause of a verdict or a step: stable, in kebab case, and
// listed here once. Texts for people are made from it elsewhere.
type Reason string

// Why a demand is bursted, waits, is asked about, or never leaves.
const (
	// It bursts.
	ReasonCheapest Reason = "cheapest-fit"       // a rental is made on the cheapest offer that fits
	ReasonRoute    Reason = "idle-machine-fits"  // an idle rented machine serves it
	ReasonUnderway Reason = "machines-under-way" // its rental exists already
	// A person is asked.
	ReasonOverBudget Reason = "over-budget"     // above the budget, approval may allow it
	ReasonAskAbove   Reason = "above-ask-limit" // within budget, but policy wants a person
	ReasonAsked      Reason = "waiting-for-answer"
	// It waits.
	ReasonWaitPolicy  Reason = "wait-not-over"
	ReasonStartsSoon  Reason = "starts-sooner-locally"
	ReasonSoon        Reason = "eligible-soon"
	ReasonStale       Reason = "stale-view"
	ReasonFrozen      Reason = "frozen"
	ReasonProtected   Reason = "protected-mode"
	ReasonPoolsDown   Reason = "pools-sold-out"
	ReasonNoPrice     Reason = "no-fresh-price"
	ReasonImplausible Reason = "price-not-plausible" // no price at all, or far from what such machines cost
	ReasonNoExchange  Reason = "no-exchange-rate"    // into the currency of the budgets
	ReasonOldExchange Reason = "old-exchange-rate"   // older than policy lets be used
	ReasonEndsFirst   Reason = "contract-ends-first" // before the job would
	ReasonMost        Reason = "machine-limit"
	ReasonNoBudget    Reason = "budget-spent" // over a hard budget that no approval may exceed
	ReasonDenied      Reason = "denied"
	ReasonLapsed      Reason = "not-answered"
	ReasonLocalFree   Reason = "local-node-free"
	ReasonLocalOnly   Reason = "waits-for-local-nodes"  // it lost too many rented machines
	ReasonLooking     Reason = "looking-for-checkpoint" // its market depends on one
	ReasonAhead       Reason = "behind-in-queue"        // capacity found so far goes to jobs ahead
	ReasonAheadOfPace Reason = "ahead-of-deadline-pace" // its deadline leaves time to wait for spot
	// It never leaves.
	ReasonObserve        Reason = "observe-only"
	ReasonOptOut         Reason = "opted-out"
	ReasonNoRule         Reason = "no-rule"
	ReasonRuleFailed     Reason = "rule-failed" // its condition could not be evaluated for this job
	ReasonUnfunded       Reason = "no-budget"   // no budget covers the account, so nothing is bought for it
	ReasonReserved       Reason = "p0-reserved-only"
	ReasonSitePolicy     Reason = "site-limit"
	ReasonUserHold       Reason = "held-by-owner"
	ReasonSiteConfig     Reason = "site-configuration"
	ReasonDoubtful       Reason = "doubtful"
	ReasonUnplaceable    Reason = "cannot-place"
	ReasonWorkflow       Reason = "workflow-manager"
	ReasonNoOffer        Reason = "no-offer-fits"
	ReasonTooDear        Reason = "above-price-ceiling"
	ReasonDeadline       Reason = "deadline-too-near"
	ReasonLate           Reason = "delivered-too-late"       // its machines come later than the deadline leaves time for
	ReasonLacks          Reason = "provider-lacks-attribute" // that policy asks for, until the rental ends
	ReasonNetwork        Reason = "network-too-slow"         // for what policy asks for
	ReasonNoAccount      Reason = "no-account"               // policy maps it to no account that could pay
	ReasonNotRestartable Reason = "not-restartable"          // spot is all that is allowed, and it may not be requeued
	ReasonNoCheckpoint   Reason = "no-checkpoint"            // spot is all that is allowed, and it has no checkpoint to go on from
	ReasonOldCheckpoint  Reason = "checkpoint-too-old"
)

// Why a rental or a machine takes a step.
const (
	ReasonCreated      Reason = "created"
	ReasonRefused      Reason = "refused"
	ReasonUnknown      Reason = "outcome-unknown"
	ReasonLaunchLate   Reason = "launch-time-limit"
	ReasonJoinLate     Reason = "join-time-limit"
	ReasonWrongShape   Reason = "registered-with-less"
	ReasonUnfit        Reason = "failed-its-checks" // its own agent says so, before any job was let onto it
	ReasonAdmitted     Reason = "gang-complete"
	ReasonIdle         Reason = "idle"
	ReasonExpired      Reason = "expired"
	ReasonAskedRelease Reason = "asked-for"
	ReasonDemandGone   Reason = "demand-gone"
	ReasonNotice       Reason = "notice"
	ReasonReclaimed    Reason = "reclaimed"
	ReasonDied         Reason = "machine-died"
	ReasonOrphan       Reason = "orphan"
	ReasonGangBroken   Reason = "gang-broken"
	ReasonRebuilt      Reason = "rebuilt" // from its machines' tags, after the store was lost
)
