package sim

import (
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/engine"
)

// Ports are what one life of a bridge reaches the world through.
type Ports struct {
	Clusters map[string]engine.Scheduler
	Clouds   []engine.Cloud
	Store    engine.Store // of the engine
	Writer   desk.Writer  // of the desk
}

// Wrap puts something of its own around the ports of a life, the first of which
// is number 1.
type Wrap func(life int, p Ports) Ports
