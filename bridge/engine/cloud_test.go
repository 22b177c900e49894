package engine_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
)

// cloud is a small honest cloud: tokens are honoured, machines boot, register
// with the cluster, are noticed and taken, and cost money until they are gone.
type cloud struct {
	skew    time.Duration // of its clock
	name    string
	cluster *cluster

	mu       sync.Mutex
	pools    map[bridge.Pool]*pool
	machines map[string]*machine
	accepted map[string]bridge.Handle // by token
	next     int
	faults   map[string][]string // by call, in order; an empty one is none
	calls    map[string]int
	creates  []bridge.Launch
	stale    *bridge.Listing                      // answers lists instead of the truth
	hide     map[string]bool                      // missing from lists
	lost     map[string]bool                      // missing from direct looks too
	forgets  bool                                 // gone machines are not listed
	booked   func(context.Context, bridge.Launch) // looks at each create as it comes; nil: nobody does
	boot     time.Duration                        // from create to registered
	dearer   int64                                // times its own price is what it charges; zero: once
	fills    int                                  // machines of a create at most; zero: all
	slow     time.Duration                        // that a create takes
	reach    bridge.Reach                         // of refusals
	refuses  func(*bridge.Launch) bridge.CloudErrorKind
	quota    func(bridge.Pool) int // machines that a pool may still give; nil: nobody says
	bump     chan struct{}
	seq      int
}

type pool struct {
	rate   bridge.Rate
	stock  int
	notice time.Duration
}

type machine struct {
	bridge.Instance
	launch  bridge.Launch
	ordinal int
	gpus    int
	never   bool // does not register
	upAt    time.Time
	up      bool
	endAt   time.Time // stopping until
}

func newCloud(name string, c *cluster) *cloud {
	return &cloud{
		name: name, cluster: c, pools: map[bridge.Pool]*pool{}, machines: map[string]*machine{},
		accepted: map[string]bridge.Handle{}, faults: map[string][]string{}, calls: map[string]int{},
		hide: map[string]bool{}, lost: map[string]bool{}, boot: 5 * time.Second, bump: make(chan struct{}),
	}
}

func (c *cloud) sell(market bridge.Market, perHour float64, stock int) bridge.Pool {
	p := bridge.Pool{Cloud: c.name, Region: "r1", Zone: "z1", Type: "g8", Market: market}
	c.pools[p] = &pool{rate: bridge.Rate{Micro: int64(perHour * bridge.Micro), Currency: "USD"}, stock: stock, notice: 2 * time.Minute}
	return p
}

// fault makes the next calls of a kind fail in turn.
func (c *cloud) fault(call string, faults ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults[call] = append(c.faults[call], faults...)
}

func (c *cloud) err(op string, kind bridge.CloudErrorKind) error {
	return &bridge.CloudError{Kind: kind, Op: op, Cloud: c.name, Code: "Code-" + string(kind), Reach: c.reach}
}

// cut is a call whose answer never came: nobody said a word.
func (c *cloud) cut(op string) error {
	return &bridge.CloudError{Kind: bridge.CloudUnknown, Op: op, Cloud: c.name, Err: io.ErrUnexpectedEOF}
}

// enter is the head of every call: it counts, takes the next fault, and brings
// the machines to the present; mu is held after it.
func (c *cloud) enter(call string) string {
	c.mu.Lock()
	c.calls[call]++
	fault := ""
	if fs := c.faults[call]; len(fs) > 0 {
		fault, c.faults[call] = fs[0], fs[1:]
	}
	c.advance()
	return fault
}

func (c *cloud) advance() {
	now := time.Now()
	for _, id := range slices.Sorted(maps.Keys(c.machines)) {
		m := c.machines[id]
		if m.State == bridge.InstancePending {
			m.State, m.Address = bridge.InstanceRunning, "10.0.0."+fmt.Sprint(m.ordinal+1)
		}
		if m.State == bridge.InstanceRunning && !m.up && !m.never && !now.Before(m.upAt) && c.cluster.answers() {
			m.up = true
			c.cluster.register(bridge.NodeName(m.launch.Rental, m.ordinal), m.gpus)
		}
		if m.State == bridge.InstanceRunning && (!m.ReclaimAt.IsZero() && !now.Before(m.ReclaimAt) || !now.Before(m.launch.Expires)) {
			c.stop(m, now)
		}
		if m.State == bridge.InstanceStopping && !now.Before(m.endAt) {
			m.State, m.Stopped = bridge.InstanceGone, m.endAt
		}
	}
}

func (c *cloud) stop(m *machine, at time.Time) {
	m.State, m.Stopped = bridge.InstanceGone, at
	c.cluster.lose(bridge.NodeName(m.launch.Rental, m.ordinal))
}

func (c *cloud) Name() string { return c.name }

func (c *cloud) Offers(context.Context) ([]bridge.Offer, error) {
	fault := c.enter("Offers")
	defer c.mu.Unlock()
	if fault != "" {
		return nil, c.err("offers", bridge.CloudErrorKind(fault))
	}
	var out []bridge.Offer
	for p, v := range c.pools {
		out = append(out, bridge.Offer{
			Pool: p, Shape: bridge.Shape{CPUs: 8, MemoryMiB: 64000, GPUs: 8, GPUType: "a100"}, Rate: v.rate,
			SampledAt: time.Now().Add(c.skew), MaxAge: 10 * time.Minute, Boot: c.boot, Available: -1,
			Step: time.Second, Minimum: time.Minute, Notice: v.notice,
		})
		if c.quota != nil {
			o := &out[len(out)-1]
			o.Available, o.Limited = c.quota(p), "gpus in "+p.Region
		}
	}
	return out, nil
}

func (c *cloud) Create(ctx context.Context, l bridge.Launch) (bridge.Handle, error) {
	if c.booked != nil {
		c.booked(ctx, l)
	}
	if c.slow > 0 {
		time.Sleep(c.slow)
	}
	fault := c.enter("Create")
	defer c.mu.Unlock()
	c.creates = append(c.creates, l)
	if c.refuses != nil {
		if kind := c.refuses(&l); kind != "" {
			return "", c.err("create", kind)
		}
	}
	switch fault {
	case "", "lost":
	case "lost-before":
		return "", c.cut("create")
	case "hang":
		c.mu.Unlock()
		<-ctx.Done()
		c.mu.Lock()
		return "", &bridge.CloudError{Kind: bridge.CloudUnknown, Op: "create", Cloud: c.name, Err: ctx.Err()}
	default:
		return "", c.err("create", bridge.CloudErrorKind(fault))
	}
	h, again := c.accepted[l.Token]
	if !again {
		p := c.pools[l.Pool]
		if p == nil || p.stock < l.Count {
			return "", c.err("create", bridge.CloudNoCapacity)
		}
		if l.MaxRate.Micro > 0 && p.rate.Micro > l.MaxRate.Micro {
			return "", c.err("create", bridge.CloudPrice)
		}
		p.stock -= l.Count
		rate := p.rate
		rate.Micro *= max(c.dearer, 1)
		for i := range min(l.Count, cmp.Or(c.fills, l.Count)) {
			c.add(l, i, rate)
		}
		h = bridge.Handle("op-" + l.Token[:8])
		c.accepted[l.Token] = h
	}
	if fault == "lost" {
		return "", c.cut("create")
	}
	return h, nil
}

func (c *cloud) add(l bridge.Launch, ordinal int, rate bridge.Rate) *machine {
	c.next++
	m := &machine{launch: l, ordinal: ordinal, gpus: 8, upAt: time.Now().Add(c.boot)}
	m.Instance = bridge.Instance{
		ID: fmt.Sprintf("%s-%03d", c.name, c.next), Pool: l.Pool, State: bridge.InstancePending,
		Tags: l.Tags, Token: l.Token, Rate: rate, Launched: time.Now(),
	}
	c.machines[m.ID] = m
	return m
}

func (c *cloud) Observe(_ context.Context, l bridge.Launch, _ bridge.Handle) ([]bridge.Instance, error) {
	fault := c.enter("Observe")
	defer c.mu.Unlock()
	if fault != "" {
		return nil, c.err("observe", bridge.CloudErrorKind(fault))
	}
	var out []bridge.Instance
	for _, id := range slices.Sorted(maps.Keys(c.machines)) {
		if m := c.machines[id]; m.Token == l.Token && !c.lost[id] {
			out = append(out, m.Instance)
		}
	}
	return out, nil
}

func (c *cloud) List(_ context.Context, storeID, clusterName string) (bridge.Listing, error) {
	fault := c.enter("List")
	defer c.mu.Unlock()
	if c.stale != nil {
		return *c.stale, nil
	}
	if fault != "" && fault != "partial" && fault != "cut" {
		return bridge.Listing{}, c.err("list", bridge.CloudErrorKind(fault))
	}
	l := bridge.Listing{Cloud: c.name, At: time.Now(), Complete: fault == ""}
	for _, id := range slices.Sorted(maps.Keys(c.machines)) {
		m := c.machines[id]
		mine := m.Tags[bridge.TagStore] == storeID || m.Tags[bridge.TagCluster] == clusterName
		if !mine || c.hide[id] || fault == "partial" || c.forgets && m.State == bridge.InstanceGone {
			continue
		}
		l.Instances = append(l.Instances, m.Instance)
	}
	return l, nil
}

func (c *cloud) Terminate(_ context.Context, ids []string) error {
	fault := c.enter("Terminate")
	defer c.mu.Unlock()
	if fault == "lost-before" {
		return c.err("terminate", bridge.CloudUnknown)
	}
	for _, id := range ids {
		if m := c.machines[id]; m != nil && m.State != bridge.InstanceGone && m.State != bridge.InstanceStopping {
			m.State, m.endAt = bridge.InstanceStopping, time.Now().Add(time.Second)
			c.cluster.lose(bridge.NodeName(m.launch.Rental, m.ordinal))
		}
	}
	if fault == "lost" {
		return c.err("terminate", bridge.CloudUnknown)
	}
	return nil
}

// Extend moves the end of machines.
func (c *cloud) Extend(_ context.Context, ids []string, expires time.Time) error {
	fault := c.enter("Extend")
	defer c.mu.Unlock()
	if fault != "" {
		return c.err("extend", bridge.CloudErrorKind(fault))
	}
	for _, id := range ids {
		m := c.machines[id]
		m.launch.Expires, m.Tags = expires, maps.Clone(m.Tags)
		m.Tags[bridge.TagExpires] = expires.Format(time.RFC3339)
	}
	return nil
}

// Changed tells of notices.
func (c *cloud) Changed(ctx context.Context, cursor string) (string, error) {
	for {
		c.mu.Lock()
		seq, bump := fmt.Sprint(c.seq), c.bump
		c.mu.Unlock()
		if seq != cursor {
			return seq, nil
		}
		select {
		case <-bump:
		case <-ctx.Done():
			return cursor, ctx.Err()
		}
	}
}

func (c *cloud) changed() {
	c.seq++
	close(c.bump)
	c.bump = make(chan struct{})
}

// notice warns of the taking of a machine, two minutes ahead.
func (c *cloud) notice(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.machines[id]
	m.NoticeAt, m.ReclaimAt = time.Now(), time.Now().Add(2*time.Minute)
	c.changed()
}

// vanish takes a machine without a word; forgotten, no list shows it any more.
func (c *cloud) vanish(id string, forgotten bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop(c.machines[id], time.Now())
	c.hide[id], c.lost[id] = forgotten, forgotten
}

// live are the machines that cost money now, by id.
func (c *cloud) live() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	var out []string
	for _, id := range slices.Sorted(maps.Keys(c.machines)) {
		if c.machines[id].State != bridge.InstanceGone {
			out = append(out, id)
		}
	}
	return out
}

// cost is what the cloud's own books say.
func (c *cloud) cost() bridge.Money {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := bridge.Money{Currency: "USD"}
	for _, m := range c.machines {
		end := m.Stopped
		if end.IsZero() {
			end = time.Now()
		}
		d := end.Sub(m.Launched)
		d = max(d.Round(time.Second), time.Minute)
		if d < end.Sub(m.Launched) {
			d += time.Second
		}
		one, _ := m.Rate.Cost(d, 1, bridge.RoundHalfEven)
		sum.Micro += one.Micro
	}
	return sum
}

func (c *cloud) setup(f func(*cloud)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c)
}

// sent is how many create calls arrived, made how many machines there ever were.
func (c *cloud) sent() int { c.mu.Lock(); defer c.mu.Unlock(); return len(c.creates) }
func (c *cloud) made() int { c.mu.Lock(); defer c.mu.Unlock(); return c.next }

func (c *cloud) called(name string) int { c.mu.Lock(); defer c.mu.Unlock(); return c.calls[name] }

// first is the first create call.
func (c *cloud) first() bridge.Launch { c.mu.Lock(); defer c.mu.Unlock(); return c.creates[0] }
