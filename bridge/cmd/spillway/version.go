package main

import (
	"runtime"
	"runtime/debug"

	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/desk/socket"
)

type versionCmd struct{ format }

// Help gives examples.
func (versionCmd) Help() string {
	return `Examples:
  spillway version
  spillway version -o json

JSON keys: version, commit, go, daemon (empty when none answers).`
}

// build is what this binary is.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	Daemon  string `json:"daemon"`
}

// Run prints the version of the command, and of the daemon if one answers.
func (c *versionCmd) Run(a *app) error {
	b := build{Version: version, Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Commit = s.Value
			}
		}
	}
	client := socket.NewClient(a.socketPath())
	defer client.Close()
	if s, err := socket.Call(a.ctx, client, desk.AskStatus, desk.StatusRequest{}); err == nil {
		b.Daemon = s.Version
	}
	return c.print(a, b, func(p *page) {
		p.line("spillway %s (%s)", b.Version, b.Go)
		switch {
		case b.Daemon == "":
			p.line("No daemon answers.")
		case b.Daemon != b.Version:
			p.line("The daemon is of version %s.", b.Daemon)
		}
	})
}
