package policies

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/config/strict"
)

// Approval is what the file says of answers to questions.
func (f *File) Approval() bridge.Approval {
	a := f.approval
	a.Authority, a.Escalation = maps.Clone(a.Authority), slices.Clone(a.Escalation)
	return a
}

// readApproval reads who has to say yes to what:
//
//	approval:
//	  two_above: 1000 USD            # two persons above this worst case
//	  authority:                     # the most one approver may say yes to
//	    - {who: ana, up_to: 500 USD}
//	    - {who: "@leads", up_to: 5000 USD}
//	    - {who: "*", up_to: 100 USD} # everybody not named
//	  escalation: [boss]             # asked too when a question is about to lapse
func (r *reader) readApproval(n strict.Node) {
	a := &r.file.approval
	code := r.code()
	defer r.checkTwo(n)
	n.Object(
		strict.May("two_above", "two_above: 1000 "+code, r.positive(&a.TwoAbove, "every question would need two persons; say 0.01 "+code+" if that is meant")),
		strict.May("authority", "authority: [{who: ana, up_to: 500 "+code+"}]", r.authorities),
		strict.May("escalation", `escalation: [boss, "@heads"]`, strict.Texts(&a.Escalation, person)),
	)
}

// checkTwo refuses a second limit above which nobody could ever approve: two
// persons are needed, and a project has one.
func (r *reader) checkTwo(n strict.Node) {
	two, given := n.Get("two_above")
	if !given || r.file.approval.TwoAbove.IsZero() {
		return
	}
	for _, m := range r.file.accounts {
		project := bridge.Account(r.file.organisation + "/" + m.to)
		who := append(r.file.approversOf(project), r.file.approval.Escalation...)
		slices.Sort(who)
		who = slices.Compact(who)
		group := slices.ContainsFunc(who, func(w string) bool { return strings.HasPrefix(w, "@") })
		if len(who) == 1 && !group {
			two.Refuse(fmt.Sprintf("two persons are needed, and only %s may approve for %s: name another", who[0], project))
			return
		}
	}
}

func (r *reader) authorities(n strict.Node) {
	lines := map[string]int{}
	strict.Each(func(e strict.Node) {
		var who string
		var most bridge.Money
		ok := e.Object(
			strict.Need("who", "who: ana", strict.Text(&who, everybody)),
			strict.Need("up_to", "up_to: 500 "+r.code(), r.positive(&most, "who may approve nothing is no approver")),
		)
		if !ok || who == "" {
			return
		}
		if first, twice := lines[who]; twice {
			e.With("who: " + who).Refuse(fmt.Sprintf("%s has an authority on line %d already: keep one", who, first))
			return
		}
		lines[who] = e.Line()
		if r.file.approval.Authority == nil {
			r.file.approval.Authority = map[string]bridge.Money{}
		}
		r.file.approval.Authority[who] = most
	})(n)
}

// everybody accepts a person, a group, or the star for all who are not named.
func everybody(s string) string {
	if s == "*" {
		return ""
	}
	return person(s)
}
