package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/plugin/host"
	"spillway.sh/spillway/bridge/cloud/plugin/serve"
	"spillway.sh/spillway/bridge/cloud/plugin/wire"
)

// Machine is one of the site's.
type Machine struct {
	Host   host.Host
	Type   string
	Region string
	Zone   string
}

// Options is what a pool is made of.
type Options struct {
	Version  string
	Dir      string // where claims are kept; root's alone
	Types    []wire.Offer
	Machines []Machine
	Runner   host.Runner // nil: the system's ssh
	Now      func() time.Time
}

// State is what is kept.
type State struct {
	Loans []host.Loan `json:"loans"`
	// Down says until when machines that did not answer are asked last.
	Down map[string]Down `json:"down,omitempty"`
}

// Down is why a machine cannot be lent now.
type Down struct {
	Until time.Time `json:"until"`
	Said  string    `json:"said"`
}

// downFor is how long a machine that did not answer counts as not free.
const downFor = 2 * time.Minute

// priceAge is how long a price of the inventory holds: it is read for each call.
const priceAge = 10 * time.Minute

// Pool is the cloud.
type Pool struct {
	o      Options
	file   *serve.File[State]
	lender *host.Lender[State]
}

// New opens a pool.
func New(o Options) (*Pool, error) {
	file, err := serve.NewFile[State](o.Dir)
	if err != nil {
		return nil, err
	}
	if o.Runner == nil {
		o.Runner = &host.Shell{Dir: o.Dir}
	}
	p := &Pool{o: o, file: file}
	p.lender = &host.Lender[State]{File: file, Loans: loans, Runner: o.Runner, Now: o.Now, Known: p.known, After: host.Released}
	return p, nil
}

func loans(s *State) []*host.Loan {
	out := make([]*host.Loan, len(s.Loans))
	for i := range s.Loans {
		out[i] = &s.Loans[i]
	}
	return out
}

func (s *State) loan(token string) *host.Loan {
	i := slices.IndexFunc(s.Loans, func(l host.Loan) bool { return l.Token == token })
	if i < 0 {
		return nil
	}
	return &s.Loans[i]
}

// claimed are the names of machines that are not free.
func (s *State) claimed() map[string]string {
	out := map[string]string{}
	for i := range s.Loans {
		for _, m := range s.Loans[i].Machines {
			if m.Phase != host.Released {
				out[m.Host.Name] = m.ID
			}
		}
	}
	return out
}

// known is a machine as the inventory has it today.
func (p *Pool) known(h host.Host) host.Host {
	for i := range p.o.Machines {
		if p.o.Machines[i].Host.Name == h.Name {
			return p.o.Machines[i].Host
		}
	}
	return h
}

// Describe says what it is.
func (p *Pool) Describe() wire.Description {
	return wire.Description{Name: "pool", Version: cmp.Or(p.o.Version, "dev"), Idempotency: "token", Extends: true}
}

// place is where machines of one type stand.
type place struct{ region, zone, kind string }

func (m *Machine) place() place { return place{m.Region, m.Zone, m.Type} }

// Offers are the types, wherever machines of them stand.
func (p *Pool) Offers(context.Context) ([]wire.Offer, error) {
	s, err := p.file.Read()
	if err != nil {
		return nil, serve.Refuse(bridge.CloudThrottled, "State", "%v", err)
	}
	now, claimed := p.o.Now(), s.claimed()
	free := map[place]int{}
	for i := range p.o.Machines {
		m := &p.o.Machines[i]
		at := m.place()
		free[at] += 0
		if claimed[m.Host.Name] == "" && !now.Before(s.Down[m.Host.Name].Until) {
			free[at]++
		}
	}
	var out []wire.Offer
	for at, n := range free {
		i := slices.IndexFunc(p.o.Types, func(o wire.Offer) bool { return o.Type == at.kind })
		if i < 0 {
			continue
		}
		o := p.o.Types[i]
		o.Region, o.Zone, o.Market, o.Available = at.region, at.zone, string(bridge.OnDemand), &n
		o.SampledAt, o.MaxAge = now, wire.Duration(priceAge)
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b wire.Offer) int {
		return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.Type, b.Type))
	})
	return out, nil
}

// Create claims machines and starts the boot script on them.
func (p *Pool) Create(ctx context.Context, c *wire.Create) (string, error) {
	if err := p.claim(ctx, c); err != nil {
		return "", err
	}
	return c.Token, p.finish(ctx, c.Token)
}

// claim writes down whose the machines are, before anything happens on them.
func (p *Pool) claim(ctx context.Context, c *wire.Create) error {
	unlock, err := p.file.Lock(ctx, "create")
	if err != nil {
		return serve.Refuse(bridge.CloudThrottled, "State", "%v", err)
	}
	defer unlock()
	s, err := p.file.Read()
	if err != nil {
		return serve.Refuse(bridge.CloudThrottled, "State", "%v", err)
	}
	if l := s.loan(c.Token); l != nil {
		return Same(l, c)
	}
	offer, err := p.offer(c)
	if err != nil {
		return err
	}
	chosen, err := p.choose(ctx, &s, c)
	if err != nil {
		return err
	}
	now := p.o.Now()
	l := host.NewLoan(c, offer.Rate, now)
	for _, m := range chosen {
		l.Machines = append(l.Machines, host.Machine{ID: host.MachineID(m.Host.Name, c.Token), Host: m.Host, Phase: host.Booting, Launched: now})
	}
	err = p.file.Change(ctx, func(s *State) error {
		s.Loans = append(slices.DeleteFunc(s.Loans, func(l host.Loan) bool { return l.Forgettable(now) }), l)
		for _, m := range chosen {
			delete(s.Down, m.Host.Name)
		}
		return nil
	})
	if err != nil {
		return serve.Refuse(bridge.CloudThrottled, "State", "nothing was claimed: %v", err)
	}
	return nil
}

// Same says whether a create is the one that a loan was made for.
func Same(l *host.Loan, c *wire.Create) error {
	if l.Sum != serve.Sum(c) {
		return serve.Refuse(bridge.CloudMismatch, "Token", "this token was used with other parameters")
	}
	return nil
}

// offer checks what is asked for against what there is.
func (p *Pool) offer(c *wire.Create) (*wire.Offer, error) {
	i := slices.IndexFunc(p.o.Types, func(o wire.Offer) bool { return o.Type == c.Type })
	at := place{c.Region, c.Zone, c.Type}
	if i < 0 || !slices.ContainsFunc(p.o.Machines, func(m Machine) bool { return m.place() == at }) {
		return nil, serve.Refuse(bridge.CloudInvalid, "Type", "no machine of type %q stands in region %q, zone %q", c.Type, c.Region, c.Zone)
	}
	return &p.o.Types[i], Within(&p.o.Types[i], c)
}

// Within says whether a price is within the ceiling of a create.
func Within(o *wire.Offer, c *wire.Create) error {
	price, err := decimal.NewFromString(o.Rate.Amount.String())
	if err != nil {
		return serve.Refuse(bridge.CloudDenied, "Price", "price %q of type %s is no amount", o.Rate.Amount, o.Type)
	}
	most, err := decimal.NewFromString(c.MaxRate.Amount.String())
	if err != nil || o.Rate.Currency != c.MaxRate.Currency {
		return serve.Refuse(bridge.CloudInvalid, "MaxRate", "max_rate: %s %s cannot be compared with a price in %s", c.MaxRate.Amount, c.MaxRate.Currency, o.Rate.Currency)
	}
	if price.GreaterThan(most) {
		return serve.Refuse(bridge.CloudPrice, "Price", "a machine of type %s costs %s %s an hour; the ceiling is %s", o.Type, price, o.Rate.Currency, most)
	}
	return nil
}

// finish starts what is claimed. When a machine does not start, all of the claim
// is given back, and only if that is certain did the create fail for good.
func (p *Pool) finish(ctx context.Context, token string) error {
	mine := func(l *host.Loan) bool { return l.Token == token }
	if err := p.lender.Advance(ctx, true, mine); err != nil {
		return err
	}
	s, err := p.file.Read()
	if err != nil {
		return err
	}
	l := s.loan(token)
	if l == nil || l.Failed == "" && l.All(host.Running, host.Ending, host.Released) {
		return nil
	}
	if l.Failed == "" {
		if err := p.giveUp(ctx, token); err != nil {
			return err
		}
		if s, err = p.file.Read(); err != nil {
			return err
		}
		l = s.loan(token)
	}
	if !l.All(host.Released) {
		return fmt.Errorf("%s; what was claimed could not be given back yet: %w", l.Failed, host.Left([]*host.Loan{l}, every))
	}
	return serve.Refuse(bridge.CloudNoCapacity, "NotStarted", "%s", l.Failed)
}

func every(string) bool { return true }

// giveUp gives back a claim of which a machine did not start.
func (p *Pool) giveUp(ctx context.Context, token string) error {
	err := p.file.Change(ctx, func(s *State) error {
		l := s.loan(token)
		var said []string
		for i := range l.Machines {
			if m := &l.Machines[i]; m.Phase == host.Booting {
				said = append(said, cmp.Or(m.Said, m.ID+" was not started"))
				s.rest(m.Host.Name, m.Said, p.o.Now())
			}
		}
		l.Failed = strings.Join(said, "; ")
		l.End()
		return nil
	})
	if err != nil {
		return err
	}
	return p.lender.Advance(ctx, true, func(l *host.Loan) bool { return l.Token == token })
}

func (s *State) rest(name, said string, now time.Time) {
	if s.Down == nil {
		s.Down = map[string]Down{}
	}
	s.Down[name] = Down{Until: now.Add(downFor), Said: said}
}

// Observe shows the machines of a create.
func (p *Pool) Observe(ctx context.Context, o *wire.Observe) ([]wire.Machine, error) {
	if err := p.lender.Advance(ctx, false, func(l *host.Loan) bool { return l.Token == o.Token }); err != nil {
		return nil, err
	}
	s, err := p.file.Read()
	if err != nil {
		return nil, err
	}
	l := s.loan(o.Token)
	switch {
	case l == nil:
		return nil, nil
	case l.Failed != "" && l.All(host.Released):
		return nil, serve.Refuse(bridge.CloudNoCapacity, "NotStarted", "%s", l.Failed)
	}
	return l.Shown(), nil
}

// List does what is due, and shows all machines that are ours or were lately.
func (p *Pool) List(ctx context.Context, q *wire.List) ([]wire.Machine, bool, error) {
	if err := p.lender.Advance(ctx, false, func(*host.Loan) bool { return true }); err != nil {
		return nil, false, err
	}
	s, err := p.file.Read()
	if err != nil {
		return nil, false, err
	}
	var out []wire.Machine
	for i := range s.Loans {
		if serve.Ours(s.Loans[i].Tags, q) {
			out = append(out, s.Loans[i].Listed(p.o.Now())...)
		}
	}
	return out, true, nil
}

// Terminate gives machines back. One that does not answer stays claimed, and is
// named.
func (p *Pool) Terminate(ctx context.Context, ids []string) error {
	of := func(id string) bool { return slices.Contains(ids, id) }
	touched := map[string]bool{}
	err := p.file.Change(ctx, func(s *State) error {
		for i := range s.Loans {
			for _, id := range ids {
				if s.Loans[i].EndOne(id) {
					touched[s.Loans[i].Token] = true
				}
			}
		}
		return nil
	})
	if err != nil {
		return serve.Refuse(bridge.CloudThrottled, "State", "%v", err)
	}
	if err := p.lender.Advance(ctx, true, func(l *host.Loan) bool { return touched[l.Token] }); err != nil {
		return err
	}
	s, err := p.file.Read()
	if err != nil {
		return err
	}
	return host.Left(loans(&s), of)
}

// Extend moves the end of machines.
func (p *Pool) Extend(ctx context.Context, ids []string, expires time.Time) error {
	moved, err := p.move(ctx, ids, expires)
	if err != nil {
		return err
	}
	var errs []error
	for id, h := range moved {
		errs = append(errs, p.lender.Extend(ctx, id, h, expires))
	}
	return errors.Join(errs...)
}

// move writes down the new end, and returns the machines that are to hear of it.
func (p *Pool) move(ctx context.Context, ids []string, expires time.Time) (map[string]host.Host, error) {
	moved := map[string]host.Host{}
	err := p.file.Change(ctx, func(s *State) error {
		for i := range s.Loans {
			for id, h := range s.Loans[i].Move(ids, expires) {
				moved[id] = h
			}
		}
		return nil
	})
	if err != nil {
		return nil, serve.Refuse(bridge.CloudThrottled, "State", "%v", err)
	}
	return moved, nil
}
