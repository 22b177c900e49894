package local

import (
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

func poolOut(p bridge.Pool) wire.Pool {
	return wire.Pool{Region: p.Region, Zone: p.Zone, Type: p.Type, Market: string(p.Market)}
}

func (c *Cloud) poolIn(p wire.Pool) bridge.Pool {
	return bridge.Pool{Cloud: c.config.Name, Region: p.Region, Zone: p.Zone, Type: p.Type, Market: bridge.Market(p.Market)}
}

func rateIn(r wire.Rate) bridge.Rate {
	return bridge.Rate{Micro: r.Micro, Currency: bridge.Currency(r.Currency)}
}

func (c *Cloud) offer(o wire.Offer) bridge.Offer {
	available := -1
	if o.Available != nil {
		available = *o.Available
	}
	return bridge.Offer{
		Pool: c.poolIn(o.Pool),
		Shape: bridge.Shape{
			CPUs: o.CPUs, MemoryMiB: o.MemoryMiB, DiskMiB: o.DiskMiB, GPUType: o.GPUType, GPUs: o.GPUs,
		},
		Features: o.Features, Rate: rateIn(o.Rate), SampledAt: o.SampledAt.UTC(), MaxAge: time.Duration(o.MaxAge),
		Boot: time.Duration(o.Boot), Available: available, Step: time.Duration(o.Step),
		Minimum: time.Duration(o.Minimum), Term: time.Duration(o.Term), EarlyPM: o.EarlyPM, Notice: time.Duration(o.Notice),
	}
}

func (c *Cloud) instances(list []wire.Instance) []bridge.Instance {
	out := make([]bridge.Instance, 0, len(list))
	for _, m := range list {
		out = append(out, c.instance(m))
	}
	return out
}

func (c *Cloud) instance(m wire.Instance) bridge.Instance {
	out := bridge.Instance{
		ID: m.ID, Pool: c.poolIn(m.Pool), State: stateIn(m.State), Address: m.Address, Tags: m.Tags, Token: m.Token,
		Rate: rateIn(m.Rate), Launched: m.Launched.UTC(), Stopped: m.Stopped.UTC(),
		NoticeAt: m.NoticeAt.UTC(), ReclaimAt: m.ReclaimAt.UTC(),
	}
	if m.Fault != nil {
		out.Fault = m.Fault.Code + ": " + m.Fault.Message
	}
	return out
}

// stateIn maps a machine's state. A word that is not known may cost money, so
// it is taken for running.
func stateIn(s wire.State) bridge.InstanceState {
	switch s {
	case wire.StatePending:
		return bridge.InstancePending
	case wire.StateRunning:
		return bridge.InstanceRunning
	case wire.StateStopping:
		return bridge.InstanceStopping
	case wire.StateTerminated, wire.StateError:
		return bridge.InstanceGone
	}
	return bridge.InstanceRunning
}
