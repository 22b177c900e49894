package sim

import (
	"context"
	"time"
)

// Errand plans something of the caller's own, so long after now. It happens while
// the world is played, between two looks at it; a bridge may be dead then.
func (w *World) Errand(after time.Duration, do func(context.Context)) { w.in(after, do) }
