package say

import (
	"fmt"
	"slices"
	"time"

	"spillway.sh/spillway/bot/card"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/store"
)

func usd(units float64) bridge.Money {
	return bridge.Money{Micro: int64(units * bridge.Micro), Currency: "USD"}
}

// happened puts news into the record and tells them, together.
func happened(news ...bridge.News) step {
	return func(w *world, _ desk.Lang) []talk.Effect {
		w.t.Helper()
		mark := w.mark()
		for i := range news {
			if news[i].At.IsZero() {
				news[i].At = w.now
			}
		}
		if err := w.store.Tell(w.t.Context(), news...); err != nil {
			w.t.Fatal(err)
		}
		return w.tell(mark)
	}
}

// ofLatest is happened with the rental made last.
func ofLatest(n bridge.News) step {
	return func(w *world, l desk.Lang) []talk.Effect {
		n.Rental = w.latest().ID
		return happened(n)(w, l)
	}
}

func alert(m bridge.Measure, percent int, amount float64, hard bool) bridge.News {
	return bridge.News{Kind: bridge.NewsAlert, Alert: &bridge.Alert{
		Scope: bridge.Scope{Account: "site/ai/nlp"}, Every: bridge.Month, Period: "2026-11", Measure: m, Percent: percent, Amount: usd(amount), Limit: usd(500), Hard: hard,
	}}
}

// ofMoney is what is told of money and of time without anybody asking.
func ofMoney() []scenery {
	narrow := alert(bridge.OfPosted, 80, 431.02, true)
	narrow.Alert.Scope = bridge.Scope{Account: "site", Cloud: "stratus", GPU: "h100"}
	narrow.Alert.Every, narrow.Alert.Period = bridge.Week, "2026-W48"
	return []scenery{
		{"28 a budget fills up", []step{
			happened(alert(bridge.OfPosted, 50, 250, false)), happened(alert(bridge.OfHeld, 80, 438.60, false)), happened(alert(bridge.OfPosted, 100, 500, false)),
			happened(alert(bridge.OfHeld, 100, 512.01, true)), happened(alert(bridge.OfForecast, 100, 640, true)), happened(narrow), budgetPressed("ana"),
		}},
		{"29 a period ends, and bills come late", []step{
			happened(bridge.News{Kind: bridge.NewsPeriod, Cost: usd(512.01), Alert: &bridge.Alert{Scope: bridge.Scope{Account: "site/ai/nlp"}, Every: bridge.Month, Period: "2026-10", Limit: usd(500)}}),
			billed(usd(1.25)), billed(usd(-0.40), usd(0.15)),
		}},
		{"30 a rental without a job", scene(small, []step{
			later(time.Hour), idled(14 * time.Minute), ofLatest(bridge.News{Kind: bridge.NewsIdle, Who: "ana"}),
			onCard("ben", card.KeepOn), onCard("ana", card.KeepOn), later(20 * time.Second), onCard("ana", card.KeepOn), of("ana", "/rent keep ID 90m"), onCard("ana", card.KeepOn),
			of("ana", "/rent keep ID"), of("ana", "/rent keep ID 9h"), later(time.Minute), busy, ofLatest(bridge.News{Kind: bridge.NewsStarted, Job: "48211"}),
			later(time.Hour), idled(21 * time.Minute), ofLatest(bridge.News{Kind: bridge.NewsIdle, Who: "ana"}), onCard("ana", card.Release), told,
			onCard("ana", card.KeepOn), onCard("ana", card.Release),
		})},
		{"31 a rental of nobody", scene(small, []step{ofNobody, idled(14 * time.Minute), ofLatest(bridge.News{Kind: bridge.NewsIdle}), onCard("tom", card.KeepOn), onCard("mei", card.KeepOn), onCard("mei", card.Release)})},
		{"31b some machines without a job", []step{quiet(said("ana", "/rent 4xl40s for 3h project nlp")), started, later(time.Hour), idledPart, ofLatest(bridge.News{Kind: bridge.NewsIdle, Who: "ana"})}},
		{"32 the daily line", scene(small, []step{idled(14 * time.Minute), happened(daily("2026-11-29")), onThe(23), happened(daily("2026-11-22")), onThe(20), happened(daily("2026-11-19"))})},
		{"33 the weekly report", []step{happened(bridge.News{Kind: bridge.NewsWeekly, Text: "2026-W47"})}},
		{"34 a report on demand", []step{
			first(2, said("ana", "/rent report week nlp 2026-W47")), first(2, said("ana", "/rent report week")), first(1, said("mei", "/rent report week 2026-W47")), said("ben", "/rent report week vision"),
		}},
	}
}

// onCard presses a button of the card of the latest time without a job.
func onCard(who string, verb card.Verb) step {
	return func(w *world, l desk.Lang) []talk.Effect {
		w.t.Helper()
		r := w.latest()
		news, err := w.store.News(w.t.Context(), store.NewsFilter{Rental: r.ID, Limit: 100})
		if err != nil {
			w.t.Fatal(err)
		}
		key := ""
		for i := range news {
			if news[i].Kind == bridge.NewsIdle {
				key = idleKey(&news[i])
			}
		}
		return w.hear(who, l, talk.Interaction{Kind: talk.Action, Action: string(verb), Value: card.Seal(w.counter.Key, string(r.ID), r.Version, verb), Card: key})
	}
}

// idledPart is the latest rental with a job on one machine and none on the other.
func idledPart(w *world, _ desk.Lang) []talk.Effect {
	r := w.latest()
	r.Running, r.IdleSince, r.Gang = []bridge.JobID{"48211"}, time.Time{}, 1
	r.Machines[0].IdleSince, r.Machines[0].IdleTold = w.now.Add(-21*time.Minute), w.now
	w.must(w.store.Save(w.t.Context(), r))
	return nil
}

// first are the first things that a step shows.
func first(n int, s step) step {
	return func(w *world, l desk.Lang) []talk.Effect { return s(w, l)[:n] }
}

func daily(date string) bridge.News { return bridge.News{Kind: bridge.NewsDaily, Text: date} }

// onThe goes back to a day of November, in the morning.
func onThe(day int) step {
	return func(w *world, _ desk.Lang) []talk.Effect {
		w.now = time.Date(2026, 11, day, 13, 0, 0, 0, time.UTC)
		return nil
	}
}

// budgetPressed presses the button of an alert.
func budgetPressed(who string) step {
	return func(w *world, l desk.Lang) []talk.Effect { return w.press(who, l, card.Budget, "site/ai/nlp", 0) }
}

// billed corrects the costs of the rentals that settled last, one by each amount.
func billed(by ...bridge.Money) step {
	return func(w *world, _ desk.Lang) []talk.Effect {
		w.t.Helper()
		mark := w.mark()
		rs, err := w.store.Recent(w.t.Context(), 20)
		if err != nil {
			w.t.Fatal(err)
		}
		rs = slices.DeleteFunc(rs, func(r bridge.Rental) bool { return r.State != bridge.StateSettled })
		var cs []bridge.Correction
		var news []bridge.News
		for i, m := range by {
			key := fmt.Sprintf("INV-%d-%d", len(by), i)
			cs = append(cs, bridge.Correction{Key: key, Rental: rs[i].ID, Kind: bridge.ByBill, Amount: m, Used: rs[i].Created, Who: "root"})
			news = append(news, bridge.News{At: w.now.Add(time.Duration(i) * time.Millisecond), Kind: bridge.NewsCorrected, Rental: rs[i].ID, Who: "root", Cost: m, Text: "was so much"})
		}
		if n, err := w.store.Correct(w.t.Context(), cs, news...); err != nil || n != len(by) {
			w.t.Fatal(n, err)
		}
		return w.tell(mark)
	}
}

// busy has a job start on the latest rental.
func busy(w *world, _ desk.Lang) []talk.Effect {
	r := w.latest()
	r.IdleSince, r.Running = time.Time{}, []bridge.JobID{"48211"}
	w.must(w.store.Save(w.t.Context(), r))
	return nil
}

// ofNobody makes the latest rental one that nobody asked for.
func ofNobody(w *world, _ desk.Lang) []talk.Effect {
	r := w.latest()
	r.Requester, r.Unowned = "", 15*time.Minute
	w.must(w.store.Save(w.t.Context(), r))
	return nil
}
