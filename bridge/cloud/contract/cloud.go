package contract

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// Inner is a cloud as the engine knows it, which all of this is added to.
type Inner interface {
	Name() string
	Offers(ctx context.Context) ([]bridge.Offer, error)
	Create(ctx context.Context, l bridge.Launch) (bridge.Handle, error)
	Observe(ctx context.Context, l bridge.Launch, h bridge.Handle) ([]bridge.Instance, error)
	List(ctx context.Context, storeID, cluster string) (bridge.Listing, error)
	Terminate(ctx context.Context, ids []string) error
}

// What some clouds can do besides.
type (
	extender interface {
		Extend(ctx context.Context, ids []string, expires time.Time) error
	}
	teller interface {
		Changed(ctx context.Context, cursor string) (next string, err error)
	}
)

// Cloud is a cloud with contracts. It is safe for concurrent use.
type Cloud struct {
	inner     Inner
	contracts []bridge.Capacity // of this cloud, by name
	now       func() time.Time
	books     books
}

// New adds those contracts of all capacity that are with the inner cloud. What it
// returns can do all that the inner one can; without a contract it is that one.
func New(inner Inner, all []bridge.Capacity, now func() time.Time) Inner {
	c := &Cloud{inner: inner, now: now, books: newBooks()}
	for _, one := range all {
		if one.Kind != bridge.Owned && one.Cloud == inner.Name() {
			c.contracts = append(c.contracts, one)
		}
	}
	slices.SortFunc(c.contracts, func(a, b bridge.Capacity) int { return cmp.Compare(a.Name, b.Name) })
	later, extends := inner.(extender)
	changes, tells := inner.(teller)
	switch {
	case len(c.contracts) == 0:
		return inner
	case extends && tells:
		return &extendingTeller{extending{c, later}, changes}
	case extends:
		return &extending{c, later}
	case tells:
		return &telling{c, changes}
	}
	return c
}

type extending struct {
	*Cloud
	later extender
}

type telling struct {
	*Cloud
	teller
}

type extendingTeller struct {
	extending
	teller
}

// Extend moves the end of machines, of those of a contract no further than its
// own.
func (e *extending) Extend(ctx context.Context, ids []string, expires time.Time) error {
	for i := range e.contracts {
		k := &e.contracts[i]
		if !k.Until.IsZero() && expires.After(k.Until) && e.books.anyOf(k.Name, ids) {
			return e.refuse("extend", bridge.CloudInvalid, "ContractEnded", "contract %s ends at %s", k.Name, k.Until.Format(time.RFC3339))
		}
	}
	return e.later.Extend(ctx, ids, expires)
}

// Name is the inner cloud's.
func (c *Cloud) Name() string { return c.inner.Name() }

func (c *Cloud) refuse(op string, kind bridge.CloudErrorKind, code, format string, args ...any) error {
	return &bridge.CloudError{Kind: kind, Op: op, Cloud: c.Name(), Code: code, Message: fmt.Sprintf(format, args...)}
}

// Offers are the inner cloud's, and with each on demand that a contract covers
// one of that contract.
func (c *Cloud) Offers(ctx context.Context) ([]bridge.Offer, error) {
	out, err := c.inner.Offers(ctx)
	if err != nil {
		return nil, err
	}
	now := c.now()
	for i := range c.contracts {
		k := &c.contracts[i]
		if !k.Active(now) {
			continue
		}
		left := k.Machines - c.books.used(k.Name, now)
		for _, o := range out {
			if o.Pool.Market == bridge.OnDemand && covers(k, o.Pool) {
				out = append(out, offer(k, o, left))
			}
		}
	}
	return out, nil
}

// offer is one of a contract's machines. It is billed to the contract, so no rate,
// step or term of the cloud's is of interest.
func offer(k *bridge.Capacity, o bridge.Offer, left int) bridge.Offer {
	o.Pool.Market, o.Rate = bridge.Reserved, bridge.Rate{Currency: k.Rate.Currency}
	o.Step, o.Minimum, o.Term, o.EarlyPM, o.Notice = 0, 0, 0, 0, 0
	o.Contract, o.Until = k.Name, k.Until
	left = max(left, 0)
	if k.Kind == bridge.SavingsPlan && o.Available >= 0 { // it lowers the price, and reserves nothing
		left = min(left, o.Available)
	}
	o.Available = left
	return o
}

// covers reports whether a pool's machines may be the contract's, whatever the
// market.
func covers(k *bridge.Capacity, p bridge.Pool) bool {
	return p.Cloud == k.Cloud && p.Type == k.Type && (k.Region == "" || k.Region == p.Region) && (k.Zone == "" || k.Zone == p.Zone)
}

// contractOf finds the contract that a launch means.
func (c *Cloud) contractOf(l *bridge.Launch) (*bridge.Capacity, error) {
	now := c.now()
	for i := range c.contracts {
		k := &c.contracts[i]
		if !covers(k, l.Pool) || l.Contract != "" && l.Contract != k.Name || l.Contract == "" && !k.Active(now) {
			continue
		}
		switch {
		case !k.Active(now):
			return nil, c.refuse("create", bridge.CloudInvalid, "ContractNotActive", "contract %s has not begun or has ended", k.Name)
		case !k.Until.IsZero() && (l.Expires.IsZero() || l.Expires.After(k.Until)):
			return nil, c.refuse("create", bridge.CloudInvalid, "ContractEndsFirst", "contract %s ends at %s, before the machines would", k.Name, k.Until.Format(time.RFC3339))
		}
		return k, nil
	}
	return nil, c.refuse("create", bridge.CloudInvalid, "NoContract", "no contract covers %s", l.Pool)
}

// Create rents machines of a contract as machines on demand that carry its name,
// no more at one time than it has; all others as they are.
func (c *Cloud) Create(ctx context.Context, l bridge.Launch) (bridge.Handle, error) {
	if l.Pool.Market != bridge.Reserved {
		return c.inner.Create(ctx, l)
	}
	k, err := c.contractOf(&l)
	if err != nil {
		return "", err
	}
	first, err := c.book(ctx, k, &l)
	if err != nil {
		return "", err
	}
	h, err := c.inner.Create(ctx, onDemand(l, k.Name))
	if err != nil && first && bridge.KindOf(err).Refused() {
		c.books.cancel(l.Token)
	}
	return h, err
}

// book sets machines of a contract aside for a create, once for each token. The
// cloud's own list is asked what the contract's machines are, since what is in
// memory may be from before a restart, or of another process.
func (c *Cloud) book(ctx context.Context, k *bridge.Capacity, l *bridge.Launch) (first bool, err error) {
	c.books.creating.Lock()
	defer c.books.creating.Unlock()
	if c.books.again(l.Token, c.now()) {
		return false, nil
	}
	list, err := c.List(ctx, l.Tags[bridge.TagStore], l.Tags[bridge.TagCluster])
	if err == nil && !list.Complete {
		err = c.refuse("list", bridge.CloudUnknown, "Incomplete", "not all pages arrived")
	}
	if err != nil { // nothing was created
		return false, &bridge.CloudError{
			Kind: bridge.CloudThrottled, Op: "create", Cloud: c.Name(), Code: "ContractUnseen",
			Message: "what contract " + k.Name + " has left is not known", RetryAfter: 2 * time.Second, Err: err,
		}
	}
	mine := slices.ContainsFunc(list.Instances, func(in bridge.Instance) bool { return sameCreate(&in, l) })
	if used := c.books.used(k.Name, c.now()); !mine && used+l.Count > k.Machines {
		return false, c.refuse("create", bridge.CloudNoCapacity, "ContractUsedUp", "%d of %d machines of contract %s are in use", used, k.Machines, k.Name)
	}
	c.books.book(l.Token, k.Name, l.Count, c.now())
	return true, nil
}

// sameCreate reports whether a machine is of an earlier call of the same create.
func sameCreate(in *bridge.Instance, l *bridge.Launch) bool {
	if in.Token != "" {
		return in.Token == l.Token
	}
	for _, tag := range []string{bridge.TagStore, bridge.TagRental, bridge.TagAttempt} {
		if in.Tags[tag] == "" || in.Tags[tag] != l.Tags[tag] {
			return false
		}
	}
	return true
}

// onDemand is a launch as the inner cloud gets it.
func onDemand(l bridge.Launch, name string) bridge.Launch {
	l.Pool.Market, l.Contract = bridge.OnDemand, ""
	l.Tags = maps.Clone(l.Tags)
	if l.Tags == nil {
		l.Tags = map[string]string{}
	}
	l.Tags[bridge.TagContract] = name
	return l
}

// Observe returns the machines of an accepted create.
func (c *Cloud) Observe(ctx context.Context, l bridge.Launch, h bridge.Handle) ([]bridge.Instance, error) {
	asked := l
	if l.Pool.Market == bridge.Reserved {
		name := l.Contract
		if k, err := c.contractOf(&l); name == "" && err == nil {
			name = k.Name
		}
		asked = onDemand(l, name)
	}
	found, err := c.inner.Observe(ctx, asked, h)
	if err != nil {
		if bridge.KindOf(err).Refused() {
			c.books.cancel(l.Token) // a lack of capacity may be told here only
		}
		return nil, err
	}
	out := c.reserved(found)
	c.books.see("", out, c.now())
	return out, nil
}

// List returns what the inner cloud lists, machines of contracts as what they are.
func (c *Cloud) List(ctx context.Context, storeID, cluster string) (bridge.Listing, error) {
	l, err := c.inner.List(ctx, storeID, cluster)
	l.Instances = c.reserved(l.Instances)
	if err == nil && l.Complete {
		c.books.see(storeID+"/"+cluster, l.Instances, c.now())
	}
	return l, err
}

// reserved turns machines that a contract pays for back into its own.
func (c *Cloud) reserved(machines []bridge.Instance) []bridge.Instance {
	out := slices.Clone(machines)
	for i := range out {
		in := &out[i]
		name := in.Tags[bridge.TagContract]
		if name == "" {
			continue
		}
		in.Contract, in.Tags = name, maps.Clone(in.Tags)
		delete(in.Tags, bridge.TagContract)
		if in.Pool.Market != bridge.Spot { // or not said
			in.Pool.Market = bridge.Reserved
		}
		in.Rate = bridge.Rate{Currency: c.currency(name, in.Rate.Currency)}
	}
	return out
}

// currency is that of a contract's cost; of one that is not known any more, the
// cloud's own.
func (c *Cloud) currency(name string, otherwise bridge.Currency) bridge.Currency {
	for i := range c.contracts {
		if c.contracts[i].Name == name {
			return c.contracts[i].Rate.Currency
		}
	}
	return otherwise
}

// Terminate ends machines.
func (c *Cloud) Terminate(ctx context.Context, ids []string) error {
	return c.inner.Terminate(ctx, ids)
}
