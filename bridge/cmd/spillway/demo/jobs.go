package demo

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// job is one of the user's submissions.
type job struct {
	Name  string
	Nodes int
	Steps int // of half a second each

	ID        string
	Submitted time.Time // just before sbatch was called
}

// stepLength is how long one training step of the demo takes.
const stepLength = 500 * time.Millisecond

// script is what the user sends: a trainer that counts steps, saves every
// tenth one by writing aside and renaming, saves at once when it is told, and
// goes on from what it finds. It knows nothing of Spillway.
func (j *job) script(shared string) string {
	return fmt.Sprintf(`#!/bin/bash
#SBATCH --job-name=%[1]s
#SBATCH --nodes=%[2]d --ntasks-per-node=1 --cpus-per-task=4 --mem=2000
#SBATCH --gres=gpu:a100:8 --time=10 --requeue
#SBATCH --output=%[3]s/%[1]s.out --open-mode=append
dir=%[3]s name=%[1]s last=%[4]d
say() { echo "${EPOCHREALTIME/[.,]/} $*" >> "$dir/$name.log"; }
save() { echo "$step" > "$dir/$name.ckpt.new" && mv "$dir/$name.ckpt.new" "$dir/$name.ckpt" && say save "$step"; }
step=0
[ -s "$dir/$name.ckpt" ] && step=$(cat "$dir/$name.ckpt")
say start "${SLURM_RESTART_COUNT:-0}" "$step"
trap save USR1
[ "$SLURM_JOB_NUM_NODES" -gt 1 ] && say ranks "$(srun hostname | sort | xargs)"
while [ "$step" -lt "$last" ]; do
  sleep 0.5 & wait $!
  step=$((step + 1)); say step "$step"
  [ $((step %% 10)) -eq 0 ] && save
done
say done "$step"
`, j.Name, j.Nodes, shared, j.Steps)
}

// record is what a job's own log says of it.
type record struct {
	Starts   []start
	LastStep int
	Done     bool
	Ranks    int // nodes of a gang that answered
	Lost     time.Duration
}

// start is one run of a job.
type start struct {
	At      time.Time
	Restart int
	From    int // the step it went on from
}

// resumed reports whether a later run went on from a saved step.
func (r *record) resumed() bool {
	for _, s := range r.Starts {
		if s.Restart > 0 && s.From > 0 {
			return true
		}
	}
	return false
}

// readRecord reads a job's log. Steps done after the last save and before a
// restart are lost work.
func readRecord(shared, name string) (record, error) {
	f, err := os.Open(filepath.Join(shared, name+".log"))
	if os.IsNotExist(err) {
		return record{}, nil
	}
	if err != nil {
		return record{}, fmt.Errorf("read the log of %s: %w", name, err)
	}
	defer f.Close()
	var r record
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if err := r.line(sc.Text()); err != nil {
			return record{}, fmt.Errorf("read the log of %s: %w", name, err)
		}
	}
	return r, nil
}

func (r *record) line(text string) error {
	w := strings.Fields(text)
	if len(w) < 2 {
		return fmt.Errorf("line %q is cut short", text)
	}
	us, err := strconv.ParseInt(w[0], 10, 64)
	if err != nil {
		return fmt.Errorf("line %q: %w", text, err)
	}
	number := func(i int) int {
		if i >= len(w) {
			return 0
		}
		n, _ := strconv.Atoi(w[i])
		return n
	}
	switch w[1] {
	case "start":
		if lost := r.LastStep - number(3); lost > 0 {
			r.Lost += time.Duration(lost) * stepLength
		}
		r.Starts = append(r.Starts, start{At: time.UnixMicro(us).UTC(), Restart: number(2), From: number(3)})
	case "step":
		r.LastStep = number(2)
	case "ranks":
		r.Ranks = len(w) - 2
	case "done":
		r.Done = true
	}
	return nil
}
