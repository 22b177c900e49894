package main

import (
	"testing"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

func TestWhatAnAgentSaysInAFewWords(t *testing.T) {
	for want, report := range map[string]*bridge.Report{
		"":                                   nil,
		"checking":                           {Health: bridge.HealthChecking, GPUPM: -1},
		"fit, busy, GPUs 87 %":               {Health: bridge.HealthFit, Busy: true, GPUPM: 874},
		"fit":                                {Health: bridge.HealthFit, GPUPM: -1, Notice: &bridge.Warning{Source: "rebalance", Advice: true}},
		"fit, GPUs 0 %, taken back: Preempt": {Health: bridge.HealthFit, Notice: &bridge.Warning{Source: "Preempt"}},
		"unfit, gpus: 7":                     {Health: bridge.HealthUnfit, Checks: []bridge.Check{{Name: "gpus", Got: "7"}, {Name: "disk", OK: true, Got: "1 TiB"}}},
	} {
		if got := agentSays(&desk.Machine{Report: report}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
