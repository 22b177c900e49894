package cloudtest

import (
	"context"
	"maps"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// Cloud is what an adapter must be; it is the engine's port, in full.
type Cloud interface {
	Name() string
	Offers(ctx context.Context) ([]bridge.Offer, error)
	Create(ctx context.Context, l bridge.Launch) (bridge.Handle, error)
	Observe(ctx context.Context, l bridge.Launch, h bridge.Handle) ([]bridge.Instance, error)
	List(ctx context.Context, storeID, cluster string) (bridge.Listing, error)
	Terminate(ctx context.Context, ids []string) error
}

// Idempotency is how a cloud keeps a repeated create from making machines twice.
type Idempotency string

// The three classes of clouds.
const (
	// ByToken: the call carries a token; another call with it is the same call,
	// or a mismatch when its parameters differ.
	ByToken Idempotency = "token"
	// ByName: machines have names that are unique.
	ByName Idempotency = "name"
	// ByNothing: the engine must look for the tags before it asks again.
	ByNothing Idempotency = "nothing"
)

// Provider describes a cloud to the suite.
type Provider struct {
	// Open returns an adapter on the test account.
	Open        func(t T) Cloud
	Idempotency Idempotency
	// Pool is where the suite rents; it must have Stock machines, at least
	// six, for the suite alone. Exact says that it has no more, which lets the
	// suite ask for too many.
	Pool  bridge.Pool
	Stock int
	Exact bool
	// UserData is a boot script that the cloud accepts; it may do nothing.
	UserData string
	// Patience is the longest the cloud may take to show, boot or end a machine.
	Patience time.Duration
	// Pages says that the test account's listings have pages so small that
	// Stock machines do not fit on one.
	Pages bool
	// Expiry is the shortest life the cloud can be asked for; zero: it has no
	// end of its own.
	Expiry time.Duration
	// SoldOut holds pools without stock, one for each shape, by name, in which
	// the cloud can tell so.
	SoldOut map[string]bridge.Pool
	// LoseAnswer, if set, makes the answer to the next create get lost after
	// the cloud has done its work.
	LoseAnswer func(t T)
	// Stranger makes a machine in the same account that is not ours, and
	// returns its id and whether it lives. It is ended by the test that calls it.
	Stranger func(t T) (id string, alive func() bool)

	free bool // nothing is rented
}

// Run runs the suite.
func Run(t *testing.T, p Provider) {
	t.Helper()
	if p.Open == nil || p.Stock < minStock || p.Patience <= 0 {
		t.Fatalf("provider needs Open, Patience and a stock of at least %d", minStock)
	}
	for name, test := range p.tests() {
		t.Run(name, func(t *testing.T) { test(newBench(t, p)) })
	}
}

// tests are those that fit the cloud, by what they show.
func (p *Provider) tests() map[string]func(*bench) {
	tests := map[string]func(*bench){
		"an offer has a fresh positive price and a shape":              offers,
		"a create that asks for nonsense is refused and makes nothing": refusesNonsense,
		"a listing of nothing is complete":                             listsNothing,
		"a call that is cancelled has no effect and says so":           cancels,
	}
	if p.free {
		return tests
	}
	maps.Copy(tests, map[string]func(*bench){
		"a create makes all machines, tagged whole":               createsAll,
		"a machine's life goes from created to gone":              livesAndEnds,
		"machines are listed by store and by cluster, no others":  listsOurs,
		"terminate may be repeated":                               terminatesTwice,
		"terminate with an unknown id still ends the others":      terminatesUnknown,
		"creates at the same time each get machines of their own": createsTogether,
		"an unknown create is found by its tags":                  findsByTags,
	})
	if p.Pool.Market == bridge.Reserved {
		tests["a machine of a contract costs nothing more"] = chargesNothing
	} else {
		tests["a ceiling below the price makes nothing"] = keepsCeiling
		tests["a machine's rate is what its offer said and below the ceiling"] = chargesOffer
	}
	if p.Idempotency != ByNothing {
		tests["the same create twice makes machines once"] = createsOnce
		tests["the same create eight times at once makes machines once"] = createsOnceAtOnce
	}
	if p.Idempotency == ByToken {
		tests["a token with other parameters is a mismatch"] = tellsMismatch
	}
	if p.Exact {
		tests["more than there is makes nothing at all"] = allOrNothing
	}
	if p.Pages {
		tests["a listing of several pages has every machine once"] = listsPages
	}
	if p.Expiry > 0 {
		tests["a machine ends by itself when its time comes"] = expires
	}
	if p.LoseAnswer != nil {
		tests["a lost answer is unknown and the machines are found again"] = findsLost
	}
	if p.Stranger != nil {
		tests["a machine that is not ours is never listed or ended"] = leavesStrangers
	}
	for shape := range p.SoldOut {
		tests["a lack of stock told as "+shape+" is no capacity"] = func(b *bench) { soldOut(b, b.p.SoldOut[shape]) }
	}
	return tests
}
