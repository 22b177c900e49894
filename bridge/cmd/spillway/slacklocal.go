package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"spillway.sh/spillway/bridge/config"
)

// localSlack is a local Slack that runs as a child, so that the bot meets it
// over the wire as it meets Slack.
type localSlack struct {
	address string
	dir     string
	ended   chan struct{}
	stop    func() error
}

const (
	// localSlackStart is how long it may take to answer.
	localSlackStart = 20 * time.Second
	// localSlackStop is how long it may take to end.
	localSlackStop = 10 * time.Second
)

// startLocalSlack starts `spillway slackd` and waits until it answers. The one
// of a daemon that was killed may still be about to end; it is waited for.
func startLocalSlack(ctx context.Context, exe string, c *config.Slack, stateDir string, log *slog.Logger) (*localSlack, error) {
	ctx, cancel := context.WithTimeout(ctx, localSlackStart)
	defer cancel()
	for {
		l, err := tryLocalSlack(ctx, exe, c, stateDir)
		if err == nil {
			log.InfoContext(ctx, "a local Slack runs: `spillway bot page` says how to open it", "address", c.Local)
			return l, nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(300 * time.Millisecond):
		}
	}
}

func tryLocalSlack(ctx context.Context, exe string, c *config.Slack, stateDir string) (*localSlack, error) {
	l := &localSlack{address: c.Local, dir: filepath.Join(stateDir, "slack"), ended: make(chan struct{})}
	args := []string{"slackd", "--listen", c.Local, "--state", l.dir}
	if c.Workspace != "" {
		args = append(args, "--workspace", c.Workspace)
	}
	cmd := exec.Command(exe, args...) //nolint:gosec,noctx // It is this very program; close ends it.
	said := &tail{}
	cmd.Stdout, cmd.Stderr = said, said
	// A kill of the daemon ends it too, and Ctrl-C reaches it by us alone.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := l.launch(cmd); err != nil {
		return nil, fmt.Errorf("start the local Slack: %w", err)
	}
	l.stop = func() error { return l.end(cmd) }
	if err := l.answers(ctx, said); err != nil {
		return nil, errors.Join(err, l.stop())
	}
	return l, nil
}

// launch starts the child on a thread that lives as long as it: the kernel ends
// it with the thread that started it, not with the process.
func (l *localSlack) launch(cmd *exec.Cmd) error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(l.ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is told by what it said
		}
	}()
	return <-started
}

func (l *localSlack) file(name string) string { return filepath.Join(l.dir, "tokens", name) }

func (l *localSlack) close() error { return l.stop() }

// answers waits until it says its address, which it does once it has it.
func (l *localSlack) answers(ctx context.Context, said *tail) error {
	for !strings.Contains(said.String(), "Page:") {
		select {
		case <-l.ended:
			return fmt.Errorf("the local Slack has ended: %s", said)
		case <-ctx.Done():
			return fmt.Errorf("the local Slack does not answer on %s: %w: %s", l.address, context.Cause(ctx), said)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

func (l *localSlack) end(cmd *exec.Cmd) error {
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	select {
	case <-l.ended:
		return nil
	case <-time.After(localSlackStop):
		_ = cmd.Process.Kill()
		<-l.ended
		return errors.New("the local Slack did not end when asked")
	}
}

// The people of the local Slack's own workspace; see bot/slackd/default.yaml.
// Its administrator is this host's.
var localUsers = map[string]string{
	"T0HPC0001/U0ANA0001": "ana", "T0HPC0001/U0WEI0001": "wei", "T0HPC0001/U0MEI0001": "mei", "T0HPC0001/U0TOM0001": "tom",
	"T0HPC0001/U0KIM0001": "kim", "T0HPC0001/U0LEA0001": "root",
}

const localChannel = "C0BURST01"

// setUp points a configuration at the local Slack.
func (l *localSlack) setUp(c *config.Slack) {
	c.API = "http://" + l.address + "/api/"
	c.BotToken, c.AppToken = config.SecretFile(l.file("bot")), config.SecretFile(l.file("app"))
	if len(c.Users) == 0 && c.EmailDomain == "" {
		c.Users = localUsers
	}
	if c.Channel == "" {
		c.Channel = localChannel
	}
}

// tail is the last of what a process wrote.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write keeps the last few lines.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	const most = 4 << 10
	t.text = t.text[max(0, len(t.text)-most):]
	return len(p), nil
}

// String is the text without its surroundings.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
}

// uidOf asks the host for the uid of an account.
func uidOf(ctx context.Context, account string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	line, err := exec.CommandContext(ctx, "getent", "passwd", "--", account).Output()
	if err != nil {
		return 0, fmt.Errorf("look up account %s: %w", account, err)
	}
	parts := strings.Split(string(line), ":")
	if len(parts) < 3 || parts[0] != account {
		return 0, fmt.Errorf("look up account %s: the host answered for another", account)
	}
	uid, err := strconv.Atoi(parts[2])
	if err != nil {
		return 0, fmt.Errorf("look up account %s: %w", account, err)
	}
	return uid, nil
}
