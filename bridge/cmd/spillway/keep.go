package main

import (
	"spillway.sh/spillway/bridge/desk"
)

type keepCmd struct {
	format
	ID    string   `arg:"" predictor:"rental" help:"The rental."`
	Words []string `arg:"" help:"For how long, or until when: 1h, until 18:00, until fri 18:00."`
}

// Help gives examples.
func (keepCmd) Help() string {
	return `Examples:
  spillway keep r-0013 1h
  spillway keep r-0013 until 18:00

The rental stays until then though no job runs on it; after that policy's idle time counts as before. It costs nothing
that is not held already: no rental is kept past its end (spillway extend moves that). The latest wish counts.

JSON keys: rental, until, ends (until is the rental's end, sooner than asked for), changed.`
}

// Run keeps a rental that is idle, or will be.
func (c *keepCmd) Run(a *app) error {
	got, err := ask(a, desk.AskKeep, desk.KeepRequest{Rental: c.ID, Words: c.Words, Zone: zoneHere()})
	if err != nil {
		return err
	}
	return c.print(a, got, func(p *page) { sayKeep(p, &got, a.lang()) })
}

func sayKeep(p *page, got *desk.KeepAnswer, lang desk.Lang) {
	id, until := got.Rental.ID, desk.Clock(got.Until)
	said := "%s is kept until %s, with or without a job."
	more := "That is its end. For longer: spillway extend %s 1h"
	if lang == desk.Chinese {
		said, more = "%s 保留到 %s，无论是否有作业。", "那是它的结束时间。更久请用：spillway extend %s 1h"
	}
	p.line(said, id, until)
	if got.Ends {
		p.line(more, id)
	}
}
