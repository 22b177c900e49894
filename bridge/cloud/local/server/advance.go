package server

import (
	"context"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// Why machines end.
const (
	endTerminated = "terminated"  // the customer asked
	endExpired    = "expired"     // the end set at create
	endReclaimed  = "reclaimed"   // the cloud took a spot machine back
	endBootFailed = "boot-failed" // it came up broken
	endShutdown   = "shutdown"    // it switched itself off
	endPurged     = "purged"      // the operator of the local cloud asked
)

// advance brings the world to the present. Callers hold mu.
func (s *Server) advance() {
	now := s.time()
	changed := false
	look := now.Sub(s.watched) >= watch || now.Before(s.watched)
	if look {
		s.watched = now
	}
	for _, m := range s.machines() {
		if s.due(s.clouds[m.Cloud], m, now) {
			changed = true
		}
		if look && m.State == wire.StateRunning && !s.busy[m.ID] && !s.host.Alive(m.ID) {
			s.end(m, endShutdown, 0)
			changed = true
		}
		s.tend(m, now)
	}
	if s.forget(now) || changed {
		_ = s.commit() // Remembered in broken; the next call tells it.
	}
}

// due ends or warns a machine whose time has come.
func (s *Server) due(c *cloud, m *machine, now time.Time) bool {
	if m.State != wire.StatePending && m.State != wire.StateRunning {
		return false
	}
	stop := time.Duration(c.spec.Stop)
	switch {
	case !m.Expires.IsZero() && !now.Before(m.Expires):
		s.end(m, endExpired, stop)
	case !m.ReclaimAt.IsZero() && !now.Before(m.ReclaimAt):
		s.end(m, endReclaimed, 0)
	case m.NoticeAt.IsZero() && m.Pool.Market == string(bridge.Spot) && m.MaxRate.Micro > 0 &&
		s.price(c, m.Pool, now) > m.MaxRate.Micro:
		s.warn(m, time.Duration(c.spec.Notice))
	default:
		return false
	}
	return true
}

// warn gives a machine its notice.
func (s *Server) warn(m *machine, lead time.Duration) {
	now := s.time()
	m.NoticeAt, m.ReclaimAt = now, now.Add(lead)
	s.tell(m, "notice")
	s.wake()
}

// end begins a machine's end: it is off after the given time, and costs until
// then.
func (s *Server) end(m *machine, why string, after time.Duration) {
	now := s.time()
	if m.State == wire.StateStopping {
		if at := now.Add(after); at.Before(m.StopAt) {
			m.StopAt = at
		}
		return
	}
	m.State, m.Ended, m.StopAt = wire.StateStopping, why, now.Add(after)
	s.tell(m, "stopping")
	s.wake()
}

// tend gives the host the next thing to do for a machine, one at a time.
func (s *Server) tend(m *machine, now time.Time) {
	if s.busy[m.ID] || s.broken != nil || s.ctx.Err() != nil {
		return
	}
	switch {
	case m.State == wire.StatePending && !now.Before(m.BootAt):
		s.busy[m.ID] = true
		g := s.guest(m)
		s.work.Go(func() { s.boot(g) })
	case m.State == wire.StateStopping && !now.Before(m.StopAt):
		s.busy[m.ID] = true
		s.work.Go(func() { s.kill(m.ID) })
	}
}

// boot starts a machine on the host. It is not cut short by Close: half a
// machine would be left.
func (s *Server) boot(g Guest) {
	address, err := s.host.Boot(context.WithoutCancel(s.ctx), g)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.busy, g.ID)
	m := s.state.Machines[g.ID]
	switch {
	case m.State != wire.StatePending: // Ended meanwhile.
	case err != nil || m.Frail:
		message := "the machine ended as it came up"
		if err != nil {
			message = err.Error()
			s.log.Error("boot machine", "machine", g.ID, "err", err)
		}
		m.Fault = &wire.Error{Code: wire.CodeBootFailed, Message: message}
		s.end(m, endBootFailed, 0)
	default:
		m.State, m.Address = wire.StateRunning, address
		s.tell(m, "running")
	}
	_ = s.commit() // Remembered in broken; the next call tells it.
	s.wake()
}

func (s *Server) kill(id string) {
	err := s.host.Kill(context.WithoutCancel(s.ctx), id)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.busy, id)
	m := s.state.Machines[id]
	if err != nil {
		// It may still run, so it still costs; try again soon.
		s.log.Error("end machine", "machine", id, "err", err)
		m.StopAt = s.time().Add(time.Second)
		return
	}
	m.State, m.Stopped = wire.StateTerminated, s.time()
	s.tell(m, "terminated")
	_ = s.commit() // Remembered in broken; the next call tells it.
}

func (s *Server) tell(m *machine, kind string) {
	s.clouds[m.Cloud].feed.tell(s.time(), kind, m.ID)
}

// forget drops machines that have lingered and creates whose token is old.
func (s *Server) forget(now time.Time) bool {
	changed := false
	for id, m := range s.state.Machines {
		if c := s.clouds[m.Cloud]; !m.live() && now.Sub(m.Stopped) > time.Duration(c.spec.Linger) && !now.Before(m.ShownUntil) {
			delete(s.state.Machines, id)
			changed = true
		}
	}
	for id, op := range s.state.Operations {
		alive := false
		for _, m := range op.Machines {
			alive = alive || s.state.Machines[m] != nil
		}
		if alive {
			continue
		}
		if op.UserData != "" {
			op.UserData = ""
			changed = true
		}
		if now.Sub(op.At) > tokenMemory {
			delete(s.state.Operations, id)
			changed = true
		}
	}
	return changed
}

// price is what a pool costs at now: what a command has set, else its market.
func (s *Server) price(c *cloud, pool wire.Pool, now time.Time) int64 {
	if rate, ok := s.state.Prices[c.spec.Name+"/"+pool.String()]; ok {
		return rate
	}
	if m := c.market(pool); m != nil {
		return m.rate(s.state.Born, now)
	}
	return 0
}

// left is how many machines of a pool can still be had.
func (s *Server) left(c *cloud, m *market) int {
	stock, ok := s.state.Stock[c.spec.Name+"/"+m.pool.String()]
	if !ok {
		stock = m.spec.Stock
	}
	for _, other := range s.state.Machines {
		if other.live() && other.Cloud == c.spec.Name && other.Pool == m.pool {
			stock--
		}
	}
	return max(stock, 0)
}

func (c *cloud) market(pool wire.Pool) *market {
	for _, m := range c.markets {
		if m.pool == pool {
			return m
		}
	}
	return nil
}
