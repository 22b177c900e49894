package main

import (
	"context"
	"fmt"
)

// seeClusters asks each cluster what is in the way of renting for it.
func seeClusters(ctx context.Context, s *site) []finding {
	var out []finding
	for _, name := range s.clusterNames() {
		q, err := s.clusters[name].Observe(ctx)
		if err != nil {
			out = append(out, finding{"cluster " + name, blocked, err.Error(), []string{}})
			continue
		}
		out = append(out, finding{"cluster " + name, fine, fmt.Sprintf("it answers: %d waiting, %d running, %d nodes", len(q.Demands), len(q.Runs), len(q.Nodes)), []string{}})
	}
	return out
}
