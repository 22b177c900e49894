package desk

import (
	"context"
	"fmt"
	"slices"
	"time"

	"spillway.sh/spillway/bridge/cloud/plugin/host"
	"spillway.sh/spillway/bridge/cloud/plugin/wire"
)

// The kinds of letters.
const (
	letterOrder          = "order"
	letterReminder       = "reminder"
	letterWithdrawn      = "withdrawn"
	letterChanged        = "changed"
	letterExtended       = "extended"
	letterTrouble        = "trouble"
	letterReturn         = "return"
	letterReturnReminder = "return-reminder"
)

// lettersKept is how long a letter is kept, sent or not.
const lettersKept = 7 * 24 * time.Hour

// Letter is what channels are told: a webhook gets all of it but what we keep
// of its sending.
type Letter struct {
	ID       string    `json:"id"` // the same whenever it is sent again
	Kind     string    `json:"kind"`
	At       time.Time `json:"at"`
	Ticket   string    `json:"ticket"`
	Vendor   string    `json:"vendor"`
	Count    int       `json:"count"` // of machines it is about
	Type     string    `json:"type"`
	Region   string    `json:"region,omitempty"`
	Zone     string    `json:"zone,omitempty"`
	Rate     wire.Rate `json:"rate"`
	Deadline time.Time `json:"deadline,omitzero"` // of the delivery
	Until    time.Time `json:"until"`             // of the rental
	Machines []Named   `json:"machines,omitempty"`
	TextEN   string    `json:"text_en"`
	TextZH   string    `json:"text_zh"`

	Outbox *Outbox `json:"outbox,omitempty"`
}

// Named is a machine in a letter.
type Named struct {
	ID      string `json:"id"`
	Address string `json:"address"`
	Clean   bool   `json:"clean,omitempty"` // nothing of ours is left on it
	Said    string `json:"said,omitempty"`
}

// Outbox is what is kept of a letter's sending.
type Outbox struct {
	Sent  map[string]time.Time `json:"sent,omitempty"` // by channel
	Tries int                  `json:"tries,omitempty"`
	Tried time.Time            `json:"tried,omitzero"`
	Said  string               `json:"said,omitempty"` // why it was not taken
}

// waits reports whether a channel has not taken the letter.
func (l *Letter) waits(channels []Channel) bool {
	return slices.ContainsFunc(channels, func(c Channel) bool { return l.Outbox.Sent[c.Name].IsZero() })
}

// write puts a letter into the outbox.
func (d *Desk) write(s *State, o *Order, kind string, about []*host.Machine, now time.Time) {
	o.Letters++
	l := Letter{
		ID: fmt.Sprintf("%s/%d/%s", o.Ticket, o.Letters, kind), Kind: kind, At: now, Ticket: o.Ticket, Vendor: d.o.Vendor,
		Count: len(o.awaited()), Type: o.Loan.Type, Region: o.Loan.Region, Zone: o.Loan.Zone, Rate: o.Loan.Rate, Until: o.Loan.Expires, Outbox: &Outbox{},
	}
	switch kind {
	case letterOrder, letterReminder, letterChanged:
		l.Deadline = o.Deadline
	case letterWithdrawn, letterExtended:
		l.Count = len(o.Loan.Machines)
	}
	for _, m := range about {
		l.Machines = append(l.Machines, Named{ID: m.ID, Address: m.Host.Address, Clean: m.Phase == host.Cleaned, Said: m.Said})
		l.Count = len(l.Machines)
	}
	l.TextEN, l.TextZH = d.say(&l, english), d.say(&l, chinese)
	s.Letters = append(s.Letters, l)
}

// text is what channels that take text get.
func (d *Desk) text(l *Letter) string {
	switch d.o.Lang {
	case "en":
		return l.TextEN
	case "zh":
		return l.TextZH
	}
	return l.TextEN + "\n\n" + l.TextZH
}

const (
	// postLimit is how long one round of sending may take.
	postLimit = 20 * time.Second
	restMost  = 5 * time.Minute
)

// post sends the letters that wait, in order. A letter that a channel does not
// take is no error: it is tried again, and shown to who looks.
func (d *Desk) post(ctx context.Context) error {
	unlock, got, err := d.file.TryLock("post")
	if err != nil || !got {
		return err // another process sends
	}
	defer unlock()
	s, err := d.file.Read()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, postLimit)
	defer cancel()
	for i := range s.Letters {
		l := &s.Letters[i]
		if !l.waits(d.o.Channels) || ctx.Err() != nil || d.o.Now().Before(l.Outbox.Tried.Add(rest(l.Outbox.Tries))) {
			continue
		}
		if err := d.postOne(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

func rest(tries int) time.Duration {
	if tries == 0 {
		return 0
	}
	return min(2*time.Second<<min(tries, 8), restMost)
}

// postOne sends one letter to every channel that has not taken it, and writes
// down each yes at once.
func (d *Desk) postOne(ctx context.Context, l *Letter) error {
	for i := range d.o.Channels {
		c := &d.o.Channels[i]
		if !l.Outbox.Sent[c.Name].IsZero() {
			continue
		}
		plain := *l
		plain.Outbox = nil
		failure := c.send(ctx, &plain, d.text(l))
		err := d.file.Change(context.WithoutCancel(ctx), func(s *State) error {
			j := slices.IndexFunc(s.Letters, func(other Letter) bool { return other.ID == l.ID })
			if j < 0 {
				return nil
			}
			s.Letters[j].Outbox.note(c.Name, d.o.Now(), failure)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *Outbox) note(channel string, now time.Time, failure error) {
	if failure != nil {
		o.Tries, o.Tried, o.Said = o.Tries+1, now, failure.Error()
		return
	}
	if o.Sent == nil {
		o.Sent = map[string]time.Time{}
	}
	o.Sent[channel] = now
}
