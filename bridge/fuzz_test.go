package bridge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// FuzzRebuild holds that whatever stands in the tags of machines, each that
// lives is in one rental or named as unreadable, and no rental is made that the
// books could not take.
func FuzzRebuild(f *testing.F) {
	whole := Rental{
		ID: "r-0011", Cluster: "c1", Account: "org/team/proj/ann", Requester: "ann", Class: P1, Attempt: 1, Count: 2, Gang: 1,
		Rate: Rate{8 * Micro, "USD"}, MaxRate: Rate{10 * Micro, "USD"}, Life: time.Hour, Idle: time.Minute, Created: noon, Expires: noon.Add(time.Hour),
		Shape: Shape{CPUs: 8, GPUs: 8, GPUType: "a100", MemoryMiB: 1000, GRES: map[string]int{"shard": 2}}, Jobs: []JobID{"1", "2_3"}, Origin: "gpu",
	}
	for _, change := range []func(*Rental){
		func(*Rental) {},
		func(r *Rental) { r.Count, r.Gang = 4, 4 },
		func(r *Rental) { r.Until, r.Key, r.Features = noon.Add(time.Hour), "k", []string{"a"} },
		func(r *Rental) { r.Life, r.Expires = 1<<62, noon.AddDate(300, 0, 0) },
		func(r *Rental) { r.MaxRate.Micro = 1 << 62 },
	} {
		r := whole
		change(&r)
		var lines []string
		tags := Tags(&r, "store", 7)
		for _, k := range sortedKeys(tags) {
			lines = append(lines, k+"="+tags[k])
		}
		f.Add(strings.Join(lines, "\n"), "")
		f.Add(strings.Join(lines, "\n"), TagTerms+"=1 1 1 1h 1m 0s 0s 0s 0")
		f.Add(strings.Join(lines, "\n"), TagAttempt+"=2\n"+TagShape+"=1 1 1 1 - shard=-5")
	}
	f.Fuzz(func(t *testing.T, one, other string) {
		first, second := tagsOf(one), tagsOf(one+"\n"+other)
		found := []Instance{
			{ID: "i-1", Tags: first, State: InstanceRunning, Pool: pool("a/b/c/d/spot"), Rate: Rate{8 * Micro, "USD"}, Launched: noon, Token: "t"},
			{ID: "i-2", Tags: second, State: InstanceRunning, Pool: pool("a/b/c/d/spot"), Launched: noon},
			{ID: "i-3", Tags: second, State: InstanceGone, Pool: pool("a/b/c/d/spot")},
		}
		queues := map[string]*Queue{"c1": {Cluster: "c1", ObservedAt: noon, Nodes: []Node{{Name: NodeName("r-0011", 0), Responding: true}}}}
		rentals, unread := Rebuild(found, queues, Watch{}, noon.Add(time.Minute))
		count := map[string]int{}
		for _, u := range unread {
			count[u.Instance.ID]++
		}
		for i := range rentals {
			checkRebuilt(t, &rentals[i].Rental, count)
		}
		if count["i-1"] != 1 || count["i-2"] != 1 {
			t.Errorf("machines are counted %v times in\n%s\n--\n%s", count, one, other)
		}
	})
}

// tagsOf reads lines of key=value.
func tagsOf(text string) map[string]string {
	tags := map[string]string{}
	for line := range strings.Lines(text) {
		k, v, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		tags[k] = v
	}
	return tags
}

func checkRebuilt(t *testing.T, r *Rental, count map[string]int) {
	t.Helper()
	said := fmt.Sprintf("%s, %d of %d machines, hold %d", r.ID, len(r.Machines), r.Count, r.Hold.Micro)
	if _, err := ParseRentalID(string(r.ID)); err != nil {
		t.Errorf("%s: %v", said, err)
	}
	if r.State == StateLaunching || !r.State.Held() || len(r.Machines) > r.Count || r.Gang < 1 || r.Gang > r.Count {
		t.Errorf("%s: state %s, gangs of %d", said, r.State, r.Gang)
	}
	if free := r.Pool.Market == Reserved; r.Hold.Micro < 0 || !free && r.Hold.Micro == 0 || r.Account == "" || r.Expires.IsZero() || r.Life < 0 {
		t.Errorf("%s: account %q, life %s, until %s", said, r.Account, r.Life, r.Expires)
	}
	var ordinals []int
	for i := range r.Machines {
		m := &r.Machines[i]
		ordinals = append(ordinals, m.Ordinal)
		if m.ID != "" && m.State != MachineGone {
			count[m.ID]++
		}
		if m.Rate.Micro < 0 {
			t.Errorf("%s: %s costs %d", said, m.ID, m.Rate.Micro)
		}
	}
	slices.Sort(ordinals)
	if len(slices.Compact(ordinals)) != len(r.Machines) {
		t.Errorf("%s: ordinals %v", said, ordinals)
	}
	for name, n := range r.Shape.GRES {
		if n < 0 {
			t.Errorf("%s: %d of %s", said, n, name)
		}
	}
}

// FuzzExchange holds that a rate that is read is the rate that is written.
func FuzzExchange(f *testing.F) {
	for _, s := range []string{"1 CNY = 0.139512 USD (ecb, 2026-11-30)", "1 CNY = 999999999999.000000 USD (a (b), 2026-11-30)", "1 CNY = 0.0 USD", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		x, err := ParseExchange(s)
		if err != nil {
			return
		}
		if again, err := ParseExchange(x.String()); err != nil || again != x || x.Micro < 0 {
			t.Errorf("%q is %+v, then %+v, %v", s, x, again, err)
		}
	})
}
