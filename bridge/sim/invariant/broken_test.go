package invariant

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// Every broken tale is the good one with one thing spoilt. It must be found by
// the invariant that it is about, whatever else it breaks.
var broken = map[string]map[string]func(*tale){
	"I1": {
		"a machine of ours that no rental knows runs on for an hour": func(l *tale) { l.stray(created, "i-9", "") },
		"a machine of another store is ended": func(l *tale) {
			l.stray(created, "i-8", "theirs")
			l.add(runs, Call{Port: "Cloud", Of: "nimbus", Method: "Terminate", IDs: []string{"i-8"}})
		},
	},
	"I2": {
		"one create made two machines":        func(l *tale) { l.twin(created, "i-2", "token-of-the-first-attempt", "1") },
		"an attempt was made with two tokens": func(l *tale) { l.twin(created, "i-2", "another", "1") },
		"two attempts live at once":           func(l *tale) { l.twin(created, "i-2", "another", "2") },
		"a retry has other parameters": func(l *tale) {
			again := *l.method(sent, "Create").Launch
			again.Count = 2
			l.add(created, Call{Port: "Cloud", Of: "nimbus", Method: "Create", Launch: &again, Rental: id})
		},
	},
	"I3": {
		"a rental of one machine has two": func(l *tale) { l.twin(created, "i-2", "token-of-the-first-attempt", "1") },
		"more than policy's most":         func(l *tale) { l.rules.Most = 1; l.twin(created, "i-2", "another", "2") },
	},
	"I4": {
		"the create comes before its intent is stored": func(l *tale) {
			l.method(sent, "Create").Begun = at(waits)
		},
		"the intent is never stored": func(l *tale) {
			l.from(reserved, func(s *Sight) { s.Rentals, s.Ledger, s.OpenHolds = nil, nil, 0 })
			l.without(reserved, "Reserve")
			l.cut(sent)
		},
		"nobody has said yes": func(l *tale) {
			l.hears(waits, bridge.News{Kind: bridge.NewsAsked, Rental: id})
		},
	},
	"I5": {
		"a machine without an end": func(l *tale) {
			l.from(sent, func(s *Sight) { s.Machines[0].Expires = time.Time{} })
		},
		"a machine outlives its end": func(l *tale) {
			l.from(sent, func(s *Sight) { s.Machines[0].Expires = at(created) })
		},
		"a machine ends later than what is held": func(l *tale) {
			l.from(created, func(s *Sight) { s.Machines[0].Expires = s.Rentals[0].Expires.Add(time.Second) })
		},
	},
	"I6": {
		"the books close over a machine that runs": func(l *tale) {
			l.from(releasing, func(s *Sight) {
				s.Machines[0].State, s.Machines[0].Stopped, s.Machines[0].Ended = wire.StateRunning, time.Time{}, ""
			})
		},
		"the newest list still shows it": func(l *tale) {
			for _, m := range []int{releasing, gone} {
				l.method(m, "List").Listing.Instances[0].State = bridge.InstanceRunning
			}
		},
		"no list was ever complete": func(l *tale) {
			for m := range moments {
				l.without(m, "List")
			}
		},
	},
	"I7": {
		"somebody else's machine is ended": func(l *tale) {
			l.stray(created, "i-8", "")
			l.from(created, func(s *Sight) { s.Machines[1].Untouched, s.Machines[1].Tags = true, nil })
			l.add(runs, Call{Port: "Cloud", Of: "nimbus", Method: "Terminate", IDs: []string{"i-8"}})
		},
		"somebody else's machine gets another end": func(l *tale) {
			l.stray(created, "i-8", "")
			l.from(created, func(s *Sight) { s.Machines[1].Untouched, s.Machines[1].Tags = true, nil })
			l.add(runs, Call{Port: "Cloud", Of: "nimbus", Method: "Extend", IDs: []string{"i-8"}})
		},
	},
	"I8": {
		"an orphan is ended after one list": func(l *tale) {
			l.stray(created, "i-9", "")
			l.add(created, Call{Port: "Cloud", Of: "nimbus", Method: "Terminate", IDs: []string{"i-9"}})
		},
		"a machine that lives is called gone": func(l *tale) {
			l.rental(runs).Machines[0].State = bridge.MachineGone
			l.rental(runs).Version++
		},
		"idle by a queue that nobody could read": func(l *tale) {
			for m := runs; m < moments; m++ {
				l.method(m, "Observe").Err = errors.New("no answer")
			}
		},
	},
	"I9": {
		"the store's own check finds something": func(l *tale) { l.sights[runs].Faults = []string{"all lines in USD sum to 1 instead of zero"} },
		"a transaction does not sum to zero": func(l *tale) {
			l.entry(metered).Lines[0].Amount.Micro++
		},
		"a transaction was changed":      func(l *tale) { l.entry(settled).Memo = "nothing to see" },
		"a transaction is not there":     func(l *tale) { l.sights[metered].Ledger = nil },
		"one is of a kind nobody knows":  func(l *tale) { l.entry(metered).Kind = "gift" },
		"one is of a rental that is not": func(l *tale) { l.entry(metered).Rental = bridge.NewRentalID(9) },
	},
	"I10": {
		"more is held than the budget has": func(l *tale) {
			l.from(reserved, func(s *Sight) { s.Balances = []bridge.Balance{s.Balances[0]}; s.Balances[0].Limit = usd(9) })
		},
		"somebody allowed it without a name": func(l *tale) {
			l.from(reserved, func(s *Sight) { s.Balances = []bridge.Balance{s.Balances[0]}; s.Balances[0].Limit = usd(9) })
			l.allow("")
		},
		"the sums are of two currencies": func(l *tale) {
			l.from(runs, func(s *Sight) {
				s.Balances = []bridge.Balance{s.Balances[0]}
				s.Balances[0].Limit.Currency = "CNY"
			})
		},
	},
	"I11": {
		"a hold stays open after the settlement": func(l *tale) { l.from(settled, func(s *Sight) { s.OpenHolds = 1 }) },
		"a rental without a hold":                func(l *tale) { l.from(reserved, func(s *Sight) { s.OpenHolds = 0 }) },
		"a rental is settled and the ledger is not": func(l *tale) {
			s := &l.sights[settled]
			s.Ledger = s.Ledger[:len(s.Ledger)-1]
		},
		"a hold of no rental": func(l *tale) { l.from(reserved, func(s *Sight) { s.Rentals = nil }) },
	},
	"I12": {
		"less is posted than the cloud charges": func(l *tale) {
			l.from(settled, func(s *Sight) { s.Machines[0].Stopped = at(settled).Add(time.Hour) })
		},
		"more is posted than was held, in silence": func(l *tale) { l.rental(settled).Cost = usd(11) },
	},
	"I13": {
		"a rental's cost is not what the ledger has": func(l *tale) { l.rental(metered).Cost.Micro++ },
		"a rental's hold is not what the ledger has": func(l *tale) { l.rental(metered).Hold.Micro++ },
		"a balance is not what the ledger gives": func(l *tale) {
			l.from(metered, func(s *Sight) { s.Balances = []bridge.Balance{s.Balances[0]}; s.Balances[0].Posted.Micro++ })
		},
	},
	"I14": {
		"a job is gone":                 func(l *tale) { l.from(runs, func(s *Sight) { s.Jobs = nil }) },
		"a job was cancelled by nobody": func(l *tale) { l.from(runs, func(s *Sight) { s.Jobs[0].State = "CANCELLED" }) },
		"a job ended before its limit":  func(l *tale) { l.from(finished, func(s *Sight) { s.Jobs[0].State = "TIMEOUT" }) },
		"a job failed and did not":      func(l *tale) { l.from(finished, func(s *Sight) { s.Jobs[0].State = "FAILED" }) },
		"a job lost its node, and was not requeued": func(l *tale) {
			l.from(finished, func(s *Sight) { s.Jobs[0].State, s.Jobs[0].Restartable = "NODE_FAIL", true })
		},
		"a job lost its node by our hand": func(l *tale) { l.torn("node-fail") },
	},
	"I15": {
		"a job runs in two places": func(l *tale) {
			l.from(metered, func(s *Sight) { s.Jobs[0].Starts = append(s.Jobs[0].Starts, Start{At: at(runs).Add(time.Second)}) })
		},
		"a job that had completed runs again": func(l *tale) {
			l.from(draining, func(s *Sight) { s.Jobs[0].Starts = append(s.Jobs[0].Starts, Start{At: at(draining)}) })
		},
		"a job was requeued more often than it was interrupted": func(l *tale) { l.from(runs, func(s *Sight) { s.Jobs[0].Restarts = 1 }) },
		"a job is taken off one machine twice": func(l *tale) {
			l.from(runs, func(s *Sight) {
				s.Machines[0].NoticeAt = at(runs)
				s.Jobs[0].Starts = []Start{{At: at(admitted), End: at(runs), Nodes: []string{node}, Why: "requeued"}, {At: at(runs), End: at(metered), Nodes: []string{node}, Why: "requeued"}}
			})
		},
	},
	"I16": {
		"a job that may not be requeued is": func(l *tale) { l.torn("requeued") },
		"a machine is ended under its job": func(l *tale) {
			l.from(finished, func(s *Sight) {
				s.Jobs[0].State, s.Jobs[0].Starts = "RUNNING", []Start{{At: at(runs), Nodes: []string{node}}}
			})
		},
	},
	"I17": {
		"a machine is ended whose node was never drained": func(l *tale) {
			l.without(releasing, "Drain", "Dismiss")
			l.sights[releasing].Nodes = []Node{{Name: node}}
		},
	},
	"I18": {
		"a job loses its place": func(l *tale) {
			l.mute()
			l.from(reserved, func(s *Sight) { s.Jobs[0].Priority = 99 })
		},
		"a job is as young as new": func(l *tale) {
			l.mute()
			l.from(reserved, func(s *Sight) { s.Jobs[0].Submitted = at(reserved) })
		},
		"a job is let onto what is not promised to it": func(l *tale) { l.method(admitted, "Route").Job = "8" },
	},
	"I19": {
		"a question is denied and then approved": func(l *tale) {
			l.asked()
			l.hears(waits, bridge.News{Kind: bridge.NewsDenied, Rental: id, Who: "boss"})
		},
		"a question is approved twice": func(l *tale) {
			l.asked()
			l.hears(sent, bridge.News{Kind: bridge.NewsApproved, Rental: id, Who: "chief"})
		},
		"one yes counts for two": func(l *tale) {
			l.asked()
			l.sights[reserved].News = append([]bridge.News{{Kind: bridge.NewsAgreed, Rental: id, Who: "boss", At: at(waits), Digest: "d"}}, l.sights[reserved].News...)
		},
		"somebody agrees when it is over": func(l *tale) {
			l.asked()
			l.hears(sent, bridge.News{Kind: bridge.NewsAgreed, Rental: id, Who: "chief"})
		},
	},
	"I20": {
		"who asked says yes":            func(l *tale) { l.asked(); l.answer().Who = "ann" },
		"nobody says yes":               func(l *tale) { l.asked(); l.answer().Who = "" },
		"somebody says yes who may not": func(l *tale) { l.asked(); l.answer().Who = "bob" },
		"yes to what is not there":      func(l *tale) { l.asked(); l.answer().Rental = bridge.NewRentalID(9) },
	},
	"I21": {
		"a yes comes when the question is over": func(l *tale) {
			l.asked()
			l.rental(waits).AskUntil = at(reserved)
		},
		"what was closed opens again": func(l *tale) {
			l.asked()
			l.rental(waits).State = bridge.StateClosed
		},
	},
	"I22": {
		"machines are let in, and nobody is told": func(l *tale) { l.sights[admitted].News = nil },
		"the books close, and nobody is told":     func(l *tale) { l.sights[settled].News = nil },
		"money is held, and nobody is told":       func(l *tale) { l.sights[reserved].News = nil },
	},
	"I23": {
		"a rental that was admitted launches": func(l *tale) {
			l.from(runs, func(s *Sight) {
				s.Rentals = slices.Clone(s.Rentals)
				s.Rentals[0].State = bridge.StateLaunching
			})
		},
		"a version is left out": func(l *tale) { l.method(created, "Save").Version++ },
		"a version comes twice": func(l *tale) {
			r := l.rental(metered)
			r.Version, r.State = l.sights[runs].Rentals[0].Version, bridge.StateDraining
		},
		"a version runs back":    func(l *tale) { l.rental(runs).Version = 1 },
		"a rental disappears":    func(l *tale) { l.from(runs, func(s *Sight) { s.Rentals = nil }) },
		"one step skips a state": func(l *tale) { l.method(created, "Save").State = bridge.StateAdmitted },
		"one version, two states": func(l *tale) {
			w := *l.method(created, "Save")
			w.State = bridge.StateReleasing
			l.add(created, w)
		},
	},
	"I24": {
		"a bridge writes that has been replaced": func(l *tale) {
			l.from(runs, func(s *Sight) { s.Bridge.Epoch, s.Bridge.Life = 2, 2 })
		},
		"both write within one look": func(l *tale) {
			l.add(runs, Call{Port: "Store", Method: "Tell"})
			l.add(runs, Call{Port: "Store", Method: "Tell"})
			calls := l.sights[runs].Calls
			calls[len(calls)-2].Epoch = 2
		},
	},
	"I25": {
		"a rental is left open":   func(l *tale) { l.open(); l.end = true },
		"nobody closes the books": func(l *tale) { l.open(); l.long(40) },
		"a machine is left over": func(l *tale) {
			l.stray(later, "i-9", "")
		},
		"a node is left over": func(l *tale) { l.sights[latest2].Nodes = []Node{{Name: node}} },
		"money is left held": func(l *tale) {
			l.sights[latest2].Balances = []bridge.Balance{l.sights[latest2].Balances[0]}
			l.sights[latest2].Balances[0].Held = usd(1)
		},
		"a hold is left open": func(l *tale) { l.sights[latest2].OpenHolds = 1 },
	},
	"I26": {
		"something is created for nobody": func(l *tale) {
			l.add(latest2, Call{Port: "Scheduler", Of: "main", Method: "Drain", Nodes: []string{"n1"}})
		},
		"something is stored for nothing": func(l *tale) { l.sights[latest2].Stored++ },
	},
	"I27": {
		"the bridge falls":    func(l *tale) { l.sights[runs].Bridge.Fell = "panic: index out of range" },
		"garbage is believed": func(l *tale) { l.method(runs, "Observe").Garbled = true },
		"garbage is not told of": func(l *tale) {
			*l.method(runs, "List") = Call{Port: "Cloud", Of: "nimbus", Method: "List", Garbled: true, Err: errors.New("invalid character"), Begun: at(runs), Ended: at(runs)}
		},
	},
	"I28": {
		"the log has the key": func(l *tale) { l.sights[runs].Log = []byte("level=INFO key=munge-key-of-ours") },
		"news have the key":   func(l *tale) { l.hears(runs, bridge.News{Kind: bridge.NewsWarning, Text: "munge-key-of-ours"}) },
		"an error has a token": func(l *tale) {
			l.method(runs, "Observe").Err = errors.New("401 for Authorization: Bearer 0123456789abcdef0123")
		},
		"a comment has a token": func(l *tale) { l.sights[runs].Said = []string{"xoxb-1234567890-abcdefghij"} },
		"a note has a key":      func(l *tale) { l.rental(admitted).Note = "-----BEGIN RSA PRIVATE KEY-----" },
		"a tag has the key":     func(l *tale) { l.method(sent, "Create").Launch.Tags["note"] = "munge-key-of-ours" },
	},
}

func TestEveryBrokenTaleIsFound(t *testing.T) {
	for n := 1; n <= 28; n++ {
		id := fmt.Sprintf("I%d", n)
		if len(broken[id]) == 0 {
			t.Errorf("no broken tale is about %s", id)
		}
		for name, spoil := range broken[id] {
			t.Run(id+" "+name, func(t *testing.T) {
				l := good(t)
				spoil(l)
				found := l.judge()
				if !slices.ContainsFunc(found, func(v Violation) bool { return v.Invariant == id }) {
					t.Errorf("not found; found instead: %v", found)
				}
			})
		}
	}
	if len(broken) != 28 {
		t.Errorf("there are broken tales of %d invariants", len(broken))
	}
}

// The invariants are named after what they say, once each.
func TestEveryInvariantIsJudged(t *testing.T) {
	for n := 1; n <= 28; n++ {
		id := fmt.Sprintf("I%d", n)
		if i := slices.IndexFunc(always, func(r rule) bool { return r.id == id }); i != n-1 {
			t.Errorf("%s is at %d", id, i)
		}
	}
	v := Violation{Invariant: "I1", At: born, Text: "text"}
	if got := v.String(); !strings.HasPrefix(got, "I1 2026-11-30T08:00:00Z text") {
		t.Error(got)
	}
}
