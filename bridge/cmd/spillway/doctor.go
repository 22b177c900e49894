package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"spillway.sh/spillway/bridge/desk"
)

type doctorCmd struct {
	format
}

// Help gives examples.
func (doctorCmd) Help() string {
	return `Examples:
  spillway doctor --config /etc/spillway/spillway.yaml
  spillway doctor -o json

It reads, and changes nothing. Exit code 7 when something is in the way of renting.

JSON keys: ok, findings[] (where, level (ok, note, warning, blocked), text, change[]).`
}

// finding is one thing the doctor looked at.
type finding struct {
	Where string `json:"where"` // cluster NAME, cloud NAME, store, ...
	Level string `json:"level"`
	Text  string `json:"text"`
	// Change is the exact lines that would mend it.
	Change []string `json:"change"`
}

// The levels of findings.
const (
	fine    = "ok"
	blocked = "blocked"
)

type doctorAnswer struct {
	OK       bool      `json:"ok"`
	Findings []finding `json:"findings"`
}

// Run looks at everything the configuration names.
func (c *doctorCmd) Run(a *app) error {
	s, err := a.site()
	if err != nil {
		return err
	}
	got := doctorAnswer{OK: true, Findings: []finding{}}
	ctx, cancel := context.WithTimeout(a.ctx, time.Minute)
	defer cancel()
	add := func(f finding) {
		got.OK = got.OK && f.Level != blocked
		got.Findings = append(got.Findings, f)
	}
	add(stateDir(s))
	for _, f := range seeClusters(ctx, s) {
		add(f)
	}
	for _, cloud := range s.clouds {
		offers, err := cloud.Offers(ctx)
		switch {
		case err != nil:
			add(finding{"cloud " + cloud.Name(), blocked, err.Error(), []string{"check url and token of this cloud in " + a.Config}})
		case len(offers) == 0:
			add(finding{"cloud " + cloud.Name(), blocked, "it answers, and offers nothing", []string{}})
		default:
			add(finding{"cloud " + cloud.Name(), fine, fmt.Sprintf("it answers, with %s", desk.Count(len(offers), "offer")), []string{}})
		}
	}
	err = c.print(a, got, func(p *page) { sayFindings(p, &got) })
	if err == nil && !got.OK {
		return errFound
	}
	return err
}

func stateDir(s *site) finding {
	dir := s.config.StateDir
	info, err := os.Stat(dir)
	switch {
	case os.IsNotExist(err):
		return finding{"store", fine, dir + " is made at the first start", []string{}}
	case err != nil:
		return finding{"store", blocked, err.Error(), []string{"run this as the account that runs the daemon"}}
	case info.Mode().Perm()&0o077 != 0:
		return finding{"store", blocked, dir + " can be entered by others; the keys of the enrolment are in it", []string{"chmod 700 " + dir}}
	}
	return finding{"store", fine, dir + " is its owner's alone", []string{}}
}

func sayFindings(p *page, got *doctorAnswer) {
	rows := make([]string, 0, len(got.Findings))
	for i := range got.Findings {
		f := &got.Findings[i]
		rows = append(rows, row(f.Level, f.Where, f.Text))
	}
	p.table("", rows)
	for i := range got.Findings {
		f := &got.Findings[i]
		if len(f.Change) == 0 {
			continue
		}
		p.line("")
		p.line("%s: %s. Change:", f.Where, f.Text)
		for _, line := range f.Change {
			p.line("    %s", line)
		}
	}
	p.line("")
	if got.OK {
		p.line("Nothing is in the way.")
	} else {
		p.line("What is blocked has to be changed before anything can be rented.")
	}
}
