package desk

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

// saved is a place for checkpoints that says one thing.
type saved struct {
	look bridge.CheckpointLook
	err  error
	job  bridge.CheckpointJob
}

func (s *saved) Find(_ context.Context, _ *bridge.CheckpointRule, job bridge.CheckpointJob) (bridge.CheckpointLook, error) {
	s.job = job
	return s.look, s.err
}

// What is said of a job for each thing that can be known of its checkpoints.
func TestCheckpointsAreJudged(t *testing.T) {
	rule := &bridge.CheckpointRule{Name: "runs", Path: "/ckpt/%u", MaxAge: 30 * time.Minute}
	fresh := &bridge.Checkpoint{Job: "4711", Step: 40, At: noon.Add(-12 * time.Minute), Place: "/ckpt/ana/40", Every: 20 * time.Minute, Save: 36 * time.Second}
	stale := *fresh
	stale.Every = time.Hour
	for name, c := range map[string]struct {
		found  saved
		change func(*bridge.Demand, *bridge.Terms, *world)
		want   []string // parts of what is said
		spot   bool
	}{
		"fresh": {
			saved{look: bridge.CheckpointLook{Newest: fresh}},
			nil,
			[]string{"/ckpt/ana/40, step 40, written 12 min ago", "fresh as policy wants (at most 30 min", "Every 20 min is well: 18 min would lose least", "every 5 h for 2 machines"},
			true,
		},
		"too far apart": {
			saved{look: bridge.CheckpointLook{Newest: &stale}},
			nil,
			[]string{"No: more work than 30 min", "Write them more often: every 18 min instead of 1 h"},
			false,
		},
		"none, and none wanted yet": {
			saved{look: bridge.CheckpointLook{Place: "/ckpt/ana"}},
			nil,
			[]string{"No complete checkpoint was found in /ckpt/ana.", "before the first run", "how long one takes to write is not known"},
			true,
		},
		"none, and one is required": {saved{}, func(_ *bridge.Demand, t *bridge.Terms, _ *world) {
			t.Checkpoint = &bridge.CheckpointRule{Path: "/ckpt/%u", Required: true}
		}, []string{"No: policy wants a complete checkpoint first."}, false},
		"storage in trouble is not none": {saved{err: &bridge.CheckpointError{Kind: bridge.TroubleSlow, Place: "/ckpt/ana"}}, func(_ *bridge.Demand, _ *bridge.Terms, w *world) {
			w.snap.Checkpoints = map[string]map[bridge.JobID]bridge.Checkpoint{"main": {"4711": *fresh}}
		}, []string{"The storage of /ckpt/ana did not answer in time", "Yes: its checkpoints"}, true},
		"no rule": {
			saved{},
			func(_ *bridge.Demand, t *bridge.Terms, _ *world) { t.Checkpoint = nil },
			[]string{"Policy has no rule", "policy asks for no checkpoint"},
			true,
		},
		"not restartable": {
			saved{look: bridge.CheckpointLook{Newest: fresh}},
			func(d *bridge.Demand, _ *bridge.Terms, _ *world) { d.Restartable = false },
			[]string{"may not requeue it"},
			false,
		},
		"taken too often": {saved{look: bridge.CheckpointLook{Newest: fresh}}, func(_ *bridge.Demand, t *bridge.Terms, w *world) {
			t.Reclaims = 2
			w.snap.Reclaims = map[string]map[bridge.JobID]int{"main": {"4711": 2}}
		}, []string{"taken 2 times already"}, false},
		"a busy pool": {saved{look: bridge.CheckpointLook{Newest: fresh}}, func(_ *bridge.Demand, _ *bridge.Terms, w *world) {
			w.snap.Hazards = []bridge.Hazard{{Pool: w.snap.Offers[0].Pool, Lived: 90 * time.Hour, Taken: 199_000, At: noon}}
		}, []string{"Write them more often: every 4 min 15 s instead of 20 min", "every 15 min for 2 machines"}, true},
		"seldom enough": {saved{look: bridge.CheckpointLook{Newest: fresh}}, func(_ *bridge.Demand, _ *bridge.Terms, w *world) {
			w.snap.Hazards = []bridge.Hazard{{Pool: w.snap.Offers[0].Pool, Lived: 990 * time.Hour, Taken: 0, At: noon}}
		}, []string{"Write them less often: every 3 h 9 min instead of 20 min"}, true},
		"no spot on offer": {saved{look: bridge.CheckpointLook{Newest: fresh}}, func(_ *bridge.Demand, t *bridge.Terms, w *world) {
			t.Markets, w.snap.Offers = []bridge.Market{bridge.OnDemand}, w.snap.Offers[1:]
		}, []string{"policy has no spot for it", "no spot machine that fits"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d, w := newWorld(t)
			r := d.Rules.(*rules)
			r.terms.Checkpoint = rule
			w.snap.Queues[0].Demands[0].Restartable = true
			if c.change != nil {
				c.change(&w.snap.Queues[0].Demands[0], &r.terms, w)
			}
			d.Finder = &c.found
			a, err := d.Checkpoints(t.Context(), d.as("ana"), CheckpointsRequest{Job: "4711"})
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Join([]string{a.Say, a.SpotWhy, a.Advice}, " ")
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("want %q in %q", want, text)
				}
			}
			if a.Spot != c.spot {
				t.Errorf("to spot: %t; %s", a.Spot, a.SpotWhy)
			}
		})
	}
}

func TestCheckpointsOfARunningJob(t *testing.T) {
	d, w := newWorld(t)
	d.Rules.(*rules).terms.Checkpoint = &bridge.CheckpointRule{Path: "/ckpt/%x"}
	found := &saved{}
	d.Finder = found
	spot := w.snap.Offers[0].Pool
	spot.Zone = "west-1"
	w.snap.Queues[0].Runs = []bridge.Run{{Job: "50", Name: "big", User: "ana", Account: "nlp", Comment: "ckpt=x", Nodes: []string{"a"}, Restartable: true}}
	w.snap.Rentals = []bridge.Rental{{ID: "r-1", Cluster: "main", Pool: spot, Running: []bridge.JobID{"50"}}}
	a, err := d.Checkpoints(t.Context(), d.as("ana"), CheckpointsRequest{Job: "50"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(bridge.CheckpointJob{Cluster: "main", Job: "50", User: "ana", Name: "big", Comment: "ckpt=x"}, found.job); diff != "" {
		t.Errorf("looked for (-want +got):\n%s", diff)
	}
	if a.State != "running" || a.Pool == nil || *a.Pool != spot {
		t.Errorf("%s on %v, runs on %v", a.State, a.Pool, spot)
	}
}

func TestWhoMayAskForCheckpoints(t *testing.T) {
	d, _ := newWorld(t)
	d.Finder = &saved{}
	for who, want := range map[string]ErrorKind{"ana": "", "tom": "", "eve": Forbidden} {
		if _, err := d.Checkpoints(t.Context(), d.as(who), CheckpointsRequest{Job: "4711"}); kind(err) != want {
			t.Errorf("%s: %v", who, err)
		}
	}
	if _, err := d.Checkpoints(t.Context(), d.as("tom"), CheckpointsRequest{Job: "1"}); kind(err) != NotFound {
		t.Errorf("a job that is not there: %v", err)
	}
	d.Finder = nil
	if _, err := d.Checkpoints(t.Context(), d.as("ana"), CheckpointsRequest{Job: "4711"}); kind(err) != Unavailable {
		t.Errorf("nobody looks: %v", err)
	}
}

func TestCheckpointsAreSaidInBothLanguages(t *testing.T) {
	if diff := cmp.Diff(slices.Sorted(maps.Keys(checkpointWords)), slices.Sorted(maps.Keys(checkpointWordsChinese))); diff != "" {
		t.Errorf("(-English +Chinese):\n%s", diff)
	}
	for _, k := range []bridge.CheckpointFlaw{bridge.FlawEmpty, bridge.FlawTruncated, bridge.FlawShard, bridge.FlawMarker, bridge.FlawUnsettled, bridge.FlawTemporary, bridge.FlawUnreadable, bridge.FlawForeign, bridge.FlawUnknown} {
		if checkpointWords[string(k)] == "" {
			t.Errorf("no words for the flaw %s", k)
		}
	}
	for _, k := range []bridge.CheckpointTrouble{bridge.TroubleUnsaid, bridge.TroubleOutside, bridge.TroubleUnmounted, bridge.TroubleDenied, bridge.TroubleStale, bridge.TroubleSlow, bridge.TroubleTooMany, bridge.TroubleNoStorage} {
		if checkpointWords[string(k)] == "" {
			t.Errorf("no words for the trouble %s", k)
		}
	}
	for key := range checkpointWords {
		for _, lang := range []Lang{English, Chinese} {
			if s := lang.checkpoint(key, map[string]string{"place": "/p"}); strings.ContainsAny(s, "[]{}") || s == "" {
				t.Errorf("%s %s: %q", lang, key, s)
			}
		}
	}
}
