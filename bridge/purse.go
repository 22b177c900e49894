package bridge

import (
	"cmp"
	"slices"
	"strings"
)

// purse is what one budget still allows while a plan is being made.
type purse struct {
	account  Account
	left     int64
	asked    int64 // by questions of this plan; they take nothing
	currency Currency
	hard     bool
}

// payer is an account with its user, and all budgets on its path.
type payer struct {
	full     Account
	project  Account
	purses   []*purse // widest first
	currency Currency
	mixed    bool // its budgets are in several currencies: nothing can be bought
	own      bool // the user has a budget of its own
}

// purses finds payers by account and user.
type purses struct {
	byAccount map[Account][]*purse
	payers    map[payerKey]*payer
}

type payerKey struct {
	account Account
	user    string
}

func newPurses(budgets []Balance) *purses {
	p := &purses{byAccount: map[Account][]*purse{}, payers: map[payerKey]*payer{}}
	for i := range budgets {
		b := &budgets[i]
		left, err := b.Left()
		if err != nil {
			left = Money{Currency: b.Limit.Currency} // a sum we cannot form buys nothing
		}
		p.byAccount[b.Account] = append(p.byAccount[b.Account], &purse{account: b.Account, left: left.Micro, currency: left.Currency, hard: b.Hard})
	}
	for _, list := range p.byAccount {
		slices.SortFunc(list, func(a, b *purse) int {
			return cmp.Or(cmp.Compare(a.left, b.left), strings.Compare(string(a.currency), string(b.currency)), -compareBool(a.hard, b.hard))
		})
	}
	return p
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

// of returns the payer for a user's work on an account.
func (p *purses) of(account Account, user string) *payer {
	key := payerKey{account, user}
	if known, ok := p.payers[key]; ok {
		return known
	}
	full := account
	if user != "" {
		full += Account("/" + user)
	}
	y := &payer{full: full, project: full.Project()}
	for _, a := range full.Ancestors() {
		for _, b := range p.byAccount[a] {
			y.mixed = y.mixed || y.currency != "" && b.currency != y.currency
			y.currency = b.currency
			y.purses = append(y.purses, b)
			y.own = y.own || a == full
		}
	}
	p.payers[key] = y
	return y
}

// short returns the tightest budget that lacks the amount, a hard one before a
// soft one, or nil if all of them have it.
func (y *payer) short(micro int64) *purse {
	var worst *purse
	for _, b := range y.purses {
		if b.left >= micro {
			continue
		}
		if worst == nil || b.hard && !worst.hard || b.hard == worst.hard && b.left < worst.left {
			worst = b
		}
	}
	return worst
}

// shut returns a hard budget that could not pay the amount on top of what this
// plan asks for already: no approval may exceed it.
func (y *payer) shut(micro int64) *purse {
	for _, b := range y.purses {
		if b.hard && b.left-b.asked < micro {
			return b
		}
	}
	return nil
}

func (y *payer) ask(micro int64) {
	for _, b := range y.purses {
		b.asked += micro
	}
}

func (y *payer) spend(micro int64) {
	for _, b := range y.purses {
		b.left -= micro
	}
}

func (b *purse) money() Money { return Money{b.left, b.currency} }
