package mutant

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"spillway.sh/spillway/bridge/sim/soak"
)

var (
	which = flag.String("mutants", "", "run those whose name matches instead of a few; .: all")
	day   = flag.String("day", "", "choose the few as on that day or commit")
)

// few is how many run on every push; which ones, the commit says.
const few = 3

// outcome is what came of one mutant.
type outcome struct {
	caught string // by these tests; empty: it survived
	err    error  // it was not judged at all
	took   time.Duration
}

// TestMutants holds that tests fail when a guard of the protocol is gone, and
// pass when it is there. A few on every push, all in soak.
func TestMutants(t *testing.T) {
	chosen := choose(t)
	passed := map[tests]bool{}
	for _, folder := range slices.Sorted(maps.Keys(patterns(chosen))) {
		whole := tests{folder, strings.Join(patterns(chosen)[folder], "|")}
		if o := run(t, whole, ""); o.err != nil || o.caught != "" {
			t.Errorf("the tests of %s fail with every guard in its place: %s %v", folder, o.caught, o.err)
			continue
		}
		for _, m := range chosen {
			if m.tests.folder == folder {
				passed[m.tests] = true
			}
		}
	}
	table, end := map[string]outcome{}, soak.Until(time.Hour)
	for i, m := range chosen {
		if time.Now().After(end) {
			t.Logf("%d of %d ran in the time there was", i, len(chosen))
			chosen = chosen[:i]
			break
		}
		if passed[m.tests] {
			t.Run(m.name, func(t *testing.T) { table[m.name] = judge(t, m) })
		}
	}
	t.Log("\n" + text(chosen, table))
}

// judge runs a mutant against its tests.
func judge(t *testing.T, m *mutant) outcome {
	t.Helper()
	o := run(t, m.tests, m.overlay(t))
	switch {
	case o.err != nil:
		t.Error(o.err)
	case o.caught == "":
		t.Errorf("SURVIVED: nothing in %s matching %s notices that rule %d is gone", m.tests.folder, m.tests.run, m.rule)
	}
	return o
}

// choose picks the mutants that run.
func choose(t *testing.T) []*mutant {
	t.Helper()
	pattern := *which
	if pattern == "" && soak.Long() {
		pattern = "."
	}
	var out []*mutant
	if pattern != "" {
		match := regexp.MustCompile(pattern)
		for i := range mutants {
			if match.MatchString(mutants[i].name) {
				out = append(out, &mutants[i])
			}
		}
		if len(out) == 0 {
			t.Fatalf("no mutant matches %q", pattern)
		}
		return out
	}
	seed := today(t)
	h := fnv.New64a()
	h.Write([]byte(seed))
	for _, i := range rand.New(rand.NewPCG(h.Sum64(), 0)).Perm(len(mutants))[:few] {
		out = append(out, &mutants[i])
	}
	t.Logf("%d of %d mutants, chosen by -day %s; all of them: make mutants", few, len(mutants), seed)
	return out
}

// today is the commit, where there is one, and else the day.
func today(t *testing.T) string {
	t.Helper()
	if *day != "" {
		return *day
	}
	cmd := exec.CommandContext(t.Context(), "git", "rev-parse", "--short=12", "HEAD")
	cmd.Dir = root
	if out, err := cmd.Output(); err == nil {
		return strings.TrimSpace(string(out))
	}
	return time.Now().UTC().Format(time.DateOnly)
}

// patterns are the tests of each folder that some mutants name.
func patterns(of []*mutant) map[string][]string {
	out := map[string][]string{}
	for _, m := range of {
		if p := out[m.tests.folder]; !slices.Contains(p, m.tests.run) {
			out[m.tests.folder] = append(p, m.tests.run)
		}
	}
	return out
}

var failure = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// run runs tests, with the files of an overlay if there is one. A build that
// fails, a test that never ends and tests that are not there are errors.
func run(t *testing.T, of tests, overlay string) outcome {
	t.Helper()
	args := []string{"test", "-count=1", "-short", "-failfast", "-vet=off", "-timeout=5m", "-run", of.run}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, "./"+of.folder)...)
	cmd.Dir = root
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "SPILLWAY_") })
	var all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &all, &all
	began := time.Now()
	err := cmd.Run()
	o := outcome{took: time.Since(began)}
	out := all.String()
	exit, _ := errors.AsType[*exec.ExitError](err)
	failed := failure.FindAllStringSubmatch(out, -1)
	switch {
	case err != nil && exit == nil:
		o.err = err
	case strings.Contains(out, "[build failed]"), strings.Contains(out, "[setup failed]"):
		o.err = fmt.Errorf("it does not compile:\n%s", out)
	case strings.Contains(out, "no tests to run"):
		o.err = fmt.Errorf("no test of %s matches %s", of.folder, of.run)
	case strings.Contains(out, "panic: test timed out"):
		o.err = fmt.Errorf("neither caught nor survived within five minutes:\n%.4000s", out)
	case err != nil && len(failed) == 0:
		o.caught = "the package's own end: " + firstLine(out)
	case err != nil:
		var names []string
		for _, f := range failed {
			names = append(names, f[1])
		}
		o.caught = strings.Join(names, ", ")
	}
	return o
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// text is the table of what came of each mutant.
func text(of []*mutant, table map[string]outcome) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	caught := 0
	for _, m := range of {
		o, ran := table[m.name]
		by := "SURVIVED"
		switch {
		case !ran:
			by = "not judged: its tests fail without it"
		case o.err != nil:
			by = "not judged"
		case o.caught != "":
			caught++
			by = "caught by " + m.tests.folder + " " + o.caught
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", m.rule, m.name, by, o.took.Round(100*time.Millisecond))
	}
	_ = w.Flush() // to memory
	return b.String() + fmt.Sprintf("%d of %d caught\n", caught, len(of))
}
