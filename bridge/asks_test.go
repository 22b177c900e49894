package bridge

import (
	"testing"
	"time"
)

// TestDeciderSeesAnAttributeEnd holds that a Decider which remembers sees that the
// hours of an attribute run out, whether something else changed or not.
func TestDeciderSeesAnAttributeEnd(t *testing.T) {
	for name, changes := range map[string]bool{"nothing else changes": false, "another job comes": true} {
		t.Run(name, func(t *testing.T) {
			s := smallWorld()
			s.Offers[0].Attributes = []Attribute{{Name: "iso27001", Until: noon.Add(2*time.Hour + time.Second)}}
			terms := smallTerms()
			terms.Attributes = []string{"iso27001"}
			s.Queues[0].Demands[0].TimeLimit = 2 * time.Hour
			d := NewDecider(always{terms})
			if p := d.Decide(&s); len(p.Rent) != 1 || p.Rent[0].Life != 2*time.Hour {
				t.Fatalf("at first: %+v", p)
			}
			n := *copySnapshot(&s)
			n.Now = noon.Add(2 * time.Second)
			n.Queues[0].ObservedAt = n.Now
			if changes {
				job := n.Queues[0].Demands[0]
				job.Job = "2"
				n.Queues[0].Demands = append(n.Queues[0].Demands, job)
			}
			p := d.Decide(&n)
			if len(p.Rent) != 0 || p.Verdicts[0].Why != ReasonLacks || p.Verdicts[0].Kind != Never {
				t.Errorf("with less than the job needs left: %+v", p)
			}
		})
	}
}

// TestDeciderSeesADeadlineComeNear holds the same of a deadline that leaves no
// time for a slow delivery any more: the fast one is taken, then none.
func TestDeciderSeesADeadlineComeNear(t *testing.T) {
	s := smallWorld()
	slow := s.Offers[0]
	slow.Pool.Cloud, slow.Rate.Micro, slow.Boot = "desk", Micro/2, 20*time.Minute
	s.Offers = append(s.Offers, slow)
	s.Queues[0].Demands[0].Deadline = noon.Add(time.Hour + 20*time.Minute)
	d := NewDecider(always{smallTerms()})
	for _, look := range []struct {
		after time.Duration
		cloud string // empty: nothing is bought
	}{{0, "desk"}, {time.Second, "n"}, {20 * time.Minute, "n"}, {20*time.Minute + 1, ""}} {
		n := *copySnapshot(&s)
		n.Now = noon.Add(look.after)
		n.Queues[0].ObservedAt = n.Now
		for i := range n.Offers {
			n.Offers[i].SampledAt = n.Now
		}
		p := d.Decide(&n)
		switch {
		case look.cloud == "" && (len(p.Rent) != 0 || p.Verdicts[0].Why != ReasonDeadline):
			t.Errorf("%s later, nothing comes in time: %+v", look.after, p)
		case look.cloud != "" && (len(p.Rent) != 1 || p.Rent[0].Offer.Pool.Cloud != look.cloud):
			t.Errorf("%s later, want a machine of %s: %+v", look.after, look.cloud, p)
		}
	}
	n := *copySnapshot(&s)
	n.Now = noon.Add(time.Minute)
	n.Queues[0].ObservedAt, n.Offers[0].Available = n.Now, 0
	if v := d.Decide(&n).Verdicts[0]; v.Kind != Wait || v.Why != ReasonPoolsDown {
		t.Errorf("with the fast one sold out: %+v", v)
	}
	n.Offers = n.Offers[:1]
	n.Offers[0] = slow
	fast := slow
	fast.Boot, fast.Shape = time.Minute, Shape{} // it fits nothing
	n.Offers = append(n.Offers, fast)
	if v := d.Decide(&n).Verdicts[0]; v.Kind != Never || v.Why != ReasonLate {
		t.Errorf("with the slow one alone: %+v", v)
	}
}

// TestDemandsThatAskForDifferentThings holds that what one rule asks of providers
// is not taken for what another one does.
func TestDemandsThatAskForDifferentThings(t *testing.T) {
	s := smallWorld()
	second := s.Offers[0]
	second.Pool.Cloud, second.Rate.Micro, second.Network = "m", 2*Micro, NetworkRDMA
	second.Attributes = []Attribute{{Name: "iso27001"}}
	s.Offers = append(s.Offers, second)
	policy := spoken{}
	for account, change := range map[string]func(*Terms){
		"plain": func(*Terms) {}, "licensed": func(t *Terms) { t.Attributes = []string{"iso27001"} },
		"fast": func(t *Terms) { t.Network = NetworkFast }, "both": func(t *Terms) { t.Attributes, t.Network = []string{"iso27001"}, NetworkVast },
		"more": func(t *Terms) { t.Attributes = []string{"iso27001", "data-cn"} },
	} {
		terms := smallTerms()
		change(terms)
		policy[account] = terms
	}
	job := s.Queues[0].Demands[0]
	s.Queues[0].Demands = nil
	for _, account := range []string{"plain", "licensed", "fast", "both", "more"} {
		job.Job, job.Account = JobID(account), account
		s.Queues[0].Demands = append(s.Queues[0].Demands, job)
	}
	p := Decide(&s, policy)
	want := map[JobID]string{"plain": "n", "licensed": "m", "fast": "m", "both": "m", "more": ""}
	for i := range p.Verdicts {
		v := &p.Verdicts[i]
		got := ""
		if v.Order > 0 {
			got = p.Rent[v.Order-1].Offer.Pool.Cloud
		}
		if got != want[v.Job] {
			t.Errorf("%s gets a machine of %q, want %q: %+v", v.Job, got, want[v.Job], v)
		}
	}
}

// TestRentedMachineSuitsWhoIsLetOntoIt holds that an idle machine whose provider
// lacks what a rule asks for is not used for it.
func TestRentedMachineSuitsWhoIsLetOntoIt(t *testing.T) {
	for name, c := range map[string]struct {
		has    []Attribute
		listed bool
		routed bool
	}{
		"it has it":                    {[]Attribute{{Name: "iso27001"}}, true, true},
		"it has it until the end":      {[]Attribute{{Name: "iso27001", Until: noon.Add(8 * time.Hour)}}, true, true},
		"it ends before the rental":    {[]Attribute{{Name: "iso27001", Until: noon.Add(8*time.Hour - 1)}}, true, false},
		"it lacks it":                  {nil, true, false},
		"nobody knows: not listed now": {[]Attribute{{Name: "iso27001"}}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := smallWorld()
			s.Offers[0].Attributes = c.has
			r := Rental{
				ID: "r-0013", State: StateAdmitted, Since: noon.Add(-time.Hour), Cluster: "c", Account: "o/t/p/ana", Requester: "ana", Gang: 1, Count: 1,
				Pool: s.Offers[0].Pool, Shape: s.Offers[0].Shape, MaxRate: s.Offers[0].Rate, Idle: time.Hour, Expires: noon.Add(8 * time.Hour),
				Machines: []Machine{{Node: NodeName("r-0013", 0), State: MachineJoined}},
			}
			s.Rentals = []Rental{r}
			s.Queues[0].Nodes = []Node{{Name: r.Machines[0].Node, Usable: true, Dynamic: true, Shape: r.Shape, Free: r.Shape}}
			if !c.listed {
				s.Offers = nil
			}
			terms := smallTerms()
			terms.Attributes = []string{"iso27001"}
			if p := Decide(&s, always{terms}); len(p.Route) == 1 != c.routed {
				t.Errorf("routed: %+v, want %t", p.Route, c.routed)
			}
		})
	}
}
