package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/engine"
	"spillway.sh/spillway/bridge/sim"
	"spillway.sh/spillway/bridge/sim/invariant"
	"spillway.sh/spillway/bridge/sim/slurmctl"
)

// SimOptions say how the story is told in a simulated world.
type SimOptions struct {
	// Seed is the world: its clouds, their prices and manners, and policy's times.
	Seed uint64
	// Auto answers the question by itself.
	Auto     bool
	JSON     bool
	Out, Err io.Writer
	In       io.Reader // where the person is; only read from when a question is asked
}

const (
	// brisk is how many times faster a simulated world is than a real one: its
	// machines boot in a second or two, and its questions stay open for most of a minute.
	brisk = 60
	// lookEvery is the time between two looks at the world, each of which checks it.
	lookEvery = 100 * time.Millisecond
	// dark is for how long the bridge stays dead.
	dark = time.Second
	// longestSim is how long it may take in all.
	longestSim = 5 * time.Minute
)

// simJob is a job and what came of it.
type simJob struct {
	slurmctl.Job
	id   bridge.JobID
	sent time.Time
	seen invariant.Job
}

// simPlay is a demo in a simulated world. One goroutine plays it.
type simPlay struct {
	o      SimOptions
	story  *story
	world  *sim.World
	jobs   []*simJob
	feed   feed
	read   int64 // news read so far
	done   map[string]bool
	list   map[bridge.Pool]bridge.Rate // prices on demand, as first seen
	in     *bufio.Reader
	answer chan string // of the question that is open at the terminal
	killed time.Time
	checks int
	calm   int // looks in a row at which nothing was left
}

// RunSim plays the demo without a cluster, clouds or root: engine, store, desk
// and adapters are the real ones, and the world behind their sockets is made.
// What must always hold is checked at every look.
func RunSim(ctx context.Context, o SimOptions) (err error) {
	tale := o.Out
	if o.JSON {
		tale = o.Err
	}
	dir, err := os.MkdirTemp("", "spillway-sim-")
	if err != nil {
		return fmt.Errorf("make the demo's folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p := &simPlay{o: o, story: newStory(tale, time.Now()), done: map[string]bool{}, list: map[bridge.Pool]bridge.Rate{}, in: bufio.NewReader(o.In)}
	ctx, cancel := context.WithTimeoutCause(ctx, longestSim, errors.New("the demo took too long"))
	defer cancel()
	fmt.Fprintf(tale, "Spillway demo in a simulated world, seed %d: no root, no Slurm, no cloud; an hour there is %d seconds here.\n\n", o.Seed, 3600/brisk)
	p.world, err = sim.New(ctx, sim.Setup{Seed: o.Seed, Dir: dir, Brisk: brisk, Jobs: -1, Budgets: simBudgets(), Limits: engine.Limits{Warn: []time.Duration{brisk * time.Second}}})
	if err != nil {
		return fmt.Errorf("make the world: %w", err)
	}
	defer func() { err = errors.Join(err, p.world.Close()) }()
	if err := p.world.Start(ctx); err != nil {
		return fmt.Errorf("start spillway: %w", err)
	}
	p.submit()
	if err := p.perform(ctx); err != nil {
		return err
	}
	return p.judge(tale)
}

// simBudgets have room for the trainers, and none for the gang.
func simBudgets() []bridge.Budget {
	usd := func(cents int64) bridge.Money {
		return bridge.Money{Micro: cents * bridge.Micro / 100, Currency: "USD"}
	}
	return []bridge.Budget{
		{Account: "org", Every: bridge.Month, Zone: time.UTC, Limit: usd(1_000_000), Hard: true},
		{Account: "org/team/p1", Every: bridge.Day, Zone: time.UTC, Limit: usd(1)},
		{Account: "org/team/p2", Every: bridge.Day, Zone: time.UTC, Limit: usd(100_000)},
	}
}

// submit sends six trainers, of which two fill the cluster, and a gang.
func (p *simPlay) submit() {
	for i, work := range []time.Duration{24, 24, 15, 15, 13, 13} {
		p.jobs = append(p.jobs, &simJob{Job: slurmctl.Job{
			Name: fmt.Sprintf("train-%d", i+1), User: "ana", Account: "p2", CPUs: 8, GPUs: 8, MemoryMiB: 64_000, Restartable: true,
			Work: work * time.Second, Checkpoint: time.Second, SaveOn: "USR1", SaveTakes: 100 * time.Millisecond,
		}})
	}
	p.jobs = append(p.jobs, &simJob{Job: slurmctl.Job{
		Name: "gang-7", User: "ben", Account: "p1", Nodes: 2, CPUs: 8, GPUs: 8, MemoryMiB: 64_000, Restartable: true,
		Work: 8 * time.Second, Checkpoint: time.Second, SaveOn: "USR1", SaveTakes: 100 * time.Millisecond,
	}})
	for _, j := range p.jobs {
		j.sent = time.Now()
		j.id = p.world.Submit(j.Job)
		p.story.call(j.id, j.Name)
		what := "eight GPUs"
		if j.Nodes > 1 {
			what = fmt.Sprintf("a gang of %d nodes, eight GPUs each", j.Nodes)
		}
		p.tell(j.User, "sbatch %s.sh   (job %s: %s)", j.Name, j.id, what)
	}
}

func (p *simPlay) tell(who, format string, args ...any) {
	p.story.tell(time.Now(), who, format, args...)
}

// perform looks and acts until all is over.
func (p *simPlay) perform(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for p.calm < 3 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the end of the story: %w", context.Cause(ctx))
		case <-tick.C:
		}
		if err := p.look(ctx); err != nil {
			return err
		}
	}
	return nil
}

// look checks the world, tells what is new, and plays what is due.
func (p *simPlay) look(ctx context.Context) error {
	p.world.Check(ctx)
	p.checks++
	p.follow()
	if !p.world.Alive() {
		return p.revive(ctx)
	}
	if err := p.hear(ctx); err != nil {
		return err
	}
	p.note()
	if err := p.ask(ctx); err != nil {
		return err
	}
	if err := p.takeBack(); err != nil {
		return err
	}
	p.kill()
	p.calm++
	if p.left() > 0 || !p.world.Over() {
		p.calm = 0
	}
	return nil
}

// follow sees how the jobs stand.
func (p *simPlay) follow() {
	seen, _ := p.world.Slurm.Truth()
	for _, s := range seen {
		i := slices.IndexFunc(p.jobs, func(j *simJob) bool { return j.id == s.ID })
		if i < 0 {
			continue
		}
		j := p.jobs[i]
		if len(s.Starts) > len(j.seen.Starts) {
			p.started(j, &s)
		}
		if s.State == completed && j.seen.State != completed {
			p.tell(j.User, "%s is done", j.Name)
		}
		j.seen = s
	}
}

const completed = "COMPLETED"

// started tells of a start that Spillway's own record does not tell of: at home.
func (p *simPlay) started(j *simJob, s *invariant.Job) {
	if nodes := s.Starts[len(s.Starts)-1].Nodes; !strings.HasPrefix(nodes[0], "sw-") {
		p.tell("slurm", "%s runs at home, on %s", j.Name, strings.Join(nodes, ","))
	}
}

// left counts the jobs that are not done.
func (p *simPlay) left() int {
	n := 0
	for _, j := range p.jobs {
		if j.seen.State != completed {
			n++
		}
	}
	return n
}

// hear reads Spillway's own record of what happens, and tells it.
func (p *simPlay) hear(ctx context.Context) error {
	a, err := p.world.Desk.News(ctx, p.world.Person("root"), desk.NewsRequest{After: p.read, Limit: 1000})
	if err != nil {
		return fmt.Errorf("read the news: %w", err)
	}
	if len(a.News) == 0 {
		return nil
	}
	p.read = a.Next
	p.feed.add(a.News)
	for _, n := range a.News {
		p.story.news(n)
	}
	return nil
}

// note keeps the prices on demand.
func (p *simPlay) note() {
	snap, _, _ := p.world.Engine.View()
	for i := range snap.Offers {
		if o := &snap.Offers[i]; o.Pool.Market == bridge.OnDemand {
			p.list[o.Pool] = o.Rate
		}
	}
}

// takeBack lets a cloud take one spot machine whose job has worked for a while.
func (p *simPlay) takeBack() error {
	if p.done["take back"] {
		return nil
	}
	snap, _, _ := p.world.Engine.View()
	for _, n := range p.feed.of(bridge.NewsStarted) {
		j := p.jobOf(n.Job)
		if j == nil || j.Nodes > 1 || len(j.seen.Starts) != 1 || j.seen.State != "RUNNING" {
			continue
		}
		id := spotMachine(snap.Rentals, &n)
		if worked := time.Since(j.seen.Starts[0].At); id == "" || worked < 3*time.Second || j.Work-worked < 4*time.Second {
			continue
		}
		p.done["take back"] = true
		p.tell("cloud", "wants a spot machine back: the one that runs %s", j.Name)
		if err := p.world.Fault(wire.Fault{Kind: wire.CommandNotice, Instance: id}); err != nil {
			return fmt.Errorf("take a machine back: %w", err)
		}
		return nil
	}
	return nil
}

func (p *simPlay) jobOf(id bridge.JobID) *simJob {
	if i := slices.IndexFunc(p.jobs, func(j *simJob) bool { return j.id == id }); i >= 0 {
		return p.jobs[i]
	}
	return nil
}

// spotMachine is the machine that a job has started on; empty when it is none of spot.
func spotMachine(rentals []bridge.Rental, n *bridge.News) string {
	for i := range rentals {
		r := &rentals[i]
		if r.ID != n.Rental || r.Pool.Market != bridge.Spot {
			continue
		}
		for k := range r.Machines {
			if m := &r.Machines[k]; m.Node == n.Node {
				return m.ID
			}
		}
	}
	return ""
}

// kill ends the bridge in the middle of it all, once the job is off the machine
// that goes: what it knew is found again in its store, the clouds and the queue.
func (p *simPlay) kill() {
	if p.done["kill"] || len(p.feed.of(bridge.NewsEligible)) == 0 {
		return
	}
	p.done["kill"] = true
	p.tell("chance", "kill -9: the bridge is dead, its machines run on")
	p.world.Kill()
	p.killed = time.Now()
}

// revive starts it again.
func (p *simPlay) revive(ctx context.Context) error {
	if time.Since(p.killed) < dark {
		return nil
	}
	if err := p.world.Start(ctx); err != nil {
		return fmt.Errorf("start spillway again: %w", err)
	}
	p.tell("spillway", "is started again, and finds what it was doing")
	return nil
}

// ask puts an open question to the person at the terminal, and answers for the boss.
func (p *simPlay) ask(ctx context.Context) error {
	for _, n := range p.feed.of(bridge.NewsAsked) {
		if key := "asked " + string(n.Rental); p.done[key] || p.closed(n.Rental) {
			continue
		}
		yes, answered := p.answered(&n)
		if !answered {
			return nil // one at a time
		}
		p.done["asked "+string(n.Rental)] = true
		_, err := p.world.Desk.Decide(ctx, p.world.Person("boss"), desk.DecideRequest{Rental: string(n.Rental), Revision: 1, Yes: yes})
		if err != nil {
			p.tell("boss", "is not heard: %v", desk.AsError(err))
		}
		return nil
	}
	return nil
}

func (p *simPlay) closed(id bridge.RentalID) bool {
	return slices.ContainsFunc(p.feed.all(), func(n bridge.News) bool {
		return n.Rental == id && slices.Contains([]bridge.NewsKind{bridge.NewsApproved, bridge.NewsDenied, bridge.NewsLapsed, bridge.NewsWithdrawn}, n.Kind)
	})
}

const nobody = "nobody is there"

// answered is what the person said, if they have. Where nobody is there, or with
// Auto, it is yes after a moment.
func (p *simPlay) answered(n *bridge.News) (yes, ok bool) {
	if p.o.Auto || p.done[nobody] {
		return true, time.Since(n.At) >= reading/2
	}
	if p.answer == nil {
		p.tell("question", "you are the boss: shall it be rented? y or n, and Enter\n")
		p.answer = make(chan string, 1)
		go func(to chan<- string) { // It ends with the line, or with the process.
			line, err := p.in.ReadString('\n')
			if line = strings.ToLower(strings.TrimSpace(line)); err != nil && line == "" {
				line = nobody
			}
			to <- line
		}(p.answer)
	}
	select {
	case line := <-p.answer:
		p.answer = nil
		switch {
		case line == nobody:
			p.done[nobody] = true
			p.tell("question", "nobody is at the terminal: the boss says yes")
			return false, false
		case strings.HasPrefix(line, "y"), strings.HasPrefix(line, "n"):
			return line[0] == 'y', true
		}
		return false, false // asked again
	default:
		return false, false
	}
}
