package main

import (
	"fmt"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

type rentalsCmd struct {
	format
	ID   string `arg:"" optional:"" predictor:"rental" help:"One rental, with its machines and its story."`
	All  bool   `short:"a" help:"Ended ones too, newest first."`
	User string `short:"u" help:"Only those of this user." placeholder:"NAME"`
	Max  int    `help:"With --all: at most this many." default:"50"`
}

// Help gives examples.
func (rentalsCmd) Help() string {
	return `Examples:
  spillway rentals
  spillway rentals r-0013        its machines, and what happened
  spillway rentals --all -o json

JSON keys: rentals[] (id, version, state, since, cluster, account, requester, class, jobs[], pool{cloud, region, zone,
type, market}, shape, count, machines[], rate, hold, expected, cost, created, expires, ask_until, idle_seconds,
idle_since, idle_most_seconds, idle_cost, goes, keep_until, unowned, why, note, approved_by, revision, digest, yeses[]
(who, at), life_seconds, max_rate, running[], extends, release_at, until); with an id: rental, news[], instead (size, words,
offer). Of each machine: node, id, state, started, stopped, reclaim_at, fault, report{at, health, checks[] (name, ok, got,
want, took), stages[] (name, ok, took, text), busy, gpu_pm, notice}, heard.`
}

// Run lists rentals, or shows one.
func (c *rentalsCmd) Run(a *app) error {
	if c.ID != "" {
		got, err := ask(a, desk.AskRental, desk.RentalRequest{Rental: c.ID})
		if err != nil {
			return err
		}
		return c.print(a, got, func(p *page) { sayRental(p, &got, a.lang()) })
	}
	got, err := ask(a, desk.AskRentals, desk.RentalsRequest{User: c.User, All: c.All, Limit: c.Max})
	if err != nil {
		return err
	}
	return c.print(a, got, func(p *page) {
		if len(got.Rentals) == 0 {
			p.line("Nothing is rented. Ended rentals: spillway rentals --all")
			return
		}
		sayRentals(p, got.Rentals)
		for i := range got.Rentals {
			if line := idling(&got.Rentals[i], a.lang()); line != "" {
				p.line("%s: %s", got.Rentals[i].ID, line)
			}
		}
		if !c.All {
			p.line("")
			p.line("%s", held(got.Rentals))
			p.line("One in full: spillway rentals %s", got.Rentals[0].ID)
		}
	})
}

func sayRentals(p *page, rs []desk.Rental) {
	rows := make([]string, 0, len(rs))
	for i := range rs {
		r := &rs[i]
		rows = append(rows, row(r.ID, r.State, what(r), forWhom(r), r.Account, r.Cost, r.Hold, ends(r)))
	}
	p.table("RENTAL\tSTATE\tWHAT\tFOR\tPAID BY\tSO FAR\tAT MOST\tENDS", rows)
}

// idling says since when a rental has no job, what that has cost, and when it
// goes; nothing before a minute has passed.
func idling(r *desk.Rental, lang desk.Lang) string {
	if r.IdleSecs < 60 || r.State != bridge.StateAdmitted {
		return ""
	}
	idle, since, goes := desk.Span(time.Duration(r.IdleSecs)*time.Second), desk.Clock(r.IdleSince), desk.Clock(r.Goes)
	said, back, nobody := "no job for %s, since %s, which has cost %s", "; it goes back at %s", "; nobody owns it"
	if lang == desk.Chinese {
		said, back, nobody = "已空闲 %s（自 %s 起），花费 %s", "；将于 %s 归还", "；无人认领"
	}
	out := fmt.Sprintf(said, idle, since, r.IdleCost)
	if !r.Goes.IsZero() {
		out += fmt.Sprintf(back, goes)
	}
	if r.Unowned {
		out += nobody
	}
	return out
}

func what(r *desk.Rental) string { return fmt.Sprintf("%d x %s", r.Count, desk.Place(r.Pool)) }

func forWhom(r *desk.Rental) string {
	if len(r.Jobs) == 0 {
		return r.Requester
	}
	s := "job " + string(r.Jobs[0])
	if len(r.Jobs) > 1 {
		s += fmt.Sprintf(" and %d more", len(r.Jobs)-1)
	}
	return s
}

// ends says when a rental ends at the latest, or what it waits for.
func ends(r *desk.Rental) string {
	switch {
	case r.State.Ended():
		return "ended " + desk.Clock(r.Since)
	case r.State == bridge.StateWaiting:
		return "asks until " + desk.Clock(r.AskUntil)
	}
	return desk.Clock(r.Expires)
}

// held sums up what is open.
func held(rs []desk.Rental) string {
	var sums []bridge.Money
	waiting, open := 0, 0
	for i := range rs {
		r := &rs[i]
		if r.State == bridge.StateWaiting {
			waiting++
		}
		if !r.State.Held() {
			continue
		}
		open++
		added := false
		for j := range sums {
			if s, err := sums[j].Add(r.Hold); err == nil {
				sums[j], added = s, true
				break
			}
		}
		if !added {
			sums = append(sums, r.Hold)
		}
	}
	s := fmt.Sprintf("%d open", open)
	if len(sums) > 0 {
		parts := make([]string, 0, len(sums))
		for _, m := range sums {
			parts = append(parts, m.String())
		}
		s += ", at most " + strings.Join(parts, " and ") + " held"
	}
	if waiting > 0 {
		s += fmt.Sprintf("; %d waiting for a yes (spillway approve)", waiting)
	}
	return s + "."
}

func sayRental(p *page, a *desk.RentalAnswer, lang desk.Lang) {
	r := &a.Rental
	p.line("%s is %s since %s: %s.", r.ID, r.State, desk.Clock(r.Since), lang.Short(r.Why))
	rows := []string{row("What", what(r)), row("Of each machine", r.Shape.String())}
	add := func(label, value string) {
		if value != "" {
			rows = append(rows, row(label, value))
		}
	}
	whom := r.Requester
	if len(r.Jobs) > 0 {
		whom = forWhom(r) + " of " + whom
	}
	add("For", whom+", on cluster "+r.Cluster)
	add("Paid by", string(r.Account))
	add("Rate", bridge.Money(r.Rate).String()+" an hour each")
	add("So far", r.Cost.String())
	add("At most", r.Hold.String())
	add("Ends", ends(r))
	if r.State == bridge.StateWaiting {
		add("Wanted until", desk.Clock(r.Until))
	}
	add("Idle", idling(r, lang))
	if r.Keep.After(r.Since) && !r.State.Ended() {
		add("Kept until", desk.Clock(r.Keep))
	}
	add("Approved by", r.Approved)
	add("Note", r.Note)
	p.table("", rows)
	if len(r.Machines) > 0 {
		p.line("")
		rows = rows[:0]
		for i := range r.Machines {
			m := &r.Machines[i]
			rows = append(rows, row(m.Node, m.State, m.ID, desk.Clock(m.Started), desk.Clock(m.Stopped), agentSays(m), m.Fault))
		}
		p.table("MACHINE\tSTATE\tCLOUD'S ID\tSTARTED\tSTOPPED\tITS AGENT SAYS\tFAULT", rows)
	}
	sayStages(p, r)
	if s := a.Instead; s != nil {
		p.line("")
		p.line("Less of it fits what is left, at most %s: spillway rent %s", s.Offer.AtMost, s.Words)
	}
	if len(a.News) > 0 {
		p.line("")
		p.line("What happened:")
		sayNews(p, a.News, lang)
	}
	if !r.State.Ended() && r.State != bridge.StateReleasing {
		p.line("")
		p.line("Give it back: spillway release %s", r.ID)
	}
}

// agentSays is what a machine's agent said last, in a few words.
func agentSays(m *desk.Machine) string {
	if m.Report == nil {
		return ""
	}
	words := []string{string(m.Report.Health)}
	switch r := m.Report; {
	case r.Health == bridge.HealthFit:
		words = append(words, jobOn(r.Busy), gpuUse(r.GPUPM))
	case len(r.Checks) > 0:
		words = append(words, fmt.Sprintf("%d of %d checks passed", desk.Passed(r.Checks), len(r.Checks)))
	}
	if n := m.Report.Notice; n != nil && !n.Advice {
		words = append(words, "taken back: "+n.Source)
	}
	for _, c := range m.Report.Checks {
		if !c.OK {
			words = append(words, c.Name+": "+c.Got)
		}
	}
	return strings.Join(words, ", ")
}

func jobOn(busy bool) string {
	if busy {
		return "a job runs"
	}
	return "no job"
}

// gpuUse says a use in per mille; nobody knows it of a machine whose driver
// does not tell.
func gpuUse(perMille int) string {
	if perMille < 0 {
		return "GPU use not known"
	}
	return fmt.Sprintf("GPU use %d %%", (perMille+5)/10)
}
