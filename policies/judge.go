package policies

import (
	"slices"

	"spillway.sh/spillway/bridge"
)

// optOutRule is the name given as the deciding rule of a job that opted out.
const optOutRule = "opt_out"

// choice is the rule that decides: an index into the file's rules, or one past
// them for none.
type choice struct {
	rule   int
	failed bool // its condition could not be evaluated
	stays  bool // opted out by a list of partitions or QOS
}

// A slot is one answer a payer can get: a rule, whether it failed, and what
// the job's comment says.
func (c choice) slot(stays, asks bool) int {
	return c.rule<<3 | int(asNumber(c.failed)<<2|asNumber(stays || c.stays)<<1|asNumber(asks))
}

// says reports whether a demand's comment opts out of everything, and whether
// it opts in to a signal.
func (e *engine) says(d *bridge.Demand) (stays, asks bool) {
	if d.Comment == "" {
		return false, false
	}
	return hasWord(d.Comment, e.file.optOut.words...), hasWord(d.Comment, wordCheckpoint)
}

// choose returns the first rule whose condition holds. A condition that cannot
// be evaluated stops the search: the rule might have kept the job here, so
// what follows must not let it go.
func (e *engine) choose(o *outcome) choice {
	for i := range e.file.rules {
		switch e.file.rules[i].when.decide(o) {
		case yes:
			return choice{rule: i, stays: o.stays}
		case unclear:
			return choice{rule: i, failed: true, stays: o.stays}
		case no:
		}
	}
	return choice{rule: len(e.file.rules), stays: o.stays}
}

// answer is a condition's value. As in CEL, an operand that decides an && or
// || does so even beside one that fails.
type answer int

const (
	no answer = iota
	yes
	unclear
)

func (c *condition) decide(o *outcome) answer {
	switch c.op {
	case always:
		return yes
	case isLeaf:
		group, bit := c.leaf/64, uint64(1)<<(c.leaf%64)
		switch {
		case o.failed[group]&bit != 0:
			return unclear
		case o.held[group]&bit != 0:
			return yes
		}
		return no
	case not:
		return [...]answer{no: yes, yes: no, unclear: unclear}[c.args[0].decide(o)]
	case and:
		return c.any(o, no, yes)
	case or:
		return c.any(o, yes, no)
	}
	return unclear
}

// any returns decisive if one operand is that, else unclear if one is that,
// else otherwise.
func (c *condition) any(o *outcome, decisive, otherwise answer) answer {
	for i := range c.args {
		switch c.args[i].decide(o) {
		case decisive:
			return decisive
		case unclear:
			otherwise = unclear
		case yes, no:
		}
	}
	return otherwise
}

// payer is who pays for a demand, with the terms it gets by slot.
type payer struct {
	account bridge.Account
	mapped  bool
	funded  bool
	stays   bool        // opted out by account or user
	terms   []slotTerms // few of the slots there could be
}

type slotTerms struct {
	slot  int
	terms *bridge.Terms
}

// at returns the terms of a slot, or nil where they are not worked out yet.
func (p *payer) at(slot int) *bridge.Terms {
	for i := range p.terms {
		if p.terms[i].slot == slot {
			return p.terms[i].terms
		}
	}
	return nil
}

// payerKey is what decides who pays: the numbers of user, account and cluster,
// zero for what does not matter, 20 bits each.
type payerKey uint64

// payerFacts are the facts that mappings, lists and budgets of people look at.
func (f *File) payerFacts() [texts]bool {
	var use [texts]bool
	use[factAccount] = true
	use[factUser] = len(f.optOut.users) > 0
	for _, m := range f.accounts {
		use[factUser] = use[factUser] || m.user != ""
		use[factCluster] = use[factCluster] || m.cluster != ""
	}
	for _, b := range f.budgets {
		use[factUser] = use[factUser] || len(b.Account.Ancestors()) == 4
	}
	return use
}

func (e *engine) payerKey(d *bridge.Demand) payerKey {
	account := e.people[factAccount].find(d.Account)
	var user, cluster uint64
	if e.payer[factUser] {
		user = e.people[factUser].find(d.User)
	}
	if e.payer[factCluster] {
		cluster = e.people[factCluster].find(d.Cluster)
	}
	return payerKey(user<<40 | account<<20 | cluster)
}

// addPeople numbers the names of a demand, and returns its key.
func (e *engine) addPeople(d *bridge.Demand) payerKey {
	for _, fact := range [...]int{factUser, factAccount, factCluster} {
		name := facts[fact].text(d)
		n := &e.people[fact]
		if !e.payer[fact] || n.find(name) > 0 {
			continue
		}
		if len(n.byName) >= e.most {
			clear(e.people[:])
			clear(e.payers) // their keys mean nothing any more
			return e.addPeople(d)
		}
		n.add(name)
	}
	return e.payerKey(d)
}

func (e *engine) newPayer(d *bridge.Demand) *payer {
	f := e.file
	p := &payer{}
	p.account, p.mapped = f.AccountOf(d)
	p.funded = f.funded(p.account, d.User)
	p.stays = matchAny(f.optOut.accounts, d.Account, false) || matchAny(f.optOut.users, d.User, false)
	return p
}

// verdict identifies one set of terms: equal ones are one pointer.
type verdict struct {
	rule    string
	index   int
	account bridge.Account
	why     bridge.Reason
	signal  bool
}

// share returns the one copy of the terms of a payer's slot.
func (e *engine) share(p *payer, slot int) *bridge.Terms {
	v := e.verdictOf(p, slot)
	t, ok := e.shared[v]
	if !ok {
		t = e.write(v)
		remember(e.most, e.shared, v, t)
	}
	return t
}

func (e *engine) verdictOf(p *payer, slot int) verdict {
	rules := e.file.rules
	v := verdict{index: slot >> 3, account: p.account}
	failed, stays, asks := slot>>2&1 == 1, slot>>1&1 == 1, slot&1 == 1
	if stays || p.stays {
		v.index, v.rule, v.why = len(rules), optOutRule, bridge.ReasonOptOut
		return v
	}
	if v.index == len(rules) {
		v.why = bridge.ReasonNoRule
		return v
	}
	t := &rules[v.index].terms
	v.rule = rules[v.index].name
	v.signal = t.Signal != "" && (asks || t.signal == signalAll)
	switch {
	case failed:
		v.why = bridge.ReasonRuleFailed
	case t.Class == bridge.P0 && !e.file.contracts():
		v.why = bridge.ReasonReserved
	case !p.mapped:
		v.why = bridge.ReasonNoAccount
	case e.file.mode != Burst:
		v.why = bridge.ReasonObserve
	case !p.funded:
		v.why = bridge.ReasonUnfunded
	}
	return v
}

func (e *engine) write(v verdict) *bridge.Terms {
	t := bridge.Terms{Comment: v.rule == "" && e.file.unruled.Comment}
	if v.index < len(e.file.rules) {
		t = e.file.rules[v.index].terms.Terms
		t.Markets, t.Clouds, t.Regions = slices.Clone(t.Markets), slices.Clone(t.Clouds), slices.Clone(t.Regions)
		t.Attributes = slices.Clone(t.Attributes)
	}
	t.Rule, t.Account, t.Why, t.Burst = v.rule, v.account, v.why, v.why == ""
	if !v.signal {
		t.Signal, t.SignalTo, t.SignalWindow = "", "", 0
	}
	return &t
}
