package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mattn/go-isatty"

	"spillway.sh/spillway/bridge/config"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/desk/socket"
)

const defaultSocket = "/run/spillway/spillway.sock"

// app is what every command has: the streams, the daemon, the person.
type app struct {
	*commands
	ctx  context.Context
	in   *os.File
	out  io.Writer
	errs io.Writer

	client *socket.Client
	closes []func() error
}

func (a *app) close() {
	for _, c := range a.closes {
		if err := c(); err != nil {
			fmt.Fprintln(a.errs, "spillway:", err)
		}
	}
}

// lang is the language of explanations: the flag's, else the locale's.
func (a *app) lang() desk.Lang {
	if a.Lang != "" {
		return desk.Lang(a.Lang)
	}
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := os.Getenv(name); v != "" {
			if strings.HasPrefix(v, "zh") {
				return desk.Chinese
			}
			break
		}
	}
	return desk.English
}

// socketPath is the flag's socket, else the configuration's where it can be
// read, else the usual one.
func (a *app) socketPath() string {
	if a.Socket != "" {
		return a.Socket
	}
	// Only the socket is wanted, so mistakes elsewhere do not matter, and secrets
	// that this person cannot read need not be looked at.
	if text, err := os.ReadFile(a.Config); err == nil {
		if c, err := config.Parse(a.Config, text); err == nil {
			return c.Socket
		}
	}
	return defaultSocket
}

// ask asks the daemon. While it is down, what only reads is answered from the
// store, and said to be.
func ask[Q, A any](a *app, what desk.Ask[Q, A], q Q) (A, error) { return askIn(a.ctx, a, what, q) }

// askIn is ask for as long as ctx lasts.
func askIn[Q, A any](ctx context.Context, a *app, what desk.Ask[Q, A], q Q) (A, error) {
	if a.client == nil {
		a.client = socket.NewClient(a.socketPath())
		a.closes = append(a.closes, func() error { a.client.Close(); return nil })
	}
	answer, err := socket.Call(ctx, a.client, what, q)
	if err == nil || !errors.Is(err, socket.ErrDown) || !what.Reads {
		return answer, err
	}
	d, offErr := a.offline()
	if offErr != nil {
		e := desk.AsError(err)
		e.Wrong += ", and its store cannot be read: " + offErr.Error()
		return answer, e
	}
	me, err := a.me(d)
	if err != nil {
		return answer, err
	}
	fmt.Fprintln(a.errs, "(the daemon is not running; this is from its store)")
	return what.Do(d, ctx, me, q)
}

// me is the person at the keyboard, for questions answered without the daemon.
func (a *app) me(d *desk.Desk) (desk.Person, error) {
	name, groups, err := socket.HostAccounts(time.Now)(a.ctx, os.Getuid())
	if err != nil {
		return desk.Person{}, fmt.Errorf("find out who you are: %w", err)
	}
	return d.Roles.Of(name, os.Getuid(), groups), nil
}

// format is the flag of every command that reads.
type format struct {
	Output string `short:"o" enum:"text,json" default:"text" help:"Print text or json."`
}

// print writes an answer: as JSON with the keys of the desk's answer, or as
// text by say.
func (f *format) print(a *app, answer any, say func(w *page)) error {
	if f.Output == "json" {
		enc := json.NewEncoder(a.out)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		if err := enc.Encode(answer); err != nil {
			return fmt.Errorf("print answer: %w", err)
		}
		return nil
	}
	p := &page{w: bufio.NewWriter(a.out)}
	say(p)
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("print answer: %w", err)
	}
	return nil
}

// page is a text answer being written; a write error is kept by the buffer and
// returned when it is flushed.
type page struct{ w *bufio.Writer }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

// lineWidth is what text is wrapped at; tables are as wide as what is in them.
const lineWidth = 100

// wrap writes a text behind a lead, in lines of at most lineWidth that begin as
// deep as the first.
func (p *page) wrap(lead, text string) {
	for i, line := range folded(plain(text), lineWidth-len(lead)) {
		if i > 0 {
			lead = strings.Repeat(" ", len(lead))
		}
		p.line("%s%s", lead, line)
	}
}

// table writes rows under a heading, aligned by column. Cells of a row are
// separated by tabs.
func (p *page) table(heading string, rows []string) {
	t := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
	if heading != "" {
		fmt.Fprintln(t, heading)
	}
	for _, r := range rows {
		fmt.Fprintln(t, r)
	}
	_ = t.Flush() // into the page's buffer, which keeps the error
}

func row(cells ...any) string {
	out := make([]string, len(cells))
	for i, c := range cells {
		s := fmt.Sprint(c)
		if s == "" {
			s = "-"
		}
		out[i] = plain(s)
	}
	return strings.Join(out, "\t")
}

// plain keeps names that people chose from moving the cursor of a terminal or
// the columns of a table.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '?'
		}
		return r
	}, s)
}

func (a *app) atTerminal() bool { return isatty.IsTerminal(a.in.Fd()) }

// confirm asks a person at a terminal. Scripts say --yes.
func (a *app) confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	if !a.atTerminal() {
		return &desk.Error{Kind: desk.BadRequest, Wrong: "this needs a yes, and nobody is at a terminal to give it", Try: "the same with --yes"}
	}
	fmt.Fprintf(a.out, "%s [y/N] ", question)
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(a.in).ReadString('\n') // an unreadable answer is no yes
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-a.ctx.Done():
		fmt.Fprintln(a.out)
		return &desk.Error{Kind: desk.BadRequest, Wrong: "interrupted; nothing was done"}
	case s := <-answer:
		if s == "y" || s == "yes" {
			return nil
		}
		return &desk.Error{Kind: desk.BadRequest, Wrong: "not confirmed; nothing was done"}
	}
}

// countWith says a number of things whose plural is no plain s.
func countWith(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
