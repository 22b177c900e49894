package node

import (
	"slices"
	"sync"

	"spillway.sh/spillway/bridge"
)

// status is what is known of the machine just now.
type status struct {
	mu      sync.Mutex
	health  bridge.Health
	checks  []bridge.Check
	stages  []bridge.Stage
	notice  *bridge.Warning
	blind   string // why notices cannot be seen; empty: they can
	gpuPM   int
	changed chan struct{} // holds one: something is to be told at once
}

func newStatus() *status {
	return &status{health: bridge.HealthChecking, gpuPM: -1, changed: make(chan struct{}, 1)}
}

// set changes something and has it told at once.
func (s *status) set(change func(*status)) {
	s.mu.Lock()
	change(s)
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default: // It will be told with what changed before.
	}
}

// report is the status in the bridge's words; what failed comes first.
func (s *status) report() *bridge.Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &bridge.Report{Health: s.health, Checks: slices.Clone(s.checks), Stages: slices.Clone(s.stages), GPUPM: s.gpuPM}
	if s.notice != nil {
		n := *s.notice
		r.Notice = &n
	}
	if s.blind != "" {
		r.Checks = append(r.Checks, bridge.Check{Name: checkNotices, Got: s.blind, Want: "the cloud's notices can be seen"})
	}
	slices.SortStableFunc(r.Checks, func(a, b bridge.Check) int {
		switch {
		case a.OK == b.OK:
			return 0
		case b.OK:
			return -1
		}
		return 1
	})
	return r
}
