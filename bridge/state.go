package bridge

import "fmt"

// State is where a rental stands in its life.
type State string

// The states of a rental:
//
//	waiting ──approve──> launching ──created──> joining ──joined──> admitted
//	   │ deny/lapse/withdraw   │ refused/late       │ late             │ drain
//	   v                       v                    v                  v
//	closed                  releasing <───────── releasing <─────── draining
//	                           │ all gone, twice
//	                           v
//	                        settled
//
// Within budget a rental begins in launching: its hold and its create intent
// are one transaction. Money is never held while it waits for an answer.
const (
	StateWaiting   State = "waiting"   // above a limit: a person is asked, nothing is held
	StateLaunching State = "launching" // hold and intent are durable; create may be under way, outcome may be unknown
	StateJoining   State = "joining"   // the cloud accepted; machines boot and register
	StateAdmitted  State = "admitted"  // the whole gang is in the scheduler
	StateDraining  State = "draining"  // nothing new is placed on it; running jobs end or are requeued
	StateReleasing State = "releasing" // terminate until the cloud says gone
	StateSettled   State = "settled"   // cost posted, the rest of the hold returned
	StateClosed    State = "closed"    // never held, never launched
)

// Event is what happens to a rental.
type Event string

// The events of a rental.
const (
	EventApprove  Event = "approve"
	EventDeny     Event = "deny"
	EventLapse    Event = "lapse"    // the question was not answered in time
	EventWithdraw Event = "withdraw" // the demand is gone or was cancelled
	EventCreated  Event = "created"
	EventRefused  Event = "refused"
	EventJoined   Event = "joined"
	EventLate     Event = "late" // a phase passed its time limit
	EventDrain    Event = "drain"
	EventRelease  Event = "release"
	EventGone     Event = "gone"
)

var transitions = map[State]map[Event]State{
	StateWaiting: {
		EventApprove: StateLaunching, EventDeny: StateClosed, EventLapse: StateClosed, EventWithdraw: StateClosed,
	},
	StateLaunching: {
		EventCreated: StateJoining, EventRefused: StateReleasing, EventLate: StateReleasing, EventRelease: StateReleasing,
	},
	StateJoining: {
		EventJoined: StateAdmitted, EventLate: StateReleasing, EventRelease: StateReleasing,
	},
	StateAdmitted:  {EventDrain: StateDraining, EventRelease: StateReleasing},
	StateDraining:  {EventRelease: StateReleasing},
	StateReleasing: {EventGone: StateSettled},
	StateSettled:   {},
	StateClosed:    {},
}

// TransitionError says that an event is not legal in a state.
type TransitionError struct {
	State State
	Event Event
}

// Error names the state and the event.
func (e *TransitionError) Error() string {
	return fmt.Sprintf("a rental that is %s cannot %s", e.State, e.Event)
}

// Advance returns the state after an event, or a *TransitionError.
func Advance(s State, e Event) (State, error) {
	if next, ok := transitions[s][e]; ok {
		return next, nil
	}
	return s, &TransitionError{s, e}
}

// Reaches reports whether one event, or none, leads from a state to another.
func (s State) Reaches(to State) bool {
	if s == to {
		return true
	}
	for _, next := range transitions[s] {
		if next == to {
			return true
		}
	}
	return false
}

// Ended reports whether nothing can happen to a rental any more.
func (s State) Ended() bool { return s == StateSettled || s == StateClosed }

// Held reports whether a rental in this state has an open hold.
func (s State) Held() bool {
	switch s {
	case StateLaunching, StateJoining, StateAdmitted, StateDraining, StateReleasing:
		return true
	case StateWaiting, StateSettled, StateClosed:
		return false
	}
	return false
}
