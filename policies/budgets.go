package policies

import (
	"fmt"
	"slices"
	"strings"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/config/strict"
)

// budgetPlace is where a budget is written.
type budgetPlace struct {
	bridge.Budget
	node strict.Node
}

// name is what tells a budget from all others of a file.
func (b *budgetPlace) name() string { return b.Scope().String() + " every " + string(b.Every) }

// narrow reports whether a budget is of one cloud or class alone.
func narrow(b *bridge.Budget) bool { return b.Cloud != "" || b.GPU != "" }

func (r *reader) readBudgets(n strict.Node) {
	first := map[string]strict.Node{}
	var all []budgetPlace
	strict.Each(func(e strict.Node) {
		b := budgetPlace{Budget: bridge.Budget{Zone: r.zone}, node: e}
		ok := e.Object(
			strict.Need("account", fmt.Sprintf("account: %s/physics", r.organisation()), strict.Text(&b.Account)),
			strict.May("cloud", "cloud: north", strict.Text(&b.Cloud, level)),
			strict.May("gpu", "gpu: h100", strict.Text(&b.GPU, level)),
			strict.Need("every", "every: month", strict.Choice(&b.Every, bridge.Day, bridge.Week, bridge.Month)),
			strict.May("zone", "zone: Europe/Berlin", zone(&b.Zone)),
			strict.Need("limit", "limit: 500 "+r.code(), r.money(&b.Limit)),
			strict.May("hard", "hard: true", strict.Flag(&b.Hard)),
			strict.May("approvers", `approvers: [ana, "@pi"]`, strict.Texts(&b.Approvers, person)),
		)
		if !ok {
			return
		}
		r.checkBudget(e, &b.Budget)
		if was, twice := first[b.name()]; twice && b.Account != "" {
			e.With("every: day").Refuse(fmt.Sprintf("a second budget of %s, the first is on line %d: keep one", b.name(), was.Line()))
			return
		}
		first[b.name()] = e
		all = append(all, b)
		r.file.budgets = append(r.file.budgets, b.Budget)
		r.remember(&b)
	})(n)
	r.compareBudgets(all)
}

// remember keeps where the cloud and the class of a budget are named, which only
// the configuration and the clouds can tell to be right.
func (r *reader) remember(b *budgetPlace) {
	if v, ok := b.node.Get("cloud"); ok && b.Cloud != "" {
		r.file.budgetClouds = append(r.file.budgetClouds, named{b.Cloud, v})
	}
	if v, ok := b.node.Get("gpu"); ok && b.GPU != "" {
		r.file.budgetClasses = append(r.file.budgetClasses, named{b.GPU, v})
	}
}

func (r *reader) checkBudget(e strict.Node, b *bridge.Budget) {
	if b.Zone == nil {
		if _, given := e.Get("zone"); !given {
			e.With("zone: UTC").Refuse("no zone, here or for the whole file: a day begins somewhere")
		}
	}
	if limit, ok := e.Get("limit"); ok && b.Limit.Currency != "" && b.Limit.IsZero() {
		limit = limit.With("limit: 500 " + r.code())
		switch {
		case b.Hard && narrow(b):
			r.file.warn(limit, "a hard limit of nothing: "+b.Scope().String()+" rents nothing at all")
		case b.Hard:
			limit.Fault("a hard limit of nothing can buy nothing: leave the budget out, or set mode: observe")
		default:
			r.file.warn(limit, "a limit of nothing: every rental of "+b.Scope().String()+" needs a yes")
		}
	}
	if account, ok := e.Get("account"); ok && b.Account != "" && r.file.organisation != "" {
		if wrong := r.path(string(b.Account)); wrong != "" {
			account.With("account: " + r.organisation() + "/physics").Fault(wrong)
		}
	}
}

// path checks an account of a budget: it must be one that jobs can reach, for
// a budget that limits nobody protects nobody.
func (r *reader) path(account string) (wrong string) {
	levels := strings.Split(account, "/")
	if slices.ContainsFunc(levels, func(l string) bool { return level(l) != "" }) || len(levels) > 4 {
		return "want organisation/team/project/user, or the beginning of it"
	}
	if levels[0] != r.file.organisation {
		return fmt.Sprintf("begins with %q, not with the organisation %q", levels[0], r.file.organisation)
	}
	if len(levels) == 1 || len(r.file.accounts) == 0 {
		return ""
	}
	var known []string
	for _, m := range r.file.accounts {
		to := strings.Split(m.to, "/")
		if reaches(to, levels[1:min(len(levels), 3)]) {
			return ""
		}
		known = append(known, strings.Join(to[:min(len(to), len(levels)-1)], "/"))
	}
	slices.Sort(known)
	return "no entry of accounts leads there; they lead to " + strings.Join(slices.Compact(known), ", ")
}

// reaches reports whether a mapping's target may begin with the given levels.
func reaches(to, levels []string) bool {
	if len(to) < len(levels) {
		return false
	}
	for i, l := range levels {
		if to[i] != l && !strings.Contains(to[i], accountHole) {
			return false
		}
	}
	return true
}

// compareBudgets warns of budgets that do not say what they seem to.
func (r *reader) compareBudgets(all []budgetPlace) {
	for i := range all {
		b := &all[i]
		r.warnOfParent(b, all)
		r.warnOfCrossing(b, all[i+1:])
		r.warnOfUncovered(b, all[:i], all[i+1:])
	}
}

// warnOfParent finds a budget that is larger than another one which counts the
// same spending: it can never be used up, so somebody may have misplaced a digit.
func (r *reader) warnOfParent(b *budgetPlace, all []budgetPlace) {
	for i := range all {
		p := &all[i]
		if p.Every != b.Every || p.name() == b.name() || !p.Scope().Covers(b.Scope()) || b.Limit.Micro <= p.Limit.Micro {
			continue
		}
		if limit, ok := b.node.Get("limit"); ok && b.Limit.Currency == p.Limit.Currency {
			r.file.warn(limit.With("limit: "+whole(p.Limit)), fmt.Sprintf("more than the %s of %s on line %d, which counts the same spending: this limit is never reached", whole(p.Limit), p.Scope(), p.node.Line()))
		}
		return
	}
}

// warnOfCrossing explains budgets of one cloud and of one class that meet.
func (r *reader) warnOfCrossing(b *budgetPlace, rest []budgetPlace) {
	crosses := func(cloud, class *budgetPlace) bool {
		return cloud.Cloud != "" && cloud.GPU == "" && class.Cloud == "" && class.GPU != ""
	}
	for i := range rest {
		o := &rest[i]
		if !crosses(b, o) && !crosses(o, b) || !related(b.Account, o.Account) {
			continue
		}
		both := bridge.Scope{Account: max(b.Account, o.Account), Cloud: b.Cloud + o.Cloud, GPU: b.GPU + o.GPU}
		r.file.warn(o.node.With(""), fmt.Sprintf("overlaps with %s on line %d: %s counts in both, and both must have room for it", b.Scope(), b.node.Line(), both))
	}
}

// related reports whether one account is the other or above it; the longer of
// the two is then the greater.
func related(a, b bridge.Account) bool {
	return a == b || strings.HasPrefix(string(a), string(b)+"/") || strings.HasPrefix(string(b), string(a)+"/")
}

// warnOfUncovered finds accounts that have budgets of clouds or classes alone,
// their own and above: the rest is never rented.
func (r *reader) warnOfUncovered(b *budgetPlace, before, after []budgetPlace) {
	if !narrow(&b.Budget) || b.Account == "" {
		return
	}
	same := func(o budgetPlace) bool { return o.Account == b.Account }
	if slices.ContainsFunc(before, same) {
		return // told already, or there is one of all
	}
	ofAll := func(o budgetPlace) bool {
		return !narrow(&o.Budget) && (bridge.Scope{Account: o.Account}).Covers(bridge.Scope{Account: b.Account})
	}
	if !slices.ContainsFunc(before, ofAll) && !slices.ContainsFunc(after, ofAll) {
		r.file.warn(b.node.With(fmt.Sprintf("{account: %s, every: month, limit: 500 %s}", b.Account, r.code())),
			fmt.Sprintf("%s has no budget of everything: what its budgets of clouds and classes do not cover is not rented", b.Account))
	}
}
