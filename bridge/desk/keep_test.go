package desk

import (
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

func TestKeep(t *testing.T) {
	for name, c := range map[string]struct {
		who     string
		words   string
		unowned time.Duration
		state   bridge.State
		after   time.Duration // of now
		ends    bool
		kind    ErrorKind
		says    string
	}{
		"for an hour":                   {who: "ana", words: "1h", after: time.Hour},
		"said with for":                 {who: "ana", words: "for 30m", after: 30 * time.Minute},
		"until a time":                  {who: "ana", words: "until 14:00", after: 2 * time.Hour},
		"to its end at most":            {who: "ana", words: "100h", ends: true},
		"an admin may":                  {who: "root", words: "1h", after: time.Hour},
		"an approver may not":           {who: "mei", words: "1h", kind: Forbidden, says: "belongs to ana"},
		"but of what nobody owns":       {who: "mei", words: "1h", unowned: time.Minute, after: time.Hour},
		"a stranger may not":            {who: "eve", words: "1h", unowned: time.Minute, kind: Forbidden},
		"a duration is never guessed":   {who: "ana", words: "", kind: BadRequest, says: "for how long"},
		"an end alone":                  {who: "ana", words: "1h until 14:00", kind: BadRequest},
		"time alone":                    {who: "ana", words: "spot 1h", kind: BadRequest, says: "for a time"},
		"not in the past":               {who: "ana", words: "until 2026-11-29 10:00", kind: BadRequest},
		"not what is on its way out":    {who: "ana", words: "1h", state: bridge.StateDraining, kind: Conflict, says: "cannot be kept"},
		"not what was never rented yet": {who: "ana", words: "1h", state: bridge.StateWaiting, kind: Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			d, w := newWorld(t)
			w.running(t, d, "8xh100 4h spot")
			r := &w.rentals[0]
			r.Unowned = c.unowned
			if c.state != "" {
				r.State = c.state
			}
			before := len(w.news)
			a, err := d.Keep(t.Context(), d.as(c.who), KeepRequest{Rental: string(r.ID), Words: strings.Fields(c.words), Zone: "UTC"})
			if kind(err) != c.kind || err != nil && !strings.Contains(AsError(err).Wrong, c.says) {
				t.Fatalf("%v, want kind %q about %q", err, c.kind, c.says)
			}
			r = &w.rentals[0]
			switch {
			case c.kind != "":
				if !r.KeepUntil.IsZero() || len(w.news) != before {
					t.Errorf("refused, and kept until %s", r.KeepUntil)
				}
				return
			case c.ends && (!a.Ends || !a.Until.Equal(r.Expires)):
				t.Errorf("until %s, ends: %t; its end is %s", a.Until, a.Ends, r.Expires)
			case !c.ends && !a.Until.Equal(noon.Add(c.after)):
				t.Errorf("until %s, want %s", a.Until, noon.Add(c.after))
			}
			if !a.Changed || !r.KeepUntil.Equal(a.Until) || len(w.news) != before+1 || w.news[before].Kind != bridge.NewsKept || w.news[before].Who != c.who {
				t.Errorf("stored %s, changed %t, told %+v", r.KeepUntil, a.Changed, w.news[before:])
			}
			again, err := d.Keep(t.Context(), d.as(c.who), KeepRequest{Rental: string(r.ID), Until: a.Until})
			if err != nil || again.Changed || len(w.news) != before+1 {
				t.Errorf("asked again: %+v, %v", again, err)
			}
		})
	}
}

// Who answers for the money of what nobody owns gives it back, too.
func TestAnApproverReleasesWhatNobodyOwns(t *testing.T) {
	d, w := newWorld(t)
	w.running(t, d, "8xh100 4h spot")
	id := string(w.rentals[0].ID)
	if _, err := d.Release(t.Context(), d.as("mei"), ReleaseRequest{Rental: id}); kind(err) != Forbidden {
		t.Errorf("of somebody else's: %v", err)
	}
	w.rentals[0].Unowned = 15 * time.Minute
	if _, err := d.Release(t.Context(), d.as("mei"), ReleaseRequest{Rental: id}); err != nil {
		t.Errorf("of nobody's: %v", err)
	}
}

func TestARentalShowsSinceWhenItIsIdleAndWhatThatCosts(t *testing.T) {
	r := bridge.Rental{
		State: bridge.StateAdmitted, Gang: 1, Idle: 30 * time.Minute, Rate: rate(6), IdleSince: noon.Add(-20 * time.Minute), KeepUntil: noon.Add(time.Hour),
		Machines: []bridge.Machine{{State: bridge.MachineJoined, Started: noon.Add(-time.Hour), IdleSince: noon.Add(-20 * time.Minute)}},
	}
	got := asRental(&r, noon)
	if got.IdleCost != usd(2) || !got.IdleSince.Equal(r.IdleSince) || !got.Goes.Equal(noon.Add(time.Hour)) || !got.Keep.Equal(r.KeepUntil) {
		t.Errorf("idle since %s, %s, goes %s", got.IdleSince, got.IdleCost, got.Goes)
	}
}
