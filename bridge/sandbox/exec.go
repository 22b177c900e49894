package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Command is a program to run inside a machine.
type Command struct {
	// Args are the program and its arguments.
	Args []string
	// As is the account to run as; the zero value is root.
	As Account
	// Dir is the working folder in the machine; empty means the account's home.
	Dir string
	// Env is added to PATH, HOME, USER, LOGNAME and LANG.
	Env []string
	// Stdin is nil for none.
	Stdin io.Reader
	// Stdout and Stderr are nil for discarded.
	Stdout, Stderr io.Writer
}

// ExitError reports a program in a machine that ended with a failure.
type ExitError struct {
	// Machine is where it ran, Program what ran.
	Machine, Program string
	// Code is its exit status.
	Code int
	// Message is what it printed on standard error, where Output collected it.
	Message string
}

// Error implements error.
func (e *ExitError) Error() string {
	return fmt.Sprintf("run %s on machine %s: exit status %d: %s", e.Program, e.Machine, e.Code, e.Message)
}

// Run runs a program inside all of the machine's namespaces and waits for it.
// When ctx ends, the program and its children are killed.
func (m *Machine) Run(ctx context.Context, c Command) error {
	cmd, err := m.enter(ctx, c)
	if err != nil {
		return err
	}
	return m.outcome(c, cmd.Run(), "")
}

// Output runs a program like Run and returns its standard output. A failure
// carries the standard error.
func (m *Machine) Output(ctx context.Context, c Command) (string, error) {
	var out, msg bytes.Buffer
	c.Stdout, c.Stderr = &out, &msg
	cmd, err := m.enter(ctx, c)
	if err != nil {
		return "", err
	}
	err = cmd.Run()
	return out.String(), m.outcome(c, err, strings.TrimSpace(msg.String()))
}

// enter builds the command that goes into the machine's namespaces. The
// identity of process 1 is checked first; it cannot change between the check
// and the entry unless the machine dies just then.
func (m *Machine) enter(ctx context.Context, c Command) (*exec.Cmd, error) {
	if len(c.Args) == 0 {
		return nil, fmt.Errorf("run on machine %s: no program given", m.record.Name)
	}
	if !m.Alive() {
		return nil, fmt.Errorf("run %s on machine %s: the machine is off", c.Args[0], m.record.Name)
	}
	nsenter, err := lookTool("nsenter")
	if err != nil {
		return nil, err
	}
	args := append(EnterArgs(m.PID(), c.As), "-p", "--", "/usr/bin/env", "-C", c.workDir())
	cmd := exec.CommandContext(ctx, nsenter, append(args, c.Args...)...)
	cmd.Env = append(c.As.environment(), c.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	cmd.Dir = "/"
	// nsenter forks: only the whole group contains the program itself.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	return cmd, nil
}

// EnterArgs returns the arguments with which nsenter enters the mounts,
// network, host name and IPC of the machine whose process 1 is pid, as the
// given account. Without the process namespace, which the caller may add with
// -p, nsenter replaces itself with the program instead of waiting for it.
func EnterArgs(pid int, as Account) []string {
	args := []string{"-t", strconv.Itoa(pid), "-m", "-n", "-u", "-i"}
	if as.ID != 0 {
		args = append(args, "-S", strconv.Itoa(as.ID), "-G", strconv.Itoa(as.ID))
	}
	return args
}

func (m *Machine) outcome(c Command, err error, message string) error {
	if err == nil {
		return nil
	}
	exit, ok := err.(*exec.ExitError) //nolint:errorlint // Run returns it unwrapped.
	if !ok || exit.ExitCode() < 0 {
		return fmt.Errorf("run %s on machine %s: %w: %s", c.Args[0], m.record.Name, err, message)
	}
	return &ExitError{Machine: m.record.Name, Program: c.Args[0], Code: exit.ExitCode(), Message: message}
}

func (c Command) workDir() string {
	if c.Dir != "" {
		return c.Dir
	}
	return c.As.Home()
}

// Home returns the account's home folder in a machine.
func (a Account) Home() string {
	if a.ID == 0 {
		return "/root"
	}
	return "/home/" + a.Name
}

func (a Account) environment() []string {
	name := a.Name
	if a.ID == 0 {
		name = "root"
	}
	return []string{
		"PATH=" + searchPath, "LANG=C.UTF-8",
		"HOME=" + a.Home(), "USER=" + name, "LOGNAME=" + name,
	}
}

func owner(info fs.FileInfo) (uid, gid int) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return int(stat.Uid), int(stat.Gid)
}
