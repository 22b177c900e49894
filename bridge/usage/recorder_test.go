package usage

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// desk is all that a recorder works with.
type desk struct {
	now    time.Time
	seen   bool
	stored []bridge.Usage
	fail   error
	use    map[string]int
	amiss  error
	log    strings.Builder
}

func (d *desk) View() (bridge.Snapshot, bool) {
	s := world()
	s.Queues[0].ObservedAt = d.now
	return *s, d.seen
}

func (d *desk) AddUsage(_ context.Context, us ...bridge.Usage) error {
	if d.fail == nil {
		d.stored = append(d.stored, us...)
	}
	return d.fail
}

func (d *desk) Utilisation(context.Context, []string, time.Time) (map[string]int, error) {
	return d.use, d.amiss
}

func (d *desk) recorder(g Gauge) *Recorder {
	return New(Options{View: d.View, Store: d, Gauge: g, Now: func() time.Time { return d.now }, Log: slog.New(slog.NewTextHandler(&d.log, nil))})
}

// seconds are those of the class h100.
func (d *desk) seconds() (n int64) {
	for _, u := range d.stored {
		if u.GPU == "h100" {
			n += u.Seconds
		}
	}
	return n
}

func TestARestartCountsNothingTwice(t *testing.T) {
	d := &desk{now: noon, seen: true}
	r := d.recorder(nil)
	step := func(after time.Duration) {
		t.Helper()
		d.now = d.now.Add(after)
		if err := r.Sample(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	step(0)
	step(time.Minute)
	step(time.Minute)
	r = d.recorder(nil) // 30 s later, with nothing remembered
	step(30 * time.Second)
	step(time.Minute)
	step(0)
	if got := d.seconds(); got != 180 {
		t.Errorf("%d s are counted of 210, of which a restart may lose a minute", got)
	}
	step(-10 * time.Minute) // a clock that is put back
	step(time.Minute)
	if got := d.seconds(); got != 240 {
		t.Errorf("%d s", got)
	}
}

func TestAStoreThatFailsIsNotMadeGood(t *testing.T) {
	d := &desk{now: noon, seen: true}
	r := d.recorder(nil)
	if err := r.Sample(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.now, d.fail = d.now.Add(time.Minute), errors.New("the disk is full")
	if err := r.Sample(t.Context()); !errors.Is(err, d.fail) {
		t.Errorf("recorded with %v", err)
	}
	d.now, d.fail = d.now.Add(time.Minute), nil
	if err := r.Sample(t.Context()); err != nil || d.seconds() != 60 {
		t.Errorf("%d s, %v", d.seconds(), err)
	}
}

func TestBeforeTheFirstLookNothingIsCounted(t *testing.T) {
	d := &desk{now: noon}
	r := d.recorder(nil)
	for range 3 {
		d.now = d.now.Add(time.Minute)
		if err := r.Sample(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.stored) != 0 {
		t.Errorf("%+v", d.stored)
	}
}

func TestUnknownUtilisationIsSaidOnce(t *testing.T) {
	d := &desk{now: noon, seen: true, amiss: errors.New("nobody answers")}
	r := d.recorder(d)
	minute := func() {
		t.Helper()
		d.now = d.now.Add(time.Minute)
		if err := r.Sample(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		minute()
	}
	if n := strings.Count(d.log.String(), "nobody answers"); n != 1 || r.Problem() != "nobody answers" {
		t.Errorf("said %d times; problem %q", n, r.Problem())
	}
	last := d.stored[len(d.stored)-1]
	if last.Measured != 0 || last.RentedBusy == 0 {
		t.Errorf("without an answer: %+v", last)
	}
	d.amiss, d.use = nil, map[string]int{"r1": 500}
	minute()
	last = d.stored[len(d.stored)-1]
	if r.Problem() != "" || last.Measured != 480 || last.Useful != 240 || strings.Count(d.log.String(), "known again") != 1 {
		t.Errorf("with an answer: %+v, problem %q", last, r.Problem())
	}
}
