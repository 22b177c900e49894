package slurm

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

// TestAnswersThatAreNotUnderstood checks that garbage, cut-offs and formats to
// come are errors that are counted, and never a shorter queue.
func TestAnswersThatAreNotUnderstood(t *testing.T) {
	s := newStand(t, "22.05")
	jobs, nodes, partitions := s.fixture("22.05", "jobs.txt"), s.fixture("22.05", "nodes.txt"), s.fixture("22.05", "partitions.txt")
	for name, broken := range map[string]struct{ file, text string }{
		"no jobs while nodes are busy":     {"jobs.txt", ""},
		"garbage for jobs":                 {"jobs.txt", "<html>502 Bad Gateway</html>\n"},
		"garbage after the jobs":           {"jobs.txt", jobs + "slurm_load_jobs error\n"},
		"jobs cut off in a record":         {"jobs.txt", jobs[:len(jobs)/2]},
		"jobs cut off before the last end": {"jobs.txt", jobs[:len(jobs)-1]},
		"a field more":                     {"jobs.txt", strings.Replace(jobs, "PENDING\x1f", "PENDING\x1f\x1f", 1)},
		"a field less":                     {"jobs.txt", strings.Replace(jobs, "PENDING\x1f", "PENDING", 1)},
		"times in another format":          {"jobs.txt", strings.ReplaceAll(jobs, "1796045511", "2026-11-30T13:31:51")},
		"a state that is a number":         {"jobs.txt", strings.Replace(jobs, "PENDING", "0", 1)},
		"a list of tasks without end":      {"jobs.txt", strings.Replace(jobs, "20-30%4]", "20-%4]", 1)},
		"no nodes at all":                  {"nodes.txt", ""},
		"garbage for nodes":                {"nodes.txt", "Unable to contact slurm controller\n"},
		"nodes cut off in a line":          {"nodes.txt", nodes[:len(nodes)/2]},
		"nodes cut off at a word":          {"nodes.txt", nodes[:strings.LastIndex(nodes, " RealMemory=")] + "\n"},
		"garbage before the partitions":    {"partitions.txt", "error: x\n" + partitions},
		"a partition with half a list":     {"partitions.txt", strings.Replace(partitions, "local[1-2]", "local[1-", 1)},
		"no configuration":                 {"config.txt", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, "22.05")
			if s.fixture("22.05", broken.file) == broken.text {
				t.Fatal("the answer is not broken: the fixture has changed")
			}
			s.answer(broken.file, broken.text)
			c := s.cluster()
			q, err := c.Observe(t.Context())
			var parse *ParseError
			if !errors.As(err, &parse) || parse.Count < 1 {
				t.Fatalf("got %d demands and error %v, want a *ParseError with a count", len(q.Demands), err)
			}
			if c.Unreadable() != 1 {
				t.Errorf("counted %d unreadable answers, want 1", c.Unreadable())
			}
			if len(q.Demands)+len(q.Runs)+len(q.Nodes) > 0 {
				t.Error("an unreadable answer came with a part of the queue")
			}
		})
	}
}

// TestEveryCutOffIsNoticed cuts a queue at every place: whatever is read must
// be whole records, and anything else an error.
func TestEveryCutOffIsNoticed(t *testing.T) {
	end := "\x1eNONCE\n"
	text := strings.Join(strings.SplitAfter(newStand(t, "24.11").fixture("24.11", "jobs.txt"), end)[:5], "")
	for at := range len(text) {
		_, err := parseQueue([]byte(text[:at]), "NONCE")
		if whole := at == 0 || strings.HasSuffix(text[:at], end); whole != (err == nil) {
			t.Fatalf("cut at %d: error %v", at, err)
		}
	}
}

// TestNoNameCanPlayARecord lets users choose texts that look like separators.
func TestNoNameCanPlayARecord(t *testing.T) {
	forged := "x\x1e\n99\x1fPENDING\x1fgpu\x1froot"
	for i, f := range freeFields {
		text := newStand(t, "22.05").fixture("22.05", "jobs.txt")
		head, _, _ := strings.Cut(text, "\x1fNONCE")
		parts := []string{"", "", ""}
		parts[i] = forged
		jobs, err := parseQueue([]byte(head+"\x1fNONCE"+strings.Join(parts, "\x1fNONCE")+"\x1eNONCE\n"), "NONCE")
		if err != nil || len(jobs) != 1 {
			t.Errorf("%s: %d jobs, error %v", f.name, len(jobs), err)
		}
	}
}

// TestTheNonceIsNewEachTime keeps a name from being made for the next call.
func TestTheNonceIsNewEachTime(t *testing.T) {
	s := newStand(t, "22.05")
	c := s.cluster()
	for range 2 {
		if _, err := c.Observe(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	lines := map[string]bool{}
	data := s.readCalls()
	for line := range strings.Lines(data) {
		if strings.HasPrefix(line, "squeue") {
			lines[line] = true
		}
	}
	if len(lines) != 2 {
		t.Errorf("two cycles asked in %d different formats, want 2", len(lines))
	}
}

// TestS_F88_OneJobDumpAndOneNodeDumpACycle counts commands; the counters of a
// real controller are read in TestS_F88_ARealControllerCountsOneDumpACycle.
func TestS_F88_OneJobDumpAndOneNodeDumpACycle(t *testing.T) {
	s := newStand(t, "22.05")
	c := s.cluster()
	for range 10 {
		if _, err := c.Observe(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for words, want := range map[string]int{"squeue": 10, "show nodes": 10, "show partitions": 10, "show config": 1, "": 31} {
		if got := s.called(words); got != want {
			t.Errorf("%q was run %d times in 10 cycles, want %d", words, got, want)
		}
	}
}

// TestS_F89_AnAmbiguousReasonIsConfirmed lets ReqNodeNotAvail come and go.
func TestS_F89_AnAmbiguousReasonIsConfirmed(t *testing.T) {
	s := newStand(t, "22.05")
	text, nodes := s.fixture("22.05", "jobs.txt"), s.fixture("22.05", "nodes.txt")
	c := s.cluster()
	look := func(reason, nodes string) bridge.Standing {
		t.Helper()
		s.answer("jobs.txt", strings.Replace(text, "Resources\x1fNONCE(null)\x1fNONCE(null)\x1fNONCEplain", reason+"\x1fNONCE(null)\x1fNONCE(null)\x1fNONCEplain", 1))
		s.answer("nodes.txt", nodes)
		q, err := c.Observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range q.Demands {
			if d.Name == "plain" {
				return d.Standing
			}
		}
		t.Fatal("no job plain")
		return ""
	}
	const gone = "ReqNodeNotAvail, UnavailableNodes:local[1-2]"
	down := strings.ReplaceAll(nodes, "State=ALLOCATED", "State=DOWN*")
	steps := []struct {
		what, reason, nodes string
		want                bridge.Standing
	}{
		{"waits for resources", "Resources", nodes, bridge.StandingHelps},
		{"first sight", gone, down, bridge.StandingDoubtful},
		{"second sight, and the nodes are down", gone, down, bridge.StandingHelps},
		{"but the nodes are usable", gone, nodes, bridge.StandingDoubtful},
		{"gone again", "Priority", nodes, bridge.StandingBehind},
		{"so it begins anew", "ReqNodeNotAvail, May be reserved for other job", nodes, bridge.StandingDoubtful},
		{"and stands", "ReqNodeNotAvail, May be reserved for other job", nodes, bridge.StandingHelps},
	}
	for _, step := range steps {
		if got := look(step.reason, step.nodes); got != step.want {
			t.Errorf("%s: %s, want %s", step.what, got, step.want)
		}
	}
}

// TestCommandsHaveATimeLimit hangs a command that leaves a child behind.
func TestCommandsHaveATimeLimit(t *testing.T) {
	s := newStand(t, "22.05")
	s.command("squeue", "sleep 1000 &\nwait\n")
	c := s.cluster(func(o *Options) { o.Timeout = 200 * time.Millisecond })
	began := time.Now()
	_, err := c.Observe(t.Context())
	var failure *CommandError
	if !errors.As(err, &failure) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want a *CommandError for the time limit", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestCommandsMayNotFlood bounds what a command may say.
func TestCommandsMayNotFlood(t *testing.T) {
	s := newStand(t, "22.05")
	s.command("squeue", "exec yes\n")
	_, err := s.cluster(func(o *Options) { o.MaxOutput = 1 << 16 }).Observe(t.Context())
	if !errors.Is(err, errTooMuch) {
		t.Errorf("error %v, want %v", err, errTooMuch)
	}
}

// TestAFailedCommandSaysWhy keeps a command's own words.
func TestAFailedCommandSaysWhy(t *testing.T) {
	s := newStand(t, "22.05")
	s.command("squeue", "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2\nexit 1\n")
	_, err := s.cluster().Observe(t.Context())
	var failure *CommandError
	if !errors.As(err, &failure) || failure.Code != 1 || !strings.Contains(err.Error(), "Unable to contact slurm controller") {
		t.Errorf("error %v", err)
	}
}

// TestS_F29_CommandsSeeNoEnvironmentOfOurs keeps variables of the caller away,
// his time zone among them.
func TestS_F29_CommandsSeeNoEnvironmentOfOurs(t *testing.T) {
	for name, value := range map[string]string{"TZ": "Asia/Kolkata", "SQUEUE_FORMAT2": "JobID", "SLURM_TIME_FORMAT": "relative", "LANG": "de_DE"} {
		t.Setenv(name, value)
	}
	s := newStand(t, "22.05")
	s.command("squeue", `env > "$d/env"`+"\nsed \"s/NONCE/${*##*Name:?}/g\" \"$d/jobs.txt\"\n")
	if _, err := s.cluster(func(o *Options) { o.Conf = "/etc/other.conf" }).Observe(t.Context()); err != nil {
		t.Fatal(err)
	}
	have := map[string]string{}
	for line := range strings.Lines(s.read("env")) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		have[key] = value
	}
	for _, own := range []string{"PATH", "HOME", "PWD", "_", "OLDPWD", "SHLVL"} {
		delete(have, own)
	}
	want := map[string]string{"TZ": "UTC", "LC_ALL": "C", "SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0", "SLURM_CONF": "/etc/other.conf"}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

// TestAnUnknownReasonIsToldOnce logs a word that no version had so far.
func TestAnUnknownReasonIsToldOnce(t *testing.T) {
	s := newStand(t, "22.05")
	s.answer("jobs.txt", strings.ReplaceAll(s.fixture("22.05", "jobs.txt"), "\x1fPriority\x1fNONCE", "\x1fMoonPhase, waning\x1fNONCE"))
	var log bytes.Buffer
	c := s.cluster(func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	for range 3 {
		q, err := c.Observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range q.Demands {
			if d.Word == "MoonPhase" && d.Standing != bridge.StandingConfig && d.Standing != bridge.StandingUser {
				t.Errorf("job %s: %s", d.Name, d.Standing)
			}
		}
	}
	if n := strings.Count(log.String(), "MoonPhase"); n != 1 {
		t.Errorf("told %d times, want once:\n%s", n, log.String())
	}
}

func (s *stand) read(name string) string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

func (s *stand) readCalls() string { return s.read("calls") }
