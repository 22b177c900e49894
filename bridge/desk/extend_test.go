package desk

import (
	"slices"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// running is a rental of ana's that runs since noon, with the given hold.
func (w *world) running(t *testing.T, d *Desk, words string) *bridge.Rental {
	t.Helper()
	a := d.mustRent(t, "ana", words)
	r := &w.rentals[w.find(a.Rental.ID)]
	r.State, r.Expires = bridge.StateAdmitted, noon.Add(r.Life)
	for i := range r.Machines {
		r.Machines[i].State = bridge.MachineJoined
	}
	return r
}

func TestExtend(t *testing.T) {
	for name, c := range map[string]struct {
		who     string
		words   string
		change  func(*rules, *world)
		kind    ErrorKind
		says    string
		waiting bool
		until   time.Duration // after the end it had
	}{
		"within budget at once":             {words: "1h", until: time.Hour},
		"for and a duration":                {words: "for 90m", until: 90 * time.Minute},
		"until a time of the asker's zone":  {words: "until 10:00", until: 3*time.Hour - 71*time.Minute},
		"above a soft budget it asks":       {words: "6h", until: 6 * time.Hour, waiting: true},
		"above policy's limit it asks":      {words: "1h", change: func(r *rules, _ *world) { r.terms.AskAbove = usd(5) }, until: time.Hour, waiting: true},
		"no asking where policy forbids it": {words: "6h", change: func(r *rules, _ *world) { r.terms.Ask = false }, kind: OverBudget, says: "lets nobody be asked"},
		"above a hard budget never":         {words: "6h", change: func(r *rules, _ *world) { r.budgets[0].Limit = usd(60) }, kind: OverBudget, says: "no approval may exceed"},
		"beyond policy's longest life":      {words: "30h", kind: Conflict, says: "24 h at most"},
		"while frozen":                      {words: "1h", change: func(_ *rules, w *world) { w.marks.Frozen = true }, kind: Conflict, says: "frozen"},
		"without a time":                    {words: "", kind: BadRequest, says: "by how long"},
		"a bare number":                     {words: "2", kind: BadRequest, says: "2 what?"},
		"more than time":                    {words: "2h spot", kind: BadRequest, says: "of time alone"},
		"two times":                         {words: "2h until 18:00", kind: BadRequest, says: "given twice"},
		"until it ends anyway":              {words: "until 07:30", kind: BadRequest, says: "lives until"},
		"somebody else's":                   {who: "ben", words: "1h", kind: Forbidden},
		"an admin may":                      {who: "root", words: "1h", until: time.Hour},
		"one that drains":                   {words: "1h", change: func(_ *rules, w *world) { w.rentals[0].State = bridge.StateDraining }, kind: Conflict, says: "cannot be extended"},
		"one that is launched":              {words: "1h", change: func(_ *rules, w *world) { w.rentals[0].Expires = time.Time{} }, kind: Conflict, says: "no end yet"},
	} {
		t.Run(name, func(t *testing.T) {
			d, w := newWorld(t)
			before := *w.running(t, d, "8xh100 1h spot")
			if c.change != nil {
				c.change(d.Rules.(*rules), w)
			}
			who := c.who
			if who == "" {
				who = "ana"
			}
			a, err := d.Extend(t.Context(), d.as(who), ExtendRequest{Rental: string(before.ID), Words: strings.Fields(c.words), Zone: "America/New_York"})
			if kind(err) != c.kind {
				t.Fatalf("got %v, want kind %q", err, c.kind)
			}
			after, _ := w.Rental(t.Context(), before.ID)
			if err != nil {
				if !strings.Contains(AsError(err).Wrong, c.says) {
					t.Errorf("said %q, want something about %q", AsError(err).Wrong, c.says)
				}
				if after.Hold != before.Hold || len(w.rentals) != 1 {
					t.Errorf("something was stored: hold %s, %d rentals", after.Hold, len(w.rentals))
				}
				return
			}
			if !a.Until.Equal(before.Expires.Add(c.until)) {
				t.Errorf("it lives until %s, want %s more than %s", a.Until, c.until, before.Expires)
			}
			was, _ := before.MaxRate.Cost(before.Life, 1, bridge.RoundUp)
			more, _ := before.MaxRate.Cost(before.Life+c.until, 1, bridge.RoundUp)
			more.Micro -= was.Micro
			if a.More != more || a.Done == c.waiting || (a.Question != nil) != c.waiting {
				t.Errorf("at most %s more, want %s; done %t, question %v", a.More, more, a.Done, a.Question)
			}
			if want, _ := before.Hold.Add(more); !c.waiting && (after.Hold != want || !after.Expires.Equal(a.Until)) {
				t.Errorf("held %s until %s", after.Hold, after.Expires)
			}
			if c.waiting && (after.Hold != before.Hold || !after.Expires.Equal(before.Expires)) {
				t.Error("the old end did not stay while it waits")
			}
		})
	}
}

func TestAnExtensionIsDecidedLikeAnyQuestion(t *testing.T) {
	d, w := newWorld(t)
	before := *w.running(t, d, "8xh100 1h spot")
	a, err := d.Extend(t.Context(), d.as("ana"), ExtendRequest{Rental: string(before.ID), Words: []string{"6h"}})
	if err != nil || a.Question == nil {
		t.Fatalf("%v, %+v", err, a)
	}
	again, err := d.Extend(t.Context(), d.as("ana"), ExtendRequest{Rental: string(before.ID), Words: []string{"6h"}})
	if err != nil || !again.Repeated || again.Question.ID != a.Question.ID || len(w.rentals) != 2 {
		t.Errorf("asked twice: %v, %+v", err, again)
	}
	answer := DecideRequest{Rental: string(a.Question.ID), Version: w.rentals[1].Version, Yes: true}
	if _, err := d.Decide(t.Context(), d.as("ana"), answer); kind(err) != Forbidden {
		t.Errorf("the requester decided: %v", err)
	}
	w.snap.Offers[0].Rate = rate(200) // what runs is not rented anew
	if _, err := d.Decide(t.Context(), d.as("mei"), answer); err != nil {
		t.Fatal(err)
	}
	after, _ := w.Rental(t.Context(), before.ID)
	question, _ := w.Rental(t.Context(), a.Question.ID)
	if want, _ := before.Hold.Add(a.More); after.Hold != want || !after.Expires.Equal(before.Expires.Add(6*time.Hour)) {
		t.Errorf("held %s until %s, want %s", after.Hold, after.Expires, want)
	}
	if question.State != bridge.StateClosed || after.State != bridge.StateAdmitted {
		t.Errorf("the question is %s, the rental %s", question.State, after.State)
	}
	told := slices.ContainsFunc(w.news, func(n bridge.News) bool {
		return n.Kind == bridge.NewsExtended && n.Rental == before.ID && n.Who == "mei"
	})
	if !told {
		t.Error("it was not told")
	}
}

func TestAnExtensionOfWhatHasEndedIsRefused(t *testing.T) {
	d, w := newWorld(t)
	before := *w.running(t, d, "8xh100 1h spot")
	a, err := d.Extend(t.Context(), d.as("ana"), ExtendRequest{Rental: string(before.ID), Words: []string{"6h"}})
	if err != nil {
		t.Fatal(err)
	}
	w.rentals[0].State = bridge.StateReleasing
	_, err = d.Decide(t.Context(), d.as("mei"), DecideRequest{Rental: string(a.Question.ID), Version: w.rentals[1].Version, Yes: true})
	if kind(err) != Conflict || !strings.Contains(AsError(err).Wrong, "cannot be extended") {
		t.Errorf("got %v", err)
	}
	if w.rentals[1].State != bridge.StateWaiting || w.rentals[0].Hold != before.Hold {
		t.Errorf("question %s, hold %s", w.rentals[1].State, w.rentals[0].Hold)
	}
}

func TestTheSameExtensionWithinAMinuteIsOne(t *testing.T) {
	d, w := newWorld(t)
	r := w.running(t, d, "8xh100 15m spot")
	ask := func(again bool) ExtendAnswer {
		a, err := d.Extend(t.Context(), d.as("ana"), ExtendRequest{Rental: string(r.ID), Words: []string{"15m"}, Again: again})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	first, second := ask(false), ask(false)
	if !second.Repeated || !second.Until.Equal(first.Until) {
		t.Errorf("the same at once: repeated %t, until %s and %s", second.Repeated, first.Until, second.Until)
	}
	if really := ask(true); really.Repeated || !really.Until.Equal(first.Until.Add(15*time.Minute)) {
		t.Errorf("really again: repeated %t, until %s", really.Repeated, really.Until)
	}
	w.snap.Now = noon.Add(2 * time.Minute)
	if later := ask(false); later.Repeated {
		t.Error("later it is a request of its own")
	}
}

func TestCancel(t *testing.T) {
	for name, c := range map[string]struct {
		who     string
		change  func(*world)
		kind    ErrorKind
		changed bool
	}{
		"by who asked":            {who: "ana", changed: true},
		"by an admin":             {who: "root", changed: true},
		"by an approver":          {who: "mei", kind: Forbidden},
		"by somebody else":        {who: "ben", kind: Forbidden},
		"what was denied already": {who: "ana", change: func(w *world) { w.rentals[0].State = bridge.StateClosed }},
		"what holds money":        {who: "ana", change: func(w *world) { w.rentals[0].State = bridge.StateLaunching }, kind: Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			d, w := newWorld(t)
			a := d.mustRent(t, "ana", "8xh100 6h on-demand")
			if c.change != nil {
				c.change(w)
			}
			got, err := d.Cancel(t.Context(), d.as(c.who), CancelRequest{Rental: string(a.Rental.ID)})
			if kind(err) != c.kind || got.Changed != c.changed {
				t.Errorf("got %v, changed %t", err, got.Changed)
			}
		})
	}
}

func TestReleaseAtATime(t *testing.T) {
	for name, c := range map[string]struct {
		words string
		kind  ErrorKind
		at    time.Time
		state bridge.State
	}{
		"a time of day":           {words: "at 12:30", at: noon.Add(30 * time.Minute), state: bridge.StateAdmitted},
		"now":                     {words: "now", state: bridge.StateReleasing},
		"drain":                   {words: "drain", state: bridge.StateDraining},
		"no word":                 {state: bridge.StateDraining},
		"now and at":              {words: "now at 12:30", kind: BadRequest},
		"a time that has passed":  {words: "at 11:00", kind: BadRequest},
		"a time after its end":    {words: "at 18:00", kind: BadRequest},
		"a word that means none":  {words: "soon", kind: BadRequest},
		"at, and no time":         {words: "at", kind: BadRequest},
		"now and drain":           {words: "now drain", kind: BadRequest},
		"a date without its hour": {words: "at 2026-12-01", kind: BadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			d, w := newWorld(t)
			r := *w.running(t, d, "8xh100 1h spot")
			a, err := d.Release(t.Context(), d.as("ana"), ReleaseRequest{Rental: string(r.ID), Words: strings.Fields(c.words)})
			if kind(err) != c.kind {
				t.Fatalf("got %v, want kind %q", err, c.kind)
			}
			if err != nil {
				return
			}
			after := w.rentals[0]
			if after.State != c.state || !after.ReleaseAt.Equal(c.at) || !a.Released[0].Changed {
				t.Errorf("it is %s, released at %s: %+v", after.State, after.ReleaseAt, a.Released[0])
			}
			if c.at.IsZero() {
				return
			}
			again, err := d.Release(t.Context(), d.as("ana"), ReleaseRequest{Rental: string(r.ID), Words: strings.Fields(c.words)})
			if err != nil || again.Released[0].Changed {
				t.Errorf("said again: %v, %+v", err, again)
			}
		})
	}
}
