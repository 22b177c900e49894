package server

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// market is one pool as the server sells it.
type market struct {
	pool    wire.Pool
	kind    Type
	spec    MarketSpec
	failure Failure
	partial bool
	delay   time.Duration
	seed    uint64
}

// markets flattens a cloud's regions, in the order of the world file.
func (c *Cloud) markets(seed uint64) []*market {
	kinds := map[string]Type{}
	for _, t := range c.Types {
		kinds[t.Name] = t
	}
	var out []*market
	for _, r := range c.Regions {
		for _, z := range r.Zones {
			for _, s := range z.Pools {
				for _, m := range []struct {
					market bridge.Market
					spec   *MarketSpec
				}{{bridge.OnDemand, s.OnDemand}, {bridge.Spot, s.Spot}} {
					if m.spec == nil {
						continue
					}
					pool := wire.Pool{Region: r.Name, Zone: z.Name, Type: s.Type, Market: string(m.market)}
					out = append(out, &market{
						pool: pool, kind: kinds[s.Type], spec: *m.spec, failure: s.Failure, partial: s.Partial,
						delay: time.Duration(s.Delay), seed: mix(seed, c.Name, pool.String()),
					})
				}
			}
		}
	}
	return out
}

// term is how long a machine of the market is taken for, and the per mille of
// the rest of it that an earlier end costs. What a cloud may take back at any
// time has no term.
func (m *market) term(c *Cloud) (time.Duration, int) {
	if m.pool.Market == string(bridge.Spot) {
		return 0, 0
	}
	return time.Duration(c.Billing.Term), 10 * c.Billing.Early
}

// rate is the market's own price at now, for a world born at born. It is a
// function of time alone, so a restarted server goes on with the same prices:
// noise of three speeds, the slower ones standing for the trend, which never
// leaves rate ± swing percent.
func (m *market) rate(born, now time.Time) int64 {
	age := max(now.Sub(born), 0)
	if n := len(m.spec.Timeline); n > 0 {
		rate := m.spec.Rate
		for _, moment := range m.spec.Timeline {
			if time.Duration(moment.After) <= age {
				rate = moment.Rate
			}
		}
		return int64(rate)
	}
	if m.spec.Swing == 0 {
		return int64(m.spec.Rate)
	}
	step := uint64(age / time.Duration(m.spec.Every))
	perMille := (m.noise(step) + 2*m.noise(step/4) + 3*m.noise(step/16)) / 6
	return int64(m.spec.Rate) + int64(m.spec.Rate)/1000*perMille/100*int64(m.spec.Swing)
}

// noise is a number from -1000 to 1000 that belongs to a step of time.
func (m *market) noise(step uint64) int64 {
	return int64(rand.New(rand.NewPCG(m.seed, step)).IntN(2001)) - 1000 //nolint:gosec // Prices that come again with their seed; no secret.
}

func mix(seed uint64, parts ...string) uint64 {
	h := fnv.New64a()
	_ = binary.Write(h, binary.LittleEndian, seed) // A hash never fails to write.
	for _, p := range parts {
		_, _ = h.Write([]byte(p + "\x00"))
	}
	return h.Sum64()
}
