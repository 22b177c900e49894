package cloudtest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

func offers(b *bench) { //nolint:gocyclo // One condition for each thing that an offer must say.
	all, err := b.cloud.Offers(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	seen := map[bridge.Pool]bool{}
	for _, o := range all {
		switch {
		case seen[o.Pool]:
			b.Errorf("%s is offered twice", o.Pool)
		case (o.Pool.Market == bridge.Reserved) != (o.Contract != "") || o.Contract != "" && o.Rate.Micro != 0:
			b.Errorf("%s is of contract %q at %d", o.Pool, o.Contract, o.Rate.Micro)
		case o.Pool.Cloud != b.cloud.Name() || o.Pool.Type == "" || o.Pool.Region == "":
			b.Errorf("%s is not a whole pool of %s", o.Pool, b.cloud.Name())
		case o.Pool.Market != bridge.OnDemand && o.Pool.Market != bridge.Spot && o.Pool.Market != bridge.Reserved:
			b.Errorf("%s has a market of its own", o.Pool)
		case !o.Fresh(time.Now()) || o.Rate.Currency == "" || o.MaxAge <= 0:
			b.Errorf("%s: rate %v of %s for %s cannot be bought at", o.Pool, o.Rate, o.SampledAt, o.MaxAge)
		case o.Shape.CPUs <= 0 || o.Shape.MemoryMiB <= 0 || (o.Shape.GPUs > 0) != (o.Shape.GPUType != ""):
			b.Errorf("%s has shape %v", o.Pool, o.Shape)
		case o.Step < 0 || o.Minimum < 0 || o.Term < 0 || o.EarlyPM < 0 || o.EarlyPM > 1000 || o.Notice < 0 || o.Boot < 0:
			b.Errorf("%s has a negative duration", o.Pool)
		}
		seen[o.Pool] = true
	}
}

func createsAll(b *bench) {
	l := b.launch(3)
	before := time.Now().Add(-time.Minute)
	made := b.create(l)
	b.await("the machines are listed", func() bool { return slices.Equal(b.live(b.store, b.cluster), ids(made)) })
	for _, m := range b.list(b.store, b.cluster).Instances {
		if diff := cmp.Diff(l.Tags, m.Tags); diff != "" {
			b.Errorf("tags of %s (-asked +listed):\n%s", m.ID, diff)
		}
		if m.Pool != l.Pool || m.Launched.Before(before) || m.Launched.After(time.Now().Add(time.Minute)) {
			b.Errorf("%s is of %s, launched %s", m.ID, m.Pool, m.Launched)
		}
	}
	if n := len(slices.Compact(ids(made))); n != 3 {
		b.Errorf("%d different machines of 3", n)
	}
}

func livesAndEnds(b *bench) {
	l := b.launch(1)
	made := b.create(l)
	if made[0].Address == "" {
		b.Errorf("%s runs without an address", made[0].ID)
	}
	if err := b.cloud.Terminate(b.Context(), ids(made)); err != nil {
		b.Fatal(err)
	}
	b.await("the machine is gone", func() bool { return len(b.live(b.store, b.cluster)) == 0 })
	for _, m := range b.list(b.store, b.cluster).Instances {
		if m.Stopped.Before(m.Launched) || m.Fault != "" {
			b.Errorf("%s, ended on request, was stopped at %s with fault %q", m.ID, m.Stopped, m.Fault)
		}
	}
}

func refusesNonsense(b *bench) {
	other := func(change func(*bridge.Launch)) bridge.Launch {
		l := b.launch(1)
		change(&l)
		return b.sign(l)
	}
	for name, l := range map[string]bridge.Launch{
		"another cloud's pool":   other(func(l *bridge.Launch) { l.Pool.Cloud = "elsewhere" }),
		"a type that is not":     other(func(l *bridge.Launch) { l.Pool.Type = "no-such-type" }),
		"a zone that is not":     other(func(l *bridge.Launch) { l.Pool.Region, l.Pool.Zone = "nowhere", "nowhere-1" }),
		"no machines":            other(func(l *bridge.Launch) { l.Count = 0 }),
		"a token of 65 letters":  func() bridge.Launch { l := b.launch(1); l.Token = strings.Repeat("t", 65); return l }(),
		"a tag that is too long": other(func(l *bridge.Launch) { l.Tags = map[string]string{bridge.TagStore: strings.Repeat("v", 5000)} }),
	} {
		_, err := b.cloud.Create(b.Context(), l)
		if err == nil || !bridge.KindOf(err).Refused() {
			b.Errorf("%s: %v, want a refusal", name, err)
		}
	}
	b.nothing()
}

func keepsCeiling(b *bench) {
	l := b.launch(1)
	l.MaxRate.Micro = 1
	l = b.sign(l)
	h, err := b.cloud.Create(b.Context(), l)
	if err == nil {
		err = b.failure(l, h)
	}
	b.wantKind(err, bridge.CloudPrice)
	b.nothing()
}

// failure waits for an accepted create to fail.
func (b *bench) failure(l bridge.Launch, h bridge.Handle) error {
	b.Helper()
	var err error
	b.await("the accepted create fails", func() bool {
		_, err = b.cloud.Observe(b.Context(), l, h)
		return err != nil
	})
	return err
}

func soldOut(b *bench, pool bridge.Pool) {
	l := b.launch(2)
	l.Pool = pool
	l = b.sign(l)
	h, err := b.cloud.Create(b.Context(), l)
	if err == nil {
		err = b.failure(l, h)
	}
	b.wantKind(err, bridge.CloudNoCapacity)
	b.nothing()
}

func allOrNothing(b *bench) {
	l := b.launch(b.p.Stock + 1)
	h, err := b.cloud.Create(b.Context(), l)
	if err == nil {
		err = b.failure(l, h)
	}
	b.wantKind(err, bridge.CloudNoCapacity)
	b.nothing()
}

func createsOnce(b *bench) {
	l := b.launch(2)
	first := b.create(l)
	if second := b.create(l); !slices.Equal(ids(first), ids(second)) {
		b.Errorf("first %v, second %v", ids(first), ids(second))
	}
	b.await("the machines are listed once", func() bool { return slices.Equal(b.live(b.store, b.cluster), ids(first)) })
	if err := b.cloud.Terminate(b.Context(), ids(first)); err != nil {
		b.Fatal(err)
	}
	b.await("the machines are gone", func() bool { return len(b.live(b.store, b.cluster)) == 0 })
	if _, err := b.cloud.Create(b.Context(), l); err != nil {
		b.Logf("the token of an ended create: %v", err)
	}
	b.nothing()
}

func createsOnceAtOnce(b *bench) {
	l := b.launch(2)
	handles := make([]bridge.Handle, 8)
	errs := make([]error, len(handles))
	var wg sync.WaitGroup
	for i := range handles {
		wg.Go(func() { handles[i], errs[i] = b.cloud.Create(b.Context(), l) })
	}
	wg.Wait()
	var made []string
	for i, err := range errs {
		if bridge.KindOf(err) == bridge.CloudThrottled {
			continue // Nothing happened.
		}
		if err != nil {
			b.Errorf("create %d: %v", i, err)
			continue
		}
		made = append(made, ids(b.running(l, handles[i]))...)
	}
	slices.Sort(made)
	made = slices.Compact(made)
	if len(made) != 2 {
		b.Errorf("%d machines of 2: %v", len(made), made)
	}
	b.await("the machines are listed once", func() bool { return slices.Equal(b.live(b.store, b.cluster), made) })
}

func tellsMismatch(b *bench) {
	l := b.launch(1)
	made := b.create(l)
	for name, change := range map[string]func(*bridge.Launch){
		"count":     func(l *bridge.Launch) { l.Count = 2 },
		"user-data": func(l *bridge.Launch) { l.UserData += "# more\n" },
		"end":       func(l *bridge.Launch) { l.Expires = l.Expires.Add(time.Minute) },
		"tags": func(l *bridge.Launch) {
			l.Tags = maps.Clone(l.Tags)
			l.Tags[bridge.TagEpoch] = "8"
		},
	} {
		other := l
		change(&other)
		if _, err := b.cloud.Create(b.Context(), other); bridge.KindOf(err) != bridge.CloudMismatch || err == nil {
			b.Errorf("other %s: %v, want a mismatch", name, err)
		}
	}
	b.await("only the first machine is listed", func() bool { return slices.Equal(b.live(b.store, b.cluster), ids(made)) })
}

func listsOurs(b *bench) {
	otherStore, otherCluster := b.store+"-b", b.cluster+"-b"
	thirdStore := b.store + "-c"
	mine := b.create(b.launch(1))
	neighbour := b.create(b.retag(b.launch(1), otherStore, b.cluster))
	foreign := b.create(b.retag(b.launch(1), thirdStore, otherCluster))
	b.Cleanup(func() { b.giveBack(thirdStore, otherCluster) })
	want := append(ids(mine), ids(neighbour)...)
	slices.Sort(want)
	b.await("own store and own cluster are listed", func() bool { return slices.Equal(b.live(b.store, b.cluster), want) })
	b.await("the third is listed for its own", func() bool { return slices.Equal(b.live(thirdStore, otherCluster), ids(foreign)) })
	b.await("another cluster's machines of our store are listed", func() bool {
		return slices.Equal(b.live(b.store, b.cluster+"-none"), ids(mine))
	})
}

func listsNothing(b *bench) {
	if l := b.list(b.store, b.cluster); len(l.Instances) != 0 {
		b.Errorf("%d machines of a store that never rented", len(l.Instances))
	}
}

func listsPages(b *bench) {
	made := b.create(b.launch(b.p.Stock))
	b.await("all machines are listed", func() bool {
		l := b.list(b.store, b.cluster)
		if n := len(l.Instances); n != len(slices.Compact(ids(l.Instances))) {
			b.Fatalf("a machine is listed twice among %d", n)
		}
		return slices.Equal(ids(l.Instances), ids(made))
	})
}

func terminatesTwice(b *bench) {
	made := b.create(b.launch(2))
	for range 3 {
		if err := b.cloud.Terminate(b.Context(), ids(made)); err != nil {
			b.Fatal(err)
		}
	}
	b.await("the machines are gone", func() bool { return len(b.live(b.store, b.cluster)) == 0 })
	if err := b.cloud.Terminate(b.Context(), ids(made)); err != nil && bridge.KindOf(err) != bridge.CloudNotFound {
		b.Errorf("terminate gone machines: %v", err)
	}
	if err := b.cloud.Terminate(b.Context(), nil); err != nil {
		b.Errorf("terminate nothing: %v", err)
	}
}

// terminatesUnknown makes the unknown id from one the cloud gave, so that it is
// of the cloud's own form.
func terminatesUnknown(b *bench) {
	made := b.create(b.launch(1))
	unknown := []byte(made[0].ID)
	for i := len(unknown) - 4; i < len(unknown); i++ {
		unknown[i] = '2' + (unknown[i]+3)%5
	}
	err := b.cloud.Terminate(b.Context(), []string{string(unknown), made[0].ID})
	if err != nil {
		b.wantKind(err, bridge.CloudNotFound)
	}
	b.await("the known machine is gone", func() bool { return len(b.live(b.store, b.cluster)) == 0 })
}

func createsTogether(b *bench) {
	launches := []bridge.Launch{b.launch(1), b.launch(2), b.launch(1), b.launch(2)}
	handles := make([]bridge.Handle, len(launches))
	errs := make([]error, len(launches))
	var wg sync.WaitGroup
	for i, l := range launches {
		wg.Go(func() { handles[i], errs[i] = b.cloud.Create(b.Context(), l) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		b.Fatal(err)
	}
	var all []string
	for i, l := range launches {
		all = append(all, ids(b.running(l, handles[i]))...)
	}
	slices.Sort(all)
	if n := len(slices.Compact(slices.Clone(all))); n != minStock || len(all) != minStock {
		b.Errorf("%d machines, %d of them different, want %d", len(all), n, minStock)
	}
	b.await("all machines are listed", func() bool { return slices.Equal(b.live(b.store, b.cluster), all) })
}

func cancels(b *bench) {
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	l := b.launch(1)
	_, createErr := b.cloud.Create(ctx, l)
	_, observeErr := b.cloud.Observe(ctx, l, "none")
	_, offersErr := b.cloud.Offers(ctx)
	listing, listErr := b.cloud.List(ctx, b.store, b.cluster)
	for op, err := range map[string]error{
		"create": createErr, "observe": observeErr, "offers": offersErr, "list": listErr,
		"terminate": b.cloud.Terminate(ctx, []string{"none"}),
	} {
		var ce *bridge.CloudError
		if !errors.As(err, &ce) || !errors.Is(err, context.Canceled) || ce.Kind.Refused() {
			b.Errorf("cancelled %s: %v, want a cloud's error that is context.Canceled and refuses nothing", op, err)
		}
	}
	if listing.Complete && listErr != nil {
		b.Errorf("a listing that failed says that it is complete")
	}
	b.nothing()
}

func findsByTags(b *bench) {
	l := b.launch(2)
	if _, err := b.cloud.Create(b.Context(), l); err != nil {
		b.Fatal(err)
	}
	b.await("the machines are found without a handle", func() bool {
		n := 0
		for _, m := range b.list(b.store, b.cluster).Instances {
			if m.Tags[bridge.TagRental] == string(l.Rental) && m.Tags[bridge.TagAttempt] == "1" {
				n++
			}
		}
		return n == l.Count
	})
}

func findsLost(b *bench) {
	l := b.launch(2)
	b.p.LoseAnswer(b.T)
	_, err := b.cloud.Create(b.Context(), l)
	b.wantKind(err, bridge.CloudUnknown)
	b.await("the machines are listed although nothing was answered", func() bool {
		return len(b.live(b.store, b.cluster)) == l.Count
	})
	if b.p.Idempotency != ByNothing {
		lost := b.live(b.store, b.cluster)
		if again := b.create(l); !slices.Equal(ids(again), lost) {
			b.Errorf("asked again: %v, lost: %v", ids(again), lost)
		}
	}
}

func chargesOffer(b *bench) {
	l := b.launch(1)
	m := b.create(l)[0]
	if m.Rate.Currency != b.offer.Rate.Currency || m.Rate.Micro <= 0 || m.Rate.Micro > l.MaxRate.Micro {
		b.Errorf("rate %v, offered %v, ceiling %v", m.Rate, b.offer.Rate, l.MaxRate)
	}
}

func chargesNothing(b *bench) {
	m := b.create(b.launch(1))[0]
	if m.Rate.Currency != b.offer.Rate.Currency || m.Rate.Micro != 0 || m.Contract != b.offer.Contract || m.Contract == "" {
		b.Errorf("rate %v of contract %q, offered %v of %q", m.Rate, m.Contract, b.offer.Rate, b.offer.Contract)
	}
	b.await("the list says so too", func() bool {
		all := b.list(b.store, b.cluster).Instances
		return len(all) == 1 && all[0].Contract == m.Contract && all[0].Pool == b.p.Pool && all[0].Rate == m.Rate
	})
}

func expires(b *bench) {
	l := b.launch(1)
	l.Expires = time.Now().UTC().Add(b.p.Expiry).Truncate(time.Second).Add(time.Second)
	l.Tags[bridge.TagExpires] = l.Expires.Format(time.RFC3339)
	l = b.sign(l)
	if _, err := b.cloud.Create(b.Context(), l); err != nil {
		b.Fatal(err)
	}
	b.await("the machine is listed", func() bool { return len(b.list(b.store, b.cluster).Instances) == 1 })
	b.await("the machine has ended by itself", func() bool { return len(b.live(b.store, b.cluster)) == 0 })
	if early := time.Until(l.Expires); early > time.Second {
		b.Errorf("the machine ended %s before its time", early)
	}
}

func leavesStrangers(b *bench) {
	id, alive := b.p.Stranger(b.T)
	made := b.create(b.launch(1))
	b.await("our machine is listed", func() bool { return slices.Equal(b.live(b.store, b.cluster), ids(made)) })
	if l := b.list("", ""); len(l.Instances) > 0 {
		b.Errorf("%d machines are listed for a store and a cluster without a name", len(l.Instances))
	}
	b.giveBack(b.store, b.cluster)
	if !alive() {
		b.Errorf("machine %s, which is not ours, was ended", id)
	}
}
