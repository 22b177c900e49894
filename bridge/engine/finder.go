package engine

import (
	"context"

	"spillway.sh/spillway/bridge"
)

// Finder finds the checkpoints of a job. Errors are *bridge.CheckpointError and
// never mean that there are none.
type Finder interface {
	Find(ctx context.Context, rule *bridge.CheckpointRule, job bridge.CheckpointJob) (bridge.CheckpointLook, error)
}
