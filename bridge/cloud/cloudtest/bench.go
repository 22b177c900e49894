package cloudtest

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// minStock is what the suite rents at one time at most.
const minStock = 6

// bench is one test's workplace: an adapter, and store ids nobody else has.
type bench struct {
	T
	p       Provider
	cloud   Cloud
	store   string
	cluster string
	rentals int64
	offer   bridge.Offer
}

func newBench(t T, p Provider) *bench {
	t.Helper()
	b := &bench{
		T: t, p: p, cloud: p.Open(t),
		store: "test-" + strings.ToLower(rand.Text()[:10]), cluster: "test-" + strings.ToLower(rand.Text()[:10]),
	}
	b.offer = b.findOffer()
	t.Cleanup(func() { b.giveBack(b.store, b.cluster) })
	return b
}

func (b *bench) findOffer() bridge.Offer {
	b.Helper()
	all, err := b.cloud.Offers(b.Context())
	if err != nil {
		b.Fatalf("offers: %v", err)
	}
	for _, o := range all {
		if o.Pool == b.p.Pool {
			return o
		}
	}
	b.Fatalf("no offer for %s", b.p.Pool)
	return bridge.Offer{}
}

// launch is a create of the test's own store.
func (b *bench) launch(count int) bridge.Launch {
	b.rentals++
	id := bridge.NewRentalID(b.rentals)
	// The clouds' clocks and ours may differ by a little.
	expires := time.Now().UTC().Add(max(time.Hour, 2*b.p.Expiry)).Truncate(time.Second)
	l := bridge.Launch{
		Rental: id, Attempt: 1, Pool: b.p.Pool, Count: count,
		MaxRate: bridge.Rate{Micro: 3 * b.offer.Rate.Micro, Currency: b.offer.Rate.Currency},
		Tags: map[string]string{
			bridge.TagStore: b.store, bridge.TagCluster: b.cluster, bridge.TagRental: string(id),
			bridge.TagAttempt: "1", bridge.TagAccount: "org/team/project/user", bridge.TagEpoch: "7",
			bridge.TagRate: strconv.FormatInt(3*b.offer.Rate.Micro, 10), bridge.TagClass: "P2",
			bridge.TagExpires: expires.Format(time.RFC3339),
		},
		UserData: b.p.UserData, Expires: expires,
	}
	return b.sign(l)
}

// sign gives a launch the token of its parameters.
func (b *bench) sign(l bridge.Launch) bridge.Launch {
	l.Token = bridge.Token(l.Tags[bridge.TagStore], l)
	return l
}

// retag is a launch with another store and cluster.
func (b *bench) retag(l bridge.Launch, store, cluster string) bridge.Launch {
	l.Tags = maps.Clone(l.Tags)
	l.Tags[bridge.TagStore], l.Tags[bridge.TagCluster] = store, cluster
	return b.sign(l)
}

// create makes machines and waits until all are shown running.
func (b *bench) create(l bridge.Launch) []bridge.Instance {
	b.Helper()
	h, err := b.cloud.Create(b.Context(), l)
	if err != nil {
		b.Fatalf("create: %v", err)
	}
	return b.running(l, h)
}

func (b *bench) running(l bridge.Launch, h bridge.Handle) []bridge.Instance {
	b.Helper()
	return Running(b.T, b.p.Patience, b.cloud, l, h)
}

func (b *bench) await(what string, done func() bool) {
	b.Helper()
	Await(b.T, b.p.Patience, what, done)
}

// list is a complete listing.
func (b *bench) list(store, cluster string) bridge.Listing {
	b.Helper()
	l, err := b.cloud.List(b.Context(), store, cluster)
	if err != nil {
		b.Fatalf("list: %v", err)
	}
	if !l.Complete || l.Cloud != b.cloud.Name() || l.At.IsZero() {
		b.Fatalf("listing is complete %t of cloud %q at %s", l.Complete, l.Cloud, l.At)
	}
	return l
}

// live are the listed machines that may cost money, by id.
func (b *bench) live(store, cluster string) []string {
	b.Helper()
	var ids []string
	for _, m := range b.list(store, cluster).Instances {
		if m.State != bridge.InstanceGone {
			ids = append(ids, m.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// nothing waits out the time in which a machine might still show up, as far as
// a second complete listing can tell, and wants none.
func (b *bench) nothing() {
	b.Helper()
	if b.p.free {
		if live := b.live(b.store, b.cluster); len(live) > 0 {
			b.Errorf("%v are there", live)
		}
		return
	}
	probe := b.launch(1)
	made := b.create(probe)
	b.await("a later machine is listed, and nothing else", func() bool {
		live := b.live(b.store, b.cluster)
		return slices.Equal(live, ids(made))
	})
}

// giveBack ends all of a store and waits until the cloud says so.
func (b *bench) giveBack(store, cluster string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.Context()), b.p.Patience)
	defer cancel()
	for ctx.Err() == nil {
		l, err := b.cloud.List(ctx, store, cluster)
		var left []string
		for _, m := range l.Instances {
			if m.State != bridge.InstanceGone {
				left = append(left, m.ID)
			}
		}
		if err == nil && l.Complete && len(left) == 0 {
			return
		}
		if err := b.cloud.Terminate(ctx, left); err != nil {
			b.Logf("give back: %v", err)
		}
		if b.p.free {
			break // nothing was to be made, and no time is to be spent on what was
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause(b.p.Patience)):
		}
	}
	b.Errorf("it is not certain that no machine of store %s is left", store)
}

// wantKind fails unless err is a cloud's error of one of the kinds.
func (b *bench) wantKind(err error, kinds ...bridge.CloudErrorKind) {
	b.Helper()
	var ce *bridge.CloudError
	switch {
	case err == nil:
		b.Fatalf("no error, want %v", kinds)
	case !errors.As(err, &ce):
		b.Fatalf("error %v is not a *bridge.CloudError", err)
	case ce.Op == "" || ce.Cloud != b.cloud.Name():
		b.Fatalf("error %v lacks operation or cloud", err)
	case !slices.Contains(kinds, ce.Kind):
		b.Fatalf("error %v is %s, want %v", err, ce.Kind, kinds)
	}
}

func ids(machines []bridge.Instance) []string {
	var out []string
	for _, m := range machines {
		out = append(out, m.ID)
	}
	slices.Sort(out)
	return out
}
