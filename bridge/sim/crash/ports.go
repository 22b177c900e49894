package crash

import (
	"maps"
	"slices"

	"spillway.sh/spillway/bot"
	"spillway.sh/spillway/bridge/calendar"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/engine"
	"spillway.sh/spillway/bridge/enrol"
	"spillway.sh/spillway/bridge/usage"
)

// Ports are what one life of a bridge reaches the world through. What it does not
// have is nil.
type Ports struct {
	Clusters map[string]engine.Scheduler
	Clouds   []engine.Cloud
	Store    engine.Store // of the engine
	Writer   desk.Writer  // of the desk
	Loop     desk.Loop    // of the desk
	Finder   desk.Finder  // of the desk and the engine
	Calendar calendar.Store
	Usage    usage.Store
	Rentals  enrol.Rentals
	Box      bot.Box
	Slack    bot.Slack
}

// Wrap puts something of its own around the ports of a life, the first of which
// is number 1.
type Wrap func(life int, p Ports) Ports

// Through puts a hook round all ports that there are.
func Through(p Ports, a Around) Ports {
	p.Clusters = maps.Clone(p.Clusters)
	for name, c := range p.Clusters {
		p.Clusters[name] = Scheduler(name, c, a)
	}
	p.Clouds = slices.Clone(p.Clouds)
	for i, c := range p.Clouds {
		p.Clouds[i] = Cloud(c, a)
	}
	p.Store, p.Writer, p.Loop, p.Finder = put(Store, p.Store, a), put(Writer, p.Writer, a), put(Loop, p.Loop, a), put(Finder, p.Finder, a)
	p.Calendar, p.Usage, p.Rentals = put(Calendar, p.Calendar, a), put(Usage, p.Usage, a), put(Rentals, p.Rentals, a)
	p.Box, p.Slack = put(Box, p.Box, a), put(Slack, p.Slack, a)
	return p
}

// put decorates a port, if it is there.
func put[T comparable](decorate func(T, Around) T, in T, a Around) T {
	var none T
	if in == none {
		return in
	}
	return decorate(in, a)
}
