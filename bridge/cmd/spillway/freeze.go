package main

import "spillway.sh/spillway/bridge/desk"

type freezeCmd struct {
	Because string `arg:"" optional:"" help:"Why, for the record."`
}

// Help gives examples.
func (freezeCmd) Help() string {
	return `Examples:
  spillway freeze "prices look wrong"
  spillway thaw

Nothing new is rented and no create call is sent from now on. What is rented goes on, and is given back as usual.`
}

// Run freezes.
func (c *freezeCmd) Run(a *app) error { return setFrozen(a, true, c.Because) }

type thawCmd struct {
	Because string `arg:"" optional:"" help:"Why, for the record."`
}

// Help gives examples.
func (thawCmd) Help() string { return "Examples:\n  spillway thaw\n" }

// Run thaws.
func (c *thawCmd) Run(a *app) error { return setFrozen(a, false, c.Because) }

func setFrozen(a *app, frozen bool, why string) error {
	got, err := ask(a, desk.AskFreeze, desk.FreezeRequest{Frozen: frozen, Text: why})
	if err != nil {
		return err
	}
	p := format{Output: "text"}
	return p.print(a, nil, func(p *page) {
		switch {
		case frozen && got.Changed:
			p.line("Frozen: nothing new is rented. Releases go on. Undo with: spillway thaw")
		case frozen:
			p.line("It was frozen already.")
		case got.Changed:
			p.line("Thawed: spending goes on, within policy and budget.")
		default:
			p.line("It was not frozen.")
		}
	})
}
