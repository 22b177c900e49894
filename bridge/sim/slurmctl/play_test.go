package slurmctl_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/sim/slurmctl"
	"spillway.sh/spillway/slurm"
)

// step is one thing that is done to both clusters, and what both then show.
type step struct {
	name string
	do   func(ctx context.Context, p *play) string
	// wait is how long the simulated one is given before it is looked at; 0 means
	// long enough for all that follows by itself. The real one is looked at until
	// it shows the same.
	wait time.Duration
	// hides are nodes and jobs that are not looked at from here on, shows those
	// that are again.
	hides, shows []string
}

// play is one side, as the table sees it.
type play struct {
	t       *testing.T
	side    side
	cluster *slurm.Cluster
	ids     map[string]bridge.JobID // by job name
	order   []string
	wrote   []string
	called  []string
	hidden  []string
}

// outcome is what one step came to.
type outcome struct{ did, shows string }

func newPlay(t *testing.T, s side) *play {
	p := &play{t: t, side: s, ids: map[string]bridge.JobID{}}
	p.cluster = slurm.New(slurm.Options{Name: "rig", Exec: p.exec, Log: slog.New(slog.DiscardHandler), Silence: -1})
	return p
}

func (p *play) now() time.Time { return time.Now() }

// exec hands a command of the adapter on and writes down what changes
// something, and what is refused.
func (p *play) exec(ctx context.Context, input string, args ...string) (slurm.Output, error) {
	out, err := p.side.exec(ctx, input, args...)
	reads := args[0] == "squeue" || args[0] == "sdiag" || slices.Contains(args, "show")
	if err == nil && (!reads || out.Code != 0) {
		p.wrote = append(p.wrote, p.told(input, args, out))
	}
	return out, err
}

// told is a command and its answer. What scontrol prints of a script is the echo
// of its input.
func (p *play) told(input string, args []string, out slurm.Output) string {
	stdout := string(out.Stdout)
	if input != "" {
		stdout = ""
	}
	code := out.Code
	if args[0] == "scancel" && code > 1 {
		code = 1 // else the low byte of an error's number
	}
	text := fmt.Sprintf("%s%s\n%s%s[%d]", strings.Join(args, " "), strings.TrimRight(" < "+input, "\n <"), stdout, spoken(string(out.Stderr)), code)
	return p.inText(text)
}

// spoken leaves out what a verbose command says of its plug-ins.
// and how often it tried before it was ended.
func spoken(message string) string {
	var b strings.Builder
	for line := range strings.Lines(message) {
		if strings.HasSuffix(b.String(), line) {
			continue
		}
		if !strings.Contains(line, "common_init") && !strings.Contains(line, "plugin loaded") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// submit sends jobs.
func (p *play) submit(jobs ...slurmctl.Job) string {
	for _, j := range jobs {
		j.User = "alice"
		p.ids[j.Name] = p.side.submit(j)
		p.order = append(p.order, j.Name)
	}
	return ""
}

// raw runs commands as they are; "{gang}" is the id of a job.
func raw(commands ...string) func(context.Context, *play) string {
	return func(ctx context.Context, p *play) string {
		for _, command := range commands {
			input, script := strings.CutPrefix(command, "< ")
			args := []string{"scontrol"}
			if !script {
				input, args = "", strings.Split(p.fill(command), " ")
				for i, a := range args {
					args[i] = strings.ReplaceAll(a, "~", " ")
				}
			}
			out, err := p.side.exec(ctx, strings.ReplaceAll(p.fill(input), "; ", "\n"), args...)
			if err != nil {
				p.t.Fatal(err)
			}
			p.wrote = append(p.wrote, p.told(input, args, out))
		}
		return ""
	}
}

func (p *play) fill(text string) string {
	for name, id := range p.ids {
		text = strings.ReplaceAll(text, "{"+name+"}", string(id))
	}
	return text
}

// said is an error of the adapter in words that are the same for both.
func (p *play) said(err error) string {
	kinds := map[string]error{"busy": bridge.ErrBusy, "not restartable": bridge.ErrNotRestartable, "no job": bridge.ErrNoJob}
	for word, kind := range kinds {
		if errors.Is(err, kind) {
			return word
		}
	}
	if err == nil {
		return "done"
	}
	return p.inText(err.Error())
}

// call is a method of the adapter.
func call(method string, do func(ctx context.Context, p *play) error) func(context.Context, *play) string {
	return func(ctx context.Context, p *play) string {
		p.called = append(p.called, method)
		return method + ": " + p.said(do(ctx, p))
	}
}

// both does one thing after the other.
func both(things ...func(context.Context, *play) string) func(context.Context, *play) string {
	return func(ctx context.Context, p *play) string {
		var said []string
		for _, do := range things {
			said = append(said, do(ctx, p))
		}
		return strings.Join(said, "\n")
	}
}

// do plays one step, without looking.
func (p *play) do(ctx context.Context, s *step) string {
	p.wrote = nil
	p.hidden = slices.DeleteFunc(append(p.hidden, s.hides...), func(name string) bool { return slices.Contains(s.shows, name) })
	said := s.do(ctx, p)
	return strings.Join(append(slices.Compact(p.wrote), said), "\n")
}

// look is what the cluster shows now, hidden lines left out.
func (p *play) look(ctx context.Context) string {
	var b strings.Builder
	for line := range strings.Lines(p.sight(ctx)) {
		if !slices.ContainsFunc(p.hidden, func(name string) bool {
			return strings.Contains(line, "NodeName="+name) || strings.Contains(line, "job "+name+":") || strings.Contains(line, "JobArrayID="+name)
		}) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// ownSettings are those that differ from site to site.
var ownSettings = regexp.MustCompile(`^(Configuration data as of|BOOT_TIME|ClusterName|MaxNodeCount|NEXT_JOB_ID|SlurmctldHost\[0\])(.*)$`)

// toldSettings are the settings that the simulated slurmctld tells.
const toldSettings = `Configuration data as of|AccountingStorageEnforce|AccountingStorageType|AuthType|BOOT_TIME|ClusterName|DefMemPerCPU|EnforcePartLimits|GresTypes|JobFileAppend|JobRequeue|KillWait|MaxNodeCount|MessageTimeout|MinJobAge|NEXT_JOB_ID|PriorityType|PrivateData|ReturnToService|SchedulerType|SelectType|SelectTypeParameters|SlurmctldHost|SlurmctldParameters|SlurmctldPort|SlurmdTimeout|SLURM_VERSION|TopologyPlugin|TreeWidth`

var (
	tellsSetting = regexp.MustCompile(`^(` + toldSettings + `)\b`)
	readCost     = regexp.MustCompile(`(?m)^\tREQUEST_(JOB|NODE|PARTITION)_INFO .*$`)
	dated        = regexp.MustCompile(`[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}`)
	figures      = regexp.MustCompile(` *\d+ *`)
)

// settled is what both say of their settings, and of what requests cost.
func settled(ctx context.Context, p *play) string {
	var b strings.Builder
	for _, line := range p.lines(ctx, "scontrol", "show", "config") {
		switch {
		case ownSettings.MatchString(line):
			b.WriteString(ownSettings.ReplaceAllString(line, "$1") + "\n")
		case tellsSetting.MatchString(line) || strings.HasPrefix(line, "Slurmctld("):
			b.WriteString(line + "\n")
		}
	}
	out, err := p.side.exec(ctx, "", "sdiag")
	if err != nil {
		return err.Error()
	}
	text := dated.ReplaceAllString(string(out.Stdout), "DATE")
	head, _, _ := strings.Cut(text, "Server thread count")
	head, _, _ = strings.Cut(head, "\n\n")
	lines := readCost.FindAllString(text, -1)
	slices.Sort(lines)
	return b.String() + figures.ReplaceAllString(strings.TrimSpace(head)+"\n"+strings.Join(lines, "\n"), " N ")
}
