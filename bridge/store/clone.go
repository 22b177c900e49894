package store

import (
	"maps"
	"slices"

	"spillway.sh/spillway/bridge"
)

// clone copies a rental with everything it points to, so that a caller may
// change what it got without changing what the store remembers.
func clone(r *bridge.Rental) bridge.Rental {
	c := *r
	c.Jobs = slices.Clone(r.Jobs)
	c.Running = slices.Clone(r.Running)
	c.Alerted = slices.Clone(r.Alerted)
	c.Yeses = slices.Clone(r.Yeses)
	c.Features = slices.Clone(r.Features)
	c.Machines = slices.Clone(r.Machines)
	c.Launch.Tags = maps.Clone(r.Launch.Tags)
	c.Shape.GRES = maps.Clone(r.Shape.GRES)
	c.Shape.Features = slices.Clone(r.Shape.Features)
	for i, or := range c.Shape.Features {
		c.Shape.Features[i] = slices.Clone(or)
	}
	return c
}
