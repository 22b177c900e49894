package mutant

import "slices"

// mutants are all of them.
var mutants = slices.Concat(intents, views, strangers, ends, funds, people, times, cloudy, failover)

// Folders of tests.
const (
	domain  = "bridge"
	books   = "bridge/ledger"
	engines = "bridge/engine"
	stores  = "bridge/store"
	bots    = "bot"
	nodes   = "bridge/node"
)
