package sim

import "spillway.sh/spillway/bridge/sim/crash"

type (
	// Ports are what one life of a bridge reaches the world through.
	Ports = crash.Ports
	// Wrap puts something of its own around the ports of a life.
	Wrap = crash.Wrap
)
