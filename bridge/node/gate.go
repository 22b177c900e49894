package node

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
)

// The names of the checks, which a site may turn off by name.
const (
	checkGPUs    = "gpus"
	checkDriver  = "driver"
	checkXid     = "xid"
	checkDisk    = "disk"
	checkMounts  = "mounts"
	checkOwner   = "owner"
	checkClock   = "clock"
	checkStorage = "storage"
	checkReady   = "ready"
	checkStages  = "stages"
)

// Checks lists the names of the checks that a site may turn off.
func Checks() []string {
	return []string{checkGPUs, checkDriver, checkXid, checkDisk, checkMounts, checkOwner, checkClock, checkStorage}
}

// Site is where a machine's checks look; tests look elsewhere.
type Site struct {
	Dev    string   // device nodes
	Kmsg   string   // the kernel's log
	Disks  []string // where jobs and daemons write on the machine itself
	Mounts string   // the kernel's list of mounts
	Ready  string   // a program of the site that ends well when its things are there
	Stages string   // a folder of programs run before the gate
}

// TheSite is the usual one.
func TheSite() Site {
	return Site{
		Dev: "/dev", Kmsg: "/dev/kmsg", Disks: []string{"/tmp", "/var/tmp", "/var/spool"}, Mounts: "/proc/self/mountinfo",
		Ready: "/etc/spillway/ready", Stages: "/etc/spillway/stage.d",
	}
}

// finding is what a check saw. Final says that waiting does not help.
type finding struct {
	ok    bool
	got   string
	want  string
	final bool
}

func fine(format string, args ...any) finding {
	return finding{ok: true, got: fmt.Sprintf(format, args...)}
}

// check is one look at the machine.
type check struct {
	name  string
	limit time.Duration
	look  func(ctx context.Context) finding
}

const (
	checkLimit      = 20 * time.Second
	patienceDefault = 2 * time.Minute
)

// checks returns those that are wanted of this machine.
func (a *Agent) checks() []check {
	w := &a.grant.Wants
	s := &a.o.Site
	all := []check{
		{checkDisk, checkLimit, func(context.Context) finding { return lookAtDisks(s.Disks, w.DiskMiB) }},
		{checkXid, checkLimit, func(context.Context) finding { return lookForXids(s.Kmsg) }},
		{checkClock, checkLimit, func(context.Context) finding { return lookAtClock(&a.skew, w.MaxSkew) }},
	}
	if w.GPUs > 0 {
		all = append(all, check{checkGPUs, checkLimit, func(ctx context.Context) finding { return lookAtGPUs(ctx, s.Dev, w) }})
	}
	if w.Driver != "" {
		all = append(all, check{checkDriver, checkLimit, func(ctx context.Context) finding { return lookAtDriver(ctx, w.Driver) }})
	}
	if len(w.Mounts) > 0 {
		all = append(all, check{checkMounts, checkLimit, func(ctx context.Context) finding { return lookAtMounts(ctx, s.Mounts, w.Mounts) }})
	}
	if w.Owner != nil {
		all = append(all, check{checkOwner, checkLimit, func(ctx context.Context) finding { return lookAtOwner(ctx, w.Owner) }})
	}
	if len(w.Storage) > 0 {
		all = append(all, check{checkStorage, storageLimit, func(ctx context.Context) finding { return lookAtStorage(ctx, w) }})
	}
	if isProgram(s.Ready) {
		all = append(all, check{checkReady, hookLimit, func(ctx context.Context) finding { return askReady(ctx, s.Ready) }})
	}
	return slices.DeleteFunc(all, func(c check) bool { return slices.Contains(w.Off, c.name) })
}

// pass runs the site's stages and takes the machine through the gate. What fails
// is looked at again until it is well, or cannot become so, or patience ends. It
// reports whether the machine is fit.
func (a *Agent) pass(ctx context.Context) bool {
	if failed := a.runStages(ctx); failed != "" {
		a.unfit([]bridge.Check{{Name: checkStages, Got: failed, Want: "every stage ends well"}})
		return false
	}
	began := a.o.Clock()
	patience := cmp.Or(a.grant.Wants.Patience, patienceDefault)
	due := a.checks()
	var done []bridge.Check
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		seen, final := lookAll(ctx, a.o.Clock, due)
		if ctx.Err() != nil {
			return false
		}
		var left []check
		now := slices.Clone(done)
		for i, c := range seen {
			now = append(now, c)
			if c.OK {
				done = append(done, c)
			} else {
				left = append(left, due[i])
			}
		}
		took := a.o.Clock() - began
		a.stage(bridge.Stage{Name: stageGate, OK: len(left) == 0, Took: took, Text: failures(now)})
		if len(left) == 0 {
			a.status.set(func(s *status) { s.checks = now })
			return true
		}
		if final || took >= patience {
			a.unfit(now)
			return false
		}
		a.status.set(func(s *status) { s.checks = now })
		if due = left; !sleep(ctx, pause) {
			return false
		}
	}
}

// stageGate is the stage of all checks.
const stageGate = "gate"

func (a *Agent) unfit(checks []bridge.Check) {
	a.o.Log.Warn("unfit", "why", failures(checks))
	a.status.set(func(s *status) { s.health, s.checks = bridge.HealthUnfit, checks })
}

func failures(checks []bridge.Check) string {
	var out []string
	for _, c := range checks {
		if !c.OK {
			out = append(out, c.Name+": "+c.Got)
		}
	}
	return strings.Join(out, "; ")
}

// lookAll makes checks side by side, each in its time; final: one of them failed
// for good.
func lookAll(ctx context.Context, clock Clock, checks []check) (seen []bridge.Check, final bool) {
	seen = make([]bridge.Check, len(checks))
	finals := make([]bool, len(checks))
	var all sync.WaitGroup
	for i, c := range checks {
		all.Go(func() {
			began := clock()
			f := within(ctx, c)
			seen[i] = bridge.Check{Name: c.name, OK: f.ok, Got: f.got, Want: f.want, Took: clock() - began}
			finals[i] = !f.ok && f.final
		})
	}
	all.Wait()
	return seen, slices.Contains(finals, true)
}

// within gives a check its time. One that hangs in the kernel, as on a file
// system that does not answer, is left behind; its goroutine ends when the
// kernel lets it go.
func within(ctx context.Context, c check) finding {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	out := make(chan finding, 1)
	go func() { out <- c.look(ctx) }()
	select {
	case f := <-out:
		return f
	case <-ctx.Done():
		select {
		case f := <-out: // It saw its limit itself and says more.
			return f
		case <-time.After(time.Second):
			return finding{got: fmt.Sprintf("no answer within %s", c.limit)}
		}
	}
}

// lookAtClock compares the machine's clock with the bridge's. Kerberos, munge
// and file systems all fail when they are far apart.
func lookAtClock(s *skew, most time.Duration) finding {
	if most <= 0 {
		most = time.Minute
	}
	by, known := s.get()
	if !known {
		return fine("the bridge's time is not known")
	}
	f := finding{ok: by.Abs() <= most, got: fmt.Sprintf("%+.1f s from the bridge's", by.Seconds()), want: fmt.Sprintf("within %s", most)}
	return f
}
