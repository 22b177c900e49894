package server

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/server/ec2"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// What a create may ask for.
const (
	TokenMax    = 64       // characters
	CountMax    = 100      // machines of one call
	UserDataMax = 16 << 10 // bytes
	TagsMax     = 50
	TagKeyMax   = 128 // characters
	TagValueMax = 256
)

// create makes all machines or none, once for each token.
func (s *Server) create(c *call) (answer, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	now, q := s.time(), &c.create
	market, no := c.validate(now)
	if no != nil {
		return answer{}, no
	}
	hash := c.hash()
	if op := s.byToken(c, q.Token); op != nil {
		if op.Hash != hash {
			return answer{}, refuse(http.StatusConflict, wire.CodeMismatch, "token %s was used with other parameters", q.Token)
		}
		c.again = true
		return s.accepted(op), nil
	}
	rate, no := s.agree(c, market, now)
	if no != nil {
		return answer{}, no
	}
	have := s.inStock(c, market)
	if c.order != nil && have >= c.order.Least {
		q.Count = have
	}
	partial := have > 0 && (market.partial || c.is(wire.FaultPartial))
	if have < q.Count && !partial {
		return s.soldOut(c, market, hash)
	}
	op := s.newOperation(c, hash)
	if market.failure == FailLongRunning && c.order == nil {
		op.DoneAt = now.Add(market.delay)
	}
	for i := range q.Count {
		m := s.newMachine(c, market, op, i, rate)
		if i >= have {
			m.State, m.Stopped = wire.StateError, now
			m.Fault = noCapacity(q.Pool)
		}
	}
	return s.finish(op)
}

// agree is the rate of new machines, if quota and ceiling allow them.
func (s *Server) agree(c *call, market *market, now time.Time) (wire.Rate, *refusal) {
	q := &c.create
	if no := s.quota(c, market); no != nil {
		return wire.Rate{}, no
	}
	if c.is(wire.FaultDearer) {
		s.state.setPrice(c.cloud.spec.Name+"/"+q.Pool.String(), 2*s.price(c.cloud, q.Pool, now), now)
	}
	rate := wire.Rate{Micro: s.price(c.cloud, q.Pool, now), Currency: c.cloud.spec.Currency}
	if q.MaxRate.Micro > 0 && rate.Micro > q.MaxRate.Micro {
		return wire.Rate{}, refuse(http.StatusBadRequest, wire.CodePrice, "%s costs %d, the ceiling is %d micro-%s an hour", q.Pool, rate.Micro, q.MaxRate.Micro, rate.Currency)
	}
	return rate, nil
}

// inStock is how many of the machines asked for there are.
func (s *Server) inStock(c *call, market *market) int {
	have := min(s.left(c.cloud, market), c.create.Count)
	switch {
	case c.is(wire.FaultNoStock):
		return 0
	case c.is(wire.FaultPartial):
		return min(have, c.hit.Machines)
	}
	return have
}

// validate refuses what is wrong whatever the world looks like.
func (c *call) validate(now time.Time) (*market, *refusal) {
	q := &c.create
	bad := func(format string, args ...any) (*market, *refusal) {
		return nil, refuse(http.StatusBadRequest, wire.CodeInvalid, format, args...)
	}
	market := c.cloud.market(q.Pool)
	printable := func(r rune) bool { return r < '!' || r > '~' }
	switch {
	case market == nil:
		return bad("there is no pool %s", q.Pool)
	case q.Count < 1 || q.Count > CountMax:
		return bad("count is %d, want 1 to %d", q.Count, CountMax)
	case len(q.Token) > TokenMax || strings.ContainsFunc(q.Token, printable):
		return bad("token is not at most %d printable ASCII characters", TokenMax)
	case len(q.UserData) > UserDataMax:
		return bad("user-data is %d bytes, at most %d are allowed", len(q.UserData), UserDataMax)
	case q.MaxRate.Micro < 0 || q.MaxRate.Micro > 0 && q.MaxRate.Currency != c.cloud.spec.Currency:
		return bad("max_rate must be positive and in %s", c.cloud.spec.Currency)
	case !q.Expires.IsZero() && !q.Expires.After(now):
		return bad("expires is not in the future")
	}
	if no := checkTags(q.Tags); no != nil {
		return nil, no
	}
	return market, nil
}

func checkTags(tags map[string]string) *refusal {
	if len(tags) > TagsMax {
		return refuse(http.StatusBadRequest, wire.CodeInvalid, "%d tags, at most %d are allowed", len(tags), TagsMax)
	}
	for k, v := range tags {
		if k == "" || len(k) > TagKeyMax || len(v) > TagValueMax || strings.Contains(k, "=") {
			return refuse(http.StatusBadRequest, wire.CodeInvalid, "tag %q: at most %d characters without =, and %d for the value", k, TagKeyMax, TagValueMax)
		}
	}
	return nil
}

// quota refuses what the account may not have at one time.
func (s *Server) quota(c *call, market *market) *refusal {
	for _, q := range c.account.spec.Quotas {
		if !q.covers(market) {
			continue
		}
		have, kind := s.rented(c, q.covers), market.kind
		for _, limit := range []struct {
			of        string
			most      *int
			have, one int
		}{
			{"machines", q.Machines, have.machines, 1},
			{"GPUs", q.GPUs, have.gpus, kind.GPUs},
			{"vCPUs", q.VCPUs, have.cpus, kind.CPUs},
		} {
			if with := limit.have + c.create.Count*limit.one; limit.most != nil && limit.one > 0 && with > *limit.most {
				no := refuse(http.StatusForbidden, wire.CodeQuota, "quota of %d %s, %d with this call", *limit.most, limit.of, with)
				no.quota = strings.ToLower(limit.of)
				return no
			}
		}
	}
	return nil
}

// covers says whether a quota is for machines of a pool.
func (q *Quota) covers(m *market) bool {
	return (q.Region == "" || q.Region == m.pool.Region) && (q.Market == "" || q.Market == m.pool.Market) &&
		(q.Family == "" || q.Family == ec2.FamilyOf(m.kind.Name, m.kind.GPUs, m.pool.Market))
}

// holding is what an account has.
type holding struct{ machines, gpus, cpus int }

// rented counts what the calling account has in matching pools. What is in a pool
// that the world no longer has counts as a machine of any.
func (s *Server) rented(c *call, matches func(*market) bool) (have holding) {
	for _, m := range s.state.Machines {
		if !m.live() || m.Cloud != c.cloud.spec.Name || m.Account != c.account.spec.Name {
			continue
		}
		market := c.cloud.market(m.Pool)
		if market == nil {
			market = newMarketOf(m)
		}
		if matches(market) {
			have.machines++
			have.gpus += market.kind.GPUs
			have.cpus += market.kind.CPUs
		}
	}
	return have
}

// newMarketOf stands for a pool of which no more than a machine is known.
func newMarketOf(m *machine) *market { return &market{pool: m.Pool, kind: Type{Name: m.Pool.Type}} }

// soldOut tells a lack of stock in the pool's shape.
func (s *Server) soldOut(c *call, market *market, hash string) (answer, *refusal) {
	fault := noCapacity(market.pool)
	failure := market.failure
	if c.order != nil && failure != FailInstances {
		failure = FailError // EC2 has no other shape for it.
	}
	switch failure {
	case FailError:
		return answer{}, &refusal{status: http.StatusServiceUnavailable, Error: *fault}
	case FailList:
		return answer{http.StatusOK, wire.Created{Errors: []wire.Error{*fault}}}, nil
	case FailOperation, FailLongRunning:
		op := s.newOperation(c, hash)
		op.Error = fault
		if market.failure == FailLongRunning {
			op.DoneAt = op.At.Add(market.delay)
		}
		return s.finish(op)
	case FailInstances:
		op := s.newOperation(c, hash)
		for i := range c.create.Count {
			m := s.newMachine(c, market, op, i, wire.Rate{Currency: c.cloud.spec.Currency})
			m.State, m.Stopped, m.Fault = wire.StateError, op.At, fault
		}
		return s.finish(op)
	}
	panic("failure shape " + failure) // World.check allows no other.
}

func noCapacity(p wire.Pool) *wire.Error {
	return &wire.Error{Code: wire.CodeNoCapacity, Message: "there is not enough of " + p.String() + " now"}
}

func (s *Server) newOperation(c *call, hash string) *operation {
	now := s.time()
	op := &operation{
		ID: "op-" + s.id(), Cloud: c.cloud.spec.Name, Account: c.account.spec.Name,
		Token: c.create.Token, Hash: hash, At: now, DoneAt: now, UserData: c.create.UserData,
	}
	s.state.Operations[op.ID] = op
	return op
}

func (s *Server) newMachine(c *call, market *market, op *operation, index int, rate wire.Rate) *machine {
	spec := &c.cloud.spec
	m := &machine{
		Instance: wire.Instance{
			ID: "i-" + s.id(), Pool: market.pool, State: wire.StatePending,
			Tags: maps.Clone(c.create.Tags), Token: op.Token, Rate: rate, Launched: op.At, Expires: c.create.Expires.UTC(),
		},
		Cloud: op.Cloud, Account: op.Account, Operation: op.ID, Index: index, MaxRate: c.create.MaxRate,
		BootAt: op.At.Add(time.Duration(spec.Boot)), VisibleAt: op.At.Add(time.Duration(spec.Visibility)),
		GPUs: market.kind.GPUs, Step: time.Duration(spec.Billing.Step), Minimum: time.Duration(spec.Billing.Minimum),
	}
	m.Term, m.EarlyPM = market.term(spec)
	if c.order != nil {
		m.ID, m.EC2 = ec2.MachineID(m.ID), &c.order.Manner
	}
	if c.hit != nil {
		m.afflict(c.hit)
	}
	s.state.Machines[m.ID] = m
	op.Machines = append(op.Machines, m.ID)
	return m
}

// afflict gives a new machine the ailment a fault asks for.
func (m *machine) afflict(f *hit) {
	switch f.Kind { //nolint:exhaustive // The others do not concern machines.
	case wire.FaultSlowBoot:
		m.BootAt = m.BootAt.Add(time.Duration(f.Delay))
	case wire.FaultHidden:
		m.VisibleAt = m.VisibleAt.Add(f.lag())
	case wire.FaultNeverJoins:
		m.Mute = true
	case wire.FaultDiesAtBoot:
		m.Frail = true
	case wire.FaultWrongGPUs:
		m.GPUs = max(m.GPUs-max(f.Machines, 1), 0)
	}
}

// finish makes an operation durable before it is answered.
func (s *Server) finish(op *operation) (answer, *refusal) {
	if no := s.durable(); no != nil {
		return answer{}, no
	}
	for _, id := range op.Machines {
		s.tell(s.state.Machines[id], "created")
	}
	s.wake()
	return s.accepted(op), nil
}

func (s *Server) durable() *refusal {
	if err := s.commit(); err != nil {
		return refuse(http.StatusInternalServerError, wire.CodeInternal, "%v", err)
	}
	return nil
}

func (s *Server) accepted(op *operation) answer {
	shown := s.show(op)
	return answer{http.StatusAccepted, wire.Created{Operation: &shown}}
}

// show is an operation as customers see it.
func (s *Server) show(op *operation) wire.Operation {
	out := wire.Operation{ID: op.ID, Status: wire.StatusDone, Instances: op.Machines}
	switch {
	case s.time().Before(op.DoneAt):
		out.Status = wire.StatusRunning
	case op.Error != nil:
		out.Status, out.Error = wire.StatusFailed, op.Error
	}
	for _, id := range op.Machines {
		if s.state.Machines[id] == nil {
			out.Ended = append(out.Ended, id)
		}
	}
	return out
}

// hash stands for all that a create asks for.
func (c *call) hash() string {
	if c.order != nil {
		return c.order.Hash
	}
	return hashOf(&c.create)
}

func (s *Server) byToken(c *call, token string) *operation {
	if token == "" {
		return nil
	}
	for _, op := range s.state.Operations {
		if op.Token == token && op.Cloud == c.cloud.spec.Name && op.Account == c.account.spec.Name {
			return op
		}
	}
	return nil
}

func hashOf(q *wire.Create) string {
	text, err := json.Marshal(q)
	if err != nil {
		panic(err) // A time outside of years 0 to 9999 was refused when it was read.
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// operation shows an accepted create.
func (s *Server) operation(c *call) (answer, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	op := s.state.Operations[c.req.PathValue("id")]
	if op == nil || op.Cloud != c.cloud.spec.Name || op.Account != c.account.spec.Name {
		return answer{}, refuse(http.StatusNotFound, wire.CodeNotFound, "there is no operation %s", c.req.PathValue("id"))
	}
	return answer{http.StatusOK, s.show(op)}, nil
}

// offers shows every pool with its price of this moment.
func (s *Server) offers(c *call) (answer, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	now := s.time()
	out := wire.Offers{Offers: []wire.Offer{}}
	for _, m := range c.cloud.markets {
		o := s.offer(c.cloud, m, now)
		if !c.cloud.spec.HideStock {
			left := s.left(c.cloud, m)
			o.Available = &left
		}
		out.Offers = append(out.Offers, o)
	}
	return answer{http.StatusOK, out}, nil
}

// offer is a pool at its price of now, without what is left of it.
func (s *Server) offer(c *cloud, m *market, now time.Time) wire.Offer {
	spec := &c.spec
	o := wire.Offer{
		Pool: m.pool, CPUs: m.kind.CPUs, MemoryMiB: m.kind.MemoryMiB, DiskMiB: m.kind.DiskMiB,
		GPUType: m.kind.GPUType, GPUs: m.kind.GPUs, GPUMemoryMiB: m.kind.GPUMemoryMiB, Network: m.kind.Network, Features: slices.Clone(m.kind.Features),
		Rate:      wire.Rate{Micro: s.price(c, m.pool, now), Currency: spec.Currency},
		SampledAt: now, MaxAge: wire.Duration(spec.PriceAge), Boot: wire.Duration(spec.Boot),
		Step: wire.Duration(spec.Billing.Step), Minimum: wire.Duration(spec.Billing.Minimum),
	}
	term, early := m.term(spec)
	o.Term, o.EarlyPM = wire.Duration(term), early
	if m.pool.Market == string(bridge.Spot) {
		o.Notice = wire.Duration(spec.Notice)
	}
	return o
}
