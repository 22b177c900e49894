package desk

import (
	"context"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// BudgetRequest asks what a project may spend; empty: the asker's own.
type BudgetRequest struct {
	Project string `json:"project,omitempty"`
}

// BudgetAnswer is every budget that a rental of the project has to fit in, and
// what holds money there.
type BudgetAnswer struct {
	Account bridge.Account `json:"account"`
	Budgets []Balance      `json:"budgets"` // widest first
	// Room is what can be rented at once: what the tightest of those has left that
	// cover everything.
	Room    bridge.Money `json:"room"`
	Holding []Rental     `json:"holding"` // the largest hold first
}

// Budget answers what a project may spend and what holds money there.
func (d *Desk) Budget(ctx context.Context, p Person, q BudgetRequest) (BudgetAnswer, error) {
	account, err := d.projectOf(ctx, p, q.Project)
	if err != nil {
		return BudgetAnswer{}, err
	}
	a := BudgetAnswer{Account: account, Holding: []Rental{}}
	bs, err := d.pathBalances(ctx, account)
	if err != nil {
		return BudgetAnswer{}, err
	}
	a.Budgets = asBalances(bs)
	a.Room = roomIn(a.Budgets)
	live, err := d.live(ctx)
	if err != nil {
		return BudgetAnswer{}, err
	}
	for i := range live {
		if r := &live[i]; r.State.Held() && under(r.Account, account) {
			a.Holding = append(a.Holding, asRental(r, d.Now()))
		}
	}
	slices.SortStableFunc(a.Holding, func(x, y Rental) int { return int(max(-1, min(1, y.Hold.Micro-x.Hold.Micro))) })
	return a, nil
}

// roomIn is what the tightest budget of everything has left. Where all are of
// single clouds and classes, it is the most that one of those has.
func roomIn(bs []Balance) bridge.Money {
	var room bridge.Money
	whole := slices.ContainsFunc(bs, func(b Balance) bool { return parts(b.Scope()) == 0 })
	for i := range bs {
		b := &bs[i]
		switch left := b.Left; {
		case whole && parts(b.Scope()) > 0:
		case room.Currency == "",
			left.Currency == room.Currency && (left.Micro < room.Micro) == whole:
			room = left
		}
	}
	return room
}

// projectOf finds a project by name that a person may ask about: one they spend
// from or approve for, any for who sees all. No name means the only one.
func (d *Desk) projectOf(ctx context.Context, p Person, name string) (bridge.Account, error) {
	mine, err := d.accountsOf(ctx, p)
	if err != nil {
		return "", err
	}
	if name == "" {
		switch len(mine) {
		case 0:
			return "", wrong(BadRequest, "spillway spend", "which project? You spend from none yet")
		case 1:
			return mine[0], nil
		}
		return "", wrong(BadRequest, "spillway budget "+lastOf(mine[0]), "which project? You spend from %s", joined(mine))
	}
	var known []bridge.Account
	for _, b := range d.Rules.Budgets() {
		known = append(known, b.Account.Project())
	}
	known = append(known, mine...)
	var found []bridge.Account
	for _, a := range known {
		if (string(a) == name || lastOf(a) == name) && !slices.Contains(found, a) {
			found = append(found, a)
		}
	}
	switch {
	case len(found) == 0:
		return "", d.noProject(name, known)
	case len(found) > 1:
		return "", wrong(BadRequest, "spillway budget "+string(found[0]), "%q may be any of %s", name, joined(found))
	case p.may(SeeAll), slices.ContainsFunc(mine, func(m bridge.Account) bool { return under(m, found[0]) }), d.approvesFor(p, found[0]):
		return found[0], nil
	}
	return "", wrong(Forbidden, "spillway whoami", "you neither spend from %s nor approve for it", found[0])
}

func (d *Desk) noProject(name string, known []bridge.Account) error {
	names := make([]string, 0, len(known))
	for _, a := range known {
		names = append(names, lastOf(a))
	}
	e := wrong(NotFound, "spillway spend", "policy knows no project %q", name)
	if near := nearest(name, names); near != "" {
		e = wrong(NotFound, "spillway budget "+near, "policy knows no project %q; did you mean %s?", name, near)
	}
	return e
}

// periodOf is bridge.Span with its instants in the zone, as people read them.
func periodOf(now time.Time, every bridge.PeriodKind, zone *time.Location) (start, end time.Time) {
	start, end = bridge.Span(now, every, zone)
	return start.In(zone), end.In(zone)
}

// every reads a word for a period.
func everyOf(word string) (bridge.PeriodKind, bool) {
	switch strings.ToLower(word) {
	case "day", "today", "daily", "日", "今天":
		return bridge.Day, true
	case "week", "weekly", "周":
		return bridge.Week, true
	case "month", "monthly", "月":
		return bridge.Month, true
	}
	return "", false
}
