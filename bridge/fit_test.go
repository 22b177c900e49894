package bridge

import (
	"testing"

	"pgregory.net/rapid"
)

// TestFitOffer holds that the machines FitOffer names take all gangs when they
// are packed one by one, and that one machine fewer does not.
func TestFitOffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawOffer(t)
		d := drawDemand(t, "c", 1)
		if rapid.Bool().Draw(t, "resources") {
			o.Shape.GRES = map[string]int{"shard": rapid.IntRange(0, 8).Draw(t, "shards")}
			d.Shape.GRES = map[string]int{"shard": rapid.IntRange(0, 3).Draw(t, "wanted")}
		}
		fit, ok := FitOffer(&o, &d.Shape, d.Nodes, d.Count)
		if ok != o.Holds(&d.Shape) {
			t.Fatalf("fits %t, one node fits %t", ok, o.Holds(&d.Shape))
		}
		if !ok {
			return
		}
		if d.Nodes > 1 {
			if fit.Machines != d.Nodes*d.Count || fit.Each != 1 {
				t.Fatalf("%d gangs of %d on %+v", d.Count, d.Nodes, fit)
			}
			return
		}
		if got := pack(&o, &d.Shape, fit.Machines, d.Count); got != d.Count {
			t.Fatalf("%+v takes %d of %d", fit, got, d.Count)
		}
		if got := pack(&o, &d.Shape, fit.Machines-1, d.Count); got == d.Count {
			t.Fatalf("%+v, but one machine fewer would do", fit)
		}
	})
}

// pack fills machines node by node and returns how many found room.
func pack(o *Offer, s *Shape, machines, count int) int {
	var places []*place
	for range machines {
		places = append(places, &place{has: &o.Shape, free: o.Shape, features: o.Features})
	}
	n := 0
	for n < count && takeGang(places, s, 1) {
		n++
	}
	return n
}

// TestSatisfies holds each dimension on its own.
func TestSatisfies(t *testing.T) {
	o := Offer{Shape: Shape{CPUs: 8, MemoryMiB: 100, GPUs: 2, GPUType: "a100", DiskMiB: 50, GRES: map[string]int{"shard": 2}}, Features: []string{"avx2", "nvme"}}
	for name, tc := range map[string]struct {
		want Shape
		fits bool
	}{
		"nothing wanted":             {Shape{}, true},
		"all of it":                  {Shape{CPUs: 8, MemoryMiB: 100, GPUs: 2, GPUType: "a100", DiskMiB: 50, GRES: map[string]int{"shard": 2}}, true},
		"one CPU more":               {Shape{CPUs: 9}, false},
		"more memory":                {Shape{MemoryMiB: 101}, false},
		"one GPU more":               {Shape{GPUs: 3}, false},
		"any GPU":                    {Shape{GPUs: 1}, true},
		"another GPU":                {Shape{GPUs: 1, GPUType: "h100"}, false},
		"a type without a GPU":       {Shape{GPUType: "h100"}, true},
		"more disk":                  {Shape{DiskMiB: 51}, false},
		"another resource":           {Shape{GRES: map[string]int{"mps": 1}}, false},
		"one word of each list":      {Shape{Features: [][]string{{"avx512", "avx2"}, {"nvme"}}}, true},
		"no word of one of the list": {Shape{Features: [][]string{{"avx2"}, {"ssd", "hdd"}}}, false},
	} {
		if got := o.Holds(&tc.want); got != tc.fits {
			t.Errorf("%s: fits %t", name, got)
		}
	}
}

// TestShapeTable holds equality and hash of shapes against their key.
func TestShapeTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table shapeTable
		numbers := map[string]int32{}
		for range rapid.IntRange(1, 60).Draw(t, "shapes") {
			d := drawDemand(t, "c", 1)
			if rapid.Bool().Draw(t, "resources") {
				d.Shape.GRES = map[string]int{"a": rapid.IntRange(0, 2).Draw(t, "a"), "b": 1}
			}
			n := table.number(&d.Shape)
			if known, ok := numbers[d.Shape.Key()]; ok && known != n {
				t.Fatalf("%s has numbers %d and %d", d.Shape.Key(), known, n)
			}
			numbers[d.Shape.Key()] = n
			if table.shapes[n].Key() != d.Shape.Key() {
				t.Fatalf("%s is numbered as %s", d.Shape.Key(), table.shapes[n].Key())
			}
		}
	})
}

// TestOrderOfQueue holds radix and merge against comparison.
func TestOrderOfQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfNDistinct(rapid.IntRange(1, 400), 0, 60, rapid.ID[int]).Draw(t, "ids")
		var kept, fresh []entry
		moved, want := make([]int32, len(all)), 0
		for i, id := range all {
			d := drawDemand(t, "c", id)
			d.Priority = rapid.OneOf(rapid.Int64Range(-2, 2), rapid.Int64()).Draw(t, "priority")
			e := entry{demand: &d, at: int32(i)}
			switch rapid.SampledFrom([]string{"kept", "gone", "fresh"}).Draw(t, "entry") {
			case "kept":
				moved[i] = int32(i) + 1
				kept, want = append(kept, e), want+1
			case "gone":
				kept = append(kept, e)
			case "fresh":
				fresh, want = append(fresh, e), want+1
			}
		}
		order := mergeEntries(nil, sortEntries(kept), sortEntries(fresh), moved)
		if len(order) != want {
			t.Fatalf("%d of %d in order", len(order), want)
		}
		for i := 1; i < len(order); i++ {
			if a, b := order[i-1].demand, order[i].demand; compareDemands(a, b) > 0 {
				t.Fatalf("%s (%d) before %s (%d)", a.Job, a.Priority, b.Job, b.Priority)
			}
		}
	})
}
