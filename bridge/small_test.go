package bridge

import "time"

// smallWorld is one job and one offer that holds it, with money for it.
func smallWorld() Snapshot {
	return Snapshot{
		Now: noon, MaxQueueAge: time.Minute,
		Queues: []Queue{{Cluster: "c", ObservedAt: noon, Demands: []Demand{{
			Cluster: "c", Job: "1", User: "ana", Nodes: 1, Count: 1, Shape: Shape{CPUs: 1}, Restartable: true,
			Submitted: noon.Add(-time.Hour), Eligible: noon.Add(-time.Hour), Standing: StandingHelps, TimeLimit: time.Hour,
		}}}},
		Offers: []Offer{{
			Pool: Pool{Cloud: "n", Region: "r", Zone: "z", Type: "t", Market: OnDemand}, Shape: Shape{CPUs: 4},
			Rate: Rate{Micro: Micro, Currency: "USD"}, SampledAt: noon, MaxAge: time.Hour, Available: -1,
		}},
		Budgets: []Balance{{Account: "o", Limit: Money{Micro: 1000 * Micro, Currency: "USD"}}},
	}
}

// smallTerms are such that smallWorld's job gets its machine.
func smallTerms() *Terms {
	return &Terms{Burst: true, Class: P1, Account: "o/t/p", Markets: []Market{OnDemand}, Most: 9, Least: 1, Life: 8 * time.Hour, Idle: time.Minute}
}
