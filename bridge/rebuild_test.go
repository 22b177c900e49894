package bridge

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// relics are the machines of a rental as their cloud lists them.
func relics(r *Rental) []Instance {
	var out []Instance
	for _, m := range r.Machines {
		tags := Tags(r, "st", 3)
		out = append(out, Instance{
			ID: m.ID, Pool: r.Pool, State: InstanceRunning, Address: m.Address, Tags: tags, Token: "token-" + string(r.ID),
			Rate: r.Rate, Launched: m.Started,
		})
	}
	return out
}

// relicOf is a rental of n machines that was let in, by what an order draws.
func relicOf(n int64, machines, gang int) Rental {
	o := Order{
		Cluster: "c1", Account: "org/team/proj/ann", Requester: "ann", Class: P1, Jobs: []JobID{"7", "9_3"}, Origin: "gpu,long", Gang: gang, Count: machines,
		Offer: Offer{
			Pool:  Pool{Cloud: "a", Region: "r1", Zone: "z1", Type: "g8", Market: Spot},
			Shape: Shape{CPUs: 8, MemoryMiB: 64000, GPUs: 8, GPUType: "a100", DiskMiB: 100, GRES: map[string]int{"shard": 4}}, Features: []string{"ib", "rack1"},
			Rate: Rate{8_000_000, "USD"}, Step: time.Minute, Minimum: time.Hour, Term: 24 * time.Hour, EarlyPM: 500,
		},
		MaxRate: Rate{9_000_000, "USD"}, Life: 5 * time.Hour, Idle: 7 * time.Minute,
	}
	r := Draw(NewRentalID(n), &o, noon)
	r.Expires = r.EndFrom(noon)
	for i := range r.Machines {
		m := &r.Machines[i]
		m.ID, m.State, m.Started, m.Address = fmt.Sprintf("i-%s-%02d", r.ID, i), MachineJoined, noon, fmt.Sprintf("10.0.%d.%d", n, i+1)
	}
	r.Hold, _ = r.Billing().Worst(r.MaxRate, r.Life, r.Count)
	r.Cost.Currency = r.Hold.Currency
	return r
}

// holding is a queue in which rentals are let in, with one job on each.
func holding(rs ...Rental) map[string]*Queue {
	q := &Queue{Cluster: "c1", ObservedAt: noon, Overlays: map[string][]string{}}
	for i := range rs {
		r := &rs[i]
		var nodes []string
		for _, m := range r.Machines {
			nodes = append(nodes, m.Node)
			q.Nodes = append(q.Nodes, Node{Name: m.Node, Address: m.Address, Shape: r.Shape, Responding: true, Usable: true})
		}
		q.Overlays[PartitionName(r.ID)] = nodes
		q.Runs = append(q.Runs, Run{Job: r.Jobs[0], Nodes: nodes[:r.Gang]})
	}
	return map[string]*Queue{"c1": q}
}

// TestRebuiltRentalIsTheOneThatWas holds it of any sizes, keys, jobs, features
// and terms that fit into tags, in whatever order the cloud lists machines.
func TestRebuiltRentalIsTheOneThatWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		machines := rapid.IntRange(1, 12).Draw(t, "machines")
		gang := rapid.SampledFrom([]int{1, machines}).Draw(t, "gang")
		was := relicOf(rapid.Int64Range(1, 250).Draw(t, "n"), machines, gang)
		was.Key = rapid.SampledFrom([]string{"", "ann/thesis", "a key of several words"}).Draw(t, "key")
		was.Features = rapid.SampledFrom([][]string{nil, {"ib"}, {"ib", "rack1"}}).Draw(t, "features")
		was.Shape.GPUType = rapid.SampledFrom([]string{"", "a100"}).Draw(t, "type")
		was.Until = rapid.SampledFrom([]time.Time{{}, noon.Add(3 * time.Hour)}).Draw(t, "until")
		was.Expires = was.Expires.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "hours")) * time.Hour)
		first := noon.Add(was.Life)
		was.Hold, _ = was.Billing().Worst(was.MaxRate, was.Life+was.Expires.Sub(first), was.Count)
		var found []Instance
		for _, in := range relics(&was) {
			in.Tags[TagDates] = strings.Join([]string{dateTag(was.Created), dateTag(first), dateTag(was.Until)}, " ") // as at its launch
			found = append(found, in)
		}
		found = rapid.Permutation(found).Draw(t, "order")
		got, left := Rebuild(found, holding(was), Watch{}, noon.Add(time.Hour))
		if len(got) != 1 || len(left) > 0 || len(got[0].Guessed) > 0 {
			t.Fatalf("%d rentals, left %v, guessed %v", len(got), left, got)
		}
		is := got[0].Rental
		was.State, was.Running = StateAdmitted, []JobID{"7"}
		is.Since, is.Why, is.Note, is.Launch = was.Since, was.Why, was.Note, was.Launch
		for i := range is.Machines {
			is.Machines[i].Joined, is.Machines[i].IdleSince = time.Time{}, time.Time{}
		}
		if diff := cmp.Diff(was, is); diff != "" {
			t.Fatalf("(-was +is):\n%s", diff)
		}
	})
}

func TestRebuildFromLess(t *testing.T) {
	old := func(in *Instance) { // a machine of before there were terms in tags
		for _, tag := range []string{TagTerms, TagDates, TagShape, TagFeatures, TagRequester, TagJobs, TagRequest} {
			delete(in.Tags, tag)
		}
	}
	each := func(f func(*Instance)) func([]Instance, *Queue) []Instance {
		return func(all []Instance, _ *Queue) []Instance {
			for i := range all {
				f(&all[i])
			}
			return all
		}
	}
	alone := func(q *Queue) { q.Nodes, q.Runs, q.Overlays = nil, nil, nil }
	for name, c := range map[string]struct {
		change  func([]Instance, *Queue) []Instance // of a gang of three
		state   State                               // empty: no rental
		count   int
		states  []MachineState
		left    int
		guessed string
	}{
		"all of it": {each(func(*Instance) {}), StateAdmitted, 3, []MachineState{MachineJoined, MachineJoined, MachineJoined}, 0, ""},
		"machines of before there were terms": {
			each(old), StateAdmitted, 3, []MachineState{MachineJoined, MachineJoined, MachineJoined}, 0, "3 machines, gangs of 3",
		},
		"those, with the first one dead and forgotten": {
			func(all []Instance, q *Queue) []Instance { each(old)(all, q); return all[1:] },
			StateAdmitted, 3,
			[]MachineState{MachineGone, MachineJoined, MachineJoined},
			0, "3 machines",
		},
		"one dead and forgotten": {
			func(all []Instance, _ *Queue) []Instance { return all[1:] },
			StateAdmitted, 3,
			[]MachineState{MachineGone, MachineJoined, MachineJoined},
			0, "",
		},
		"one dead and listed": {
			func(all []Instance, _ *Queue) []Instance { all[2].State = InstanceGone; return all },
			StateAdmitted, 3,
			[]MachineState{MachineJoined, MachineJoined, MachineGone},
			0, "",
		},
		"none has joined": {
			func(all []Instance, q *Queue) []Instance { alone(q); return all },
			StateJoining, 3,
			[]MachineState{MachineCreated, MachineCreated, MachineCreated},
			0, "",
		},
		"a scheduler that says no addresses": {
			func(all []Instance, q *Queue) []Instance {
				for i := range q.Nodes {
					q.Nodes[i].Address = ""
				}
				return all
			},
			StateAdmitted, 3,
			[]MachineState{MachineJoined, MachineJoined, MachineJoined},
			0, "order of their ids",
		},
		"drained to go back": {
			func(all []Instance, q *Queue) []Instance {
				q.Nodes[1].Reason = "spillway: release [root@x]"
				return all
			},
			StateDraining, 3,
			[]MachineState{MachineJoined, MachineJoined, MachineJoined},
			0, "",
		},
		"noticed": {
			func(all []Instance, _ *Queue) []Instance {
				all[1].NoticeAt, all[1].ReclaimAt = noon, noon.Add(2*time.Minute)
				return all
			},
			StateAdmitted, 3,
			[]MachineState{MachineJoined, MachineNoticed, MachineJoined},
			0, "",
		},
		"on their way out": {
			each(func(in *Instance) { in.State = InstanceStopping }), StateReleasing, 3,
			[]MachineState{MachineReleasing, MachineReleasing, MachineReleasing},
			0, "",
		},
		"all dead": {each(func(in *Instance) { in.State = InstanceGone }), "", 0, nil, 0, ""},
		"more than its create made": {
			func(all []Instance, _ *Queue) []Instance {
				more := all[0]
				more.ID, more.Address = "i-zzz", ""
				return append(all, more)
			},
			StateAdmitted, 3,
			[]MachineState{MachineJoined, MachineJoined, MachineJoined},
			1, "",
		},
		"one of another create call": {
			func(all []Instance, _ *Queue) []Instance {
				all[2].Token, all[2].Launched = "another", noon.Add(time.Hour)
				return all
			},
			StateAdmitted, 3,
			[]MachineState{MachineJoined, MachineJoined, MachineGone},
			1, "",
		},
		"no ceiling":                {each(func(in *Instance) { delete(in.Tags, TagRate) }), "", 0, nil, 3, ""},
		"no account":                {each(func(in *Instance) { delete(in.Tags, TagAccount) }), "", 0, nil, 3, ""},
		"no end":                    {each(func(in *Instance) { delete(in.Tags, TagExpires) }), "", 0, nil, 3, ""},
		"no rental":                 {each(func(in *Instance) { delete(in.Tags, TagRental) }), "", 0, nil, 3, ""},
		"a cluster nobody knows":    {each(func(in *Instance) { in.Tags[TagCluster] = "gone" }), "", 0, nil, 3, ""},
		"terms that make no sense":  {each(func(in *Instance) { in.Tags[TagTerms] = "0 -1 x" }), StateAdmitted, 3, []MachineState{MachineJoined, MachineJoined, MachineJoined}, 0, "gangs of 3"},
		"a cloud that says no time": {each(func(in *Instance) { in.Launched = time.Time{} }), StateAdmitted, 3, []MachineState{MachineJoined, MachineJoined, MachineJoined}, 0, "launched now"},
	} {
		t.Run(name, func(t *testing.T) {
			was := relicOf(5, 3, 3)
			queues := holding(was)
			found := c.change(relics(&was), queues["c1"])
			got, left := Rebuild(found, queues, Watch{}, noon.Add(time.Hour))
			if len(left) != c.left {
				t.Errorf("left %v", left)
			}
			if c.state == "" {
				if len(got) > 0 {
					t.Errorf("made %+v", got)
				}
				return
			}
			if len(got) != 1 {
				t.Fatalf("%d rentals, left %v", len(got), left)
			}
			r := &got[0].Rental
			var states []MachineState
			for i := range r.Machines {
				states = append(states, r.Machines[i].State)
				if m := &r.Machines[i]; m.ID != "" && m.Node != was.Machines[i].Node {
					t.Errorf("%s is %s", m.ID, m.Node)
				}
			}
			if r.State != c.state || r.Count != c.count || !slices.Equal(states, c.states) {
				t.Errorf("%s, %d machines %v; want %s, %d %v", r.State, r.Count, states, c.state, c.count, c.states)
			}
			said := strings.Join(got[0].Guessed, "; ")
			if !strings.Contains(said, c.guessed) || c.guessed == "" && said != "" {
				t.Errorf("guessed %q, want %q", said, c.guessed)
			}
			if r.Hold.Micro <= 0 || r.Launch.Token == "" || r.Launch.UserData != "" {
				t.Errorf("hold %s, token %q", r.Hold, r.Launch.Token)
			}
		})
	}
}

// Every cloud takes the tags: no more of them, and none longer, than the
// narrowest one does.
func TestTagsFit(t *testing.T) {
	r := relicOf(28_000_000, 4, 4)
	r.Account, r.Requester, r.Key = "organisation-of-many/team-of-many/project-of-many/somebody", "somebody", strings.Repeat("k", 500)
	r.Features, r.FX, r.Until = []string{strings.Repeat("f", 200)}, "1 CNY = 0.139512 USD (ecb, 2026-11-30)", noon.Add(time.Hour)
	for i := range 100 {
		r.Jobs = append(r.Jobs, JobID(fmt.Sprint(100_000+i)))
	}
	tags := Tags(&r, strings.Repeat("s", 26), 1<<40)
	tags[TagContract] = "contract"
	if len(tags) > 20 {
		t.Errorf("%d tags", len(tags))
	}
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		if len(tags[k]) > 128 {
			t.Errorf("%s has %d characters: %q", k, len(tags[k]), tags[k])
		}
	}
	if _, there := tags[TagRequest]; there {
		t.Error("half a key is no key")
	}
}

func TestRentalNumbersAreReadBack(t *testing.T) {
	for _, n := range []int64{1, 30, 31, 32, 999, 29_791, 29_792, maxRentals - 1} {
		if got := NewRentalID(n).Number(); got != n {
			t.Errorf("%s is number %d, want %d", NewRentalID(n), got, n)
		}
	}
	if n := RentalID("r-0000x").Number(); n != 0 {
		t.Errorf("no id is number %d", n)
	}
}
