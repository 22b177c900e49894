package main

import (
	"bufio"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

func TestWhatAnAgentSaysInAFewWords(t *testing.T) {
	for want, report := range map[string]*bridge.Report{
		"":         nil,
		"checking": {Health: bridge.HealthChecking, GPUPM: -1},
		"checking, 1 of 2 checks passed, fabric: still training": {Health: bridge.HealthChecking, GPUPM: -1, Checks: []bridge.Check{{Name: "fabric", Got: "still training"}, {Name: "gpus", OK: true, Got: "8"}}},
		"fit, a job runs, GPU use 87 %":                          {Health: bridge.HealthFit, Busy: true, GPUPM: 874},
		"fit, no job, GPU use not known":                         {Health: bridge.HealthFit, GPUPM: -1, Notice: &bridge.Warning{Source: "rebalance", Advice: true}},
		"fit, no job, GPU use 0 %, taken back: Preempt":          {Health: bridge.HealthFit, Notice: &bridge.Warning{Source: "Preempt"}},
		"unfit, 1 of 2 checks passed, gpus: 7":                   {Health: bridge.HealthUnfit, Checks: []bridge.Check{{Name: "gpus", Got: "7"}, {Name: "disk", OK: true, Got: "1 TiB"}}},
	} {
		if got := agentSays(&desk.Machine{Report: report}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestStagesAreShownWithTheirTimes(t *testing.T) {
	r := desk.Rental{Machines: []desk.Machine{{Node: "sw-0013-0"}, {Node: "sw-0013-1", Report: &bridge.Report{Stages: []bridge.Stage{
		{Name: "prepare", OK: true, Took: 312 * time.Millisecond},
		{Name: "10-dataset", OK: true, Took: 12400 * time.Millisecond, Text: "41 GiB"},
		{Name: "gate", Took: 2 * time.Second, Text: "mounts: /data is missing\x1b[2J"},
	}}}}}
	var out strings.Builder
	p := &page{bufio.NewWriter(&out)}
	sayStages(p, &r)
	sayStages(p, &desk.Rental{Machines: []desk.Machine{{Node: "sw-0026-0"}}}) // nothing said yet
	if err := p.w.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), `
MACHINE    STAGE       STATE    TOOK    SAYS
sw-0013-1  prepare     ok       0.3 s   -
sw-0013-1  10-dataset  ok       12.4 s  41 GiB
sw-0013-1  gate        not yet  2.0 s   mounts: /data is missing?[2J
`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
