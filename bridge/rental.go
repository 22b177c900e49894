package bridge

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Account is a path organisation/team/project/user; every prefix is an account
// of its own with budgets of its own.
type Account string

// Ancestors returns the account and all its prefixes, widest first.
func (a Account) Ancestors() []Account {
	parts := strings.Split(string(a), "/")
	out := make([]Account, 0, len(parts))
	for i := range parts {
		out = append(out, Account(strings.Join(parts[:i+1], "/")))
	}
	return out
}

// Project returns the third level of the path, or the deepest there is above
// the user.
func (a Account) Project() Account {
	parts := strings.Split(string(a), "/")
	return Account(strings.Join(parts[:min(len(parts), 3)], "/"))
}

// Rental is one paid loan of machines.
type Rental struct {
	ID      RentalID  `json:"id"`
	Version int64     `json:"version"` // increases by one with each change
	State   State     `json:"state"`
	Since   time.Time `json:"since"` // when State was entered

	Cluster   string  `json:"cluster"`
	Account   Account `json:"account"`   // who pays
	Requester string  `json:"requester"` // Unix account of the job's owner or of who asked
	Class     Class   `json:"class"`
	Jobs      []JobID `json:"jobs,omitempty"`   // made for these; empty: asked for by a person
	Gang      int     `json:"gang"`             // nodes that come whole or not at all
	Origin    string  `json:"origin,omitempty"` // the jobs' own partition

	Pool     Pool          `json:"pool"`
	Shape    Shape         `json:"shape"`            // of one machine
	GPUAs    string        `json:"gpu_as,omitempty"` // what the scheduler is told its GPUs are, where its jobs call them something else
	Features []string      `json:"features,omitempty"`
	Rate     Rate          `json:"rate"`     // at decision
	MaxRate  Rate          `json:"max_rate"` // ceiling the hold was computed with
	Step     time.Duration `json:"step"`
	Minimum  time.Duration `json:"minimum"`
	Term     time.Duration `json:"term,omitempty"`
	EarlyPM  int           `json:"early_pm,omitempty"`
	Contract string        `json:"contract,omitempty"` // whose machines these are; empty: rented for themselves
	Count    int           `json:"count"`
	Attempt  int           `json:"attempt"`

	Life time.Duration `json:"life"` // longest life, from launch
	Idle time.Duration `json:"idle"` // release after this long without a job
	Hold Money         `json:"hold"` // the worst case
	Cost Money         `json:"cost"` // posted so far
	// FX is Exchange.String of what converted its prices; empty: none was needed.
	FX       string    `json:"fx,omitempty"`
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expires"` // machines are off by then; an unanswered question lapses by AskUntil
	AskUntil time.Time `json:"ask_until"`

	Launch   Launch    `json:"launch"` // frozen before create
	Handle   Handle    `json:"handle,omitempty"`
	Machines []Machine `json:"machines,omitempty"`

	// IdleSince is when the last job left; zero while one runs or none was admitted yet.
	IdleSince time.Time `json:"idle_since"`
	Why       Reason    `json:"why"` // of the latest step
	Note      string    `json:"note,omitempty"`
	// Running are the jobs last seen on its machines, so that each start and
	// each end is told once, over restarts too.
	Running []JobID `json:"running,omitempty"`
	// Alerted are the jobs that were signalled for a notice and are not off its
	// machines yet: each is signalled once, over restarts too.
	Alerted []JobID `json:"alerted,omitempty"`

	ApprovedBy string `json:"approved_by,omitempty"`
	// Revision numbers the questions about it: a changed price, size or place is
	// another one. Digest binds answers to it, and Yeses are those given so far.
	Revision int64  `json:"revision,omitempty"`
	Digest   string `json:"digest,omitempty"`
	Yeses    []Yes  `json:"yeses,omitempty"`
	// Reminded and Escalated are when approvers were asked once more.
	Most      Money     `json:"most,omitzero"` // that who asked by hand would pay; zero: what policy allows
	Reminded  time.Time `json:"reminded,omitzero"`
	Escalated time.Time `json:"escalated,omitzero"`
	// Key is the asker's own name for a request made by hand, so that asking
	// twice rents once; empty for rentals made for jobs.
	Key string `json:"key,omitempty"`
	// Extends is the rental that a question wants to live longer; such a one
	// never becomes machines of its own.
	Extends RentalID `json:"extends,omitempty"`
	// ReleaseAt is when a person wants it drained; zero: as policy says.
	ReleaseAt time.Time `json:"release_at,omitzero"`
	// Until is the end that who asked by hand named, however late it is launched;
	// zero: Life from its launch.
	Until time.Time `json:"until,omitzero"`
	// KeepUntil is until when its owner wants it kept without a job.
	KeepUntil time.Time `json:"keep_until,omitzero"`
	// Adopted: it was found running, taken back into the books, and its tags do not
	// say who asked for it.
	Adopted bool `json:"adopted,omitempty"`
	// Unowned is for how long an idle machine is kept once the owner of its budget
	// was told, because nobody owns it; zero: its requester does.
	Unowned time.Duration `json:"unowned,omitempty"`
}

// EndFrom is when the machines of a rental launched now are off at the latest.
func (r *Rental) EndFrom(now time.Time) time.Time {
	end := now.Add(r.Life).Truncate(time.Second)
	if !r.Until.IsZero() && r.Until.Before(end) {
		return r.Until
	}
	return end
}

// Shorten gives a rental whose end was named the life that is left until then,
// and the worst case of that life. Neither ever grows.
func (r *Rental) Shorten(now time.Time) error {
	left := r.Until.Sub(now)
	if r.Until.IsZero() || left >= r.Life {
		return nil
	}
	life := max(left, 0)
	most, err := r.Billing().Worst(r.MaxRate, life, r.Count)
	if err != nil {
		return fmt.Errorf("worst case of %s until %s: %w", r.ID, r.Until.UTC(), err)
	}
	c, err := most.Cmp(r.Hold)
	if err != nil {
		return fmt.Errorf("worst case of %s: %w", r.ID, err)
	}
	r.Life = life
	if c < 0 {
		r.Hold = most
	}
	return nil
}

// MachineState is the state of one machine of a rental.
type MachineState string

// The states of a machine. Noticed is a joined machine whose cloud has said it
// takes it back.
const (
	MachineIntended  MachineState = "intended"
	MachineCreated   MachineState = "created"
	MachineJoined    MachineState = "joined"
	MachineNoticed   MachineState = "noticed"
	MachineReleasing MachineState = "releasing"
	MachineGone      MachineState = "gone"
)

// Machine is one instance of a rental. It is known by its provider id; the
// node name follows from the ordinal.
type Machine struct {
	Ordinal   int          `json:"ordinal"`
	State     MachineState `json:"state"`
	ID        string       `json:"id,omitempty"` // the provider's
	Node      string       `json:"node"`
	Address   string       `json:"address,omitempty"`
	Rate      Rate         `json:"rate"`    // what the cloud charges for it
	Started   time.Time    `json:"started"` // first second charged
	Joined    time.Time    `json:"joined"`
	Stopped   time.Time    `json:"stopped"` // last second charged
	NoticeAt  time.Time    `json:"notice_at"`
	ReclaimAt time.Time    `json:"reclaim_at"`
	// NoticeFrom is the provider's own name of the event, when the machine's
	// agent was the one to say it; what its agent said it may take back. Empty: a
	// list of the cloud said it.
	NoticeFrom string `json:"notice_from,omitempty"`
	// Drained is when the scheduler was told to place nothing on it any more
	// because of a notice; zero: not, or taken back.
	Drained time.Time `json:"drained"`
	// Absent counts complete lists in a row, at least two minutes apart, that lack it.
	Absent   int       `json:"absent,omitempty"`
	AbsentAt time.Time `json:"absent_at"`
	// IdleSince is when the last job left this machine; zero while one runs on
	// it, and before the first.
	IdleSince time.Time `json:"idle_since"`
	// IdleTold is when it was last named to somebody for being idle.
	IdleTold time.Time `json:"idle_told,omitzero"`
	Fault    string    `json:"fault,omitempty"`
}

// Live returns the machines that may still cost money.
func (r *Rental) Live() []Machine {
	var out []Machine
	for _, m := range r.Machines {
		if m.State != MachineGone {
			out = append(out, m)
		}
	}
	return out
}

// Declared is the shape of one machine as the scheduler is told of it: its GPUs
// have the name that its jobs ask for.
func (r *Rental) Declared() Shape {
	s := r.Shape
	s.GPUType = cmp.Or(r.GPUAs, s.GPUType)
	return s
}
