package slurm_test

import (
	"testing"
	"time"

	"spillway.sh/spillway/bridge/sandbox"
)

func TestZZ(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		c := s.adapter(sandbox.Account{})
		show := func(what string, id string) {
			j, err := s.Job(t.Context(), id)
			if err != nil {
				t.Log(what, err)
				return
			}
			t.Log(what, j.State, j.Fields["Reason"], j.Fields["Priority"], j.Fields["Restarts"], j.Fields["NumNodes"])
		}
		id := s.submit(t, sleeper, "--constraint=rack1", "--gres=gpu:8", "--mem=1000")
		s.wait(t, id, "RUNNING")
		s.must(t, sandbox.Account{}, "scontrol", "update", "NodeName=local1", "State=DOWN", "Reason=x")
		show("down", string(id))
		s.must(t, sandbox.Account{}, "scontrol", "update", "NodeName=local1", "AvailableFeatures=ib", "ActiveFeatures=ib")
		time.Sleep(3 * time.Second)
		show("3s", string(id))
		ok, err := c.Expedite(t.Context(), id)
		t.Log(ok, err)
		time.Sleep(4 * time.Second)
		show("expedited", string(id))
		s.must(t, sandbox.Account{}, "scontrol", "update", "NodeName=local1", "AvailableFeatures=ib,rack1", "ActiveFeatures=ib,rack1")
		for range 5 {
			time.Sleep(3 * time.Second)
			show("restored", string(id))
		}
		t.Log(c.Nudge(t.Context(), id))
		for range 3 {
			time.Sleep(2 * time.Second)
			show("nudged", string(id))
		}
	})
}
