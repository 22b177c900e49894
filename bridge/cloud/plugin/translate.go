package plugin

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/shopspring/decimal"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/plugin/wire"
)

func rateOut(r bridge.Rate) wire.Rate {
	return wire.Rate{Amount: json.Number(decimal.New(r.Micro, -6).String()), Currency: string(r.Currency)}
}

func (c *Cloud) offer(o *wire.Offer) bridge.Offer {
	rate, _ := rateIn(o.Rate) // it was checked
	available := -1
	if o.Available != nil {
		available = *o.Available
	}
	return bridge.Offer{
		Pool:     bridge.Pool{Cloud: c.config.Name, Region: o.Region, Zone: o.Zone, Type: o.Type, Market: bridge.Market(o.Market)},
		Shape:    bridge.Shape{CPUs: o.CPUs, MemoryMiB: o.MemoryMiB, DiskMiB: o.DiskMiB, GPUs: o.GPUs, GPUType: o.GPUType},
		Features: o.Features, Rate: rate, SampledAt: o.SampledAt.UTC(), MaxAge: time.Duration(o.MaxAge), Boot: time.Duration(o.Boot),
		Network: bridge.Network(o.Network), Available: available, Step: cmp.Or(time.Duration(o.Step), time.Second), Minimum: time.Duration(o.Minimum), Notice: time.Duration(o.Notice),
	}
}

func (c *Cloud) instances(list []wire.Machine) []bridge.Instance {
	out := make([]bridge.Instance, 0, len(list))
	for i := range list {
		m := &list[i]
		rate, _ := rateIn(m.Rate) // it was checked
		out = append(out, bridge.Instance{
			ID: m.ID, Pool: bridge.Pool{Cloud: c.config.Name, Region: m.Region, Zone: m.Zone, Type: m.Type, Market: bridge.Market(m.Market)},
			State: states[m.State], Address: m.Address, Tags: m.Tags, Token: m.Token, Rate: rate,
			Launched: utc(m.Launched), Stopped: utc(m.Stopped), NoticeAt: utc(m.NoticeAt), ReclaimAt: utc(m.ReclaimAt), Fault: m.Fault,
		})
	}
	return out
}

// utc keeps "not said" what it is.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}
