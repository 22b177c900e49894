package bridge

import "time"

// PeriodKind is the length of a budget's period.
type PeriodKind string

// The periods of budgets.
const (
	Day   PeriodKind = "day"
	Week  PeriodKind = "week" // ISO, begins on Monday
	Month PeriodKind = "month"
)

// Budget is a ceiling of one account for each period, or of the part of its
// spending that goes to one cloud or on one class of GPU.
type Budget struct {
	Account Account        `json:"account"`
	Cloud   string         `json:"cloud,omitempty"` // empty: all
	GPU     string         `json:"gpu,omitempty"`   // empty: all
	Every   PeriodKind     `json:"every"`
	Zone    *time.Location `json:"-"`
	Limit   Money          `json:"limit"`
	Hard    bool           `json:"hard"` // no approval may exceed it
	// Approvers are Unix accounts, or groups with a leading @, that may approve
	// above it.
	Approvers []string `json:"approvers,omitempty"`
}

// Decision is a person's answer to a waiting rental.
type Decision struct {
	Rental  RentalID  `json:"rental"`
	Version int64     `json:"version"` // of the question that was answered
	Yes     bool      `json:"yes"`
	Who     string    `json:"who"` // Unix account; never the requester
	Text    string    `json:"text,omitempty"`
	At      time.Time `json:"at"`
	// Needs is how many persons have to say yes; zero is one. Digest is what the
	// answer is bound to; empty: the question of that version.
	Needs  int    `json:"needs,omitempty"`
	Digest string `json:"digest,omitempty"`
}

// NewsKind names what happened, for audit, story and bot.
type NewsKind string

// News of rentals, machines, jobs, people and the system.
const (
	NewsAsked     NewsKind = "asked" // a rental waits for a person
	NewsApproved  NewsKind = "approved"
	NewsDenied    NewsKind = "denied"
	NewsLapsed    NewsKind = "lapsed"
	NewsWithdrawn NewsKind = "withdrawn"
	// NewsAgreed is one yes of several, NewsChanged a question with a new price,
	// NewsRebuffed an answer of somebody who may not give it.
	NewsAgreed    NewsKind = "agreed"
	NewsChanged   NewsKind = "changed"
	NewsReminded  NewsKind = "reminded"
	NewsEscalated NewsKind = "escalated"
	NewsRebuffed  NewsKind = "rebuffed"
	NewsReserved  NewsKind = "reserved" // hold and intent are durable
	NewsCreating  NewsKind = "creating" // the create call is about to be sent
	NewsCreated   NewsKind = "created"
	NewsRefused   NewsKind = "refused"
	NewsUnknown   NewsKind = "unknown"
	NewsJoined    NewsKind = "joined" // one machine registered
	NewsAdmitted  NewsKind = "admitted"
	NewsRouted    NewsKind = "routed"
	NewsStarted   NewsKind = "started"  // a job runs on rented machines
	NewsFinished  NewsKind = "finished" // a job left them
	NewsNotice    NewsKind = "notice"
	NewsCalledOff NewsKind = "notice-called-off" // the cloud keeps the machine running after all
	NewsDrained   NewsKind = "drained"           // and signalled
	NewsRequeued  NewsKind = "requeued"
	NewsEligible  NewsKind = "eligible" // a requeued job may start again
	NewsReclaimed NewsKind = "reclaimed"
	NewsDraining  NewsKind = "draining"
	NewsReleasing NewsKind = "releasing"
	NewsGone      NewsKind = "gone" // one machine
	NewsSettled   NewsKind = "settled"
	NewsExtended  NewsKind = "extended"
	NewsTimed     NewsKind = "timed" // a person said when it is to be drained
	NewsKept      NewsKind = "kept"  // a person said until when it stays without a job
	NewsOrphan    NewsKind = "orphan"
	NewsAdopted   NewsKind = "adopted" // a rental was taken into the books by its machines' tags
	NewsForeign   NewsKind = "foreign-job"
	NewsFrozen    NewsKind = "frozen"
	NewsThawed    NewsKind = "thawed"
	NewsProtected NewsKind = "protected"
	NewsWarning   NewsKind = "warning"
	NewsResumed   NewsKind = "resumed"   // a job that was broken off runs on from a step
	NewsLost      NewsKind = "lost-work" // it runs again from the beginning; Cost is what that run had cost

	// Of money and of time.
	NewsAlert     NewsKind = "budget-alert"   // a share of a budget is reached; Budget says of which
	NewsPeriod    NewsKind = "period-ended"   // of a budget; Cost is what was posted in it
	NewsIdle      NewsKind = "idle"           // a machine has no job; Who is its owner, empty: nobody known
	NewsCorrected NewsKind = "cost-corrected" // by a bill, a credit or a refund
	NewsDaily     NewsKind = "daily"          // the daily line is due
	NewsWeekly    NewsKind = "weekly"         // the weekly report is due; Text is the week, as 2026-W48
)

// News is one line of the append-only record of what happened.
type News struct {
	ID      int64     `json:"id"` // given by the store, increasing
	At      time.Time `json:"at"`
	Kind    NewsKind  `json:"kind"`
	Cluster string    `json:"cluster,omitempty"`
	Rental  RentalID  `json:"rental,omitempty"`
	Machine string    `json:"machine,omitempty"` // provider id
	Node    string    `json:"node,omitempty"`
	Job     JobID     `json:"job,omitempty"`
	Who     string    `json:"who,omitempty"`
	Why     Reason    `json:"why,omitempty"`
	Pool    *Pool     `json:"pool,omitempty"`
	Cost    Money     `json:"cost"`
	Text    string    `json:"text,omitempty"`
	// Took is the figure of a step: notice to drained, steps dead to eligible,
	// admission to running. Zero where there is none.
	Took time.Duration `json:"took,omitempty"`
	// Digest is what a decision was bound to, and Via the door through which it
	// came; empty: the socket.
	Digest string `json:"digest,omitempty"`
	Via    string `json:"via,omitempty"`
	// Alert is what a budget-alert or a period-ended is about.
	Alert *Alert `json:"alert,omitempty"`
	// Submitted and Estimate are, of a job that started, when it was submitted and
	// when its own cluster would have started it, as it said last; zero: unknown.
	Submitted time.Time `json:"submitted,omitzero"`
	Estimate  time.Time `json:"estimate,omitzero"`
	GPUs      int       `json:"gpus,omitempty"` // of that job, all its nodes
}
