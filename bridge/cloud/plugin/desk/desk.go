package desk

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/plugin/host"
	"spillway.sh/spillway/bridge/cloud/plugin/pool"
	"spillway.sh/spillway/bridge/cloud/plugin/serve"
	"spillway.sh/spillway/bridge/cloud/plugin/wire"
)

// Options is what a desk is made of.
type Options struct {
	Version  string
	Dir      string // where orders are kept; root's alone
	Vendor   string // its name, in letters
	Types    []Type
	Access   host.Host // user, port and key of machines that are delivered
	Channels []Channel
	Lang     string // of letters: en, zh or both
	// Answer is the command with which people answer of a ticket (deliver, refuse,
	// returned), as letters have it.
	Answer func(what, ticket string) string
	// Deliver is how long a delivery may take; Remind and RemindReturn are the
	// times between two reminders.
	Deliver, Remind, RemindReturn time.Duration
	Runner                        host.Runner // nil: the system's ssh
	Now                           func() time.Time
}

// Desk is the cloud.
type Desk struct {
	o      Options
	file   *serve.File[State]
	lender *host.Lender[State]
}

// New opens a desk.
func New(o Options) (*Desk, error) {
	o.Deliver, o.Remind, o.RemindReturn = cmp.Or(o.Deliver, 30*time.Minute), cmp.Or(o.Remind, 10*time.Minute), cmp.Or(o.RemindReturn, 30*time.Minute)
	file, err := serve.NewFile[State](o.Dir)
	if err != nil {
		return nil, err
	}
	if o.Runner == nil {
		o.Runner = &host.Shell{Dir: o.Dir}
	}
	return &Desk{o: o, file: file, lender: &host.Lender[State]{
		File: file, Loans: loans, Runner: o.Runner, Now: o.Now, After: host.Cleaned,
	}}, nil
}

// Describe says what it is.
func (d *Desk) Describe() wire.Description {
	return wire.Description{Name: "desk", Version: cmp.Or(d.o.Version, "dev"), Idempotency: "token", Extends: true}
}

// priceAge is how long a price of the catalogue holds: it is read for each call.
const priceAge = 10 * time.Minute

// Offers are the types that can be ordered.
func (d *Desk) Offers(context.Context) ([]wire.Offer, error) {
	s, err := d.file.Read()
	if err != nil {
		return nil, serve.Refuse(bridge.CloudThrottled, "State", "%v", err)
	}
	var out []wire.Offer
	for i := range d.o.Types {
		o := d.o.Types[i].Offer
		o.Market, o.SampledAt, o.MaxAge = string(bridge.OnDemand), d.o.Now(), wire.Duration(priceAge)
		if most := d.o.Types[i].Most; most > 0 {
			free := max(0, most-s.out(o.Type))
			o.Available = &free
		}
		out = append(out, o)
	}
	return out, nil
}

// Create writes an order, and has the channels told.
func (d *Desk) Create(ctx context.Context, c *wire.Create) (string, error) {
	ticket := ""
	err := d.file.Change(ctx, func(s *State) error {
		o := s.byToken(c.Token)
		if o == nil {
			if err := d.order(s, c); err != nil {
				return err
			}
			o = s.byToken(c.Token)
		}
		ticket = o.Ticket
		return pool.Same(&o.Loan, c)
	})
	if r := (*serve.Refusal)(nil); err != nil && !errors.As(err, &r) {
		return "", serve.Refuse(bridge.CloudThrottled, "State", "nothing was ordered: %v", err)
	} else if err != nil {
		return "", err
	}
	return ticket, d.post(ctx)
}

func (d *Desk) order(s *State, c *wire.Create) error {
	i := slices.IndexFunc(d.o.Types, func(t Type) bool {
		return t.Offer.Type == c.Type && t.Offer.Region == c.Region && t.Offer.Zone == c.Zone
	})
	if i < 0 {
		return serve.Refuse(bridge.CloudInvalid, "Type", "%s has no type %q in region %q, zone %q", d.o.Vendor, c.Type, c.Region, c.Zone)
	}
	t := &d.o.Types[i]
	if err := pool.Within(&t.Offer, c); err != nil {
		return err
	}
	if t.Most > 0 && s.out(c.Type)+c.Count > t.Most {
		return serve.Refuse(bridge.CloudNoCapacity, "Most", "%d machines of type %s are out, %d more are wanted, and %d are the most", s.out(c.Type), c.Type, c.Count, t.Most)
	}
	d.newOrder(s, c, t, d.o.Now())
	return nil
}

// turn does all that is due: on the machines, by the clock, and in the outbox.
func (d *Desk) turn(ctx context.Context, hurry bool, pick func(*host.Loan) bool) (State, error) {
	if err := d.lender.Advance(ctx, hurry, pick); err != nil {
		return State{}, err
	}
	var now State
	if err := d.file.Change(ctx, func(s *State) error { d.step(s, d.o.Now()); return nil }); err != nil {
		return State{}, err
	}
	if err := d.post(ctx); err != nil {
		return State{}, err
	}
	now, err := d.file.Read()
	return now, err
}

func all(*host.Loan) bool { return true }

// Observe shows the machines of a create.
func (d *Desk) Observe(ctx context.Context, q *wire.Observe) ([]wire.Machine, error) {
	s, err := d.turn(ctx, false, func(l *host.Loan) bool { return l.Token == q.Token })
	if err != nil {
		return nil, err
	}
	o := s.byToken(q.Token)
	switch {
	case o == nil:
		return nil, nil
	case o.Status == Refused || o.Status == Withdrawn && o.Loan.All(host.Released):
		return nil, serve.Refuse(bridge.CloudNoCapacity, string(o.Status), "%s", o.Loan.Failed)
	}
	return o.Loan.Shown(), nil
}

// List does what is due, and shows all machines that are ours or were lately.
func (d *Desk) List(ctx context.Context, q *wire.List) ([]wire.Machine, bool, error) {
	s, err := d.turn(ctx, false, all)
	if err != nil {
		return nil, false, err
	}
	var out []wire.Machine
	for i := range s.Orders {
		if l := &s.Orders[i].Loan; serve.Ours(l.Tags, q) {
			out = append(out, l.Listed(d.o.Now())...)
		}
	}
	return out, true, nil
}

// Terminate takes an order back as long as it was not delivered, and else cleans
// the machines and asks for their return.
func (d *Desk) Terminate(ctx context.Context, ids []string) error {
	touched := map[string]bool{}
	err := d.file.Change(ctx, func(s *State) error {
		for i := range s.Orders {
			o := &s.Orders[i]
			d.withdraw(s, o, ids, d.o.Now())
			for _, id := range ids {
				if o.Loan.EndOne(id) {
					touched[o.Loan.Token] = true
				}
			}
		}
		return nil
	})
	if err != nil {
		return serve.Refuse(bridge.CloudThrottled, "State", "%v", err)
	}
	s, err := d.turn(ctx, true, func(l *host.Loan) bool { return touched[l.Token] })
	if err != nil {
		return err
	}
	return host.Left(loans(&s), func(id string) bool { return slices.Contains(ids, id) })
}

// Extend moves the end of machines, and has the vendor told.
func (d *Desk) Extend(ctx context.Context, ids []string, expires time.Time) error {
	moved := map[string]host.Host{}
	err := d.file.Change(ctx, func(s *State) error {
		for i := range s.Orders {
			o := &s.Orders[i]
			before := o.Loan.Expires
			for id, h := range o.Loan.Move(ids, expires) {
				moved[id] = h
			}
			if !o.Loan.Expires.Equal(before) {
				d.write(s, o, letterExtended, nil, d.o.Now())
			}
		}
		return nil
	})
	if err != nil {
		return serve.Refuse(bridge.CloudThrottled, "State", "%v", err)
	}
	errs := []error{d.post(ctx)}
	for id, h := range moved {
		errs = append(errs, d.lender.Extend(ctx, id, h, expires))
	}
	return errors.Join(errs...)
}
