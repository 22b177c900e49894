package main

import (
	"context"
	"os"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/checkpoint"
	"spillway.sh/spillway/bridge/desk"
)

type checkpointsCmd struct {
	format
	Job     string `arg:"" predictor:"job" help:"The scheduler's id of the job."`
	Cluster string `help:"Its cluster, where two have the same id." placeholder:"NAME"`
}

// Help gives examples.
func (checkpointsCmd) Help() string {
	return `Examples:
  spillway checkpoints 4711
  spillway checkpoints 4711 -o json

Where a job keeps its checkpoints is said by policy (checkpoint), often by way of the job's comment:
  sbatch --comment="ckpt=run7" train.sh

JSON keys: cluster, job, state, user, rule{name, framework, path, roots[], atomic, max_age, required}, newest{step, at,
place, bytes, framework, every, save}, age_seconds, passed[] (place, step, at, flaw, detail, why), trouble, say, spot,
spot_why, every_seconds, save_seconds, between_seconds, best_seconds, pool, advice.`
}

// Run shows the checkpoints of one job.
func (c *checkpointsCmd) Run(a *app) error {
	got, err := ask(a, desk.AskCheckpoints, desk.CheckpointsRequest{Job: bridge.JobID(c.Job), Cluster: c.Cluster, Lang: a.lang()})
	if err != nil {
		return err
	}
	return c.print(a, got, func(p *page) { sayCheckpoints(p, &got) })
}

func sayCheckpoints(p *page, a *desk.CheckpointsAnswer) {
	p.line("Job %s on %s (%s, %s).", plain(string(a.Job)), a.Cluster, a.User, a.State)
	var rows []string
	if r := a.Rule; r != nil {
		rows = append(rows, row("Looked for", ruleWords(r)))
	}
	rows = append(rows, row("Found", a.Say))
	if n := a.Newest; n != nil && n.Bytes > 0 {
		rows = append(rows, row("Size", humanize.IBytes(uint64(n.Bytes))))
	}
	if a.Every > 0 {
		rows = append(rows, row("One every", desk.Span(time.Duration(a.Every)*time.Second)))
	}
	if a.Save > 0 {
		rows = append(rows, row("Takes to write", "at least "+desk.Span(time.Duration(a.Save)*time.Second)))
	}
	rows = append(rows, row("To spot", a.SpotWhy), row("Advice", a.Advice))
	p.table("", rows)
	if len(a.Passed) == 0 {
		return
	}
	p.line("")
	if a.Newest != nil && a.Trouble == "" {
		p.line("Newer, and not counted:")
	} else {
		p.line("Not counted:")
	}
	rows = rows[:0]
	for i := range a.Passed {
		x := &a.Passed[i]
		step := "-"
		if x.Step >= 0 {
			step = strconv.FormatInt(x.Step, 10)
		}
		rows = append(rows, row(x.Place, step, desk.Clock(x.At), x.Why))
	}
	p.table("PLACE\tSTEP\tWRITTEN\tWHY NOT", rows)
}

func ruleWords(r *bridge.CheckpointRule) string {
	text := r.Path
	if r.Name != r.Path {
		text = r.Name + ": " + text
	}
	if r.Framework != "" {
		text += ", " + r.Framework
	}
	return text
}

// finder looks for checkpoints as the configuration says. The daemon may read
// more than a job's user, so it counts only what that user could read; anybody
// else reads with rights of their own.
func (s *site) finder() (*checkpoint.Finder, error) {
	o := checkpoint.Options{Clock: utcNow}
	if os.Geteuid() == 0 {
		o.Owner = checkpoint.HostOwners(utcNow)
	}
	if c := s.config.Storage; c != nil {
		var err error
		if o.Storage, err = checkpoint.NewStorage(checkpoint.Access{Endpoint: c.Endpoint, Region: c.Region, KeyFile: c.KeyFile, Profile: c.Profile}); err != nil {
			return nil, err
		}
	}
	return checkpoint.New(o), nil
}

// finderStops is how long looks under way may take to end with the daemon.
const finderStops = 2 * time.Second

// closeFinder waits a moment for looks under way: one in a file system that
// hangs ends with the process.
func closeFinder(f *checkpoint.Finder) func() error {
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), finderStops)
		defer cancel()
		_ = f.Close(ctx) // see above
		return nil
	}
}
