package policies

import (
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // zones of budgets on hosts that have none installed

	"golang.org/x/text/currency"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/config/strict"
)

// reader fills a File from a document.
type reader struct {
	file     *File
	zone     *time.Location
	defaults layer
	classes  map[bridge.Class]layer
	pending  []pendingRule
}

// read goes through the file twice: what other keys depend on first, whatever
// the order they are written in.
func (r *reader) read(root strict.Node) {
	f := r.file
	f.optOut.words = []string{wordStay}
	version := 0
	var budgets, base, classes, rules, approval strict.Node
	later := func(dst *strict.Node) func(strict.Node) { return func(n strict.Node) { *dst = n } }
	root.Object(
		strict.Need("version", "version: 1", strict.Whole(&version, 1, 1)),
		strict.Need("organisation", "organisation: lab", strict.Text(&f.organisation, level)),
		strict.Need("currency", "currency: USD", strict.Text(&f.currency, isoCurrency)),
		strict.Need("mode", "mode: observe", strict.Choice(&f.mode, Observe, Burst)),
		strict.May("zone", "zone: Europe/Berlin", zone(&r.zone)),
		strict.May("roles", "roles: {admins: [root], approvers: [ana]}", r.roles),
		strict.May("approval", "approval: {two_above: 1000 USD}", later(&approval)),
		strict.Need("accounts", `accounts: [{account: "*", to: "all/{account}"}]`, r.mappings),
		strict.May("opt_out", "opt_out: {partitions: [interactive]}", r.optOuts),
		strict.May("defaults", "defaults: {idle: 10m}", later(&base)),
		strict.May("classes", "classes: {P1: {wait: 15m}}", later(&classes)),
		strict.Need("rules", "rules: [{name: everyone, class: P1}]", later(&rules)),
		strict.May("budgets", "budgets: [{account: lab, every: month, zone: UTC, limit: 500 USD}]", later(&budgets)),
	)
	for _, section := range []struct {
		node strict.Node
		read func(strict.Node)
	}{
		{budgets, r.readBudgets}, {approval, r.readApproval}, {base, r.readDefaults}, {classes, r.readClasses}, {rules, r.readRules},
	} {
		if section.node.Given() {
			section.read(section.node)
		}
	}
}

func (r *reader) roles(n strict.Node) {
	n.Object(
		strict.May("admins", "admins: [root]", strict.Texts(&r.file.roles.Admins, person)),
		strict.May("approvers", `approvers: [ana, "@finance"]`, strict.Texts(&r.file.roles.Approvers, person)),
	)
}

func isoCurrency(s string) string {
	if _, err := currency.ParseISO(s); err != nil || s != strings.ToUpper(s) {
		return "not a currency code of ISO 4217"
	}
	return ""
}

// zone reads an IANA zone. "Local" would mean another day on another host.
func zone(dst **time.Location) func(strict.Node) {
	return func(n strict.Node) {
		var name string
		strict.Text(&name)(n)
		if name == "" {
			return
		}
		loc, err := time.LoadLocation(name)
		if err != nil || name == "Local" {
			n.Fault("unknown zone: want a name of the IANA list")
			return
		}
		*dst = loc
	}
}

func (r *reader) readBudgets(n strict.Node) {
	at := map[string]strict.Node{}
	strict.Each(func(e strict.Node) {
		b := bridge.Budget{Zone: r.zone}
		ok := e.Object(
			strict.Need("account", fmt.Sprintf("account: %s/physics", r.organisation()), strict.Text(&b.Account)),
			strict.Need("every", "every: month", strict.Choice(&b.Every, bridge.Day, bridge.Week, bridge.Month)),
			strict.May("zone", "zone: Europe/Berlin", zone(&b.Zone)),
			strict.Need("limit", "limit: 500 "+r.code(), r.money(&b.Limit)),
			strict.May("hard", "hard: true", strict.Flag(&b.Hard)),
			strict.May("approvers", `approvers: [ana, "@pi"]`, strict.Texts(&b.Approvers, person)),
		)
		if !ok {
			return
		}
		r.checkBudget(e, &b)
		key := string(b.Account) + " every " + string(b.Every)
		if first, twice := at[key]; twice && b.Account != "" {
			e.With("every: day").Refuse(fmt.Sprintf("a second budget of %s, the first is on line %d: keep one", key, first.Line()))
			return
		}
		at[key] = e
		r.file.budgets = append(r.file.budgets, b)
	})(n)
	r.checkParents(at)
}

func (r *reader) checkBudget(e strict.Node, b *bridge.Budget) {
	if b.Zone == nil {
		if _, given := e.Get("zone"); !given {
			e.With("zone: UTC").Refuse("no zone, here or for the whole file: a day begins somewhere")
		}
	}
	if limit, ok := e.Get("limit"); ok && b.Limit.Currency != "" && b.Limit.IsZero() && b.Hard {
		limit.With("limit: 500 " + r.code()).Fault("a hard limit of nothing can buy nothing: leave the budget out, or set mode: observe")
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

// checkParents refuses a budget larger than that of an ancestor for the same
// period: it could never be used, so somebody misplaced a digit.
func (r *reader) checkParents(at map[string]strict.Node) {
	for _, b := range r.file.budgets {
		for _, p := range r.file.budgets {
			above := strings.HasPrefix(string(b.Account), string(p.Account)+"/") && b.Every == p.Every
			if !above || b.Limit.Micro <= p.Limit.Micro {
				continue
			}
			if limit, ok := at[string(b.Account)+" every "+string(b.Every)].Get("limit"); ok {
				limit.With("limit: " + whole(p.Limit)).Fault(fmt.Sprintf("more than the %s of %s above it", whole(p.Limit), p.Account))
			}
			break
		}
	}
}

// whole prints money as the file has it.
func whole(m bridge.Money) string {
	s := strings.TrimSuffix(m.String(), " "+string(m.Currency))
	return strings.TrimSuffix(s, ".00") + " " + string(m.Currency)
}

func (r *reader) organisation() string {
	if r.file.organisation == "" {
		return "lab"
	}
	return r.file.organisation
}

func (r *reader) code() string {
	if r.file.currency == "" {
		return "USD"
	}
	return string(r.file.currency)
}
