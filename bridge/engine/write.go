package engine

import (
	"context"
	"errors"
	"fmt"

	"spillway.sh/spillway/bridge"
)

// write makes one call to a cluster's scheduler, in bounded time.
func (e *Engine) write(ctx context.Context, cluster string, f func(context.Context, Scheduler) error) error {
	s := e.o.Clusters[cluster]
	if s == nil {
		return fmt.Errorf("no cluster %q is configured", cluster)
	}
	ctx, cancel := context.WithTimeout(ctx, e.limits.Write)
	defer cancel()
	return f(ctx, s)
}

// dismiss takes nodes out of the scheduler.
func (e *Engine) dismiss(ctx context.Context, r *bridge.Rental, nodes []string) error {
	if len(nodes) == 0 {
		return nil
	}
	err := e.write(ctx, r.Cluster, func(ctx context.Context, s Scheduler) error { return s.Dismiss(ctx, r, nodes) })
	if err != nil && !errors.Is(err, bridge.ErrBusy) {
		return fmt.Errorf("dismiss %v of rental %s: %w", nodes, r.ID, err)
	}
	return err
}

// startTerminate asks a cloud to end machines, beside the loop.
func (e *Engine) startTerminate(key, cloud string, ids []string) {
	cl := e.clouds[cloud]
	if cl == nil {
		return
	}
	e.calls.start(key, cloud, e.limits.Call, true, func(ctx context.Context) (any, error) {
		return struct{}{}, cl.Terminate(ctx, ids)
	})
}
