package desk

import (
	"context"
	"time"

	"spillway.sh/spillway/bridge"
)

// PlanRequest asks what would be done now.
type PlanRequest struct {
	Lang Lang `json:"lang,omitempty"`
}

// PlanAnswer is what one look at the world asks for, and why; nothing of it is
// executed by asking. Members see what concerns their own jobs and rentals.
type PlanAnswer struct {
	At       time.Time         `json:"at"`
	Rent     []Planned         `json:"rent"`
	Route    []bridge.Route    `json:"route"`
	Withdraw []bridge.RentalID `json:"withdraw"` // questions whose job is gone
	Return   []Returned        `json:"return"`
	Others   map[string]int    `json:"others"` // demands nothing is done for, by reason
	Texts    map[string]string `json:"texts"`  // those reasons in words
}

// Planned is a rental that would be made or asked for.
type Planned struct {
	Cluster  string         `json:"cluster"`
	Jobs     []bridge.JobID `json:"jobs"`
	User     string         `json:"user"`
	Account  bridge.Account `json:"account"`
	Class    bridge.Class   `json:"class"`
	Machines int            `json:"machines"`
	Pool     bridge.Pool    `json:"pool"`
	Life     int64          `json:"life_seconds"`
	AtMost   bridge.Money   `json:"at_most"`
	Ask      bool           `json:"ask"` // a person is asked first
	Why      bridge.Reason  `json:"why"`
	Text     string         `json:"text"`
}

// Returned is a rental that would be given back.
type Returned struct {
	Rental bridge.RentalID `json:"rental"`
	Drain  bool            `json:"drain"`
	Why    bridge.Reason   `json:"why"`
	Text   string          `json:"text"`
}

// Plan answers what would be done now and why.
func (d *Desk) Plan(_ context.Context, p Person, q PlanRequest) (PlanAnswer, error) {
	snap, plan, err := d.look()
	if err != nil {
		return PlanAnswer{}, err
	}
	a := PlanAnswer{At: plan.Now, Rent: []Planned{}, Route: []bridge.Route{}, Withdraw: []bridge.RentalID{}, Return: []Returned{}, Others: map[string]int{}, Texts: map[string]string{}}
	own := owners(&snap)
	sees := func(id bridge.RentalID) bool { return p.may(SeeAll) || own.rentals[id] == p.Name }
	for i := range plan.Rent {
		if o := &plan.Rent[i]; p.may(SeeAll) || o.Requester == p.Name {
			a.Rent = append(a.Rent, planned(o, q.Lang))
		}
	}
	for _, r := range plan.Route {
		if sees(r.Rental) {
			a.Route = append(a.Route, r)
		}
	}
	for _, id := range plan.Withdraw {
		if sees(id) {
			a.Withdraw = append(a.Withdraw, id)
		}
	}
	for _, r := range plan.Return {
		if sees(r.Rental) {
			a.Return = append(a.Return, Returned{r.Rental, r.Drain, r.Why, q.Lang.Short(r.Why)})
		}
	}
	a.rest(&plan, p, &own, q.Lang)
	return a, nil
}

// rest counts the demands that nothing is done for.
func (a *PlanAnswer) rest(plan *bridge.Plan, p Person, own *ownership, lang Lang) {
	for i := range plan.Verdicts {
		v := &plan.Verdicts[i]
		acts := v.Kind == bridge.Burst || v.Kind == bridge.Ask
		if acts || !p.may(SeeAll) && own.jobs[jobKey{v.Cluster, v.Job}] != p.Name {
			continue
		}
		a.Others[string(v.Why)]++
		a.Texts[string(v.Why)] = lang.Short(v.Why)
	}
}

func planned(o *bridge.Order, lang Lang) Planned {
	why := bridge.ReasonCheapest
	if o.Ask != "" {
		why = o.Ask
	}
	return Planned{
		Cluster: o.Cluster, Jobs: append([]bridge.JobID{}, o.Jobs...), User: o.Requester, Account: o.Account, Class: o.Class,
		Machines: o.Count, Pool: o.Offer.Pool, Life: int64(o.Life / time.Second), AtMost: o.Hold, Ask: o.Ask != "", Why: why, Text: lang.Short(why),
	}
}

// ownership is who owns the jobs and rentals of a look.
type ownership struct {
	jobs    map[jobKey]string
	rentals map[bridge.RentalID]string
}

func owners(s *bridge.Snapshot) ownership {
	o := ownership{map[jobKey]string{}, map[bridge.RentalID]string{}}
	for i := range s.Queues {
		for j := range s.Queues[i].Demands {
			dem := &s.Queues[i].Demands[j]
			o.jobs[jobKey{dem.Cluster, dem.Job}] = dem.User
		}
	}
	for i := range s.Rentals {
		o.rentals[s.Rentals[i].ID] = s.Rentals[i].Requester
	}
	return o
}
