package bridge

import (
	"slices"
	"time"
)

// Draw makes the rental an order describes, in its first state: launching,
// with its machines intended and its create call not frozen yet.
func Draw(id RentalID, o *Order, now time.Time) Rental {
	r := Rental{
		ID: id, State: StateLaunching, Since: now, Cluster: o.Cluster,
		Account: o.Account, Requester: o.Requester, Class: o.Class,
		Jobs: slices.Clone(o.Jobs), Gang: max(o.Gang, 1), Origin: o.Origin,
		Pool: o.Offer.Pool, Shape: o.Offer.Shape, GPUAs: o.GPUAs, Features: o.Offer.Features,
		Rate: o.Offer.Rate, MaxRate: o.MaxRate, Step: o.Offer.Step, Minimum: o.Offer.Minimum,
		Term: o.Offer.Term, EarlyPM: o.Offer.EarlyPM, FX: o.Offer.FX, Contract: o.Offer.Contract, Until: o.Offer.Until,
		Count: o.Count, Attempt: 1, Life: o.Life, Idle: o.Idle, Hold: o.Hold,
		Cost: Money{Currency: o.Hold.Currency}, Created: now, Why: ReasonCheapest,
	}
	for i := range o.Count {
		r.Machines = append(r.Machines, Machine{Ordinal: i, State: MachineIntended, Node: NodeName(id, i), Rate: o.Offer.Rate})
	}
	return r
}
