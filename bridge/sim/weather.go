package sim

import (
	"context"
	"math/rand/v2"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/sim/replay"
)

// sky is one zone with the weather of its spot market.
type sky struct {
	cloud *server.Cloud
	pools []wire.Pool
	rates []int64
	stock []int
	trace replay.Trace
}

// spotOf are the spot pools of all zones.
func (s *site) spotOf() []sky {
	var out []sky
	for i := range s.clouds.Clouds {
		c := &s.clouds.Clouds[i]
		for _, region := range c.Regions {
			for _, zone := range region.Zones {
				one := sky{cloud: c, trace: replay.Trace{Zone: replay.Zone{Name: zone.Name}}}
				for _, p := range zone.Pools {
					one.pools = append(one.pools, wire.Pool{Region: region.Name, Zone: zone.Name, Type: p.Type, Market: string(bridge.Spot)})
					one.rates, one.stock = append(one.rates, int64(p.Spot.Rate)), append(one.stock, p.Spot.Stock)
				}
				out = append(out, one)
			}
		}
	}
	return out
}

// blow plans the weather: zones run out of spot machines, and take back those
// that run, as the measured ones do, which go together inside a region and less
// so across; and prices rise.
func (w *World) blow() {
	r := w.draw("weather")
	skies := w.site.spotOf()
	zones := make([]replay.Zone, 0, len(skies))
	for i := range skies {
		skies[i].trace.Up = 0.5 + 0.48*r.Float64()
		zones = append(zones, skies[i].trace.Zone)
	}
	step := w.setup.span(replay.Step)
	traces := replay.Traces(zones, int(w.setup.Length/step)+2, w.setup.Seed)
	for i := range skies {
		skies[i].trace = traces[i]
	}
	n := 0
	w.every(func() time.Duration { return step }, func(context.Context) {
		n++
		for i := range skies {
			if has := skies[i].trace.Has; n < len(has) && has[n] != has[n-1] {
				w.turn(r, &skies[i], has[n])
			}
		}
		if r.IntN(120) == 0 {
			w.rise(r, &skies[r.IntN(len(skies))])
		}
	})
}

// turn is a zone that has spot machines again, or no longer.
func (w *World) turn(r *rand.Rand, s *sky, has bool) {
	kind := wire.CommandNotice
	if s.cloud.Notice == 0 || r.IntN(6) == 0 {
		kind = wire.CommandReclaim
	}
	w.story.tell(time.Now(), "weather: %s has spot machines: %t", s.trace.Name, has)
	for i, pool := range s.pools {
		stock := 0
		if has {
			stock = s.stock[i]
		}
		w.command(wire.Fault{Kind: wire.CommandStock, Cloud: s.cloud.Name, Pool: pool.String(), Machines: stock})
		if !has {
			w.command(wire.Fault{Kind: kind, Cloud: s.cloud.Name, Pool: pool.String()})
		}
	}
}

// rise makes the spot machines of a zone dearer for some hours.
func (w *World) rise(r *rand.Rand, s *sky) {
	by := 12 + r.Int64N(30)
	w.story.tell(time.Now(), "weather: %s costs %d tenths", s.trace.Name, by)
	for i, pool := range s.pools {
		rate := s.rates[i] * by / 10
		w.command(wire.Fault{Kind: wire.CommandPrice, Cloud: s.cloud.Name, Pool: pool.String(), Rate: &rate})
	}
	w.in(w.setup.span(between(r, 30*time.Minute, 6*time.Hour)), func(context.Context) {
		for _, pool := range s.pools {
			w.command(wire.Fault{Kind: wire.CommandPrice, Cloud: s.cloud.Name, Pool: pool.String()})
		}
	})
}

// clear ends all weather.
func (w *World) clear() {
	for _, s := range w.site.spotOf() {
		for i, pool := range s.pools {
			w.command(wire.Fault{Kind: wire.CommandPrice, Cloud: s.cloud.Name, Pool: pool.String()})
			w.command(wire.Fault{Kind: wire.CommandStock, Cloud: s.cloud.Name, Pool: pool.String(), Machines: s.stock[i]})
		}
	}
}

// command carries out a command. One that concerns nothing, because no machine
// runs there, is none.
func (w *World) command(f wire.Fault) { _ = w.operator([]wire.Fault{f}) }
