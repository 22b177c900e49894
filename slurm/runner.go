package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// CommandError is a Slurm command that failed, did not end in time, or wrote
// more than allowed.
type CommandError struct {
	Args    []string
	Code    int    // exit status; -1 when it did not end by itself
	Message string // what it wrote to standard error
	Err     error
}

// Error names the command and quotes it.
func (e *CommandError) Error() string {
	s := "run " + strings.Join(e.Args, " ")
	if e.Message != "" {
		return s + ": " + e.Message
	}
	return fmt.Sprintf("%s: %v", s, e.Err)
}

// Unwrap returns what ended the command.
func (e *CommandError) Unwrap() error { return e.Err }

// errTooMuch reports output beyond Options.MaxOutput.
var errTooMuch = errors.New("more output than allowed")

// again is what scancel says before it waits for some seconds and sends a
// signal once more, which is never wanted: it is ended there.
const again = "in transitional state"

// maxMessage bounds what is kept of a command's standard error, in bytes.
const maxMessage = 8 << 10

// run runs one Slurm command and returns its standard output. The error is a
// *CommandError, also when the command says nothing was wrong but was cut off.
func (c *Cluster) run(ctx context.Context, args ...string) ([]byte, error) {
	return c.feed(ctx, "", args...)
}

// feed runs a command that reads the input.
func (c *Cluster) feed(ctx context.Context, input string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	if c.options.Exec != nil {
		return c.elsewhere(ctx, input, args)
	}
	tool := args[0]
	if c.options.BinDir != "" {
		tool = filepath.Join(c.options.BinDir, tool)
	}
	cmd := exec.CommandContext(ctx, tool, args[1:]...)
	cmd.Env = c.environment()
	if input != "" {
		cmd.Stdin = strings.NewReader(input)
	}
	cmd.Dir = "/"
	// The commands may be wrappers; only the whole group contains what they started.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out := &bounded{left: c.options.MaxOutput, full: cancel}
	message := &bounded{left: maxMessage, until: again, full: cancel}
	cmd.Stdout, cmd.Stderr = out, message
	err := cmd.Run()
	switch {
	case out.over:
		err = errTooMuch
	case ctx.Err() != nil:
		err = ctx.Err()
	}
	if err == nil {
		return out.kept.Bytes(), nil
	}
	failure := &CommandError{Args: args, Code: -1, Message: strings.TrimSpace(message.kept.String()), Err: err}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		failure.Code = exit.ExitCode()
	}
	return nil, failure
}

// elsewhere runs a command by Options.Exec, within the same bounds.
func (c *Cluster) elsewhere(ctx context.Context, input string, args []string) ([]byte, error) {
	out, err := c.options.Exec(ctx, input, args...)
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case err == nil && int64(len(out.Stdout)) > c.options.MaxOutput:
		err = errTooMuch
	case err == nil && out.Code != 0:
		err = fmt.Errorf("exit status %d", out.Code)
	}
	if err == nil {
		return out.Stdout, nil
	}
	failure := &CommandError{Args: args, Code: -1, Message: strings.TrimSpace(string(out.Stderr)), Err: err}
	if out.Code != 0 {
		failure.Code = out.Code
	}
	return nil, failure
}

// environment is all that the commands see: their defaults can be changed by
// some forty variables, and a changed default is a misread queue.
func (c *Cluster) environment() []string {
	env := []string{"LC_ALL=C", "TZ=UTC", "SLURM_TIME_FORMAT=%s", "SLURM_BITSTR_LEN=0"}
	for _, name := range []string{"PATH", "HOME", "SLURM_CONF"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	if c.options.Conf != "" {
		env = append(env, "SLURM_CONF="+c.options.Conf)
	}
	return env
}

// bounded keeps so many bytes of what is written to it and drops the rest.
type bounded struct {
	kept  bytes.Buffer
	left  int64
	over  bool
	until string // a text that ends it, empty: none
	full  func() // called once when the bound is passed or the text was seen
}

// Write implements io.Writer; it never fails, so that the command can end.
func (b *bounded) Write(p []byte) (int, error) {
	keep := min(int64(len(p)), b.left)
	b.left -= keep
	b.kept.Write(p[:keep])
	passed := keep < int64(len(p)) || b.until != "" && bytes.Contains(b.kept.Bytes(), []byte(b.until))
	if passed && !b.over {
		b.over = true
		b.full()
	}
	return len(p), nil
}

// says reports whether a command failed with one of the given texts.
func says(err error, texts ...string) bool {
	failure := (*CommandError)(nil)
	if !errors.As(err, &failure) {
		return false
	}
	for _, text := range texts {
		if strings.Contains(strings.ToLower(failure.Message), text) {
			return true
		}
	}
	return false
}
