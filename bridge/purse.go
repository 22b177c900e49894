package bridge

import (
	"cmp"
	"slices"
	"strings"
)

// purse is what one budget still allows while a plan is being made.
type purse struct {
	scope    Scope
	narrow   bool     // it covers one cloud or class alone
	offers   offerSet // that count in it; made when asked for
	left     int64
	asked    int64 // by questions; they take nothing, and none asks for more than a yes could give
	currency Currency
	hard     bool
	told     int64  // what the text below speaks of
	text     string // that so much is asked for
}

// project counts machines of one project.
type project struct {
	name  Account
	live  int // that cost money, with those of this plan
	asked int // in open questions, with those of this plan
}

// payer is an account with its user, and all budgets on its path.
type payer struct {
	full      Account
	project   *project
	projectNo int32
	purses    purses // widest first
	narrow    bool   // one of them is of a cloud or class alone
	currency  Currency
	mixed     bool // its budgets are in several currencies: nothing can be bought
	own       bool // the user has a budget of its own
}

// payerTable numbers payers. It outlives a decision; what is in the purses is
// put in anew for each.
type payerTable struct {
	byUser   map[payerKey]int32
	list     []*payer
	names    nameTable // of projects
	projects []*project
	purses   map[Account]purses
	budgets  []Account // that the purses are of, sorted
}

type payerKey struct {
	account Account
	user    string
}

// number returns the number of the payer for a user's work on an account.
func (p *payerTable) number(account Account, user string) int32 {
	key := payerKey{account, user}
	if n, ok := p.byUser[key]; ok {
		return n
	}
	full := account
	if user != "" {
		full += Account("/" + user)
	}
	y := &payer{full: full}
	y.project, y.projectNo = p.projectOf(full)
	p.fund(y)
	n := int32(len(p.list))
	p.byUser[key] = n
	p.list = append(p.list, y)
	return n
}

// projectOf returns the counts of an account's project, and its number.
func (p *payerTable) projectOf(a Account) (*project, int32) {
	n := p.names.number(string(a.Project()))
	if int(n) == len(p.projects) {
		p.projects = append(p.projects, &project{name: a.Project()})
	}
	return p.projects[n], n
}

func (p *payerTable) fund(y *payer) {
	y.purses, y.narrow, y.currency, y.mixed, y.own = y.purses[:0], false, "", false, false
	for _, a := range y.full.Ancestors() {
		for _, b := range p.purses[a] {
			y.mixed = y.mixed || y.currency != "" && b.currency != y.currency
			y.currency = b.currency
			y.purses = append(y.purses, b)
			y.narrow = y.narrow || b.narrow
			y.own = y.own || a == y.full
		}
	}
}

// fillPurses takes the balances of a snapshot. It reports whether the same
// accounts have budgets as before.
func (p *payerTable) fillPurses(budgets []Balance) bool {
	p.purses = make(map[Account]purses, len(budgets))
	accounts := make([]Account, 0, len(budgets))
	for i := range budgets {
		b := &budgets[i]
		left, err := b.Left()
		if err != nil {
			left = Money{Currency: b.Limit.Currency} // a sum we cannot form buys nothing
		}
		p.purses[b.Account] = append(p.purses[b.Account], &purse{
			scope: b.Scope(), narrow: b.Cloud != "" || b.GPU != "", left: left.Micro, currency: left.Currency, hard: b.Hard,
		})
		accounts = append(accounts, b.Account)
	}
	for _, list := range p.purses {
		slices.SortFunc(list, func(a, b *purse) int {
			return cmp.Or(cmp.Compare(a.left, b.left), strings.Compare(string(a.currency), string(b.currency)), compareBool(b.hard, a.hard),
				strings.Compare(a.scope.Cloud, b.scope.Cloud), strings.Compare(a.scope.GPU, b.scope.GPU))
		})
	}
	slices.Sort(accounts)
	same := slices.Equal(slices.Compact(accounts), p.budgets)
	p.budgets = accounts
	for _, y := range p.list {
		p.fund(y)
	}
	for _, q := range p.projects {
		q.live, q.asked = 0, 0
	}
	return same
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// purses are budgets that all have to pay.
type purses []*purse

// covers reports whether what is spent in a scope counts in the budget, whose
// account is known to be on the path.
func (b *purse) covers(spent Scope) bool { return !b.narrow || b.scope.Covers(spent) }

// on returns the budgets that machines of a cloud and class count in.
func (y *payer) on(cloud, gpu string) purses {
	if !y.narrow {
		return y.purses
	}
	spent := Scope{y.full, cloud, gpu}
	out := make(purses, 0, len(y.purses))
	for _, b := range y.purses {
		if b.covers(spent) {
			out = append(out, b)
		}
	}
	return out
}

// short returns the tightest budget that lacks the amount, a hard one before a
// soft one, or nil if all of them have it. Nothing has room everywhere.
func (ps purses) short(micro int64) *purse {
	var worst *purse
	for _, b := range ps {
		if b.left >= micro || micro <= 0 {
			continue
		}
		if worst == nil || b.hard && !worst.hard || b.hard == worst.hard && b.left < worst.left {
			worst = b
		}
	}
	return worst
}

// shut returns a hard budget that could not pay the amount on top of what is
// asked for already: no approval may exceed it.
func (ps purses) shut(micro int64) *purse {
	for _, b := range ps {
		if b.hard && micro > 0 && b.left-b.asked < micro {
			return b
		}
	}
	return nil
}

// stop returns the budget that keeps so much more from being bought, or nil. A
// question of a whole amount is kept from being put by budgets that no yes may
// exceed, where nobody may be asked by all of them.
func (ps purses) stop(more, whole int64, question, mayAsk bool) *purse {
	if !question {
		return ps.short(more)
	}
	if short := ps.short(whole); short != nil && !mayAsk {
		return short
	}
	return ps.shut(more)
}

// askedFor counts an open question.
func (p *payerTable) askedFor(r *Rental) {
	spent := r.Scope()
	for _, a := range r.Account.Ancestors() {
		for _, b := range p.purses[a] {
			if b.currency == r.Hold.Currency && b.covers(spent) {
				b.asked += r.Hold.Micro
			}
		}
	}
}

func (ps purses) ask(micro int64) {
	for _, b := range ps {
		b.asked += micro
	}
}

func (ps purses) spend(micro int64) {
	for _, b := range ps {
		b.left -= micro
	}
}

// askedText says how much of what is left is asked for.
func (b *purse) askedText() string {
	if b.told != b.asked {
		b.told, b.text = b.asked, Money{b.asked, b.currency}.String()+" of it are asked for already"
	}
	return b.text
}

func (b *purse) money() Money { return Money{b.left, b.currency} }

// limitedBy names the budget that a verdict is about.
func (v *Verdict) limitedBy(b *purse) {
	v.Limit, v.Left, v.Scope = b.scope.Account, b.money(), nil
	if b.narrow {
		v.Scope = &b.scope
	}
}

// isAbout reports whether it is the budget that a verdict is about, or one of
// the same scope and another period.
func (v *Verdict) isAbout(b *purse) bool {
	if v.Limit != b.scope.Account || (v.Scope != nil) != b.narrow {
		return false
	}
	return v.Scope == nil || *v.Scope == b.scope
}
