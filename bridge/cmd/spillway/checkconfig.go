package main

import (
	"errors"
	"fmt"

	"spillway.sh/spillway/bridge/config"
	"spillway.sh/spillway/bridge/config/strict"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/policies"
)

type checkConfigCmd struct {
	format
	Example       bool `xor:"example" help:"Print a commented configuration instead."`
	ExamplePolicy bool `xor:"example" help:"Print the policy that is used without one instead."`
}

// Help gives examples.
func (checkConfigCmd) Help() string {
	return `Examples:
  spillway check-config --config /etc/spillway/spillway.yaml
  spillway check-config --example > /etc/spillway/spillway.yaml
  spillway check-config --example-policy > /etc/spillway/policy.yaml

Every mistake of both files is printed with line, column and a valid example; exit code 7 when there is one. What is
allowed and probably not meant is a warning.

JSON keys: ok, config, policy, mode, mistakes[] and warnings[] (file, line, column, path, got, wrong, example).`
}

// mistake is one fault of a file.
type mistake struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Path    string `json:"path,omitempty"`
	Got     string `json:"got,omitempty"`
	Wrong   string `json:"wrong"`
	Example string `json:"example,omitempty"`
}

type checkAnswer struct {
	OK       bool      `json:"ok"`
	Config   string    `json:"config"`
	Policy   string    `json:"policy"`
	Mode     string    `json:"mode,omitempty"`
	Mistakes []mistake `json:"mistakes"`
	Warnings []mistake `json:"warnings"`
}

// Run checks both files.
func (c *checkConfigCmd) Run(a *app) error {
	switch {
	case c.Example:
		fmt.Fprint(a.out, string(config.Example()))
		return nil
	case c.ExamplePolicy:
		fmt.Fprint(a.out, string(policies.DefaultText()))
		return nil
	}
	cfg, policy, err := loadFiles(a.Config)
	got := checkAnswer{OK: err == nil, Config: a.Config, Policy: "the shipped one, which observes only", Mistakes: []mistake{}, Warnings: []mistake{}}
	if cfg != nil && cfg.Policy != "" {
		got.Policy = cfg.Policy
	}
	if policy != nil {
		got.Mode = string(policy.Mode())
		got.Warnings = asMistakes(warnings(cfg, policy))
	}
	var faults strict.Faults
	switch {
	case errors.As(err, &faults):
		got.Mistakes = asMistakes(faults)
	case err != nil && cfg == nil:
		return &desk.Error{Kind: desk.NotFound, Wrong: err.Error(), Try: "spillway check-config --example > " + a.Config, Err: err}
	case err != nil:
		got.Mistakes = append(got.Mistakes, mistake{File: a.Config, Wrong: err.Error()})
	}
	printErr := c.print(a, got, func(p *page) { sayCheck(p, &got, err) })
	if printErr == nil && !got.OK {
		return errFound
	}
	return printErr
}

func asMistakes(fs strict.Faults) []mistake {
	out := make([]mistake, 0, len(fs))
	for _, f := range fs {
		out = append(out, mistake{f.File, f.Line, f.Column, f.Path, f.Got, f.Wrong, f.Example})
	}
	return out
}

func sayCheck(p *page, got *checkAnswer, err error) {
	if err != nil {
		p.line("%s", err)
		p.line("")
		p.line("%s: nothing starts until mended.", countWith(int64(len(got.Mistakes)), "mistake", "mistakes"))
		return
	}
	p.table("", []string{row("Configuration", got.Config+": no mistake"), row("Policy", got.Policy+": no mistake"), row("Mode", modeWords(got.Mode))})
	for i := range got.Warnings {
		w := &got.Warnings[i]
		p.line("Warning: %s", (&strict.Fault{File: w.File, Line: w.Line, Column: w.Column, Path: w.Path, Got: w.Got, Wrong: w.Wrong, Example: w.Example}).Error())
	}
	p.line("Next: spillway doctor")
}

func modeWords(mode string) string {
	if mode == string(policies.Burst) {
		return "burst: machines are rented within the budgets"
	}
	return "observe: nothing is rented"
}
