package reclaim

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/desk/socket"
	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/slurm/slurmtest"
)

//go:embed testdata/train.py
var trainer string

// A training run: so many steps, and so many between two checkpoints.
const (
	trainSteps    = 300
	trainInterval = 20
)

// trainScript is what the user sends. Machines that were rented have no name
// that the others know, so the ranks meet at an address. Until Python handles the
// signal it is ignored, or one that comes early would end the job.
const trainScript = `#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=4 --mem=4000 --gres=gpu:a100:8 --time=20 --requeue
#SBATCH --open-mode=append --output=%[1]s/out.txt
first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_ADDR=$(scontrol show node "$first" -o | sed 's/.*NodeAddr=\([^ ]*\).*/\1/') MASTER_PORT=%[2]d
export GLOO_SOCKET_IFNAME=eth0 OMP_NUM_THREADS=1
srun --kill-on-bad-exit=1 sh -c 'trap "" USR1; exec python3 %[1]s/train.py --dir %[1]s --steps %[3]d --every %[4]d --pause 0.15'
`

// line is one line of the trainer's log.
type line struct {
	At      float64 `json:"at"`
	Restart int     `json:"restart"`
	Start   *int    `json:"start"`
	Step    int     `json:"step"`
	Saved   int     `json:"saved"`
	Done    int     `json:"done"`
	Weights string  `json:"weights"`
}

// TestTrainingThatIsReclaimedThreeTimesEndsWithTheSameWeights trains a model
// with PyTorch, data-parallel on two machines, once on the site's own nodes and
// once on spot machines that are taken back three times.
func TestTrainingThatIsReclaimedThreeTimesEndsWithTheSameWeights(t *testing.T) {
	s := &siege{rig: newRigOn(t, slurmtest.Options{Version: "22.05", Overlays: 30, Packages: []string{"python3-torch"}})}
	s.scratch = s.folder(s.cluster.SharedDir())
	calm, id := s.train("calm", 29500)
	s.until(4*time.Minute, "the undisturbed training is done", func() bool { return finished(s.trained(calm)) != nil })
	want := finished(s.trained(calm))
	if n := len(starts(s.trained(calm))); n != 1 {
		t.Fatalf("the undisturbed training %s started %d times", id, n)
	}
	s.block()
	besieged, id := s.train("besieged", 29501)
	for taken := range 3 {
		s.until(4*time.Minute, fmt.Sprintf("run %d is well under way, and what it goes on from was told", taken+1), func() bool {
			log := s.trained(besieged)
			from := starts(log)
			return len(from) == taken+1 && last(log) > *from[taken].Start+10 && len(s.resumed(id)) == taken
		})
		s.found(id, besieged)
		s.takeFrom(id)
	}
	s.until(4*time.Minute, "the training is done", func() bool { return finished(s.trained(besieged)) != nil })
	s.until(2*time.Minute, "all given back", func() bool { return len(s.rentals()) == 0 })
	log := s.trained(besieged)
	got := finished(log)
	if got.Weights != want.Weights || got.Done != trainSteps {
		t.Errorf("weights %s after %d steps, undisturbed %s after %d", got.Weights, got.Done, want.Weights, want.Done)
	}
	s.judgeTraining(log, s.resumed(id))
	s.books()
}

// train sends a training job of its own folder.
func (s *siege) train(name string, port int) (string, bridge.JobID) {
	s.t.Helper()
	dir := filepath.Join(s.scratch, name)
	must(s.t, os.MkdirAll(dir, 0o777))
	must(s.t, os.Chmod(dir, 0o777))
	must(s.t, os.WriteFile(filepath.Join(dir, "train.py"), []byte(trainer), 0o644))
	id, err := s.cluster.Submit(s.t.Context(), sandbox.Alice, fmt.Sprintf(trainScript, dir, port, trainSteps, trainInterval), "--job-name=torch-"+name, "--comment=ckpt="+name)
	must(s.t, err)
	return dir, bridge.JobID(id)
}

// takeFrom has the cloud take one machine of the job's gang.
func (s *siege) takeFrom(id bridge.JobID) {
	s.t.Helper()
	s.until(30*time.Second, "a machine of "+string(id)+" to take", func() bool {
		for _, r := range s.rentals() {
			if !slices.Contains(r.Running, id) || r.Pool.Market != bridge.Spot {
				continue
			}
			for _, m := range r.Machines {
				if m.State == bridge.MachineJoined {
					return s.fault(wire.Fault{Kind: wire.CommandNotice, Instance: m.ID}) == nil
				}
			}
		}
		return false
	})
}

// trained reads the trainer's log; a line that is being written is left out.
func (s *siege) trained(dir string) []line {
	s.t.Helper()
	f, err := os.Open(filepath.Join(dir, "log.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	must(s.t, err)
	defer func() { _ = f.Close() }()
	var out []line
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var l line
		if json.Unmarshal(sc.Bytes(), &l) == nil {
			out = append(out, l)
		}
	}
	return out
}

func starts(log []line) []line {
	return slices.DeleteFunc(slices.Clone(log), func(l line) bool { return l.Start == nil })
}

func last(log []line) (step int) {
	for _, l := range log {
		if l.Step > 0 {
			step = l.Step
		}
	}
	return step
}

func finished(log []line) *line {
	if i := slices.IndexFunc(log, func(l line) bool { return l.Done > 0 }); i >= 0 {
		return &log[i]
	}
	return nil
}

// found checks that the daemon finds what the job wrote, while it runs.
func (s *siege) found(id bridge.JobID, dir string) {
	s.t.Helper()
	s.until(time.Minute, "its checkpoint is found", func() bool {
		before := savedLast(s.trained(dir))
		a, err := socket.Call(s.t.Context(), s.client, desk.AskCheckpoints, desk.CheckpointsRequest{Job: id})
		return err == nil && before > 0 && a.Newest != nil && a.Newest.Step >= int64(before) && a.Newest.Step <= int64(savedLast(s.trained(dir)))
	})
}

func savedLast(log []line) (step int) {
	for _, l := range log {
		step = max(step, l.Saved)
	}
	return step
}

// resumed are the news of the job's going on from a step.
func (s *siege) resumed(id bridge.JobID) []bridge.News {
	s.t.Helper()
	a, err := socket.Call(s.t.Context(), s.client, desk.AskNews, desk.NewsRequest{Limit: 1000})
	must(s.t, err)
	return slices.DeleteFunc(a.News, func(n bridge.News) bool { return n.Job != id || n.Kind != bridge.NewsResumed })
}

// judgeTraining checks that each run went on from a checkpoint, that none lost
// more than the step it was at, as there was time to write, and that what was
// told is what happened.
func (s *siege) judgeTraining(log []line, told []bridge.News) {
	s.t.Helper()
	if n := len(starts(log)); n != 4 {
		s.t.Errorf("the training was started %d times, want 4", n)
	}
	step, at, runs := 0, 0.0, []int{}
	for _, l := range log {
		if l.Start != nil && at > 0 {
			lost := step - *l.Start
			s.t.Logf("run %d goes on from step %d, %d steps lost, %.1f s after the last", l.Restart, *l.Start, lost, l.At-at)
			if *l.Start == 0 || lost > 1 || lost < 0 {
				s.t.Errorf("run %d starts at step %d, the one before it came to %d", l.Restart, *l.Start, step)
			}
			if n := len(runs); n >= len(told) || !strings.HasPrefix(told[n].Text, fmt.Sprintf("resumed at step %d ", *l.Start)) {
				s.t.Errorf("run %d starts at step %d, the news are %+v", l.Restart, *l.Start, told)
			}
			runs = append(runs, *l.Start)
		}
		if l.Step > 0 {
			step, at = l.Step, l.At
		}
	}
}
