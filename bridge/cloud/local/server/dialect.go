package server

import (
	"maps"
	"net/http"
	"strings"
	"time"

	"spillway.sh/spillway/bridge/cloud/local/server/ec2"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// dialect is the world as package ec2 sees it.
type dialect struct{ s *Server }

// account finds an account by its name.
func (c *cloud) account(name string) *account {
	for _, a := range c.accounts {
		if a.spec.Name == name {
			return a
		}
	}
	return nil
}

// Account implements ec2.World: a key id is CLOUD-ACCOUNT, as the token's file is
// called.
func (d dialect) Account(cloud, key string) (account, secret string, ok bool) {
	c := d.s.clouds[cloud]
	name, ours := strings.CutPrefix(key, cloud+"-")
	if c == nil || !ours {
		return "", "", false
	}
	a := c.account(name)
	if a == nil {
		return "", "", false
	}
	return name, a.secret, true
}

// Pools implements ec2.World.
func (d dialect) Pools(cloud string) []wire.Offer {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	c, now := d.s.clouds[cloud], d.s.time()
	out := make([]wire.Offer, 0, len(c.markets))
	for _, m := range c.markets {
		out = append(out, d.s.offer(c, m, now))
	}
	return out
}

// Admit implements ec2.World. EC2 counts by region, the other services for
// themselves.
func (d dialect) Admit(call ec2.Call) bool {
	a := d.s.clouds[call.Cloud].account(call.Account)
	key, op := call.Service, call.Op
	if call.Service == "ec2" {
		key += "/" + call.Region
	}
	if call.Action == "CreateTags" {
		op = opTag
	}
	d.s.mu.Lock()
	l, ok := a.regional[key]
	if !ok {
		l = newLimits(d.s.clouds[call.Cloud].spec.Limits)
		a.regional[key] = l
	}
	d.s.mu.Unlock()
	_, ok = l.admit(op, time.Now())
	return ok
}

// Begin implements ec2.World.
func (d dialect) Begin(r *http.Request, asked ec2.Call) (ec2.Work, *ec2.No) {
	cloud := d.s.clouds[asked.Cloud]
	c := &call{cloud: cloud, account: cloud.account(asked.Account), op: asked.Op, action: asked.Action, req: r}
	c.create.Pool = asked.Pool
	if no := d.s.before(c); no != nil {
		return nil, no.told()
	}
	return &work{d.s, c}, nil
}

// told is a refusal as the dialect is told it.
func (r *refusal) told() *ec2.No {
	if r == nil {
		return nil
	}
	return &ec2.No{Error: r.Error, Quota: r.quota}
}

// work is a call of the dialect that has begun.
type work struct {
	s *Server
	c *call
}

// End implements ec2.Work.
func (w *work) End() *ec2.No { return w.s.after(w.c).told() }

// Now implements ec2.Work.
func (w *work) Now() time.Time { return w.s.time() }

// Left implements ec2.Work.
func (w *work) Left(pool wire.Pool) int {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.advance()
	if m := w.c.cloud.market(pool); m != nil {
		return w.s.left(w.c.cloud, m)
	}
	return 0
}

// Create implements ec2.Work.
func (w *work) Create(o ec2.Order) (out []ec2.Machine, again bool, _ *ec2.No) {
	w.c.create, w.c.order = o.Create, &o
	made, no := w.s.create(w.c)
	if no != nil {
		return nil, false, no.told()
	}
	op := made.body.(wire.Created).Operation // EC2 knows no list of errors.
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	for _, id := range op.Instances {
		if m := w.s.state.Machines[id]; m != nil {
			out = append(out, w.machine(m))
		}
	}
	return out, w.c.again, nil
}

// machine is a machine as the dialect sees it. Callers hold mu.
func (w *work) machine(m *machine) ec2.Machine {
	now := w.s.time()
	out := ec2.Machine{
		Instance: m.shown(now), Reservation: m.Operation, Index: m.Index, MaxRate: m.MaxRate, Visible: !now.Before(m.VisibleAt),
	}
	if m.EC2 != nil {
		out.Manner = *m.EC2
	}
	return out
}

// List implements ec2.Work.
func (w *work) List(l ec2.Look) (ec2.Page, *ec2.No) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.advance()
	page, no := w.s.listing(w.c, l)
	if no != nil {
		return ec2.Page{}, no.told()
	}
	out := ec2.Page{Next: page.Next}
	for _, m := range page.Instances {
		one := ec2.Machine{Instance: m}
		if known := w.s.state.Machines[m.ID]; known != nil {
			one = w.machine(known)
			one.Instance = m // As the page has it, spoilt or old.
		}
		out.Machines = append(out.Machines, one)
	}
	return out, nil
}

// own finds a machine of the calling account. Callers hold mu.
func (w *work) own(id string) *machine {
	m := w.s.state.Machines[id]
	if m == nil || m.Cloud != w.c.cloud.spec.Name || m.Account != w.c.account.spec.Name {
		return nil
	}
	return m
}

// Find implements ec2.Work.
func (w *work) Find(ids []string) map[string]ec2.Machine {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.advance()
	out := map[string]ec2.Machine{}
	for _, id := range ids {
		if m := w.own(id); m != nil {
			out[id] = w.machine(m)
		}
	}
	return out
}

// Terminate implements ec2.Work.
func (w *work) Terminate(ids []string) ([]ec2.Change, *ec2.No) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	var out []ec2.Change
	for _, id := range ids {
		m := w.own(id)
		if m == nil {
			continue // It has just been forgotten.
		}
		change := ec2.Change{ID: id, Before: m.State, After: wire.StateStopping}
		if !w.c.is(wire.FaultDeafTerminate) {
			w.s.finishOff(w.c, m)
			change.After = m.State
		}
		out = append(out, change)
	}
	return out, w.s.durable().told()
}

// Tag implements ec2.Work.
func (w *work) Tag(ids []string, set map[string]string, unset []string) *ec2.No {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	changed := map[string]map[string]string{}
	for _, id := range ids {
		m := w.own(id)
		if m == nil {
			continue // It has just been forgotten.
		}
		tags := map[string]string{}
		maps.Copy(tags, m.Tags)
		maps.Copy(tags, set)
		for _, key := range unset {
			delete(tags, key)
		}
		if no := checkTags(tags); no != nil {
			return no.told()
		}
		changed[id] = tags
	}
	for id, tags := range changed {
		w.s.state.Machines[id].Tags = tags
	}
	return w.s.durable().told()
}

// Quotas implements ec2.Work.
func (w *work) Quotas() []ec2.Quota {
	var out []ec2.Quota
	for _, q := range w.c.account.spec.Quotas {
		if q.VCPUs != nil {
			out = append(out, ec2.Quota{Region: q.Region, Market: q.Market, Family: q.Family, VCPUs: *q.VCPUs})
		}
	}
	return out
}

// historyMost is the most prices of one pool that are told.
const historyMost = 1000

// History implements ec2.Work. What a command has set counts from when it did.
func (w *work) History(pool wire.Pool, from, to time.Time) []ec2.Moment {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	m := w.c.cloud.market(pool)
	if m == nil {
		return nil
	}
	return w.s.history(w.c.cloud, m, from, to)
}
