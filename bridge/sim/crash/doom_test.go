package crash_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/engine"
	"spillway.sh/spillway/bridge/sim/crash"
)

// counted is a cloud that counts what reaches it.
type counted struct {
	engine.Cloud
	ended [][]string
}

func (c *counted) Name() string { return "c" }

func (c *counted) Terminate(_ context.Context, ids []string) error {
	c.ended = append(c.ended, ids)
	return nil
}

func TestDoomKillsAtItsPoint(t *testing.T) {
	for name, tt := range map[string]struct {
		at     []string
		effect int // calls of three in each of two lives that had one
		alive  [2]bool
		passed []string // in the first life
	}{
		"never": {effect: 6, alive: [2]bool{true, true}, passed: []string{
			"Cloud.Terminate 1 before", "Cloud.Terminate 1 after", "Cloud.Terminate 2 before", "Cloud.Terminate 2 after", "Cloud.Terminate 3 before", "Cloud.Terminate 3 after",
		}},
		"before the effect":        {at: []string{"Cloud.Terminate 2 before"}, effect: 1 + 3, alive: [2]bool{false, true}, passed: []string{"Cloud.Terminate 1 before", "Cloud.Terminate 1 after", "Cloud.Terminate 2 before"}},
		"after the effect":         {at: []string{"Cloud.Terminate 1 after"}, effect: 1 + 3, alive: [2]bool{false, true}, passed: []string{"Cloud.Terminate 1 before", "Cloud.Terminate 1 after"}},
		"at the first of several":  {at: []string{"Cloud.Terminate 3 before,Cloud.Terminate 1 before,Store.Save 1 after"}, effect: 3, alive: [2]bool{false, true}, passed: []string{"Cloud.Terminate 1 before"}},
		"and again while it heals": {at: []string{"Cloud.Terminate 1 before", "Cloud.Terminate 1 after"}, effect: 1, passed: []string{"Cloud.Terminate 1 before"}},
		"only in the second life": {at: []string{"", "Cloud.Terminate 3 after"}, effect: 6, alive: [2]bool{true, false}, passed: []string{
			"Cloud.Terminate 1 before", "Cloud.Terminate 1 after", "Cloud.Terminate 2 before", "Cloud.Terminate 2 after", "Cloud.Terminate 3 before", "Cloud.Terminate 3 after",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d, c := crash.New(tt.at...), &counted{}
			for life := 1; life <= 2; life++ {
				p := d.Wrap(life, crash.Ports{Clouds: []engine.Cloud{c}})
				for range 3 {
					err := p.Clouds[0].Terminate(t.Context(), []string{"i"})
					if dead := over(d.Died(life)); dead != errors.Is(err, crash.ErrKilled) {
						t.Errorf("life %d: dead is %v, the call says %v", life, dead, err)
					}
				}
				if over(d.Died(life)) == tt.alive[life-1] {
					t.Errorf("life %d: alive is not %v", life, tt.alive[life-1])
				}
			}
			if len(c.ended) != tt.effect {
				t.Errorf("%d calls had an effect, want %d", len(c.ended), tt.effect)
			}
			if diff := cmp.Diff(tt.passed, d.Passed(1)); diff != "" {
				t.Errorf("points of the first life (-want +got):\n%s", diff)
			}
		})
	}
}

func over(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// What a hook is told of a call.
func TestAHookSeesWhatACallReturned(t *testing.T) {
	var seen []string
	c := crash.Cloud(lister{}, func(ctx context.Context, c *crash.Call, do func(context.Context) error) error {
		err := do(ctx)
		l, _ := c.Out.(bridge.Listing)
		seen = append(seen, c.Port, c.Of, c.Method, fmt.Sprint(c.Args), l.Instances[0].ID)
		return err
	})
	l, err := c.List(t.Context(), "s", "c")
	if err != nil || len(l.Instances) != 1 {
		t.Errorf("%+v, %v", l, err)
	}
	if diff := cmp.Diff([]string{"Cloud", "l", "List", "[s c]", "i-1"}, seen); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
}

type lister struct{ engine.Cloud }

func (lister) Name() string { return "l" }
func (lister) List(context.Context, string, string) (bridge.Listing, error) {
	return bridge.Listing{Instances: []bridge.Instance{{ID: "i-1"}}}, nil
}
