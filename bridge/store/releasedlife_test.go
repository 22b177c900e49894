package store_test

import (
	"fmt"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/store"
)

// writer plays what a site does with its store.
type writer struct {
	t     *testing.T
	s     *store.Store
	clock *hands
	n     int
}

// live leaves a store with rentals in every state, and something of all else
// that stores keep.
func live(t *testing.T, s *store.Store, clock *hands) {
	t.Helper()
	w := &writer{t, s, clock, 0}
	w.people()
	over := w.launched("over", 1)
	over = w.to(over, bridge.StateJoining, bridge.StateAdmitted)
	over.Cost = usd(5)
	over = w.is(s.Post(t.Context(), over, w.news(bridge.NewsWarning, &over)))
	over.State, over.Cost = bridge.StateReleasing, usd(5)
	over = w.is(s.Save(t.Context(), over, w.news(bridge.NewsReleasing, &over)))
	clock.add(10 * time.Minute)
	over.State, over.Cost = bridge.StateSettled, usd(6)
	over.Machines[0].State, over.Machines[0].Stopped = bridge.MachineGone, clock.now()
	over = w.is(s.Settle(t.Context(), over, w.news(bridge.NewsSettled, &over)))
	w.accounts(over)

	w.to(w.launched("joins", 2), bridge.StateJoining)
	works := w.to(w.launched("works", 2), bridge.StateJoining, bridge.StateAdmitted)
	works.Cost, works.Running = usd(1.5), []bridge.JobID{"works"}
	works = w.is(s.Post(t.Context(), works, w.news(bridge.NewsStarted, &works)))
	works.Expires = works.Expires.Add(time.Hour)
	w.is(s.Extend(t.Context(), works, usd(8), releasedBudgets()[:1], w.news(bridge.NewsExtended, &works)))
	for _, id := range []string{works.Machines[0].ID, works.Machines[1].ID} {
		w.ok(s.ClaimEnrolment(t.Context(), works.ID, id, "10.0.0.1"))
	}
	leaves := w.to(w.launched("leaves", 1), bridge.StateJoining, bridge.StateAdmitted)
	leaves.Running = []bridge.JobID{"leaves"}
	w.to(leaves, bridge.StateDraining)
	w.to(w.launched("ends", 1), bridge.StateJoining, bridge.StateAdmitted, bridge.StateDraining, bridge.StateReleasing)
	w.launched("sent", 0)
	w.marks()
	w.t.Logf("the last write is %s before the end", eve.Sub(w.clock.now()))
}

func (w *writer) is(r bridge.Rental, err error) bridge.Rental { w.t.Helper(); w.ok(err); return r }

func (w *writer) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *writer) news(kind bridge.NewsKind, r *bridge.Rental) bridge.News {
	return bridge.News{At: w.clock.now(), Kind: kind, Cluster: r.Cluster, Rental: r.ID, Pool: &r.Pool, Cost: r.Cost, Job: r.Jobs[0]}
}

// draw is a rental for a job, as an engine makes it.
func (w *writer) draw(job bridge.JobID, machines int) bridge.Rental {
	w.t.Helper()
	w.clock.add(5 * time.Minute)
	id := must[bridge.RentalID](w.t)(w.s.NextID(w.t.Context()))
	rate := bridge.Rate{Micro: 8 * bridge.Micro, Currency: "USD"}
	o := bridge.Order{
		Cluster: "c1", Account: "org/team/proj/ann", Requester: "ann", Class: bridge.P1, Jobs: []bridge.JobID{job}, Origin: "gpu",
		Gang: max(machines, 1), Count: max(machines, 1), MaxRate: rate, Life: 6 * time.Hour, Idle: 20 * time.Minute,
		Offer: bridge.Offer{
			Pool:  bridge.Pool{Cloud: "a", Region: "r1", Zone: "z1", Type: "g8", Market: bridge.OnDemand},
			Shape: bridge.Shape{CPUs: 8, MemoryMiB: 64000, GPUs: 8, GPUType: "a100"}, Rate: rate, Step: time.Second, Minimum: time.Minute,
		},
	}
	hold, err := o.Offer.Billing().Worst(rate, o.Life, o.Count)
	w.ok(err)
	o.Hold = hold
	return bridge.Draw(id, &o, w.clock.now())
}

// launched is a held rental with a frozen create call and so many machines; zero: one
// that nobody has seen yet.
func (w *writer) launched(job bridge.JobID, machines int) bridge.Rental {
	w.t.Helper()
	r := w.draw(job, machines)
	if job == "over" {
		r.Hold = usd(4)
	}
	r.Expires = r.EndFrom(w.clock.now())
	r.Launch = bridge.Launch{
		Rental: r.ID, Attempt: 1, Pool: r.Pool, Count: r.Count, MaxRate: r.MaxRate, Expires: r.Expires, UserData: "#!/bin/sh\n",
		Tags: bridge.Tags(&r, w.s.StoreID(), w.s.Epoch()),
	}
	r.Launch.Token = bridge.Token(w.s.StoreID(), r.Launch)
	r = w.is(w.s.Reserve(w.t.Context(), r, releasedBudgets()[:1], w.news(bridge.NewsReserved, &r)))
	if machines == 0 {
		return r
	}
	for i := range r.Machines {
		m := &r.Machines[i]
		w.n++
		m.State, m.ID, m.Started, m.Address = bridge.MachineCreated, fmt.Sprintf("a-%03d", 900+w.n), w.clock.now(), fmt.Sprintf("10.0.0.%d", i+1)
	}
	r.Handle = bridge.Handle("op-" + r.Launch.Token[:8])
	return w.is(w.s.Save(w.t.Context(), r, w.news(bridge.NewsCreated, &r)))
}

// to takes a rental through states.
func (w *writer) to(r bridge.Rental, states ...bridge.State) bridge.Rental {
	w.t.Helper()
	kinds := map[bridge.State]bridge.NewsKind{bridge.StateAdmitted: bridge.NewsAdmitted, bridge.StateDraining: bridge.NewsDraining, bridge.StateReleasing: bridge.NewsReleasing}
	for _, st := range states {
		r.State, r.Since = st, w.clock.now()
		for i := range r.Machines {
			m := &r.Machines[i]
			switch st {
			case bridge.StateAdmitted:
				m.State, m.Joined = bridge.MachineJoined, w.clock.now()
			case bridge.StateReleasing:
				m.State = bridge.MachineReleasing
			}
		}
		var told []bridge.News
		if k := kinds[st]; k != "" {
			told = append(told, w.news(k, &r))
		}
		r = w.is(w.s.Save(w.t.Context(), r, told...))
		w.clock.add(30 * time.Second)
	}
	return r
}

// people ask, answer and are told.
func (w *writer) people() {
	w.t.Helper()
	ctx, s := w.t.Context(), w.s
	ask := func(job bridge.JobID) bridge.Rental {
		r := w.draw(job, 1)
		r.State, r.AskUntil, r.Why = bridge.StateWaiting, w.clock.now().Add(24*time.Hour), bridge.ReasonAskAbove
		return w.is(s.Propose(ctx, r, w.news(bridge.NewsAsked, &r)))
	}
	ask("asks")
	denied := ask("denied")
	denied.State = bridge.StateClosed
	w.is(s.Save(ctx, denied, w.news(bridge.NewsDenied, &denied)))
	yes := ask("approved")
	yes.State, yes.Since = bridge.StateLaunching, w.clock.now()
	d := bridge.Decision{Rental: yes.ID, Version: yes.Version, Digest: yes.Digest, Yes: true, Who: "bea", At: w.clock.now()}
	w.is(s.Approve(ctx, d, yes, releasedBudgets(), w.news(bridge.NewsApproved, &yes)))
	_, err := s.Knock(ctx, []bridge.Knock{{Key: "k1", At: w.clock.now(), Body: []byte(`{"a":1}`)}, {Key: "k2", At: w.clock.now(), Body: []byte(`{"b":2}`)}})
	w.ok(err)
	_, err = s.Answer(ctx, "k1", []bridge.Parcel{{Surface: "slack", Key: "rental/1", Target: "C1", Body: []byte(`{}`), Made: w.clock.now()}})
	w.ok(err)
	w.ok(s.Show(ctx, bridge.Copy{Key: "rental/1", Channel: "C1", TS: "1.2", Target: "C1", Hash: "h", At: w.clock.now()}))
	w.ok(s.Told(ctx, 2, nil))
	_, err = s.TellOnce(ctx, bridge.Once{Name: "budget/org/50", News: bridge.News{At: w.clock.now(), Kind: bridge.NewsAlert, Text: "half"}})
	w.ok(err)
}

// accounts are bills, corrections and use.
func (w *writer) accounts(settled bridge.Rental) {
	w.t.Helper()
	ctx, at := w.t.Context(), w.clock.now()
	_, _, err := w.s.SaveBill(ctx, []bridge.BillLine{
		{Cloud: "a", Invoice: "1", Key: "1/1", Machine: settled.Machines[0].ID, Rental: settled.ID, From: at.Add(-time.Hour), To: at, Kind: "usage", Amount: usd(7)},
	})
	w.ok(err)
	_, err = w.s.Correct(ctx, []bridge.Correction{
		{Key: "1/1", Rental: settled.ID, Kind: bridge.ByBill, Amount: usd(1), Used: at.Add(-time.Minute), Who: "root", Memo: "invoice 1"},
	}, bridge.News{At: at, Kind: bridge.NewsCorrected, Rental: settled.ID})
	w.ok(err)
	w.ok(w.s.AddUsage(ctx, bridge.Usage{Hour: at.Truncate(time.Hour), Cluster: "c1", GPU: "a100", Seconds: 3600, Owned: 28800, OwnedBusy: 20000, Rented: 3000, RentedBusy: 2000}))
}

// marks are what an engine remembers.
func (w *writer) marks() {
	w.t.Helper()
	at := w.clock.now()
	w.ok(w.s.SaveMarks(w.t.Context(), bridge.Marks{
		Pools:     []bridge.PoolHealth{{Pool: bridge.Pool{Cloud: "b", Region: "r1", Zone: "z1", Type: "g8", Market: bridge.OnDemand}, DownUntil: at.Add(time.Minute), Failures: 2, Code: "Full"}},
		Answers:   []bridge.Answer{{Jobs: []bridge.JobID{"denied"}, Why: bridge.ReasonDenied, Until: at.Add(time.Hour)}},
		Reclaims:  map[string]map[bridge.JobID]int{"c1": {"works": 1}},
		Suspects:  map[string]bridge.Suspect{"a/a-999": {First: at, Last: at, Lists: 1}},
		Failures:  []time.Time{at},
		HighWater: at,
	}, bridge.News{At: at, Kind: bridge.NewsThawed, Text: "the breaker has cooled down"}))
}
