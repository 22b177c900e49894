package policies

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/config/strict"
)

// Capacity is what is paid for whether it is used or not, in the order of the
// file.
func (f *File) Capacity() []bridge.Capacity { return slices.Clone(f.capacity) }

// contracts reports whether any of the capacity is machines of a cloud.
func (f *File) contracts() bool {
	return slices.ContainsFunc(f.capacity, func(c bridge.Capacity) bool { return c.Kind != bridge.Owned })
}

func (r *reader) readCapacity(n strict.Node) {
	at := map[string]int{}
	strict.Each(func(e strict.Node) {
		c, ok := r.oneCapacity(e)
		if !ok {
			return
		}
		if line, twice := at[c.Name]; twice {
			name, _ := e.Get("name")
			name.With("name: " + c.Name + "-2").Fault(fmt.Sprintf("another one has this name, on line %d", line))
			return
		}
		at[c.Name] = e.Line()
		r.file.capacity = append(r.file.capacity, c)
	})(n)
}

func (r *reader) oneCapacity(e strict.Node) (bridge.Capacity, bool) {
	var c bridge.Capacity
	instant := func(dst *time.Time) func(strict.Node) {
		return scalar(func(s string) (wrong string) { *dst, wrong = r.instant(s); return wrong })
	}
	const most = 1_000_000
	sound := e.Sound(func(e strict.Node) {
		e.Object(
			strict.Need("name", "name: north-2027", strict.Text(&c.Name, level)),
			strict.Need("kind", "kind: reserved", strict.Choice(&c.Kind, bridge.Owned, bridge.Contract, bridge.Block, bridge.SavingsPlan)),
			strict.Need("gpu", "gpu: h100", strict.Text(&c.GPU, level)),
			strict.Need("gpus", "gpus: 64", strict.Whole(&c.GPUs, 1, most)),
			strict.Need("cost", "cost: 1.10 "+r.code()+"/h", r.maxRate(&c.Rate)),
			strict.May("from", "from: 2026-01-01", instant(&c.From)),
			strict.May("until", "until: 2027-01-01", instant(&c.Until)),
			strict.May("cloud", "cloud: north", strict.Text(&c.Cloud, level)),
			strict.May("region", "region: eu-1", strict.Text(&c.Region, level)),
			strict.May("zone", "zone: eu-1a", strict.Text(&c.Zone, level)),
			strict.May("type", "type: gpu8", strict.Text(&c.Type, level)),
			strict.May("machines", "machines: 8", strict.Whole(&c.Machines, 1, most)),
		)
	})
	return c, sound && r.checkCapacity(e, &c)
}

const (
	ownedExample    = "{name: own, kind: owned, gpu: a100, gpus: 64, cost: 1.10 %s/h}"
	contractExample = "{name: north-2027, kind: reserved, gpu: h100, gpus: 64, cost: 1.95 %s/h, cloud: north, type: gpu8, machines: 8}"
	blockExample    = "{name: sprint, kind: block, gpu: h100, gpus: 64, cost: 1.95 %s/h, cloud: north, type: gpu8, machines: 8, from: 2026-12-01, until: 2026-12-15}"
)

// checkCapacity finds what the keys of one entry say together.
func (r *reader) checkCapacity(e strict.Node, c *bridge.Capacity) bool {
	refuse := func(example, wrong string) bool {
		e.With(fmt.Sprintf(example, r.code())).Refuse(wrong)
		return false
	}
	switch {
	case !c.From.IsZero() && !c.Until.IsZero() && !c.From.Before(c.Until):
		return refuse(blockExample, "it ends before it begins")
	case c.Kind == bridge.Owned && placed(c):
		return refuse(ownedExample, "owned machines are nodes of a cluster: cloud, region, zone, type and machines are of contracts")
	case c.Kind == bridge.Owned:
		return true
	case c.Cloud == "" || c.Type == "" || c.Machines == 0:
		return refuse(contractExample, "a contract names its cloud, its type and how many machines it has")
	case c.GPUs%c.Machines != 0:
		return refuse(contractExample, fmt.Sprintf("%d GPUs do not divide among %d machines", c.GPUs, c.Machines))
	case c.Kind == bridge.Block && (c.From.IsZero() || c.Until.IsZero()):
		return refuse(blockExample, "a block is bought for a time: give from and until")
	}
	return true
}

// placed reports whether an entry has any key that only contracts have.
func placed(c *bridge.Capacity) bool {
	return c.Cloud != "" || c.Region != "" || c.Zone != "" || c.Type != "" || c.Machines > 0
}

// instant reads a day, which begins in the file's zone, or a time with its own.
func (r *reader) instant(s string) (time.Time, string) {
	zone := r.zone
	if zone == nil {
		zone = time.UTC
	}
	if t, err := time.ParseInLocation(time.DateOnly, s, zone); err == nil {
		return t.UTC(), ""
	}
	if t, err := time.Parse(time.RFC3339, strings.ToUpper(s)); err == nil {
		return t.UTC(), ""
	}
	return time.Time{}, "want a day such as 2026-12-01, or a time such as 2026-12-01T09:00:00Z"
}
