package main

import (
	"strings"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

type whoamiCmd struct{ format }

// Help gives examples.
func (whoamiCmd) Help() string {
	return `Examples:
  spillway whoami

Roles come from the policy file; a project is yours when a job of yours uses it or you are in the Unix group of its name.

JSON keys: person{name, uid, groups[], roles[]}, projects[], approves[].`
}

// Run says who the asker is taken for.
func (c *whoamiCmd) Run(a *app) error {
	got, err := ask(a, desk.AskWhoAmI, desk.WhoAmIRequest{})
	if err != nil {
		return err
	}
	return c.print(a, got, func(p *page) {
		roles := make([]string, 0, len(got.Person.Roles))
		for _, r := range got.Person.Roles {
			roles = append(roles, string(r))
		}
		p.table("", []string{
			row("You are", got.Person.Name), row("Roles", strings.Join(roles, ", ")),
			row("You rent for", accounts(got.Projects, "no project yet")), row("You approve for", accounts(got.Approves, "nobody")),
		})
	})
}

func accounts(as []bridge.Account, none string) string {
	if len(as) == 0 {
		return none
	}
	out := make([]string, 0, len(as))
	for _, a := range as {
		out = append(out, string(a))
	}
	return strings.Join(out, ", ")
}
