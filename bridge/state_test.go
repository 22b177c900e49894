package bridge

import (
	"errors"
	"testing"
	"time"
)

// allStates and allEvents are written out here, so that a new one fails this
// file until its row is decided.
var (
	allStates = []State{StateWaiting, StateLaunching, StateJoining, StateAdmitted, StateDraining, StateReleasing, StateSettled, StateClosed}
	allEvents = []Event{
		EventApprove, EventDeny, EventLapse, EventWithdraw, EventCreated, EventRefused, EventJoined, EventLate,
		EventDrain, EventRelease, EventGone,
	}
)

// TestAdvance holds the whole table: every event in every state leads where it
// says here, and everywhere else to a TransitionError without a change.
func TestAdvance(t *testing.T) {
	want := map[State]map[Event]State{
		StateWaiting:   {EventApprove: StateLaunching, EventDeny: StateClosed, EventLapse: StateClosed, EventWithdraw: StateClosed},
		StateLaunching: {EventCreated: StateJoining, EventRefused: StateReleasing, EventLate: StateReleasing, EventRelease: StateReleasing},
		StateJoining:   {EventJoined: StateAdmitted, EventLate: StateReleasing, EventRelease: StateReleasing},
		StateAdmitted:  {EventDrain: StateDraining, EventRelease: StateReleasing},
		StateDraining:  {EventRelease: StateReleasing},
		StateReleasing: {EventGone: StateSettled},
	}
	if len(transitions) != len(allStates) {
		t.Errorf("the table has %d states, want %d", len(transitions), len(allStates))
	}
	for _, s := range append(allStates, "unheard-of") {
		for _, e := range append(allEvents, "unheard-of") {
			got, err := Advance(s, e)
			next, legal := want[s][e]
			if legal {
				if err != nil || got != next {
					t.Errorf("%s + %s = %s, %v; want %s", s, e, got, err, next)
				}
				continue
			}
			var te *TransitionError
			if got != s || !errors.As(err, &te) || te.State != s || te.Event != e {
				t.Errorf("%s + %s = %s, %v; want a TransitionError and no change", s, e, got, err)
			}
		}
	}
}

// TestMoneyIsHeldUntilSettled holds which states have an open hold, which are
// over, and that every way out of a held state goes through releasing.
func TestMoneyIsHeldUntilSettled(t *testing.T) {
	held := map[State]bool{StateLaunching: true, StateJoining: true, StateAdmitted: true, StateDraining: true, StateReleasing: true}
	ended := map[State]bool{StateSettled: true, StateClosed: true}
	for _, s := range append(allStates, "unheard-of") {
		if s.Held() != held[s] || s.Ended() != ended[s] {
			t.Errorf("%s: held %t, ended %t", s, s.Held(), s.Ended())
		}
		if s.Ended() && len(transitions[s]) > 0 {
			t.Errorf("%s is over and has a way on", s)
		}
		for e, next := range transitions[s] {
			if s.Held() && !next.Held() && (s != StateReleasing || next != StateSettled) {
				t.Errorf("%s + %s = %s: money would be let go before the machines", s, e, next)
			}
			if next == StateClosed && s.Held() {
				t.Errorf("%s + %s closes a rental that holds money", s, e)
			}
		}
	}
}

// TestEveryStateIsReachedAndLeft holds that no state is an island and that
// every one leads to an end.
func TestEveryStateIsReachedAndLeft(t *testing.T) {
	reached := map[State]bool{StateWaiting: true, StateLaunching: true} // rentals begin in these
	for range allStates {
		for s := range reached {
			for _, next := range transitions[s] {
				reached[next] = true
			}
		}
	}
	for _, s := range allStates {
		if !reached[s] {
			t.Errorf("nothing leads to %s", s)
		}
		if !endsFrom(s, len(allStates)) {
			t.Errorf("%s leads to no end", s)
		}
	}
}

func endsFrom(s State, steps int) bool {
	if s.Ended() {
		return true
	}
	for _, next := range transitions[s] {
		if steps > 0 && endsFrom(next, steps-1) {
			return true
		}
	}
	return false
}

// TestStale holds the age limits of a view on both sides.
func TestStale(t *testing.T) {
	s := &Snapshot{Now: noon, MaxQueueAge: 30 * time.Second}
	for name, tc := range map[string]struct {
		seen time.Time
		want bool
	}{
		"never seen":          {time.Time{}, true},
		"seen now":            {noon, false},
		"just young enough":   {noon.Add(-30 * time.Second), false},
		"just too old":        {noon.Add(-30*time.Second - 1), true},
		"clocks apart a bit":  {noon.Add(time.Minute), false},
		"from another future": {noon.Add(time.Minute + 1), true},
	} {
		if got := s.Stale(&Queue{ObservedAt: tc.seen}); got != tc.want {
			t.Errorf("%s: stale %t", name, got)
		}
	}
}
