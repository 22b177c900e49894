package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Shell runs scripts with the system's ssh client.
type Shell struct {
	// Dir is where known hosts are laid out for the client while it runs; it
	// belongs to its owner alone.
	Dir string
	// Limit is the longest one script may take; 40 s unless set.
	Limit time.Duration
	// Program is the client; ssh unless set.
	Program string
}

const (
	limitDefault = 40 * time.Second
	connectMost  = 8 // seconds
	outputMost   = 64 << 10
	parting      = time.Second
	// hostAlias is the name under which a pinned key is looked for.
	hostAlias = "machine"
)

// Run implements Runner.
func (s *Shell) Run(ctx context.Context, h *Host, script string) (string, error) {
	known, err := s.knownHosts(h)
	if err != nil {
		return "", err
	}
	defer os.Remove(known)
	limit := s.Limit
	if limit <= 0 {
		limit = limitDefault
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done within %s", limit))
	defer cancel()
	program := s.Program
	if program == "" {
		program = "ssh"
	}
	cmd := exec.CommandContext(ctx, program, arguments(h, known)...)
	cmd.Stdin = strings.NewReader(script)
	var words bytes.Buffer
	out := &limited{most: outputMost}
	cmd.Stdout, cmd.Stderr = out, &words
	// In our own group, which is ended as a whole when we take too long.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = parting
	err = cmd.Run()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return out.String(), fmt.Errorf("%w: %s", err, lastLine(words.String()))
	}
	return out.String(), nil
}

// arguments ask for one way in and for no question.
func arguments(h *Host, known string) []string {
	args := []string{"-F", "none", "-T", "-p", strconv.Itoa(h.Port)}
	for _, o := range []string{
		"BatchMode=yes", "StrictHostKeyChecking=yes", "UserKnownHostsFile=" + known, "GlobalKnownHostsFile=/dev/null",
		"HostKeyAlias=" + hostAlias, "CheckHostIP=no", "UpdateHostKeys=no", "IdentitiesOnly=yes", "IdentityFile=" + h.KeyFile, "IdentityAgent=none",
		"PreferredAuthentications=publickey", "ConnectTimeout=" + strconv.Itoa(connectMost), "ServerAliveInterval=5", "ServerAliveCountMax=3",
		"ControlPath=none", "ClearAllForwardings=yes", "LogLevel=ERROR",
	} {
		args = append(args, "-o", o)
	}
	shell := "sh -s"
	if h.User != "root" {
		shell = "sudo -n sh -s"
	}
	return append(args, "-l", h.User, "--", h.Address, shell)
}

func (s *Shell) knownHosts(h *Host) (string, error) {
	f, err := os.CreateTemp(s.Dir, "known-*")
	if err != nil {
		return "", fmt.Errorf("write down the host key of %s: %w", h.Name, err)
	}
	_, err = f.WriteString(hostAlias + " " + h.HostKey + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("write down the host key of %s: %w", h.Name, err), os.Remove(f.Name()))
	}
	return f.Name(), nil
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}

// limited keeps so many bytes and drops the rest.
type limited struct {
	bytes.Buffer
	most int
}

// Write never fails.
func (l *limited) Write(p []byte) (int, error) {
	l.Buffer.Write(p[:min(len(p), max(0, l.most-l.Len()))])
	return len(p), nil
}
