package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cmd/spillway/stage"
	"spillway.sh/spillway/bridge/sandbox"
)

// Options say how the story is told.
type Options struct {
	// Version of Slurm, for example 22.05.
	Version string
	// Auto answers the question by itself, as a person who is not the requester.
	Auto bool
	// JSON prints the summary as one JSON object on Out, and the story on Err.
	JSON     bool
	Out, Err io.Writer
	// Exe is the spillway binary that clouds, daemon and approver run.
	Exe string
	// EC2 rents from the local clouds by the driver of EC2.
	EC2 bool
	// Keep leaves the logs in this folder when the demo fails; empty: nowhere.
	Keep string
}

// ErrFault says that the story ended, but not as it should.
var ErrFault = errors.New("the demo did not end as it should")

// longest is how long the demo may take once everything is installed.
const longestRun = 10 * time.Minute

// Run plays the demo and cleans up after it, also when ctx ends early.
func Run(ctx context.Context, o Options) (err error) {
	// The servers are told to end when the thread that started them does, so that
	// not even kill -9 of the demo leaves them behind.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	tale := o.Out
	if o.JSON {
		tale = o.Err
	}
	began := time.Now()
	dir, err := os.MkdirTemp("", "spillway-demo-")
	if err != nil {
		return fmt.Errorf("make the demo's folder: %w", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // The demo's ordinary user works in it.
		return fmt.Errorf("open the demo's folder: %w", err)
	}
	p := &play{o: o, story: newStory(tale, began), rig: &rig{Stage: &stage.Stage{Dir: dir, Exe: o.Exe}, ec2: o.EC2}, done: map[string]bool{}}
	defer func() {
		if err != nil && o.Keep != "" {
			p.keepLogs()
		}
		fmt.Fprintln(tale, "\nCleaning up: daemon, clouds, cluster, namespaces, bridge.")
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, p.rig.close(closing))
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, longestRun, errors.New("the demo took too long"))
	defer cancel()
	if err := p.prepare(ctx); err != nil {
		return err
	}
	s, err := p.perform(ctx)
	if err != nil {
		return err
	}
	return p.judge(s, tale)
}

// play is a demo under way.
type play struct {
	o     Options
	rig   *rig
	story *story
	jobs  []*job
	feed  *feed
	// done are the acts that were played already.
	done map[string]bool
	// victim is the job whose machine is taken back.
	victim *job
}

func (p *play) prepare(ctx context.Context) error {
	fmt.Fprintf(p.story.w, "Spillway demo: Slurm %s, two local nodes, two local clouds, one budget.\n", p.o.Version)
	fmt.Fprintf(p.story.w, "Preparing (the first time builds an image with Slurm in it, a minute or two) ...\n\n")
	if err := p.rig.startCluster(ctx, p.o.Version, p.story.w); err != nil {
		return fmt.Errorf("start Slurm: %w", err)
	}
	p.story.began = time.Now()
	p.tell("slurm", "slurmctld %s runs; local1 and local2 have eight GPUs each", p.rig.cluster.Version())
	if err := p.rig.startClouds(ctx); err != nil {
		return fmt.Errorf("start the clouds: %w", err)
	}
	p.tell("cloud", "stratus has three cheap spot machines, nimbus has more and costs more")
	if p.o.EC2 {
		p.tell("cloud", "both speak EC2, and spillway rents by its driver of AWS")
	}
	if err := p.rig.startDaemon(ctx); err != nil {
		return fmt.Errorf("start spillway: %w", err)
	}
	page, err := p.rig.page()
	if err != nil {
		return fmt.Errorf("find the local Slack: %w", err)
	}
	p.tell("slack", "a Slack of its own runs here; questions come to #burst:\n\n    %s\n", page)
	p.tell("spillway", "watches the queue; the project's budget is 25 USD a day, nothing is spent yet")
	return nil
}

func (p *play) tell(who, format string, args ...any) {
	p.story.tell(time.Now(), who, format, args...)
}

// theJobs are eight trainers of different length; the last one wants two nodes.
func theJobs() []*job {
	jobs := []*job{}
	for i, steps := range []int{70, 70, 60, 50, 50, 45, 45} {
		jobs = append(jobs, &job{Name: fmt.Sprintf("train-%d", i+1), Nodes: 1, Steps: steps})
	}
	return append(jobs, &job{Name: "gang-8", Nodes: 2, Steps: 25})
}

// perform sends the jobs and plays the acts until all is over.
func (p *play) perform(ctx context.Context) (*Summary, error) {
	feedCtx, stop := context.WithCancel(ctx)
	p.feed = follow(feedCtx, p.rig.socket(), p.story)
	defer p.feed.wait()
	defer stop()
	if err := p.submit(ctx); err != nil {
		return nil, err
	}
	for {
		over, err := p.act(ctx)
		if err != nil {
			return nil, err
		}
		if over {
			return p.summarise(ctx)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the end of the story: %w", context.Cause(ctx))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (p *play) submit(ctx context.Context) error {
	p.jobs = theJobs()
	for _, j := range p.jobs {
		j.Submitted = time.Now()
		id, err := p.rig.cluster.Submit(ctx, sandbox.Alice, j.script(p.scratch()))
		if err != nil {
			return fmt.Errorf("submit %s: %w", j.Name, err)
		}
		j.ID = id
		p.story.call(bridge.JobID(id), j.Name)
		what := "eight GPUs"
		if j.Nodes > 1 {
			what = fmt.Sprintf("a gang of %d nodes, eight GPUs each", j.Nodes)
		}
		p.tell("alice", "sbatch %s.sh   (job %s: %s)", j.Name, id, what)
	}
	return nil
}

// scratch is the user's folder on the shared file system.
func (p *play) scratch() string {
	return p.rig.Scratch(sandbox.Alice)
}

// keepLogs copies what the processes wrote to a folder that stays.
func (p *play) keepLogs() {
	for _, name := range []string{"spillway.log", "clouds.log"} {
		text, err := os.ReadFile(p.rig.path(name))
		if err == nil {
			err = errors.Join(os.MkdirAll(p.o.Keep, 0o755), os.WriteFile(filepath.Join(p.o.Keep, name), text, 0o644)) //nolint:gosec // Where to keep them is the caller's choice.
		}
		if err != nil {
			fmt.Fprintf(p.story.w, "cannot keep %s: %v\n", name, err)
		}
	}
	fmt.Fprintf(p.story.w, "logs are kept in %s\n", p.o.Keep)
}
