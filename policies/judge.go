package policies

import (
	"sync"

	"spillway.sh/spillway/bridge"
)

// optOutRule is the name given as the deciding rule of a job that opted out.
const optOutRule = "opt_out"

// verdictOf identifies one set of terms: equal ones are one pointer.
type verdictOf struct {
	rule    int // index, or one of the negative ones below
	account bridge.Account
	why     bridge.Reason
	signal  bool
}

// The rules that are not in the list.
const (
	byOptOut = -1
	byNone   = -2
)

// shared keeps one copy of equal terms.
type shared struct {
	mu sync.Mutex
	m  map[verdictOf]*bridge.Terms
}

// judge finds the terms of a demand anew.
func (e *engine) judge(d *bridge.Demand, v *view) *bridge.Terms {
	f := e.file
	account, mapped := f.AccountOf(d)
	which := verdictOf{account: account}
	if says(d.Comment, f.optOut.words...) || f.optOut.covers(d) {
		which.rule, which.why = byOptOut, bridge.ReasonOptOut
		return e.share(which)
	}
	i, failed := e.first(d, v)
	which.rule = i
	switch {
	case i == byNone:
		which.why = bridge.ReasonNoRule
	case failed:
		which.why = bridge.ReasonRuleFailed
	case f.rules[i].terms.Class == bridge.P0:
		which.why = bridge.ReasonReserved
	case !mapped:
		which.why = bridge.ReasonNoAccount
	case f.mode != Burst:
		which.why = bridge.ReasonObserve
	case !f.funded(account, d.User):
		which.why = bridge.ReasonUnfunded
	}
	if i >= 0 {
		t := &f.rules[i].terms
		which.signal = t.Signal != "" && (t.signal == signalAll || says(d.Comment, wordCheckpoint))
	}
	return e.share(which)
}

// first returns the index of the first rule whose condition holds. A condition
// that cannot be evaluated stops the search: the rule might have kept the job
// here, so what follows must not let it go.
func (e *engine) first(d *bridge.Demand, v *view) (index int, failed bool) {
	for i := range e.file.rules {
		switch ok, err := e.matches(&e.file.rules[i].when, d, v); {
		case err:
			return i, true
		case ok:
			return i, false
		}
	}
	return byNone, false
}

// matches reports whether all operands of a condition hold. As in CEL, a false
// operand decides even beside one that fails.
func (e *engine) matches(c *condition, d *bridge.Demand, v *view) (ok, failed bool) {
	for i := range c.atoms {
		a := &c.atoms[i]
		if a.bit >= 0 {
			failed = failed || v.failed>>a.bit&1 == 1
			if (v.held|v.failed)>>a.bit&1 == 0 {
				return false, false
			}
			continue
		}
		holds, err := a.holds(d, &v.facts)
		if err == nil && !holds {
			return false, false
		}
		failed = failed || err != nil
	}
	return !failed, failed
}

// share returns the one copy of terms.
func (e *engine) share(which verdictOf) *bridge.Terms {
	e.shared.mu.Lock()
	defer e.shared.mu.Unlock()
	if t, ok := e.shared.m[which]; ok {
		return t
	}
	if e.shared.m == nil || len(e.shared.m) >= maxShared {
		e.shared.m = map[verdictOf]*bridge.Terms{}
	}
	t := e.write(which)
	e.shared.m[which] = t
	return t
}

func (e *engine) write(which verdictOf) *bridge.Terms {
	var t bridge.Terms
	switch which.rule {
	case byNone:
	case byOptOut:
		t.Rule = optOutRule
	default:
		r := &e.file.rules[which.rule]
		t = r.terms.Terms
		t.Rule = r.name
	}
	t.Account, t.Why, t.Burst = which.account, which.why, which.why == ""
	if !which.signal {
		t.Signal, t.SignalTo, t.SignalWindow = "", "", 0
	}
	return &t
}
