package card_test

import (
	"testing"
	"time"

	"spillway.sh/spillway/bot/card"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// further are the messages about the local queue, what machines say, and less
// of what was denied, by name.
func further(p card.Pen) map[string]talk.Message {
	starts := &desk.Local{Cluster: "main", Source: desk.FromScheduler, At: noon, Job: "48211", Start: noon.Add(11 * time.Hour), Waiting: 12, Oldest: 4 * 3600}
	waits, free := *starts, *starts
	waits.Source, free.Source, free.Waiting = desk.FromQueue, desk.FromQueue, 0
	out := map[string]talk.Message{"help-all": p.Help("all")}
	q := question(p.Lang)
	q.Local, q.Rental.Until = starts, noon.Add(6*time.Hour)
	out["approval-queue"] = p.Approval(&q, noon)
	for name, l := range map[string]*desk.Local{"starts": starts, "waits": &waits, "free": &free} {
		a := quotes(p.Lang)
		a.Offers, a.Local = a.Offers[:1], l
		out["quotes-queue-"+name] = p.Quotes("q-19c", a, 10*time.Minute)
	}
	out["rental-machines"], out["rental-joining"] = p.Rental(&desk.RentalAnswer{Rental: reporting(bridge.StateAdmitted)}, noon.Add(time.Hour)),
		p.Rental(&desk.RentalAnswer{Rental: reporting(bridge.StateJoining)}, noon.Add(time.Minute))
	less := &desk.Smaller{Size: 2, Words: "2xh100 for 6h project nlp", Offer: desk.Quoted{
		Pool: bridge.Pool{Cloud: "stratus", Region: "us-east", Zone: "us-east-1a", Type: "gpu2", Market: bridge.OnDemand}, Machines: 1,
		Shape: bridge.Shape{CPUs: 16, GPUs: 2, GPUType: "h100"}, Expected: usd(49.88), AtMost: usd(49.88), Outcome: desk.AtOnce,
	}}
	denied := rental(bridge.StateClosed)
	m := card.Quote("r-0013")
	m.Blocks = append(m.Blocks, p.Instead(&denied, less)...)
	out["denied-instead"] = m
	return out
}

// reporting is a rental with machines whose agents say all they may.
func reporting(s bridge.State) desk.Rental {
	r := rental(s)
	first := r.Machines[0]
	r.Count, r.Machines = 5, nil
	for i, say := range []*bridge.Report{
		{Health: bridge.HealthFit, Busy: true, GPUPM: 912},
		{Health: bridge.HealthFit, GPUPM: -1},
		nil,
		{
			Health: bridge.HealthChecking, GPUPM: -1, Checks: []bridge.Check{{Name: "fabric", Got: "down"}, {Name: "gpus", OK: true, Got: "8"}},
			Stages: []bridge.Stage{{Name: "prepare", OK: true, Took: 40 * time.Second}, {Name: "10-dataset", Took: 95 * time.Second}},
		},
		{Health: bridge.HealthUnfit, GPUPM: -1, Checks: []bridge.Check{{Name: "gpus", Got: "7", Want: "8"}}},
	} {
		m := first
		m.Node, m.ID, m.Report = bridge.NodeName(r.ID, i), "i-"+string(rune('1'+i)), say
		r.Machines = append(r.Machines, m)
	}
	return r
}

// What a button for less says comes back whole, and from no other button.
func TestLessIsReadBackFromItsButtonAlone(t *testing.T) {
	v, err := card.OpenAs(key, card.Seal(key, "r-0013 2 USD", 49_880_000, card.Instead), card.Instead)
	if err != nil {
		t.Fatal(err)
	}
	if id, n, most, ok := v.Less(); !ok || id != "r-0013" || n != 2 || most != usd(49.88) {
		t.Errorf("got %s, %d, %s, %t", id, n, most, ok)
	}
	for _, bad := range []card.Value{
		{ID: "r-0013 2 USD", Revision: 49_880_000, Verb: card.Rent},
		{ID: "r-0013", Revision: 1, Verb: card.Instead},
		{ID: "r-0013 0 USD", Revision: 1, Verb: card.Instead},
		{ID: "r-0013 x USD", Revision: 1, Verb: card.Instead},
		{ID: "r-0013 2 USD", Verb: card.Instead},
	} {
		if _, _, _, ok := bad.Less(); ok {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// Machines that are gone, or not made yet, say nothing; many are cut.
func TestManyMachinesAreCutAndGoneOnesLeftOut(t *testing.T) {
	r := reporting(bridge.StateAdmitted)
	for i := range r.Machines {
		r.Machines[i].State = bridge.MachineGone
	}
	p := pen(desk.English)
	if got := p.Rental(&desk.RentalAnswer{Rental: r}, noon); len(got.Blocks) != len(p.Grant(&r, noon).Blocks) {
		t.Error("machines that are gone say something")
	}
	r.Machines = nil
	for range 64 {
		r.Machines = append(r.Machines, desk.Machine{Node: "sw-0013-0", State: bridge.MachineJoined, Report: &bridge.Report{Health: bridge.HealthChecking, Checks: make([]bridge.Check, 64)}})
	}
	if err := card.Validate(p.Rental(&desk.RentalAnswer{Rental: r}, noon)); err != nil {
		t.Error(err)
	}
}
