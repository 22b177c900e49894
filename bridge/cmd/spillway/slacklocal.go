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
// over the wire as it meets Slack. One that dies is started again.
type localSlack struct {
	address string
	dir     string
	closing chan struct{} // closed by close
	kept    chan error    // what keep ended with
}

// slackChild is one process of it.
type slackChild struct {
	ended chan struct{}
	stop  func() error
}

const (
	// localSlackStart is how long it may take to answer.
	localSlackStart = 20 * time.Second
	// localSlackStop is how long it may take to end.
	localSlackStop = 10 * time.Second
	// localSlackSoon is the pause before one that died is started again; it
	// doubles up to localSlackLate, and is short again after localSlackWell.
	localSlackSoon = 300 * time.Millisecond
	localSlackLate = 30 * time.Second
	localSlackWell = time.Minute
)

// startLocalSlack starts `spillway slackd`, waits until it answers, and keeps it
// running until close. The one of a daemon that was killed may still be about
// to end; it is waited for.
func startLocalSlack(ctx context.Context, exe string, c *config.Slack, stateDir string, log *slog.Logger) (*localSlack, error) {
	l := &localSlack{address: c.Local, dir: filepath.Join(stateDir, "slack"), closing: make(chan struct{}), kept: make(chan error, 1)}
	within, cancel := context.WithTimeout(ctx, localSlackStart)
	defer cancel()
	for {
		child, err := l.try(within, exe, c.Workspace)
		if err == nil {
			log.InfoContext(ctx, "a local Slack runs: `spillway bot page` says how to open it", "address", c.Local)
			go func() { l.kept <- l.keep(child, exe, c.Workspace, log) }()
			return l, nil
		}
		select {
		case <-within.Done():
			return nil, err
		case <-time.After(localSlackSoon):
		}
	}
}

// keep starts the local Slack again whenever it dies, until close. What it was
// told is in its folder, and what it was not waits in the bot's outbox.
func (l *localSlack) keep(child *slackChild, exe, workspace string, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-l.closing:
			cancel()
		case <-ctx.Done():
		}
	}()
	pause, since := localSlackSoon, time.Now()
	for {
		select {
		case <-l.closing:
			return child.stop()
		case <-child.ended:
		}
		if time.Since(since) > localSlackWell {
			pause = localSlackSoon
		}
		for next := (*slackChild)(nil); next == nil; {
			log.WarnContext(ctx, "the local Slack has died and is started again", "in", pause)
			select {
			case <-l.closing:
				return nil
			case <-time.After(pause):
			}
			pause = min(2*pause, localSlackLate)
			var err error
			if next, err = l.again(ctx, exe, workspace); err != nil {
				log.WarnContext(ctx, "the local Slack does not start", "error", err)
				continue
			}
			child, since = next, time.Now()
		}
	}
}

func (l *localSlack) again(ctx context.Context, exe, workspace string) (*slackChild, error) {
	ctx, cancel := context.WithTimeout(ctx, localSlackStart)
	defer cancel()
	return l.try(ctx, exe, workspace)
}

func (l *localSlack) try(ctx context.Context, exe, workspace string) (*slackChild, error) {
	child := &slackChild{ended: make(chan struct{})}
	args := []string{"slackd", "--listen", l.address, "--state", l.dir}
	if workspace != "" {
		args = append(args, "--workspace", workspace)
	}
	cmd := exec.Command(exe, args...) // It is this very program; close ends it.
	said := &tail{}
	cmd.Stdout, cmd.Stderr = said, said
	// A kill of the daemon ends it too, and Ctrl-C reaches it by us alone.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := child.launch(cmd); err != nil {
		return nil, fmt.Errorf("start the local Slack: %w", err)
	}
	child.stop = func() error { return child.end(cmd) }
	if err := l.answers(ctx, child, said); err != nil {
		return nil, errors.Join(err, child.stop())
	}
	return child, nil
}

// launch starts the child on a thread that lives as long as it: the kernel ends
// it with the thread that started it, not with the process.
func (l *slackChild) launch(cmd *exec.Cmd) error {
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

func (l *localSlack) close() error {
	close(l.closing)
	return <-l.kept
}

// answers waits until it says its address, which it does once it has it.
func (l *localSlack) answers(ctx context.Context, child *slackChild, said *tail) error {
	for !strings.Contains(said.String(), "Page:") {
		select {
		case <-child.ended:
			return fmt.Errorf("the local Slack has ended: %s", said)
		case <-ctx.Done():
			return fmt.Errorf("the local Slack does not answer on %s: %w: %s", l.address, context.Cause(ctx), said)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

func (l *slackChild) end(cmd *exec.Cmd) error {
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
