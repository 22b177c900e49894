package killed

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/desk/socket"
	"spillway.sh/spillway/bridge/sandbox"
)

// bustle is what goes on while the daemon dies: jobs come, people ask for things,
// the cloud takes machines back. What people ask of a daemon that is dead is lost,
// and they ask again.
type bustle struct {
	r *rig

	mu     sync.Mutex
	jobs   []*job
	taken  []time.Time // spot machines, with notice or without
	failed error       // of what must not fail
}

// job is one submission of alice's.
type job struct {
	id, name string
	spot     bool // it may be taken off its machine, and is put back
	nodes    int
}

// run goes on until ctx ends. Each of its parts is a goroutine of its own, since
// each waits for others.
func (b *bustle) run(ctx context.Context) {
	var all sync.WaitGroup
	every := func(pause time.Duration, do func(context.Context, int)) {
		all.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for i := 0; ; i++ {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					do(ctx, i)
				}
			}
		})
	}
	every(400*time.Millisecond, b.submit)
	every(9*time.Second, b.take)
	every(300*time.Millisecond, b.answer)
	every(1500*time.Millisecond, b.rent)
	every(700*time.Millisecond, b.handle)
	every(2*time.Second, b.chat)
	all.Wait()
}

// fail keeps the first error of what must not fail.
func (b *bustle) fail(ctx context.Context, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil && ctx.Err() == nil && b.failed == nil {
		b.failed = err
	}
}

// crowd is how many jobs are on their way at once.
const crowd = 5

// submit sends the next job, when not too many are on their way.
func (b *bustle) submit(ctx context.Context, _ int) {
	b.mu.Lock()
	n, open := len(b.jobs), 0
	for _, j := range b.jobs[max(0, n-4*crowd):] {
		if starts := b.record(j); len(starts.ends) == 0 {
			open++
		}
	}
	b.mu.Unlock()
	if open >= crowd {
		return
	}
	j := &job{name: fmt.Sprintf("short-%d", n), nodes: 1}
	seconds, args := 1, []string{"--no-requeue"}
	switch n % 5 {
	case 1, 3:
		j.name, j.spot, seconds, args = fmt.Sprintf("train-%d", n), true, 6, []string{"--requeue"}
	case 2:
		j.name = fmt.Sprintf("ask-%d", n)
	case 4:
		j.name, j.nodes = fmt.Sprintf("gang-%d", n), 2
	}
	id, err := b.r.Cluster.Submit(ctx, sandbox.Alice, b.script(j, seconds), append(args, "--job-name="+j.name, fmt.Sprintf("--nodes=%d", j.nodes))...)
	b.fail(ctx, err)
	if err != nil {
		return
	}
	j.id = id
	b.mu.Lock()
	defer b.mu.Unlock()
	b.jobs = append(b.jobs, j)
}

// script is a job that says when it starts and when it is done, saves each second
// of work and goes on from there. It lives through the signal that policy sends at
// a notice, as a job must under "for: all": a shell that does not is ended by it.
func (b *bustle) script(j *job, seconds int) string {
	return fmt.Sprintf(`#!/bin/bash
#SBATCH --ntasks-per-node=1 --cpus-per-task=4 --mem=2000 --gres=gpu:a100:8 --time=10 --output=/dev/null
trap : USR1
say() { echo "$1 ${EPOCHREALTIME/[.,]/}" >> %[1]s.log; }
say start
step=0; [ -s %[1]s.ckpt ] && step=$(cat %[1]s.ckpt)
while [ "$step" -lt %[2]d ]; do
  sleep 1 & wait $!
  step=$((step + 1)); echo $step > %[1]s.new && mv %[1]s.new %[1]s.ckpt
done
say done
`, b.file(j), seconds)
}

func (b *bustle) file(j *job) string { return filepath.Join(b.r.Scratch(sandbox.Alice), j.name) }

// record is what a job said of itself.
type record struct{ starts, ends []time.Time }

func (b *bustle) record(j *job) (out record) {
	text, err := os.ReadFile(b.file(j) + ".log")
	if err != nil {
		return out // it has not begun
	}
	for line := range strings.Lines(string(text)) {
		word, stamp, _ := strings.Cut(strings.TrimSpace(line), " ")
		us, err := strconv.ParseInt(stamp, 10, 64)
		switch {
		case err != nil:
		case word == "start":
			out.starts = append(out.starts, time.UnixMicro(us))
		case word == "done":
			out.ends = append(out.ends, time.UnixMicro(us))
		}
	}
	return out
}

// take has the cloud take all spot machines back: mostly after a notice.
func (b *bustle) take(ctx context.Context, i int) {
	f := wire.Fault{Kind: wire.CommandNotice, Pool: "north/north-1/s.gpu8/spot", Cloud: "stratus"}
	if i%4 == 3 {
		f.Kind = wire.CommandReclaim
	}
	b.mu.Lock()
	b.taken = append(b.taken, time.Now())
	b.mu.Unlock()
	if err := b.r.Fault(ctx, f); err != nil && !strings.Contains(err.Error(), "concerns nothing") {
		b.fail(ctx, err)
	}
}

// ask asks the daemon something; the answer of a dead one is an error.
func ask[Q, A any](ctx context.Context, b *bustle, what desk.Ask[Q, A], q Q) (A, bool) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	a, err := socket.Call(ctx, b.r.client, what, q)
	return a, err == nil
}

func (b *bustle) open(ctx context.Context) []desk.Rental {
	a, _ := ask(ctx, b, desk.AskRentals, desk.RentalsRequest{})
	return a.Rentals
}

// answer says yes to every question that it may answer: not to root's own.
func (b *bustle) answer(ctx context.Context, _ int) {
	for _, q := range b.open(ctx) {
		if q.State == bridge.StateWaiting && q.Requester != "root" {
			ask(ctx, b, desk.AskDecide, desk.DecideRequest{Rental: string(q.ID), Version: q.Version, Revision: q.Revision, Yes: true})
		}
	}
}

// byHand are the open rentals that a person made.
func (b *bustle) byHand(ctx context.Context) []desk.Rental {
	return slices.DeleteFunc(b.open(ctx), func(q desk.Rental) bool { return q.Requester != "root" || q.State == bridge.StateWaiting })
}

// rent rents a machine by hand, unless there are two already. The key is the same
// until it has been answered, as of a person whose connection broke off.
func (b *bustle) rent(ctx context.Context, i int) {
	if len(b.byHand(ctx)) < 2 {
		ask(ctx, b, desk.AskRent, desk.RentRequest{Wish: desk.Wish{Words: []string{"8xa100 for 10m on-demand project vision"}}, Key: fmt.Sprint("hand-", i/3)})
	}
}

// handle has rentals by hand live longer, a little or so much that it is asked
// about; keeps them, and gives them back. Not "now": jobs of the project may run
// there, which that would end.
func (b *bustle) handle(ctx context.Context, i int) {
	open := b.byHand(ctx)
	if len(open) == 0 {
		return
	}
	q := open[i%len(open)]
	switch i % 6 {
	case 0:
		ask(ctx, b, desk.AskExtend, desk.ExtendRequest{Rental: string(q.ID), Words: []string{"2m"}, Again: true})
	case 2:
		ask(ctx, b, desk.AskExtend, desk.ExtendRequest{Rental: string(q.ID), Words: []string{"2h"}, Again: true})
	case 3:
		ask(ctx, b, desk.AskKeep, desk.KeepRequest{Rental: string(q.ID), Words: []string{"1m"}})
	case 5:
		ask(ctx, b, desk.AskRelease, desk.ReleaseRequest{Rental: string(q.ID)})
	}
}

// chat is what people do in Slack. Slack itself tells them when the bot is dead.
func (b *bustle) chat(ctx context.Context, i int) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	const lea, burst = "U0LEA0001", "C0BURST01"
	switch i % 3 {
	case 0:
		_, _ = b.r.slack.Command(ctx, lea, burst, "/rent")
	case 1:
		_, _ = b.r.slack.OpenHome(ctx, lea)
	case 2:
		_, _ = b.r.slack.Command(ctx, lea, burst, "/rent 8xa100 for 5m spot project vision")
	}
}
