package slurmctl_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/bridge/sim/slurmctl"
	"spillway.sh/spillway/slurm"
	"spillway.sh/spillway/slurm/slurmtest"
)

// side is a cluster that a table is played against: a real or a simulated one.
type side interface {
	exec(ctx context.Context, input string, args ...string) (slurm.Output, error)
	submit(j slurmctl.Job) bridge.JobID
	join(name string)
	lose(name string)
	restart()
	wait(d time.Duration)
}

// simulated is the one under test, in a bubble. Its commands take some time, as
// real ones do.
type simulated struct{ *slurmctl.Controller }

func (s simulated) exec(ctx context.Context, input string, args ...string) (slurm.Output, error) {
	time.Sleep(20 * time.Millisecond)
	return s.Exec(ctx, input, args...)
}

func (s simulated) submit(j slurmctl.Job) bridge.JobID { return s.Submit(j) }

func (s simulated) join(name string) {
	if err := s.Register(machine(name)); err != nil {
		panic(err)
	}
}

func (s simulated) lose(name string)     { s.Lose(name) }
func (s simulated) restart()             { s.Restart(false) }
func (s simulated) wait(d time.Duration) { time.Sleep(d) }

// actual is slurmctld and slurmd as Debian has them.
type actual struct {
	t        *testing.T
	cluster  *slurmtest.Cluster
	machines map[string]*sandbox.Machine
}

// transitional is what scancel says before it waits and sends a signal again,
// where the adapter ends it.
const transitional = "in transitional state, retrying\n"

func (r *actual) exec(ctx context.Context, input string, args ...string) (slurm.Output, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(r.cluster.BinDir(sandbox.Account{}), args[0]), args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC", "SLURM_TIME_FORMAT=%s", "SLURM_BITSTR_LEN=0"}
	var out bytes.Buffer
	message := &until{text: transitional, stop: cancel}
	cmd.Stdout, cmd.Stderr, cmd.Dir = &out, message, "/"
	if input != "" {
		cmd.Stdin = strings.NewReader(input)
	}
	began := time.Now()
	err := cmd.Run()
	if d := time.Since(began); d > 2*time.Second {
		r.t.Logf("%s took %s", args, d)
	}
	answer := slurm.Output{Stdout: out.Bytes(), Stderr: message.said.Bytes()}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) || message.seen {
		if answer.Code = 1; exit != nil && exit.ExitCode() > 0 {
			answer.Code = exit.ExitCode()
		}
		return answer, nil
	}
	return answer, err
}

// until ends a command at a text.
type until struct {
	said bytes.Buffer // not embedded: its ReadFrom would go past Write
	text string
	seen bool
	stop func()
}

func (u *until) Write(p []byte) (int, error) {
	if u.seen {
		return len(p), nil
	}
	n, err := u.said.Write(p)
	if bytes.Contains(u.said.Bytes(), []byte(u.text)) {
		u.seen = true
		u.stop()
	}
	return n, err
}

// submit sends a batch script that does what the simulated job does.
func (r *actual) submit(j slurmctl.Job) bridge.JobID {
	r.t.Helper()
	script := "#!/bin/bash\n"
	switch {
	case j.Grace >= killWait:
		script += "trap '' TERM\n"
	case j.Grace > 0:
		script += fmt.Sprintf("trap 'sleep %g; exit' TERM\n", j.Grace.Seconds())
	}
	if j.SaveOn != "" {
		script += "trap : " + j.SaveOn + "\n"
	}
	script += fmt.Sprintf("end=$((SECONDS+%d)); while [ $SECONDS -lt $end ]; do sleep 0.1; done\n", int(j.Work.Seconds()))
	if j.Fails {
		script += "exit 1\n"
	}
	args := []string{
		"--output=/dev/null", "--job-name=" + j.Name, fmt.Sprintf("--nodes=%d", max(1, j.Nodes)),
		fmt.Sprintf("--ntasks=%d", max(1, j.Nodes)*max(1, j.CPUs)), map[bool]string{true: "--requeue", false: "--no-requeue"}[j.Restartable],
	}
	add := func(is bool, format string, value any) {
		if is {
			args = append(args, fmt.Sprintf(format, value))
		}
	}
	add(j.GPUs > 0, "--gres=gpu:%d", j.GPUs)
	add(j.MemoryMiB > 0, "--mem=%d", j.MemoryMiB)
	add(j.Limit > 0, "--time=%d", int(j.Limit.Minutes()))
	add(j.Tasks > 0 && j.Throttle > 0, "--array=0-%d%%"+fmt.Sprint(j.Throttle), j.Tasks-1)
	add(j.Tasks > 0 && j.Throttle == 0, "--array=0-%d", j.Tasks-1)
	add(j.After != "", "--dependency=afterok:%s", j.After)
	add(!j.Begin.IsZero(), "--begin=now+%d", int(time.Until(j.Begin).Seconds()))
	add(j.Comment != "", "--comment=%s", j.Comment)
	if j.Held {
		args = append(args, "--hold")
	}
	id, err := r.cluster.Submit(r.t.Context(), sandbox.Alice, script, args...)
	must(r.t, err)
	return bridge.JobID(id)
}

func (r *actual) join(name string) {
	r.t.Helper()
	join := r.cluster.Join()
	shape := slurmtest.NodeShape{Name: name, CPUs: 8, MemoryMiB: 64000, GPUType: "a100", GPUs: 8, Feature: "cloud"}
	m, err := sandbox.Start(r.t.Context(), sandbox.Spec{
		Dir: filepath.Join(r.cluster.Dir(), "machines"), Name: name, Image: join.Image, Network: join.Network, Binds: join.Binds,
		GPUs: shape.GPUs, Init: join.Script(shape),
	})
	must(r.t, err)
	r.machines[name] = m
	_, err = r.cluster.WaitNode(r.t.Context(), name, "IDLE", "DYNAMIC_NORM")
	must(r.t, err)
}

func (r *actual) lose(name string) {
	must(r.t, r.machines[name].Stop(context.WithoutCancel(r.t.Context())))
	delete(r.machines, name)
}

func (r *actual) restart() { must(r.t, r.cluster.RestartController(r.t.Context())) }

func (r *actual) wait(time.Duration) {} // What is waited for is seen in what is read.
