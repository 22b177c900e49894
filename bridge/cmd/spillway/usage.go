package main

import (
	"spillway.sh/spillway/bridge"
	gpus "spillway.sh/spillway/bridge/usage"
)

// openRecorder makes what keeps the use of GPUs, with their utilisation where
// the configuration names a Prometheus.
func (d *daemon) openRecorder() error {
	o := gpus.Options{View: d.view, Store: through[gpus.Store](d.store), Now: utcNow, Log: d.log}
	if c := d.site.config.Prometheus; c != nil {
		a := gpus.Access{URL: c.URL, Query: c.Query, Label: c.Label, Timeout: c.Timeout}
		if c.Token.Given() {
			a.Token = c.Token.Reveal
		}
		p, err := gpus.NewPrometheus(a)
		if err != nil {
			return err
		}
		d.closing = append(d.closing, func() error { p.Close(); return nil })
		o.Gauge = p
	}
	d.used = gpus.New(o)
	return nil
}

// view is the engine's latest look at the world.
func (d *daemon) view() (bridge.Snapshot, bool) {
	s, _, ok := d.engine.View()
	return s, ok
}
