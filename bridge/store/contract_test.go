package store_test

import (
	"spillway.sh/spillway/bridge/engine"
	"spillway.sh/spillway/bridge/store"
)

// The store serves the engine without importing it.
var _ engine.Store = (*store.Store)(nil)
