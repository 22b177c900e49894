package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/plugin/wire"
)

const (
	answerMost = 32 << 20 // bytes of one answer
	wordsMost  = 4 << 10  // of what is kept of its standard error
	parting    = time.Second
)

// errTooMuch reports an answer beyond answerMost.
var errTooMuch = errors.New("it wrote more than an answer may have")

// call runs the plugin once. All errors are *bridge.CloudError; one that is not
// the plugin's own word refuses nothing, unless the plugin was never started.
func (c *Cloud) call(ctx context.Context, q wire.Request) (*wire.Answer, error) {
	q.Version, q.Cloud, q.Settings = wire.Version, c.config.Name, c.config.Settings
	fail := func(kind bridge.CloudErrorKind, err error) error {
		return &bridge.CloudError{Kind: kind, Op: string(q.Call), Cloud: c.config.Name, Err: err}
	}
	if err := ctx.Err(); err != nil {
		return nil, fail(bridge.CloudThrottled, err) // nothing was sent
	}
	text, err := json.Marshal(q)
	if err != nil {
		return nil, fail(bridge.CloudInvalid, fmt.Errorf("write request: %w", err))
	}
	out, started, err := c.run(ctx, text)
	switch {
	case err != nil && !started:
		return nil, fail(bridge.CloudDenied, err)
	case err != nil:
		return nil, fail(bridge.CloudUnknown, err)
	}
	a, err := read(q.Call, out)
	if err != nil {
		return nil, fail(bridge.CloudUnknown, fmt.Errorf("%s does not answer as a plugin: %w", c.config.Command[0], err))
	}
	if a.Error != nil {
		return nil, &bridge.CloudError{
			Kind: bridge.CloudErrorKind(a.Error.Kind), Op: string(q.Call), Cloud: c.config.Name,
			Code: a.Error.Code, Message: a.Error.Message, RetryAfter: time.Duration(a.Error.RetryAfter),
		}
	}
	return a, nil
}

// run starts the program, feeds it and returns what it wrote. Whoever it
// started itself ends with it.
func (c *Cloud) run(ctx context.Context, input []byte) (out []byte, started bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.config.Command[0], c.config.Command[1:]...)
	cmd.Env = c.environment()
	cmd.Stdin = bytes.NewReader(input)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = parting
	answer, words := &bounded{most: answerMost, full: cancel}, &bounded{most: wordsMost}
	cmd.Stdout, cmd.Stderr = answer, words
	if err := cmd.Start(); err != nil {
		return nil, false, err //nolint:wrapcheck // It names the program; the call is named around it.
	}
	err = cmd.Wait()
	said := strings.TrimSpace(strings.ToValidUTF8(words.kept.String(), ""))
	if said != "" {
		c.config.Log.Debug("plugin says", "cloud", c.config.Name, "text", said)
	}
	switch {
	case answer.over:
		return nil, true, errTooMuch
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, true, fmt.Errorf("no answer after %s: %w", c.config.Timeout, ctx.Err())
	case ctx.Err() != nil:
		return nil, true, fmt.Errorf("wait for the answer: %w", ctx.Err())
	case err != nil && answer.kept.Len() == 0:
		last := said[strings.LastIndexByte(said, '\n')+1:]
		return nil, true, fmt.Errorf("%s ended without an answer: %w: %s", c.config.Command[0], err, last)
	}
	return answer.kept.Bytes(), true, nil
}

// environment is what a plugin gets: not the daemon's secrets, but what it asks
// for by name.
func (c *Cloud) environment() []string {
	env := []string{"LC_ALL=C.UTF-8", "TZ=UTC"}
	for _, name := range append([]string{"PATH", "HOME"}, c.config.Env...) {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// read understands an answer to the last byte.
func read(call wire.Call, text []byte) (*wire.Answer, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("it wrote nothing")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var a wire.Answer
	if err := d.Decode(&a); err != nil {
		return nil, fmt.Errorf("%w in %q", err, clip(text))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more after the answer")
	}
	return &a, check(call, &a)
}

func clip(text []byte) string {
	const most = 80
	s := strings.ToValidUTF8(strings.TrimSpace(string(text[:min(len(text), 2*most)])), "?")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// bounded keeps so many bytes and drops the rest.
type bounded struct {
	kept bytes.Buffer
	most int
	over bool
	full func() // once, when more came; nil: nobody minds
}

// Write never fails, so that the program can end.
func (b *bounded) Write(p []byte) (int, error) {
	keep := min(len(p), b.most-b.kept.Len())
	b.kept.Write(p[:keep])
	if keep < len(p) && !b.over {
		b.over = true
		if b.full != nil {
			b.full()
		}
	}
	return len(p), nil
}
