package desk

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"time"

	"spillway.sh/spillway/bridge/cloud/plugin/host"
	"spillway.sh/spillway/bridge/cloud/plugin/wire"
)

// Status is how an order stands.
type Status string

// The statuses. What becomes of the machines of a delivered order is in its loan.
const (
	Ordered   Status = "ordered"
	Delivered Status = "delivered"
	Refused   Status = "refused"
	Withdrawn Status = "withdrawn"
)

// Order is what one create asked a vendor for.
type Order struct {
	Ticket   string    `json:"ticket"`
	Status   Status    `json:"status"`
	Loan     host.Loan `json:"loan"`
	Deadline time.Time `json:"deadline"`           // of the delivery
	Reminded int       `json:"reminded,omitempty"` // of the delivery
	// Returns are the machines whose return was asked for, by id.
	Returns map[string]Return `json:"returns,omitempty"`
	// Troubled are machines that were delivered and do not let us in.
	Troubled map[string]bool `json:"troubled,omitempty"`
	Letters  int             `json:"letters"` // that were written
}

// Return is a return that a person is to confirm.
type Return struct {
	Asked    time.Time `json:"asked"`
	Reminded int       `json:"reminded,omitempty"`
	Clean    bool      `json:"clean"` // nothing of ours is on it
}

// State is what is kept.
type State struct {
	Orders  []Order  `json:"orders"`
	Letters []Letter `json:"letters"`
}

func loans(s *State) []*host.Loan {
	out := make([]*host.Loan, len(s.Orders))
	for i := range s.Orders {
		out[i] = &s.Orders[i].Loan
	}
	return out
}

func (s *State) byToken(token string) *Order {
	i := slices.IndexFunc(s.Orders, func(o Order) bool { return o.Loan.Token == token })
	if i < 0 {
		return nil
	}
	return &s.Orders[i]
}

func (s *State) byTicket(ticket string) *Order {
	i := slices.IndexFunc(s.Orders, func(o Order) bool { return o.Ticket == ticket })
	if i < 0 {
		return nil
	}
	return &s.Orders[i]
}

// ticketOf is the number of a create's ticket. A person reads it out, so it is
// short; in the rare case that it is taken it grows.
func (s *State) ticketOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	text := base32.StdEncoding.EncodeToString(sum[:])
	for n := 6; ; n++ {
		if ticket := "D" + text[:n]; s.byTicket(ticket) == nil {
			return ticket
		}
	}
}

// newOrder is the order of a create, with its letter.
func (d *Desk) newOrder(s *State, c *wire.Create, t *Type, now time.Time) {
	o := Order{Ticket: s.ticketOf(c.Token), Status: Ordered, Loan: host.NewLoan(c, t.Offer.Rate, now), Deadline: now.Add(d.o.Deliver)}
	if o.Loan.Expires.Before(o.Deadline) {
		o.Deadline = o.Loan.Expires
	}
	for i := range c.Count {
		o.Loan.Machines = append(o.Loan.Machines, host.Machine{ID: fmt.Sprintf("%s-%d", o.Ticket, i+1), Phase: host.Awaited})
	}
	s.Orders = append(s.Orders, o)
	d.write(s, &s.Orders[len(s.Orders)-1], letterOrder, nil, now)
}

// awaited are the machines that nobody brought yet.
func (o *Order) awaited() []*host.Machine {
	var out []*host.Machine
	for i := range o.Loan.Machines {
		if m := &o.Loan.Machines[i]; m.Phase == host.Awaited {
			out = append(out, m)
		}
	}
	return out
}

// close ends an order that will not be delivered.
func (o *Order) close(as Status, why string, now time.Time) {
	o.Status, o.Loan.Failed, o.Loan.UserData = as, why, ""
	for _, m := range o.awaited() {
		m.Phase, m.Stopped = host.Released, now
	}
}

// step does what time asks for: reminders, deadlines, returns. It writes letters
// and sends none.
func (d *Desk) step(s *State, now time.Time) {
	for i := range s.Orders {
		o := &s.Orders[i]
		switch {
		case o.Status == Ordered && !now.Before(o.Deadline):
			o.close(Withdrawn, fmt.Sprintf("ticket %s was not delivered by %s", o.Ticket, stamp(o.Deadline)), now)
			d.write(s, o, letterWithdrawn, nil, now)
		case o.Status == Ordered:
			if k := int(now.Sub(o.Loan.Created) / d.o.Remind); k > o.Reminded {
				o.Reminded = k
				d.write(s, o, letterReminder, nil, now)
			}
		}
		d.stepReturns(s, o, now)
		d.stepTrouble(s, o, now)
	}
	s.Orders = slices.DeleteFunc(s.Orders, func(o Order) bool { return o.Loan.Forgettable(now) })
	s.Letters = slices.DeleteFunc(s.Letters, func(l Letter) bool { return now.After(l.At.Add(lettersKept)) })
}

// triesFirst is how many tries a machine has before a person is asked about it.
const triesFirst = 3

// stepReturns asks for the return of machines that are to go: those that are
// clean, and those that cannot be reached to clean them.
func (d *Desk) stepReturns(s *State, o *Order, now time.Time) {
	var fresh, again []*host.Machine
	for i := range o.Loan.Machines {
		m := &o.Loan.Machines[i]
		if m.Phase != host.Cleaned && (m.Phase != host.Ending || m.Tries < triesFirst) {
			continue
		}
		r, asked := o.Returns[m.ID]
		if !asked {
			fresh = append(fresh, m)
			r = Return{Asked: now}
		} else if k := int(now.Sub(r.Asked) / d.o.RemindReturn); k > r.Reminded {
			again = append(again, m)
			r.Reminded = k
		}
		r.Clean = m.Phase == host.Cleaned
		if o.Returns == nil {
			o.Returns = map[string]Return{}
		}
		o.Returns[m.ID] = r
	}
	if len(fresh) > 0 {
		d.write(s, o, letterReturn, fresh, now)
	}
	if len(again) > 0 {
		d.write(s, o, letterReturnReminder, again, now)
	}
}

// stepTrouble tells once of a machine that was delivered and does not let us in.
func (d *Desk) stepTrouble(s *State, o *Order, now time.Time) {
	var troubled []*host.Machine
	for i := range o.Loan.Machines {
		m := &o.Loan.Machines[i]
		if m.Phase != host.Booting || m.Tries < triesFirst || o.Troubled[m.ID] {
			continue
		}
		if o.Troubled == nil {
			o.Troubled = map[string]bool{}
		}
		o.Troubled[m.ID] = true
		troubled = append(troubled, m)
	}
	if len(troubled) > 0 {
		d.write(s, o, letterTrouble, troubled, now)
	}
}

// withdraw takes awaited machines back from an order.
func (d *Desk) withdraw(s *State, o *Order, ids []string, now time.Time) {
	changed := false
	for _, m := range o.awaited() {
		if slices.Contains(ids, m.ID) {
			m.Phase, m.Stopped, changed = host.Released, now, true
		}
	}
	switch {
	case !changed:
	case len(o.awaited()) == 0:
		o.close(Withdrawn, "ticket "+o.Ticket+" was taken back", now)
		d.write(s, o, letterWithdrawn, nil, now)
	default:
		d.write(s, o, letterChanged, nil, now)
	}
}

// Type is something that can be ordered.
type Type struct {
	Offer wire.Offer
	// Most is how many machines may be out at one time; zero: as many as the
	// vendor brings.
	Most int
}

// out is how many machines of a type are ordered or here.
func (s *State) out(kind string) int {
	n := 0
	for _, l := range loans(s) {
		for i := range l.Machines {
			if l.Type == kind && l.Machines[i].Phase != host.Released {
				n++
			}
		}
	}
	return n
}

// stamp is a time as letters have it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

func orDash(s string) string { return cmp.Or(s, "-") }
