package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"spillway.sh/spillway/bridge/desk"
)

type statusCmd struct{ format }

// Help gives examples.
func (statusCmd) Help() string {
	return `Examples:
  spillway status
  spillway status -o json

JSON keys: version, daemon, ready, at, frozen, protected, clusters[] (name, seen_at, stale, pending, running, nodes),
clouds[] (name, offers, fresh, priced_at, down), rentals{state: n}, problems[].`
}

// Run says how Spillway is.
func (c *statusCmd) Run(a *app) error {
	got, err := ask(a, desk.AskStatus, desk.StatusRequest{})
	if err != nil {
		return err
	}
	return c.print(a, got, func(p *page) { sayStatus(p, &got) })
}

func sayStatus(p *page, s *desk.StatusAnswer) {
	state := "runs"
	switch {
	case !s.Daemon:
		state = "does not run"
	case !s.Ready:
		state = "is starting"
	}
	p.line("The daemon %s (version %s).", state, s.Version)
	if s.Frozen {
		p.line("New spending is frozen. An admin lets it go on with: spillway thaw")
	}
	if len(s.Clusters) > 0 {
		p.line("")
		var rows []string
		for i := range s.Clusters {
			c := &s.Clusters[i]
			seen := desk.Span(s.At.Sub(c.SeenAt)) + " ago"
			if c.SeenAt.IsZero() {
				seen = "never"
			} else if c.Stale {
				seen += " (stale)"
			}
			rows = append(rows, row(c.Name, seen, c.Pending, c.Running, c.Nodes))
		}
		p.table("CLUSTER\tSEEN\tWAITING\tRUNNING\tNODES", rows)
	}
	if len(s.Clouds) > 0 {
		p.line("")
		var rows []string
		for i := range s.Clouds {
			c := &s.Clouds[i]
			rows = append(rows, row(c.Name, c.Offers, c.Fresh, c.Down, desk.Span(s.At.Sub(c.Priced))+" ago"))
		}
		p.table("CLOUD\tOFFERS\tFRESH PRICE\tRESTING\tPRICED", rows)
	}
	p.line("")
	if len(s.Rentals) == 0 {
		p.line("Nothing is rented.")
	} else {
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(s.Rentals)) {
			parts = append(parts, fmt.Sprintf("%d %s", s.Rentals[k], k))
		}
		p.line("Rentals: %s. See: spillway rentals", strings.Join(parts, ", "))
	}
	for _, x := range s.Problems {
		p.line("Problem: %s", plain(x))
	}
}
