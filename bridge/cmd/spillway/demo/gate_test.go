package demo

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/desk/socket"
	"spillway.sh/spillway/bridge/sandbox"
)

// A machine that comes with fewer GPUs than were paid for is found out by its own
// agent, goes back before a job sees it, and says why; the job runs on the next.
func TestS_F52_AMachineThatIsNotFitGoesBackAtOnce(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	p := &play{rig: r}
	if err := r.Fault(ctx, wire.Fault{Kind: wire.FaultWrongGPUs, Machines: 5, Count: 1}); err != nil {
		t.Fatal(err)
	}
	for i, steps := range []int{200, 200, 5} {
		j := &job{Name: "train-fit-" + string(rune('a'+i)), Nodes: 1, Steps: steps}
		id, err := r.cluster.Submit(ctx, sandbox.Alice, j.script(p.scratch()))
		if err != nil {
			t.Fatal(err)
		}
		j.ID = id
		p.jobs = append(p.jobs, j)
	}
	last := p.jobs[2]
	wait(ctx, t, last.Name+" is done", func() bool {
		got, err := readRecord(p.scratch(), last.Name)
		return err == nil && got.Done
	}, 0)
	got, err := readRecord(p.scratch(), last.Name)
	if err != nil || len(got.Starts) != 1 {
		t.Errorf("it was started %d times, %v; want once, on a machine that is fit", len(got.Starts), err)
	}
	c := socket.NewClient(r.socket())
	defer c.Close()
	news, err := socket.Call(ctx, c, desk.AskNews, desk.NewsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(news.News, func(n bridge.News) bool {
		return n.Why == bridge.ReasonUnfit && strings.Contains(n.Text, "gpus: 3, by their device nodes")
	}) {
		text, _ := os.ReadFile(r.path("spillway.log"))
		t.Errorf("nobody is told why the first machine went back: %+v\nthe daemon's log:\n%s", news.News, text)
	}
	judged, err := r.judge(time.Now())
	if err != nil || judged.Machines < 2 {
		t.Errorf("%d machines were rented, %v; want the one that was not fit and another", judged.Machines, err)
	}
}
