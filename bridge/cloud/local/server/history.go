package server

import (
	"time"

	"spillway.sh/spillway/bridge/cloud/local/server/ec2"
)

// history is what a pool has cost: at from, and at each change up to to, the
// latest first. It is short of the oldest where there are too many. A price that a
// command has set counts from then on.
func (s *Server) history(c *cloud, m *market, from, to time.Time) []ec2.Moment {
	key := c.spec.Name + "/" + m.pool.String()
	set, fixed := s.state.Prices[key]
	since := s.state.PricesAt[key]
	if fixed && !since.After(from) {
		return []ec2.Moment{{At: since, Micro: set}}
	}
	var out []ec2.Moment
	end := to
	if fixed && since.Before(to) {
		out = append(out, ec2.Moment{At: since, Micro: set})
		end = since
	}
	for at := m.changed(s.state.Born, end); len(out) < historyMost; at = m.changed(s.state.Born, at.Add(-1)) {
		out = append(out, ec2.Moment{At: at, Micro: m.rate(s.state.Born, at)})
		if !at.After(from) || !at.After(s.state.Born) {
			break
		}
	}
	return out
}

// changed is when the price that holds at a time began, not before the world did.
func (m *market) changed(born, at time.Time) time.Time {
	age := max(at.Sub(born), 0)
	last := time.Duration(0)
	switch {
	case len(m.spec.Timeline) > 0:
		for _, moment := range m.spec.Timeline {
			if after := time.Duration(moment.After); after <= age {
				last = max(last, after)
			}
		}
	case m.spec.Swing > 0:
		last = age - age%time.Duration(m.spec.Every)
	}
	return born.Add(last)
}
