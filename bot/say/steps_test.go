package say

import (
	"time"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// estimated is what the scheduler says of the job that waits.
func estimated(in time.Duration) step {
	return func(w *world, _ desk.Lang) []talk.Effect {
		w.estimate = w.now.Add(in)
		return nil
	}
}

// reported is what the agents of all machines say.
func reported(r bridge.Report) step {
	return func(w *world, _ desk.Lang) []talk.Effect {
		w.reports = map[string]bridge.Report{"i-0f3": r}
		return nil
	}
}

// idled is the latest rental after a while without a job.
func idled(d time.Duration) step {
	return func(w *world, _ desk.Lang) []talk.Effect {
		r := w.latest()
		r.IdleSince, r.Running = w.now.Add(-d), nil
		w.must(w.store.Save(w.t.Context(), r))
		return nil
	}
}

// joining are the machines of the latest rental while they get ready.
func joining(w *world, _ desk.Lang) []talk.Effect {
	w.reports = nil
	r := w.latest()
	r.State, r.Since = bridge.StateJoining, w.now
	for i := range r.Machines {
		r.Machines[i].ID, r.Machines[i].State, r.Machines[i].Started = "i-0f3", bridge.MachineCreated, w.now
	}
	w.must(w.store.Save(w.t.Context(), r))
	return nil
}

// onSingles puts machines of one GPU on offer.
func onSingles(w *world, _ desk.Lang) []talk.Effect {
	w.offers = append(w.offers, offer("us-east-1", "p5.4xlarge", 1, "h100", bridge.OnDemand, 399))
	return nil
}

// instead presses the button under the first no.
func instead(who string) step {
	return func(w *world, l desk.Lang) []talk.Effect {
		for _, e := range w.tell(0) {
			for _, b := range e.Message.Blocks {
				if a, ok := b.(*slack.ActionBlock); ok && w.less == nil && e.Surface == talk.Direct && e.Account == "ana" {
					w.less = a.Elements.ElementSet[0].(*slack.ButtonBlockElement)
				}
			}
		}
		if w.less == nil {
			w.t.Fatal("there is no such button")
		}
		return w.hear(who, l, talk.Interaction{Kind: talk.Action, Action: w.less.ActionID, Value: w.less.Value})
	}
}
