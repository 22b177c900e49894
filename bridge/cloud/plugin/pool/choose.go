package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/plugin/host"
	"spillway.sh/spillway/bridge/cloud/plugin/serve"
	"spillway.sh/spillway/bridge/cloud/plugin/wire"
)

// choose takes as many free machines as are wanted, each of which answers. Those
// that did not answer lately are asked last.
func (p *Pool) choose(ctx context.Context, s *State, c *wire.Create) ([]Machine, error) {
	now, claimed := p.o.Now(), s.claimed()
	at := place{c.Region, c.Zone, c.Type}
	var fresh, down []Machine
	for _, m := range p.o.Machines {
		switch {
		case m.place() != at || claimed[m.Host.Name] != "":
		case now.Before(s.Down[m.Host.Name].Until):
			down = append(down, m)
		default:
			fresh = append(fresh, m)
		}
	}
	free := slices.Concat(fresh, down)
	if len(free) < c.Count {
		return nil, serve.Refuse(bridge.CloudNoCapacity, "Claimed", "%d machines of type %s are free, %d are wanted", len(free), c.Type, c.Count)
	}
	var chosen []Machine
	failures := map[string]error{}
	for len(free) > 0 && len(chosen) < c.Count {
		n := min(len(free), c.Count-len(chosen))
		for i, err := range p.look(ctx, free[:n], c.Token) {
			if err == nil {
				chosen = append(chosen, free[i])
			} else {
				failures[free[i].Host.Name] = err
			}
		}
		free = free[n:]
	}
	if err := ctx.Err(); err != nil {
		return nil, serve.Refuse(bridge.CloudThrottled, "Cancelled", "%v", err)
	}
	if err := p.note(ctx, failures); err != nil {
		return nil, err
	}
	if len(chosen) < c.Count {
		return nil, serve.Refuse(bridge.CloudNoCapacity, "Unreachable", "%d of %d machines can be used: %s", len(chosen), c.Count, list(failures))
	}
	return chosen, nil
}

// look looks at machines together; the results are in their order.
func (p *Pool) look(ctx context.Context, machines []Machine, token string) []error {
	errs := make([]error, len(machines))
	var all errgroup.Group
	all.SetLimit(32)
	for i := range machines {
		all.Go(func() error {
			h := machines[i].Host
			errs[i] = host.Look(ctx, p.o.Runner, &h, host.MachineID(h.Name, token))
			return nil
		})
	}
	_ = all.Wait() // each has its own error
	return errs
}

// note writes down who did not answer, so that they are not waited for again and
// again.
func (p *Pool) note(ctx context.Context, failures map[string]error) error {
	if len(failures) == 0 {
		return nil
	}
	err := p.file.Change(ctx, func(s *State) error {
		for name, err := range failures {
			s.rest(name, err.Error(), p.o.Now())
		}
		return nil
	})
	if err != nil {
		return serve.Refuse(bridge.CloudThrottled, "State", "nothing was claimed: %v", err)
	}
	return nil
}

func list(failures map[string]error) string {
	var out []string
	for _, err := range failures {
		out = append(out, err.Error())
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

// Sight is a machine as a person is told of it.
type Sight struct {
	Name  string `json:"name"`
	Claim string `json:"claim,omitempty"`
	Phase string `json:"phase,omitempty"`
	OK    bool   `json:"ok"`
	Said  string `json:"said,omitempty"`
}

// Check looks at every machine of the inventory.
func (p *Pool) Check(ctx context.Context) ([]Sight, error) {
	s, err := p.file.Read()
	if err != nil {
		return nil, err
	}
	claims := map[string]*host.Machine{}
	for _, l := range loans(&s) {
		for i := range l.Machines {
			if m := &l.Machines[i]; m.Phase != host.Released {
				claims[m.Host.Name] = m
			}
		}
	}
	out := make([]Sight, len(p.o.Machines))
	var all errgroup.Group
	all.SetLimit(32)
	for i := range p.o.Machines {
		all.Go(func() error {
			h := p.o.Machines[i].Host
			out[i] = Sight{Name: h.Name, OK: true}
			id := "nobody"
			if m := claims[h.Name]; m != nil {
				out[i].Claim, out[i].Phase, out[i].Said, id = m.ID, string(m.Phase), m.Said, m.ID
			}
			if err := host.Look(ctx, p.o.Runner, &h, id); err != nil {
				out[i].OK, out[i].Said = false, err.Error()
			}
			return nil
		})
	}
	_ = all.Wait() // each has its own error
	return out, nil
}

// ErrNoClaim reports an id of which nothing is claimed.
var ErrNoClaim = errors.New("no machine is claimed under this id")

// Forget frees a claim on the word of a person: the machine is off, or was set up
// anew, and cannot be asked. It must be ending already.
func (p *Pool) Forget(ctx context.Context, id string) error {
	return p.file.Change(ctx, func(s *State) error {
		for _, l := range loans(s) {
			m := l.Machine(id)
			switch {
			case m == nil || m.Phase == host.Released:
			case m.Phase != host.Ending:
				return fmt.Errorf("%s is %s: have Spillway give it back first, with spillway release", id, m.Phase)
			default:
				m.Phase, m.Stopped, m.Said = host.Released, p.o.Now(), "freed on a person's word"
				return nil
			}
		}
		return fmt.Errorf("%s: %w", id, ErrNoClaim)
	})
}
