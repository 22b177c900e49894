package invariant

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/ledger"
)

// A sound tale comes as close to a broken one as is allowed. Nothing at all may
// be found in it.
var sound = map[string]map[string]func(*tale){
	"I1": {
		"a stranger that is young": func(l *tale) {
			l.cut(runs)
			l.stray(runs, "i-9", "")
		},
		"a stranger while nobody can be asked what runs on it": func(l *tale) {
			l.cut(finished)
			l.stray(created, "i-9", "")
			for m := admitted; m <= finished; m++ {
				l.method(m, "Observe").Err = errors.New("no answer")
			}
		},
		"another store's machine is left alone": func(l *tale) { l.stray(created, "i-8", "theirs") },
	},
	"I2": {
		"a retry is the same call": func(l *tale) {
			again := *l.method(sent, "Create").Launch
			l.add(created, Call{Port: "Cloud", Of: "nimbus", Method: "Create", Launch: &again, Rental: id})
		},
	},
	"I3": {"as many as policy allows": func(l *tale) { l.rules.Most = 1 }},
	"I4": {
		"the intent is stored in the very moment": func(l *tale) { l.method(sent, "Create").Begun = l.method(reserved, "Reserve").Ended },
		"the boss has said yes":                   func(l *tale) { l.asked() },
	},
	"I5": {
		"a machine ends sooner than what is held": func(l *tale) {
			l.from(sent, func(s *Sight) { s.Machines[0].Expires = s.Rentals[0].Expires.Add(-time.Hour) })
		},
		"a machine is just being ended at its end": func(l *tale) {
			l.from(sent, func(s *Sight) { s.Machines[0].Expires = at(draining) })
		},
	},
	"I6": {
		"a machine that never ran": func(l *tale) {
			l.from(releasing, func(s *Sight) { s.Machines[0].State = wire.StateError })
		},
		"many lists came after the one it was settled by": func(l *tale) {
			last := *l.method(settled, "List")
			for range 20 {
				last.Begun, last.Ended = last.Begun.Add(time.Millisecond), last.Ended.Add(time.Millisecond)
				l.sights[settled].Calls = append(l.sights[settled].Calls, last)
			}
		},
	},
	"I7": {"somebody else's machine is left alone": func(l *tale) {
		l.stray(created, "i-8", "")
		l.from(created, func(s *Sight) { s.Machines[1].Untouched, s.Machines[1].Tags = true, nil })
	}},
	"I8": {
		"a list had shown the end of what seems to live": func(l *tale) {
			l.method(admitted, "List").Listing.Instances[0].State = bridge.InstanceGone
			l.cut(runs)
			r := l.rental(runs)
			r.Version, r.Machines[0].State = r.Version+1, bridge.MachineGone
		},
		"a person wanted it back, whatever the queue looks like": func(l *tale) {
			l.sights[draining].News[0].Who, l.sights[draining].News[0].Why = "ann", bridge.ReasonAskedRelease
			l.sights[releasing].News[0].Why = bridge.ReasonAskedRelease
			for m := runs; m < moments; m++ {
				l.method(m, "Observe").Err = errors.New("no answer")
			}
		},
	},
	"I9": {"nothing is written at all": func(l *tale) { l.cut(waits) }},
	"I10": {
		"somebody allowed it by name": func(l *tale) {
			for i := range l.sights[reserved:] {
				s := &l.sights[reserved+i]
				s.Balances = slices.Clone(s.Balances)
				s.Balances[0].Limit = usd(9)
			}
			l.rules.Budgets = []bridge.Budget{{Account: "acme", Every: bridge.Month, Limit: usd(9)}}
			l.allow("boss")
		},
		"it just fits": func(l *tale) {
			l.from(reserved, func(s *Sight) { s.Balances = []bridge.Balance{s.Balances[0]}; s.Balances[0].Limit = usd(10) })
		},
	},
	"I11": {"a question holds nothing": func(l *tale) { l.asked() }},
	"I12": {
		"more is posted than was held, and people were told": func(l *tale) {
			l.sights[settled].Ledger = nil
			l.cut(settled)
			l.overrun()
		},
		"nobody can say, for the bridge's clock was wrong": func(l *tale) {
			l.cut(settled)
			l.sights[runs].Bridge.Now = at(runs).Add(time.Hour)
			l.sights[settled].Machines[0].Stopped = at(gone)
		},
	},
	"I13": {"the ledger is not shown": func(l *tale) { l.from(quiet, func(s *Sight) { s.Ledger = nil }) }},
	"I14": {
		"its owner cancelled it": func(l *tale) {
			l.from(finished, func(s *Sight) {
				s.Jobs[0].State, s.Jobs[0].Cancelled, s.Jobs[0].Starts[0].Why = "CANCELLED", true, "cancelled"
			})
		},
		"it used up its limit": func(l *tale) {
			l.from(finished, func(s *Sight) {
				s.Jobs[0].State, s.Jobs[0].Starts[0].Why, s.Jobs[0].Limit = "TIMEOUT", "timeout", time.Minute
			})
		},
		"it failed by itself": func(l *tale) {
			l.from(finished, func(s *Sight) { s.Jobs[0].State, s.Jobs[0].Starts[0].Why = "FAILED", "failed" })
		},
		"its provider took its machine": func(l *tale) {
			l.torn("node-fail")
			l.from(runs, func(s *Sight) { s.Machines[0].NoticeAt = at(runs) })
		},
		"the scheduler has forgotten it": func(l *tale) { l.from(finished, func(s *Sight) { s.Jobs[0].State = "LOST" }) },
	},
	"I15": {
		"it was requeued, and runs again": func(l *tale) {
			l.from(finished, func(s *Sight) {
				s.Jobs[0].Restartable, s.Jobs[0].Restarts = true, 1
				s.Jobs[0].Starts = []Start{{At: at(runs), End: at(metered), Why: "requeued", Nodes: []string{node}}, {At: at(metered), End: at(finished), Why: "completed", Nodes: []string{"n1"}}}
			})
		},
	},
	"I16": {
		"a person wanted it back at once": func(l *tale) {
			l.torn("node-fail")
			l.sights[releasing].News[0].Who = "ann"
		},
		"its time was over": func(l *tale) {
			l.torn("node-fail")
			l.sights[releasing].News[0].Why = bridge.ReasonExpired
		},
	},
	"I17": {
		"a scheduler that does not answer was asked": func(l *tale) {
			l.without(releasing, "Dismiss")
			l.method(releasing, "Drain").Err = errors.New("no answer")
			l.sights[releasing].Nodes = []Node{{Name: node}}
		},
		"its provider took it": func(l *tale) {
			l.without(releasing, "Drain", "Dismiss")
			l.sights[releasing].Nodes = []Node{{Name: node}}
			l.from(metered, func(s *Sight) { s.Machines[0].NoticeAt = at(metered) })
		},
	},
	"I18": {
		"something was done for it": func(l *tale) {
			l.from(admitted, func(s *Sight) { s.Jobs[0].Priority = 0 })
		},
	},
	"I19": {
		"two agree, and the second decides": func(l *tale) {
			l.asked()
			l.sights[reserved].News = append([]bridge.News{{Kind: bridge.NewsAgreed, Rental: id, Who: "chief", At: at(waits), Digest: "d"}}, l.sights[reserved].News...)
		},
		"a late answer is told": func(l *tale) {
			l.asked()
			l.hears(sent, bridge.News{Kind: bridge.NewsRebuffed, Rental: id, Who: "chief"})
		},
	},
	"I20": {"who may answer answers": func(l *tale) { l.asked(); l.answer().Who = "chief" }},
	"I21": {"a yes comes in the last second": func(l *tale) {
		l.asked()
		l.rental(waits).AskUntil = at(reserved).Add(time.Second)
	}},
	"I22": {"nobody waits to hear that a cloud has accepted": func(l *tale) { l.sights[created].News = nil }},
	"I23": {
		"a write that changed nothing": func(l *tale) { l.add(created, *l.method(created, "Save")) },
		"what a call to the scheduler was about is old": func(l *tale) {
			l.add(runs, Call{Port: "Scheduler", Of: "main", Method: "Admit", Rental: id, State: bridge.StateJoining, Version: 3})
		},
	},
	"I24": {
		"the old bridge only reads": func(l *tale) {
			l.cut(runs)
			l.sights[runs].Bridge.Epoch = 2
			l.add(runs, Call{Port: "Store", Method: "Live"})
		},
		"the old bridge is refused": func(l *tale) {
			l.cut(metered)
			l.sights[runs].Bridge.Epoch = 2
			l.sights[metered].Bridge.Epoch = 2
			l.sights[metered].Calls = nil
			l.sights[metered].Rentals, l.sights[metered].Ledger, l.sights[metered].Balances = l.sights[runs].Rentals, nil, l.sights[runs].Balances
			l.add(metered, Call{Port: "Store", Method: "Post", Rental: id, Err: bridge.ErrEpoch})
		},
	},
	"I25": {"nobody can close the books, for no list is complete": func(l *tale) {
		l.open()
		l.long(40)
		for m := settled; m < len(l.sights); m++ {
			l.method(m, "List").Listing.Complete = false
		}
	}},
	"I26": {
		"a job has come": func(l *tale) {
			l.sights[latest2].Jobs = append(slices.Clone(l.sights[latest2].Jobs), Job{ID: "8", State: "PENDING", Submitted: at(latest2)})
			l.sights[latest2].Stored++
		},
		"a new life has begun": func(l *tale) {
			l.sights[latest2].Bridge.Life, l.sights[latest2].Bridge.Cycles = 2, 1
			l.sights[latest2].Stored++
		},
	},
	"I27": {"garbage is an error, and a line of the log": func(l *tale) {
		*l.method(runs, "List") = Call{Port: "Cloud", Of: "nimbus", Method: "List", Garbled: true, Err: errors.New("invalid character"), Begun: at(runs), Ended: at(runs)}
		l.sights[runs+1].Log = []byte("level=WARN msg=\"list/nimbus: invalid character\"")
	}},
	"I28": {"what only looks like a secret": func(l *tale) {
		l.sights[runs].Log = []byte("bearer of bad news; token-of-the-first-attempt is no secret; xoxb is Slack's word")
	}},
}

func TestNothingIsFoundInASoundTale(t *testing.T) {
	for n := 1; n <= 28; n++ {
		id := fmt.Sprintf("I%d", n)
		if len(sound[id]) == 0 {
			t.Errorf("no sound tale is about %s", id)
		}
		for name, change := range sound[id] {
			t.Run(id+" "+name, func(t *testing.T) {
				l := good(t)
				change(l)
				for _, v := range l.judge() {
					t.Error(v)
				}
			})
		}
	}
}

// What was found is told once.
func TestAViolationIsToldOnce(t *testing.T) {
	l := good(t)
	l.from(runs, func(s *Sight) { s.Machines[0].Expires = time.Time{} })
	n := 0
	for _, v := range l.judge() {
		if v.Invariant == "I5" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("told %d times", n)
	}
}

// overrun settles the rental far above its hold, as the store does: the ledger
// says so, and so do news.
func (l *tale) overrun() {
	cost := usd(11)
	from := ledger.Hold{Rental: id, Cluster: "main", Account: "acme/ml/llm/ann", Cloud: "nimbus", Total: usd(10), Posted: l.sights[gone].Rentals[0].Cost}
	after, txs, err := from.Settle(at(settled), cost)
	if err != nil {
		l.t.Fatal(err)
	}
	head := l.sights[metered].Ledger[len(l.sights[metered].Ledger)-1]
	h := ledger.Head{Seq: head.Seq, Hash: head.Hash}
	for _, t := range txs {
		h = t.Seal(h)
		l.sights[settled].Ledger = append(l.sights[settled].Ledger, t)
	}
	l.rental(settled).Cost = cost
	l.sights[settled].Balances = slices.Clone(l.sights[settled].Balances)
	l.sights[settled].Balances[0].Held, l.sights[settled].Balances[0].Posted = after.Rest(), cost
	l.hears(settled, bridge.News{Kind: bridge.NewsWarning, Rental: id, Text: "its machines end soon"}) // not the only warning
	l.hears(settled, bridge.News{Kind: bridge.NewsWarning, Rental: id, Text: "cost $11.00 is beyond the hold of $10.00 by $1.00"})
}
