package reclaim

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	stepLength = 500 * time.Millisecond
	interval   = 10 // steps between two checkpoints
)

// kind is one kind of job. Name decides by what rule it is treated.
type kind struct {
	Name  string
	Args  []string
	Nodes int // of a gang; 1
	Tasks int // of an array; 0: none
	Trap  string
	Slow  bool // its checkpoints take long to write
	// OnDemand jobs must never see a spot machine.
	OnDemand bool
}

// kinds is the mix. Every one may be hit by a reclaim, but the last.
var kinds = []kind{
	{Name: "train-single", Nodes: 1, Trap: "trap save USR1"},
	{Name: "train-gang", Nodes: 2, Trap: "trap save USR1"},
	{Name: "train-array", Nodes: 1, Tasks: 3, Trap: "trap save USR1"},
	{Name: "train-excl", Nodes: 1, Args: []string{"--exclusive"}, Trap: "trap save USR1"},
	{Name: "train-slow", Nodes: 1, Slow: true, Trap: "trap save USR1"},
	{Name: "train-self", Nodes: 1, Trap: "trap 'save; scontrol requeue ${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}' USR1"},
	{Name: "exit-zero", Nodes: 1, Trap: "trap 'save; exit 0' TERM"},
	{Name: "deaf", Nodes: 1, Trap: "trap '' TERM USR1"},
	{Name: "once", Nodes: 1, Args: []string{"--no-requeue"}, Trap: "true", OnDemand: true},
}

// script counts steps, saves every tenth one aside and by renaming, and goes
// on from what it finds. Each line says which run wrote it.
func (k *kind) script(dir string, steps int) string {
	slow := ""
	if k.Slow {
		slow = "sleep 2; "
	}
	requeue := "--requeue"
	if k.OnDemand {
		requeue = "--no-requeue"
	}
	return fmt.Sprintf(`#!/bin/bash
#SBATCH --nodes=%[2]d --ntasks-per-node=1 --cpus-per-task=4 --mem=2000 --gres=gpu:a100:8 --time=30 %[7]s
#SBATCH --output=/dev/null --open-mode=append
run=${SLURM_RESTART_COUNT:-0} me=%[1]s/$SLURM_JOB_NAME${SLURM_ARRAY_TASK_ID:+-$SLURM_ARRAY_TASK_ID}
say() { echo "${EPOCHREALTIME/[.,]/} $run $*" >> "$me.log"; }
save() { local s=$step; echo "$s" > "$me.ckpt.$run"; %[5]smv "$me.ckpt.$run" "$me.ckpt" && say save "$s"; }
step=0
[ -s "$me.ckpt" ] && step=$(cat "$me.ckpt")
say start "$step" "$SLURM_JOB_NODELIST"
%[4]s
[ "$SLURM_JOB_NUM_NODES" -gt 1 ] && say ranks $(srun hostname | sort | xargs)
while [ "$step" -lt %[3]d ]; do
  sleep 0.5 & wait $!
  step=$((step + 1)); say step "$step"
  [ $((step %% %[6]d)) -eq 0 ] && save
done
say done "$step"
`, dir, k.Nodes, steps, k.Trap, slow, interval, requeue)
}

// record is what a job's own log says of it.
type record struct {
	Runs []run
	Done int // how often it was done
}

// run is one run of a job.
type run struct {
	No         int
	From, Last int // step
	Saved      int // last checkpoint of this run
	Start, End time.Time
	Nodes      string
}

// lost is the steps of a run that the next one does again.
func (r *record) lost(i int) int { return max(0, r.Runs[i].Last-r.Runs[i+1].From) }

// overlaps are runs that were at work at the same time.
func (r *record) overlaps() []string {
	var out []string
	for i := 1; i < len(r.Runs); i++ {
		if a, b := r.Runs[i-1], r.Runs[i]; a.End.After(b.Start) {
			out = append(out, fmt.Sprintf("run %d until %s, run %d from %s", a.No, a.End.Format(time.TimeOnly), b.No, b.Start.Format(time.TimeOnly)))
		}
	}
	return out
}

// readRecord reads a job's log; an empty one while there is none.
func readRecord(dir, name string) (record, error) {
	f, err := os.Open(filepath.Join(dir, name+".log"))
	if os.IsNotExist(err) {
		return record{}, nil
	}
	if err != nil {
		return record{}, err
	}
	defer f.Close()
	runs := map[int]*run{}
	var out record
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if err := out.line(strings.Fields(sc.Text()), runs); err != nil {
			return record{}, fmt.Errorf("%s: %q: %w", name, sc.Text(), err)
		}
	}
	for _, r := range runs {
		out.Runs = append(out.Runs, *r)
	}
	slices.SortFunc(out.Runs, func(a, b run) int { return cmp.Compare(a.No, b.No) })
	return out, nil
}

func (r *record) line(w []string, runs map[int]*run) error {
	if len(w) < 3 {
		return fmt.Errorf("cut short")
	}
	us, err := strconv.ParseInt(w[0], 10, 64)
	if err != nil {
		return err
	}
	no, err := strconv.Atoi(w[1])
	if err != nil {
		return err
	}
	at := time.UnixMicro(us).UTC()
	step := func() int {
		if len(w) < 4 {
			return -1
		}
		n, err := strconv.Atoi(w[3])
		if err != nil {
			return -1
		}
		return n
	}
	switch w[2] {
	case "start":
		if runs[no] != nil {
			return fmt.Errorf("run %d began twice", no)
		}
		runs[no] = &run{No: no, From: step(), Last: step(), Start: at, End: at}
		if len(w) > 4 {
			runs[no].Nodes = w[4]
		}
		return nil
	case "done":
		r.Done++
	}
	x := runs[no]
	if x == nil {
		return fmt.Errorf("run %d never began", no)
	}
	x.End = at
	switch w[2] {
	case "step":
		x.Last = step()
	case "save":
		x.Saved = step()
	}
	return nil
}
