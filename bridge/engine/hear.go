package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
)

// reports keeps the latest report of each machine. Agents repeat themselves,
// so nothing of it outlives the process.
type reports struct {
	mu        sync.Mutex
	latest    map[machineKey]heard
	strangers map[machineKey]bool // told in the log already
}

type machineKey struct {
	rental   bridge.RentalID
	instance string
}

// heard is a report with what follows from it by our own clock: that of a
// machine is believed for nothing.
type heard struct {
	bridge.Report
	at      time.Time // received
	since   time.Time // the notice in force was first received
	takenAt time.Time // the machine is taken; zero: not said
	quiet   time.Time // since when reports come without one; zero: they do not
}

// Reports are small: what a machine has to say of itself and no more.
const (
	mostChecks    = 64
	mostText      = 500
	mostStrangers = 1000
)

// Hear takes the report of one machine's agent, which may say that the machine
// is fit, or is taken back. It fails with bridge.ErrNoMachine, and nothing
// happens, when the machine is not one of ours, or not any more.
func (e *Engine) Hear(ctx context.Context, rental bridge.RentalID, instance string, r bridge.Report) error {
	key := machineKey{rental, instance}
	known, err := e.known(ctx, key)
	if err != nil {
		return fmt.Errorf("hear machine %s: %w", instance, err)
	}
	if !known {
		e.gauges.unheard.Inc()
		if e.reports.stranger(key) {
			e.log.Warn("report of a machine that is not rented; ignored", "rental", string(rental), "instance", instance, "notice", r.Notice != nil)
		}
		return fmt.Errorf("hear machine %s of rental %s: %w", instance, rental, bridge.ErrNoMachine)
	}
	if e.reports.take(key, bounded(&r), e.o.Clock().UTC()) {
		e.Wake()
	}
	return nil
}

// known reports whether a machine is one that may still cost money. What the
// latest look does not show is looked up.
func (e *Engine) known(ctx context.Context, key machineKey) (bool, error) {
	if s := e.shown.Load(); s != nil && holds(s.snap.Rentals, key) {
		return true, nil
	}
	live, err := e.store.Live(ctx)
	if err != nil {
		return false, fmt.Errorf("read rentals: %w", err)
	}
	return holds(live, key), nil
}

func holds(rentals []bridge.Rental, key machineKey) bool {
	return slices.ContainsFunc(rentals, func(r bridge.Rental) bool {
		return r.ID == key.rental && slices.ContainsFunc(r.Machines, func(m bridge.Machine) bool {
			return m.ID == key.instance && m.ID != "" && m.State != bridge.MachineGone
		})
	})
}

// bounded cuts a report to the size of an honest one.
func bounded(r *bridge.Report) bridge.Report {
	out := *r
	out.Checks = slices.Clone(r.Checks[:min(len(r.Checks), mostChecks)])
	out.Stages = slices.Clone(r.Stages[:min(len(r.Stages), mostChecks)])
	for i := range out.Checks {
		c := &out.Checks[i]
		c.Name, c.Got, c.Want = cut(c.Name), cut(c.Got), cut(c.Want)
	}
	for i := range out.Stages {
		s := &out.Stages[i]
		s.Name, s.Text = cut(s.Name), cut(s.Text)
	}
	if r.Notice != nil {
		n := *r.Notice
		n.Source = cut(n.Source)
		out.Notice = &n
	}
	return out
}

func cut(s string) string { return strings.ToValidUTF8(s[:min(len(s), mostText)], "") }

// take keeps a report and reports whether it says something new.
func (p *reports) take(key machineKey, r bridge.Report, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, again := p.latest[key]
	h := heard{Report: r, at: now}
	switch {
	case r.Notice == nil:
		h.quiet = now
		if !last.quiet.IsZero() {
			h.quiet = last.quiet
		}
	case last.Notice != nil && last.Notice.Advice == r.Notice.Advice:
		h.since, h.takenAt = last.since, last.takenAt // the first word
	default:
		h.since, h.takenAt = now, takenAt(r.Notice, r.At, now)
	}
	p.latest[key] = h
	return !again || last.Health != r.Health || !h.since.Equal(last.since) || h.calm() != last.calm()
}

// calm reports whether there was no notice in reports for long enough to be
// believed: an agent that has just started may not have asked its cloud yet.
func (h *heard) calm() bool { return !h.quiet.IsZero() && h.at.Sub(h.quiet) >= calmFor }

const calmFor = 3 * time.Second

// takenAt is when a machine is taken, by our clock. Providers give a time of
// their own clock, which is right, or agents one of the machine's, which may not
// be: the earlier of both readings counts, so that a wrong clock can shorten a
// machine's own window and never lengthen it. What is over already is now.
func takenAt(w *bridge.Warning, sent, now time.Time) time.Time {
	if w.At.IsZero() {
		return noTime
	}
	if sent.IsZero() {
		sent = w.Seen
	}
	var at time.Time
	for _, t := range []time.Time{w.At.UTC(), now.Add(w.At.Sub(sent))} {
		if t.After(now) && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	if at.IsZero() {
		return now
	}
	return at
}

// stranger reports whether a machine that is not ours is heard of for the
// first time.
func (p *reports) stranger(key machineKey) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.strangers[key] || len(p.strangers) >= mostStrangers {
		return false
	}
	p.strangers[key] = true
	return true
}

// of returns the latest report of a machine.
func (p *reports) of(r *bridge.Rental, m *bridge.Machine) (heard, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h, ok := p.latest[machineKey{r.ID, m.ID}]
	return h, ok
}

// prune forgets the machines that are gone.
func (p *reports) prune(live map[bridge.RentalID]bridge.Rental) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.latest, func(key machineKey, _ heard) bool {
		r, ok := live[key.rental]
		return !ok || !holds([]bridge.Rental{r}, key)
	})
}

// Reported returns what a machine's agent said last, and when, by our clock.
func (e *Engine) Reported(rental bridge.RentalID, instance string) (r bridge.Report, at time.Time, ok bool) {
	e.reports.mu.Lock()
	defer e.reports.mu.Unlock()
	h, ok := e.reports.latest[machineKey{rental, instance}]
	return h.Report, h.at, ok
}

// failures says which checks a machine failed.
func (h *heard) failures() string {
	var out []string
	for i := range h.Checks {
		c := &h.Checks[i]
		switch {
		case c.OK:
		case c.Want != "":
			out = append(out, fmt.Sprintf("%s: %s, not %s", c.Name, c.Got, c.Want))
		default:
			out = append(out, fmt.Sprintf("%s: %s", c.Name, c.Got))
		}
	}
	if len(out) == 0 {
		return "its agent says so and does not say why"
	}
	return strings.Join(out, "; ")
}

// readied says how long each stage of getting ready took.
func (h *heard) readied() string {
	var out []string
	for _, s := range h.Stages {
		out = append(out, fmt.Sprintf("%s %.1f s", s.Name, s.Took.Seconds()))
	}
	return strings.Join(out, ", ")
}
