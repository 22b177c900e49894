package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge/cloud/plugin/host"
)

// ErrNoTicket reports a ticket that nobody wrote.
var ErrNoTicket = errors.New("there is no such ticket")

// Brought is one machine as it is delivered.
type Brought struct{ Address, HostKey string }

// Answer is what a person is told of what they said.
type Answer struct {
	Ticket   string         `json:"ticket"`
	Status   Status         `json:"status"`
	Late     bool           `json:"late,omitempty"` // it came when nobody wanted it any more
	Machines []host.Machine `json:"machines"`
}

func answer(o *Order) Answer {
	return Answer{Ticket: o.Ticket, Status: o.Status, Machines: o.Loan.Machines}
}

// Deliver says where the machines of a ticket are, and boots them. All come
// together. What comes too late is not used: it is kept, and its return asked for.
func (d *Desk) Deliver(ctx context.Context, ticket string, brought []Brought) (Answer, error) {
	late, token := false, ""
	err := d.file.Change(ctx, func(s *State) error {
		o := s.byTicket(ticket)
		if o == nil {
			return fmt.Errorf("%s: %w", ticket, ErrNoTicket)
		}
		token = o.Loan.Token
		d.step(s, d.o.Now()) // a deadline that has passed has passed
		o = s.byTicket(ticket)
		switch o.Status {
		case Ordered:
			return d.bring(s, o, brought)
		case Delivered:
			return same(o, brought)
		case Refused, Withdrawn:
			late = true
			d.tooLate(s, o, brought)
		}
		return nil
	})
	if err != nil {
		return Answer{}, err
	}
	s, err := d.turn(ctx, true, func(l *host.Loan) bool { return l.Token == token })
	if err != nil {
		return Answer{}, err
	}
	a := answer(s.byTicket(ticket))
	a.Late = late
	return a, nil
}

func (d *Desk) bring(s *State, o *Order, brought []Brought) error {
	wanted := o.awaited()
	if len(brought) != len(wanted) {
		return fmt.Errorf("ticket %s is for %d machines, %d were named: name all of them, or refuse the ticket", o.Ticket, len(wanted), len(brought))
	}
	if err := d.unused(s, brought); err != nil {
		return err
	}
	for i, m := range wanted {
		m.Host, m.Phase, m.Launched = d.hostOf(m.ID, brought[i]), host.Booting, d.o.Now()
	}
	o.Status = Delivered
	return nil
}

func (d *Desk) hostOf(id string, b Brought) host.Host {
	h := d.o.Access
	h.Name, h.Address, h.HostKey = id, b.Address, b.HostKey
	return h
}

// unused refuses an address that is named twice or in use.
func (d *Desk) unused(s *State, brought []Brought) error {
	seen := map[string]string{}
	for _, l := range loans(s) {
		for i := range l.Machines {
			if m := &l.Machines[i]; m.Phase != host.Released && m.Host.Address != "" {
				seen[m.Host.Address] = m.ID
			}
		}
	}
	for i, b := range brought {
		if id, ok := seen[b.Address]; ok {
			return fmt.Errorf("address %s is %s already", b.Address, id)
		}
		seen[b.Address] = fmt.Sprintf("machine %d of this delivery", i+1)
	}
	return nil
}

func same(o *Order, brought []Brought) error {
	var have, named []string
	for i := range o.Loan.Machines {
		if a := o.Loan.Machines[i].Host.Address; a != "" {
			have = append(have, a)
		}
	}
	for _, b := range brought {
		named = append(named, b.Address)
	}
	slices.Sort(have)
	slices.Sort(named)
	if !slices.Equal(have, named) {
		return fmt.Errorf("ticket %s was delivered with %s already", o.Ticket, strings.Join(have, ", "))
	}
	return nil
}

// tooLate keeps machines that nobody wants any more: they cost until they are
// returned, and are shown until then.
func (d *Desk) tooLate(s *State, o *Order, brought []Brought) {
	now := d.o.Now()
	for _, b := range brought {
		if slices.ContainsFunc(o.Loan.Machines, func(m host.Machine) bool { return m.Host.Address == b.Address }) {
			continue // said before
		}
		id := fmt.Sprintf("%s-%d-late", o.Ticket, len(o.Loan.Machines)+1)
		o.Loan.Machines = append(o.Loan.Machines, host.Machine{ID: id, Host: d.hostOf(id, b), Phase: host.Cleaned, Launched: now})
	}
	d.stepReturns(s, o, now)
}

// Refuse says that a ticket will not be delivered.
func (d *Desk) Refuse(ctx context.Context, ticket, why string) (Answer, error) {
	var a Answer
	err := d.file.Change(ctx, func(s *State) error {
		o := s.byTicket(ticket)
		switch {
		case o == nil:
			return fmt.Errorf("%s: %w", ticket, ErrNoTicket)
		case o.Status == Delivered:
			return fmt.Errorf("ticket %s was delivered: have Spillway give the machines back, with spillway release, and confirm their return then", ticket)
		case o.Status == Ordered:
			o.close(Refused, fmt.Sprintf("%s refused ticket %s: %s", d.o.Vendor, ticket, why), d.o.Now())
		}
		a = answer(o)
		return nil
	})
	return a, err
}

// Returned confirms that machines went back; the meter stops at a time. Without
// ids it means all whose return was asked for. Taken says that the vendor took
// machines that were in use.
func (d *Desk) Returned(ctx context.Context, ticket string, ids []string, at time.Time, taken bool) (Answer, error) {
	var a Answer
	err := d.file.Change(ctx, func(s *State) error {
		o := s.byTicket(ticket)
		if o == nil {
			return fmt.Errorf("%s: %w", ticket, ErrNoTicket)
		}
		for _, id := range ids {
			if o.Loan.Machine(id) == nil {
				return fmt.Errorf("ticket %s has no machine %s", ticket, id)
			}
		}
		if err := o.take(ids, at, d.o.Now(), taken); err != nil {
			return err
		}
		a = answer(o)
		return nil
	})
	return a, err
}

func (o *Order) take(ids []string, at, now time.Time, taken bool) error {
	if at.IsZero() || at.After(now) {
		at = now
	}
	for i := range o.Loan.Machines {
		m := &o.Loan.Machines[i]
		if len(ids) > 0 && !slices.Contains(ids, m.ID) {
			continue
		}
		switch {
		case m.Phase == host.Ending, m.Phase == host.Cleaned:
		case taken && (m.Phase == host.Booting || m.Phase == host.Running):
			m.Fault = "taken back by the vendor"
		case len(ids) > 0 && m.Phase != host.Released:
			return fmt.Errorf("machine %s is %s and its return was not asked for: have Spillway give it back first, with spillway release; if the vendor has taken it away, say --taken", m.ID, m.Phase)
		default:
			continue
		}
		m.Phase, m.Stopped, m.Said = host.Released, latest(at, m.Launched), ""
	}
	return nil
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Orders are all that are kept, newest last, with the letters that wait.
func (d *Desk) Orders() ([]Order, []Letter, error) {
	s, err := d.file.Read()
	if err != nil {
		return nil, nil, err
	}
	waiting := slices.DeleteFunc(s.Letters, func(l Letter) bool { return !l.waits(d.o.Channels) })
	return s.Orders, waiting, nil
}
