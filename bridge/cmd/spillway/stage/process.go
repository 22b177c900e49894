package stage

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Build builds the binary with build tags into a folder and returns its path.
func Build(ctx context.Context, dir string, tags ...string) (string, error) {
	exe := filepath.Join(dir, "spillway")
	c := exec.CommandContext(ctx, "go", "build", "-tags", strings.Join(tags, ","), "-o", exe, "spillway.sh/spillway/bridge/cmd/spillway")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the binary: %w: %s", err, out)
	}
	return exe, nil
}

// Start runs a subcommand of the binary with its output in a log.
func (s *Stage) Start(name string, args ...string) (*exec.Cmd, error) {
	return s.Run(name, append([]string{s.Exe}, args...)...)
}

// Run runs any program with its output in a log.
func (s *Stage) Run(name string, args ...string) (*exec.Cmd, error) {
	log, err := os.OpenFile(s.Path(name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	s.logs = append(s.logs, log)
	// Not bound to a context: Close ends it, in the right order. Its own process
	// group keeps a Ctrl-C at the terminal from reaching it first, and it is told
	// to end when the one who started it is killed.
	c := exec.Command(args[0], args[1:]...)
	c.Stdout, c.Stderr = log, log
	c.Env = append(os.Environ(), "PATH="+s.Path("bin")+":"+os.Getenv("PATH"))
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	s.processes = append(s.processes, c)
	return c, nil
}

// Until polls for a condition, and fails early when the process has ended.
func (s *Stage) Until(ctx context.Context, what string, c *exec.Cmd, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for !ok() {
		if Ended(c) {
			return fmt.Errorf("wait until %s: the process has ended: %s", what, lastLines(c))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w: %s", what, context.Cause(ctx), lastLines(c))
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// End asks a process to end and kills it when it does not.
func End(c *exec.Cmd) error {
	if c == nil || c.Process == nil || c.ProcessState != nil {
		return nil
	}
	_ = c.Process.Signal(syscall.SIGTERM) // It may have ended already.
	done := make(chan struct{})
	go func() { _ = c.Wait(); close(done) }() // Its exit status was judged by what it left.
	select {
	case <-done:
	case <-time.After(parting):
		_ = c.Process.Kill()
		<-done
		return fmt.Errorf("%s did not end when asked", strings.Join(c.Args[:min(2, len(c.Args))], " "))
	}
	return nil
}

// Ended reports whether a process has exited, without reaping it.
func Ended(c *exec.Cmd) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, c.Process.Pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err != nil || info.Signo != 0
}

// Log is what processes of a name have written.
func (s *Stage) Log(name string) string {
	text, err := os.ReadFile(s.Path(name + ".log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// lastLines is the end of what a process wrote.
func lastLines(c *exec.Cmd) string {
	f, ok := c.Stdout.(*os.File)
	if !ok {
		return ""
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-5):], []byte("\n")))
}
