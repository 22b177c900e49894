package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/adopt"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/store"
)

type adoptCmd struct {
	format
	StoreID string `name:"store-id" help:"Whose machines are meant, if several stores have some (their tag spillway-store)." placeholder:"ID"`
	Yes     bool   `short:"y" help:"Do not ask at the terminal first."`
}

// Help gives examples.
func (adoptCmd) Help() string {
	return `Examples:
  spillway adopt                     after the store was lost, damaged, or put back from a copy
  spillway adopt --yes -o json
  spillway adopt --store-id k3f...   when machines of several stores are there

The daemon must be down, every cloud must list all it has, and every scheduler must answer; else nothing is done.
Rentals are rebuilt from the tags of their machines. No machine is started, changed or ended. A store that is damaged is
set aside, not deleted. Afterwards no new money flows until spillway thaw: what was spent before is not in the books.
It may be run again, also after it was interrupted.

Exit codes: 0 done, or nothing is missing; 2 not confirmed; 5 a daemon runs, or --store-id is needed; 6 a cloud or a
scheduler did not say everything.

JSON keys: store_id, store (nothing, new, replace, complete), damage, rentals[] (rental, state, was, missing, cluster,
account, class, cloud, type, market, count, gang, attempt, machines[], max_rate, hold, expires, jobs[], guessed[]),
left[] (cloud, machine, why), aside[], done.`
}

type adoptAnswer struct {
	StoreID string          `json:"store_id"`
	Store   adopt.Plan      `json:"store"`
	Damage  string          `json:"damage,omitempty"`
	Rentals []adoptedRental `json:"rentals"`
	Left    []leftMachine   `json:"left"`
	Aside   []string        `json:"aside"` // files of the store that was in place
	Done    bool            `json:"done"`
}

type adoptedRental struct {
	Rental   bridge.RentalID `json:"rental"`
	State    bridge.State    `json:"state"`
	Was      bridge.State    `json:"was,omitempty"` // in the books; empty: not there
	Missing  bool            `json:"missing"`       // in the books, all of it or a part
	Cluster  string          `json:"cluster"`
	Account  bridge.Account  `json:"account"`
	Class    bridge.Class    `json:"class"`
	Cloud    string          `json:"cloud"`
	Type     string          `json:"type"`
	Market   bridge.Market   `json:"market"`
	Count    int             `json:"count"`
	Gang     int             `json:"gang"`
	Attempt  int             `json:"attempt"`
	Machines []string        `json:"machines"` // that live
	MaxRate  bridge.Rate     `json:"max_rate"`
	Hold     bridge.Money    `json:"hold"`
	Expires  time.Time       `json:"expires"`
	Jobs     []bridge.JobID  `json:"jobs"`
	Guessed  []string        `json:"guessed"`
}

type leftMachine struct {
	Cloud   string `json:"cloud"`
	Machine string `json:"machine"`
	Why     string `json:"why"`
}

// Run rebuilds the books from the clouds' lists.
func (c *adoptCmd) Run(a *app) error {
	s, err := a.site()
	if err != nil {
		return err
	}
	found, err := adopt.Look(a.ctx, s.adoptable(), c.StoreID)
	if err != nil {
		return adoptError(err)
	}
	answer := answerOf(found)
	if found.Plan == adopt.Nothing {
		answer.Done = true
		return c.print(a, answer, func(p *page) { sayFound(p, &answer) })
	}
	if c.Output == "text" {
		if err := c.print(a, nil, func(p *page) { sayFound(p, &answer) }); err != nil {
			return err
		}
	}
	if err := a.confirm(c.Yes, adoptQuestion(found)); err != nil {
		return err
	}
	answer.Aside, err = found.Take(a.ctx)
	if err != nil {
		return adoptError(err)
	}
	answer.Done, answer.Aside = true, append([]string{}, answer.Aside...)
	return c.print(a, answer, func(p *page) {
		for _, file := range answer.Aside {
			p.line("Set aside: %s", file)
		}
		p.line("Taken into the books: %s.", desk.Count(found.Missing(), "rental"))
		p.line("Start the daemon: systemctl start spillway. No new money flows until: spillway thaw")
	})
}

// adoptable is the site as adopt sees it.
func (s *site) adoptable() *adopt.Site {
	out := &adopt.Site{Dir: s.config.StateDir, Clusters: map[string]adopt.Scheduler{}, Watch: s.policy.Watch(), Now: utcNow}
	for _, cloud := range s.clouds {
		out.Clouds = append(out.Clouds, cloud)
	}
	for name, cluster := range s.clusters {
		out.Clusters[name] = cluster
	}
	return out
}

func adoptQuestion(f *adopt.Found) string {
	what := desk.Count(f.Missing(), "rental")
	switch f.Plan {
	case adopt.Complete:
		return fmt.Sprintf("Take %s into the store that is there?", what)
	case adopt.Replace:
		return fmt.Sprintf("Set the damaged store aside, and make a new one with %s? No other daemon may run for this cluster.", what)
	case adopt.New, adopt.Nothing:
	}
	return fmt.Sprintf("Make a store with %s? No other daemon may run for this cluster.", what)
}

// adoptError says what was in the way, and what to type.
func adoptError(err error) error {
	if choice, ok := errors.AsType[*adopt.Choice](err); ok {
		try := "spillway adopt --store-id ID"
		if choice.Here != "" && choice.Stores[choice.Here] == 0 {
			try = "give back what the store in place holds, move it away, and then: " + try
		}
		return &desk.Error{Kind: desk.Conflict, Wrong: choice.Error(), Try: try, Err: err}
	}
	switch {
	case errors.Is(err, store.ErrLocked):
		return &desk.Error{Kind: desk.Conflict, Wrong: err.Error(), Try: "systemctl stop spillway", Err: err}
	case errors.Is(err, adopt.ErrChanged):
		return &desk.Error{Kind: desk.Conflict, Wrong: err.Error() + "; nothing was done", Try: "spillway adopt", Err: err}
	case errors.Is(err, adopt.ErrUnseen):
		wrong := strings.ReplaceAll(err.Error(), "\n", "; ")
		return &desk.Error{Kind: desk.Unavailable, Wrong: wrong + "; nothing was done", Try: "spillway doctor, then spillway adopt", Err: err}
	}
	return err
}

func answerOf(f *adopt.Found) adoptAnswer {
	out := adoptAnswer{StoreID: f.StoreID, Store: f.Plan, Rentals: []adoptedRental{}, Left: []leftMachine{}, Aside: []string{}}
	if f.Damage != nil {
		out.Damage = f.Damage.Error()
	}
	for i := range f.Rentals {
		one := &f.Rentals[i]
		r := &one.Rental
		row := adoptedRental{
			Rental: r.ID, State: r.State, Was: one.Was, Missing: one.New, Cluster: r.Cluster, Account: r.Account, Class: r.Class,
			Cloud: r.Pool.Cloud, Type: r.Pool.Type, Market: r.Pool.Market, Count: r.Count, Gang: r.Gang, Attempt: r.Attempt, Machines: []string{},
			MaxRate: r.MaxRate, Hold: r.Hold, Expires: r.Expires, Jobs: append([]bridge.JobID{}, r.Jobs...), Guessed: append([]string{}, one.Guessed...),
		}
		for _, m := range r.Live() {
			row.Machines = append(row.Machines, m.ID)
		}
		out.Rentals = append(out.Rentals, row)
	}
	for i := range f.Left {
		in := &f.Left[i].Instance
		out.Left = append(out.Left, leftMachine{in.Pool.Cloud, in.ID, f.Left[i].Why})
	}
	return out
}

func sayFound(p *page, got *adoptAnswer) {
	if got.Damage != "" {
		p.line("The store is damaged: %s", plain(got.Damage))
	}
	rows := make([]string, 0, len(got.Rentals))
	for i := range got.Rentals {
		r := &got.Rentals[i]
		books := "as it is"
		switch {
		case r.Missing && r.Was == "":
			books = "missing"
		case r.Missing:
			books = "was " + string(r.Was)
		}
		gang := fmt.Sprintf("%d of %d", len(r.Machines), r.Count)
		rows = append(rows, row(r.Rental, r.State, gang, r.Account, r.Class, r.Cloud, r.Type, r.Market, bridge.Money(r.MaxRate), r.Hold, desk.Clock(r.Expires), books))
	}
	if len(rows) > 0 {
		p.table("RENTAL\tSTATE\tMACHINES\tACCOUNT\tCLASS\tCLOUD\tTYPE\tMARKET\tMOST/H\tHOLD\tEXPIRES\tBOOKS", rows)
	}
	for i := range got.Rentals {
		for _, g := range got.Rentals[i].Guessed {
			p.line("%s: not in its tags: %s.", got.Rentals[i].Rental, plain(g))
		}
	}
	for _, m := range got.Left {
		p.line("Left alone: %s on %s: %s.", plain(m.Machine), plain(m.Cloud), plain(m.Why))
	}
	if got.Store == adopt.Nothing {
		missing := slices.ContainsFunc(got.Rentals, func(r adoptedRental) bool { return r.Missing })
		switch {
		case got.StoreID == "" && !missing:
			p.line("No cloud lists a machine of this site, and there is no store. Start the daemon; it makes one.")
		default:
			p.line("The books lack nothing that the clouds list.")
		}
	}
}
