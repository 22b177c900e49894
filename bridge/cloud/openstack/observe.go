package openstack

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"spillway.sh/spillway/bridge"
)

// Observe returns the machines of a create. When one of them failed before it ran,
// or a second request was answered too, what is too much is ended here; the create
// is refused once nothing of it is left.
func (c *Cloud) Observe(ctx context.Context, l bridge.Launch, _ bridge.Handle) ([]bridge.Instance, error) {
	all, _, err := c.servers(ctx, servers.ListOpts{Tags: tag(&l)})
	if err != nil {
		return nil, c.fail(opObserve, err)
	}
	live := slices.DeleteFunc(all, func(m machine) bool { return m.Token != l.Token || m.State == bridge.InstanceGone })
	first, more := firstCall(live)
	if len(more) > 0 {
		if err := c.endAll(ctx, more); err != nil {
			return nil, err
		}
	}
	if i := slices.IndexFunc(first, func(m machine) bool { return m.unborn }); i >= 0 {
		c.fault(l.Token, c.faultOf(&first[i]))
	}
	if cause := c.failure(l.Token); cause != nil {
		if len(live) == 0 {
			return nil, cause
		}
		if err := c.endAll(ctx, first); err != nil {
			return nil, err
		}
		for i := range first {
			first[i].State, first[i].Fault = bridge.InstanceStopping, cause.Message
		}
		return instances(first), nil
	}
	if len(first) < l.Count {
		ended, err := c.ended(ctx, &l)
		if err != nil {
			return nil, c.fail(opObserve, err)
		}
		for i := range ended { // they have lost whatever was written on them
			ended[i].Token, ended[i].Pool, ended[i].Tags = l.Token, l.Pool, l.Tags
		}
		first = append(first, ended[:min(len(ended), l.Count-len(first))]...)
	}
	return instances(first), nil
}

// firstCall parts the servers of the request that was answered first from those of
// others. Who looks later sees the same.
func firstCall(all []machine) (first, more []machine) {
	if len(all) == 0 {
		return nil, nil
	}
	oldest := slices.MinFunc(all, func(a, b machine) int {
		return cmp.Or(a.made.Compare(b.made), strings.Compare(a.call, b.call))
	})
	for i := range all {
		if all[i].call == oldest.call {
			first = append(first, all[i])
		} else {
			more = append(more, all[i])
		}
	}
	return first, more
}

func (c *Cloud) endAll(ctx context.Context, all []machine) error {
	ids := make([]string, 0, len(all))
	for i := range all {
		if all[i].State != bridge.InstanceStopping {
			ids = append(ids, all[i].ID)
		}
	}
	return c.Terminate(ctx, ids)
}

// faultOf says what the fault of a server means that never ran. Where Nova tried
// its hosts in vain the pool cannot give a machine now, whatever the reason.
func (c *Cloud) faultOf(m *machine) *bridge.CloudError {
	out := &bridge.CloudError{
		Kind: bridge.CloudNoCapacity, Op: opObserve, Cloud: c.config.Name, Code: "fault " + strconv.Itoa(m.code), Message: m.Fault,
	}
	switch text := strings.ToLower(m.Fault); {
	case strings.Contains(text, "quota"):
		out.Kind, out.Reach = bridge.CloudQuota, bridge.ReachZones
	case strings.Contains(text, "no valid host"):
		out.Code = "NoValidHost"
	case strings.Contains(text, "maximum number of retries"):
		out.Code = "MaxRetriesExceeded"
	}
	return out
}

// failuresMost is of how many creates it is remembered why they failed; it is
// asked for within seconds.
const failuresMost = 1000

func (c *Cloud) fault(token string, cause *bridge.CloudError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.failed) >= failuresMost {
		clear(c.failed)
	}
	if c.failed[token] == nil {
		c.failed[token] = cause
	}
}

func (c *Cloud) failure(token string) *bridge.CloudError {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed[token]
}

func instances(all []machine) []bridge.Instance {
	out := make([]bridge.Instance, 0, len(all))
	for i := range all {
		out = append(out, all[i].Instance)
	}
	return out
}
