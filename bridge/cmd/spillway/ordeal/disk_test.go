package ordeal

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge/sim/soak"
)

// spoiled is a daemon whose calls on its store's files fail.
type spoiled struct {
	r      *trial
	tracer *exec.Cmd
	file   string
}

// writing are the calls that change a file or put it on the disk.
const writing = "pwrite64,fdatasync,fsync,ftruncate"

// spoil has calls of the daemon on its store's files fail with an error, from
// the n-th of each thread on or at that one alone.
func (r *trial) spoil(calls, errno, when string) *spoiled {
	r.t.Helper()
	db := r.own("state", "spillway.db")
	s := &spoiled{r: r, file: r.own("spoiled-" + strconv.FormatInt(time.Now().UnixNano(), 36))}
	var err error
	s.tracer, err = r.Run(filepath.Join("trial", r.name, "strace"), "strace", "-f", "-o", s.file, "-s", "0", "-e", "signal=none",
		"-P", db, "-P", db+"-wal", "-P", db+"-journal", "-P", db+"-shm", "-e", "trace="+calls, "-e", "inject="+calls+":error="+errno+":when="+when,
		"-p", strconv.Itoa(r.daemon.Process.Pid))
	must(r.t, err)
	must(r.t, r.Until(r.t.Context(), "the tracer has all threads", s.tracer, func() bool { return traced(r.daemon.Process.Pid) }))
	return s
}

// traced reports whether all threads of a process have a tracer.
func traced(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, thread := range threads {
		text, rerr := os.ReadFile(thread)
		if rerr == nil && strings.Contains(string(text), "TracerPid:\t0\n") {
			return false
		}
	}
	return err == nil && len(threads) > 0
}

// mend lets the daemon go and returns how many calls have failed.
func (s *spoiled) mend() int {
	s.r.t.Helper()
	// The kernel lets go of what a dead tracer held. Told to detach, strace may
	// wait for ever for a thread that waits for its own child to start.
	must(s.r.t, s.tracer.Process.Kill())
	_ = s.tracer.Wait() // it was killed: that is its status
	text, err := os.ReadFile(s.file)
	must(s.r.t, err)
	return strings.Count(string(text), "(INJECTED)")
}

// A disk that is full, fails or has become read-only under the daemon: nothing
// is rented, what is rented goes back, a person is told what is wrong and what
// to do, and all goes on by itself when the disk does.
func TestT14_DiskThatTakesNothingMore(t *testing.T) {
	for _, c := range []struct{ name, before, after, says string }{
		{"full", "ENOSPC", "EIO", "disk is full"},
		{"failing", "EIO", "EROFS", "disk does not answer as it should"},
		{"read-only", "EROFS", "ENOSPC", "which may be read-only now"},
	}[:kinds()] {
		t.Run(c.name, func(t *testing.T) {
			r := newTrial(t, "disk-"+c.name)
			r.start()
			r.until(30*time.Second, "a first look", func() bool { return r.problems() == "" })
			s := r.spoil(writing, c.before, "1+")
			j := r.submit(60)
			r.until(20*time.Second, "a person is told", func() bool { return strings.Contains(r.problems(), c.says) })
			r.pause(time.Second)
			if n := r.judge().Machines; n > 0 {
				t.Errorf("%d machines were rented on an intent that is not on the disk", n)
			}
			if s.mend() == 0 {
				t.Error("nothing has failed")
			}
			r.until(time.Minute, "it runs", func() bool { return r.runs(j) })
			s = r.spoil(writing, c.after, "1+")
			r.finish(j)
			r.until(30*time.Second, "the job is done", func() bool { _, ends := r.record(j); return ends > 0 })
			r.until(30*time.Second, "its machine goes back though nothing can be written", func() bool { return len(r.judge().Live) == 0 })
			if s.mend() == 0 {
				t.Error("nothing has failed")
			}
			r.over(1)
			r.until(10*time.Second, "nothing is wrong any more", func() bool { return r.problems() == "" })
		})
	}
}

// kinds is how many kinds of disk are tried.
func kinds() int {
	if soak.Long() {
		return 3
	}
	return 1
}

// Single calls on the store's files fail, the n-th of each thread, at any
// moment of the flow: nothing is lost or done twice.
func TestT14_SingleCallsThatFail(t *testing.T) {
	r := newTrial(t, "once")
	r.start()
	failed := 0
	for round := range rounds() {
		n, errno := strconv.Itoa(1+3*round), []string{"ENOSPC", "EIO", "EROFS"}[round%3]
		s := r.spoil(writing, errno, n)
		a, b := r.submit(1), r.submit(2)
		r.until(time.Minute, "two jobs are done with "+errno+" at call "+n, func() bool {
			_, first := r.record(a)
			_, second := r.record(b)
			return first > 0 && second > 0
		})
		r.until(time.Minute, "their machines go back", func() bool { return len(r.judge().Live) == 0 })
		failed += s.mend()
	}
	if failed == 0 {
		t.Error("nothing has failed")
	}
	t.Logf("%d calls have failed", failed)
	r.over(len(r.jobs))
}

// rounds is how many calls are tried.
func rounds() int {
	if soak.Long() {
		return 20
	}
	return 1
}
