package bridge

import "time"

// Kind is the verdict itself.
type Kind string

// The verdicts.
const (
	Burst Kind = "burst"
	Wait  Kind = "wait"
	Ask   Kind = "ask"
	Never Kind = "never"
)

// Verdict is what Spillway says of one demand. The fields after Why are the
// facts its explanation needs; zero when they do not matter.
type Verdict struct {
	Cluster string    `json:"cluster"`
	Job     JobID     `json:"job"`
	Kind    Kind      `json:"kind"`
	Why     Reason    `json:"why"`
	Rule    string    `json:"rule,omitempty"`
	Class   Class     `json:"class,omitempty"`
	Account Account   `json:"account,omitempty"`
	Rental  RentalID  `json:"rental,omitempty"` // that serves it already
	Order   int       `json:"order"`            // index+1 into Plan.Rent; zero: none
	Until   time.Time `json:"until"`            // when a wait may end
	Pool    *Pool     `json:"pool,omitempty"`   // nearest or chosen
	Cost    Money     `json:"cost"`             // worst case of what it would take
	Left    Money     `json:"left"`             // in the budget that limits it
	Limit   Account   `json:"limit,omitempty"`  // that budget's account
	Scope   *Scope    `json:"scope,omitempty"`  // and what it covers, where that is one cloud or class alone
	Detail  string    `json:"detail,omitempty"` // one fact in words: the hurdle, the missing dimension
}

// Order is a rental to make: held and launched when Ask is empty, else put to
// a person.
type Order struct {
	Cluster   string        `json:"cluster"`
	Account   Account       `json:"account"` // with the user
	Requester string        `json:"requester"`
	Class     Class         `json:"class"`
	Jobs      []JobID       `json:"jobs"`
	Origin    string        `json:"origin"`
	Gang      int           `json:"gang"`
	Count     int           `json:"count"`
	Offer     Offer         `json:"offer"`
	GPUAs     string        `json:"gpu_as,omitempty"` // see Rental
	MaxRate   Rate          `json:"max_rate"`
	Life      time.Duration `json:"life"`
	Idle      time.Duration `json:"idle"`
	Hold      Money         `json:"hold"`
	Ask       Reason        `json:"ask,omitempty"`
	AskFor    time.Duration `json:"ask_for"`
}

// Route lets a job onto machines of a rental that is in the scheduler already.
type Route struct {
	Rental RentalID `json:"rental"`
	Job    JobID    `json:"job"`
	// Account that pays from now on, if not the rental's.
	Account Account `json:"account,omitempty"`
}

// Return is a rental, or single machines of it, to give back.
type Return struct {
	Rental   RentalID `json:"rental"`
	Machines []int    `json:"machines,omitempty"` // ordinals; empty: all
	Why      Reason   `json:"why"`
	// Drain asks for running jobs to be let go first.
	Drain bool `json:"drain"`
}

// Plan is what one look at the world asks for, in the order it is to be done.
type Plan struct {
	Now      time.Time  `json:"now"`
	Verdicts []Verdict  `json:"verdicts"` // one per demand, in the queue's order
	Route    []Route    `json:"route"`
	Rent     []Order    `json:"rent"`
	Withdraw []RentalID `json:"withdraw"` // questions whose demand is gone
	Return   []Return   `json:"return"`
}
