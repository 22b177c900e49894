package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// What the engine changes in a cluster.

func (c *cluster) UserData(_ context.Context, r *bridge.Rental, b bridge.Boot) (string, error) {
	leave, err := c.enter("UserData")
	if err != nil {
		return "", err
	}
	defer leave()
	return "boot " + string(r.ID) + " " + b.Ticket, nil
}

func (c *cluster) Enrolment(context.Context, *bridge.Rental, *bridge.Machine) (map[string]string, error) {
	return map[string]string{}, nil
}

func (c *cluster) Admit(_ context.Context, r *bridge.Rental, nodes []string) error {
	leave, err := c.enter("Admit")
	if err != nil {
		return err
	}
	defer leave()
	if c.anyDead(nodes) {
		return errors.New("no such node")
	}
	c.overlays[bridge.PartitionName(r.ID)] = slices.Clone(nodes)
	return nil
}

func (c *cluster) Dismiss(_ context.Context, r *bridge.Rental, nodes []string) error {
	leave, err := c.enter("Dismiss")
	if err != nil {
		return err
	}
	defer leave()
	if slices.ContainsFunc(nodes, c.busy) {
		return fmt.Errorf("dismiss %v: %w", nodes, bridge.ErrBusy)
	}
	part := bridge.PartitionName(r.ID)
	for _, n := range nodes {
		if x := c.nodes[n]; x != nil && !x.drained && !x.dead {
			c.rash++
		}
		delete(c.nodes, n)
		c.overlays[part] = slices.DeleteFunc(c.overlays[part], func(x string) bool { return x == n })
	}
	if len(c.overlays[part]) == 0 {
		delete(c.overlays, part)
	}
	return nil
}

func (c *cluster) Route(_ context.Context, r *bridge.Rental, ids ...bridge.JobID) error {
	leave, err := c.enter("Route")
	if err != nil {
		return err
	}
	defer leave()
	err = bridge.ErrNoJob
	for _, id := range ids {
		if j := c.jobs[id]; j != nil && j.state == "pending" {
			j.routed[bridge.PartitionName(r.ID)] = true
			err = nil
		}
	}
	return err
}

func (c *cluster) Unroute(_ context.Context, r *bridge.Rental, id bridge.JobID) error {
	leave, err := c.enter("Unroute")
	if err != nil {
		return err
	}
	defer leave()
	if j := c.jobs[id]; j != nil {
		delete(j.routed, bridge.PartitionName(r.ID))
		j.anywhere = false
	}
	return nil
}

func (c *cluster) Drain(_ context.Context, nodes []string, why string) error {
	leave, err := c.enter("Drain")
	if err != nil {
		return err
	}
	defer leave()
	for _, n := range nodes {
		if x := c.nodes[n]; x != nil && !x.drained {
			x.drained, x.reason = true, why
		}
	}
	return nil
}

func (c *cluster) Signal(_ context.Context, id bridge.JobID, signal, to string) error {
	leave, err := c.enter("Signal")
	if err != nil {
		return err
	}
	defer leave()
	c.signals = append(c.signals, string(id)+" "+signal+" "+to)
	if j := c.jobs[id]; j != nil && j.handler != nil && j.state == "running" {
		j.handler(c, j)
	}
	return nil
}

func (c *cluster) Requeue(_ context.Context, id bridge.JobID) error {
	leave, err := c.enter("Requeue")
	if err != nil {
		return err
	}
	defer leave()
	j := c.jobs[id]
	switch {
	case j == nil || j.state != "running":
		return bridge.ErrNoJob
	case !j.restartable:
		return bridge.ErrNotRestartable
	}
	c.requeue(j)
	return nil
}

func (c *cluster) Down(_ context.Context, nodes []string, _ string) error {
	leave, err := c.enter("Down")
	if err != nil {
		return err
	}
	defer leave()
	for _, j := range c.jobs {
		if (j.state == "running" || j.state == "dying") && slices.ContainsFunc(j.on, func(n string) bool { return slices.Contains(nodes, n) }) {
			switch {
			case j.state == "dying":
				j.died = time.Now()
			case j.restartable:
				c.requeue(j)
				j.died = time.Now()
			default:
				j.state, j.on = "failed", nil
			}
		}
	}
	for _, n := range nodes {
		if x := c.nodes[n]; x != nil {
			x.dead = true
		}
	}
	c.bury()
	return nil
}

func (c *cluster) Expedite(_ context.Context, id bridge.JobID) (bool, error) {
	leave, err := c.enter("Expedite")
	if err != nil {
		return false, err
	}
	defer leave()
	j := c.jobs[id]
	switch {
	case j == nil || j.state == "done" || j.state == "cancelled":
		return false, bridge.ErrNoJob
	case j.state == "dying":
		return false, nil
	case j.state == "pending":
		j.eligible = time.Now()
	}
	return true, nil
}

func (c *cluster) Undrain(_ context.Context, nodes []string, why string) error {
	leave, err := c.enter("Undrain")
	if err != nil {
		return err
	}
	defer leave()
	for _, n := range nodes {
		if x := c.nodes[n]; x != nil && x.reason == why {
			x.drained, x.reason = false, ""
		}
	}
	return nil
}

func (c *cluster) Nudge(_ context.Context, id bridge.JobID) error {
	leave, err := c.enter("Nudge")
	if err != nil {
		return err
	}
	defer leave()
	j := c.jobs[id]
	if j == nil || j.state != "pending" {
		return bridge.ErrNoJob
	}
	if j.aside > 0 {
		j.aside--
	}
	return nil
}

func (c *cluster) Ending(_ context.Context, id bridge.JobID) (string, error) {
	leave, err := c.enter("Ending")
	if err != nil {
		return "", err
	}
	defer leave()
	j := c.jobs[id]
	switch {
	case j == nil:
		return "", bridge.ErrNoJob
	case j.state == "done":
		return "COMPLETED", nil
	}
	return strings.ToUpper(j.state), nil
}
