package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/desk/socket"
)

// act looks at the stage once and plays what is due; true when all is over.
func (p *play) act(ctx context.Context) (over bool, err error) {
	if err := p.answer(ctx); err != nil {
		return false, err
	}
	if err := p.takeBack(ctx); err != nil {
		return false, err
	}
	left := 0
	for _, j := range p.jobs {
		r, err := readRecord(p.scratch(), j.Name)
		if err != nil {
			return false, err
		}
		if r.Done {
			p.once("done "+j.Name, func() { p.tell("alice", "%s is done after %d steps", j.Name, r.LastStep) })
		} else {
			left++
		}
	}
	if left > 0 {
		return false, nil
	}
	judged, err := p.rig.judge(time.Now())
	if err != nil || len(judged.Live) > 0 {
		return false, err
	}
	rentals, err := p.openRentals(ctx)
	return rentals == 0, err
}

// once plays a part at most once.
func (p *play) once(name string, part func()) {
	if !p.done[name] {
		p.done[name] = true
		part()
	}
}

// reading is how long a person takes to read a question.
const reading = 6 * time.Second

// takeBack lets a cloud take one spot machine, once its job has worked for a
// while and is not about to end.
func (p *play) takeBack(ctx context.Context) error {
	if p.done["take back"] {
		return nil
	}
	for _, n := range p.feed.of(bridge.NewsStarted) {
		i := slices.IndexFunc(p.jobs, func(j *job) bool { return j.ID == string(n.Job) && j.Nodes == 1 })
		if i < 0 {
			continue
		}
		r, err := readRecord(p.scratch(), p.jobs[i].Name)
		if err != nil {
			return err
		}
		if r.LastStep < 14 || r.LastStep > p.jobs[i].Steps-15 {
			continue
		}
		machine, err := p.machineOf(ctx, n)
		if err != nil || machine == "" {
			return err
		}
		p.done["take back"] = true
		p.victim = p.jobs[i]
		p.tell("cloud", "wants a spot machine back: the one that runs %s, now at step %d", p.victim.Name, r.LastStep)
		return p.rig.Fault(ctx, wire.Fault{Kind: wire.CommandNotice, Instance: machine})
	}
	return nil
}

// machineOf is the provider id of the spot machine that a job runs on; empty
// when it is none.
func (p *play) machineOf(ctx context.Context, n bridge.News) (string, error) {
	j, err := p.rig.cluster.Job(ctx, string(n.Job))
	if err != nil {
		return "", fmt.Errorf("ask where %s runs: %w", n.Job, err)
	}
	c := socket.NewClient(p.rig.socket())
	defer c.Close()
	a, err := socket.Call(ctx, c, desk.AskRental, desk.RentalRequest{Rental: string(n.Rental)})
	if err != nil {
		return "", fmt.Errorf("ask for rental %s: %w", n.Rental, err)
	}
	if a.Rental.Pool.Market != bridge.Spot {
		return "", nil
	}
	for _, m := range a.Rental.Machines {
		if m.Node == j.Fields["NodeList"] {
			return m.ID, nil
		}
	}
	return "", nil
}

// openRentals counts what has not ended.
func (p *play) openRentals(ctx context.Context) (int, error) {
	c := socket.NewClient(p.rig.socket())
	defer c.Close()
	a, err := socket.Call(ctx, c, desk.AskRentals, desk.RentalsRequest{})
	if err != nil {
		return 0, fmt.Errorf("ask for the rentals: %w", err)
	}
	return len(a.Rentals), nil
}
