package contract_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/contract"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// plain is a cloud that does what it is told, and can be told to fail.
type plain struct {
	zones    []string
	stock    int
	launches []bridge.Launch
	machines []bridge.Instance
	fail     map[string]error
}

func (p *plain) Name() string { return "north" }

func (p *plain) Offers(context.Context) ([]bridge.Offer, error) {
	var out []bridge.Offer
	for _, zone := range p.zones {
		for _, market := range []bridge.Market{bridge.OnDemand, bridge.Spot} {
			out = append(out, bridge.Offer{
				Pool:  bridge.Pool{Cloud: "north", Region: "eu", Zone: zone, Type: "g8", Market: market},
				Shape: bridge.Shape{CPUs: 64, MemoryMiB: 1, GPUs: 8, GPUType: "h100"}, Rate: bridge.Rate{Micro: 30_000_000, Currency: "EUR"},
				SampledAt: noon, MaxAge: time.Hour, Available: p.stock, Step: time.Hour, Minimum: time.Hour, Term: time.Hour, EarlyPM: 500,
			})
		}
	}
	return out, p.fail["offers"]
}

func (p *plain) Create(_ context.Context, l bridge.Launch) (bridge.Handle, error) {
	if err := p.fail["create"]; err != nil {
		return "", err
	}
	p.launches = append(p.launches, l)
	for i := range l.Count {
		p.machines = append(p.machines, bridge.Instance{
			ID: fmt.Sprintf("%s-%d", l.Token, i), Pool: l.Pool, State: bridge.InstanceRunning, Tags: maps.Clone(l.Tags), Token: l.Token,
			Rate: bridge.Rate{Micro: 30_000_000, Currency: "EUR"},
		})
	}
	return bridge.Handle(l.Token), nil
}

func (p *plain) Observe(_ context.Context, l bridge.Launch, _ bridge.Handle) ([]bridge.Instance, error) {
	if err := p.fail["observe"]; err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(p.machines), func(in bridge.Instance) bool { return in.Token != l.Token || in.Pool != l.Pool }), nil
}

func (p *plain) List(context.Context, string, string) (bridge.Listing, error) {
	if err := p.fail["list"]; err != nil {
		return bridge.Listing{}, err
	}
	return bridge.Listing{Cloud: "north", At: noon, Complete: p.fail["page"] == nil, Instances: slices.Clone(p.machines)}, nil
}

func (p *plain) Terminate(_ context.Context, ids []string) error {
	for i := range p.machines {
		if slices.Contains(ids, p.machines[i].ID) {
			p.machines[i].State = bridge.InstanceGone
		}
	}
	return nil
}

// lasting is one that can move ends, telling one that tells of changes.
type (
	lasting struct {
		*plain
		until time.Time
	}
	telling struct{ *plain }
)

func (l *lasting) Extend(_ context.Context, _ []string, expires time.Time) error {
	l.until = expires
	return nil
}

func (telling) Changed(context.Context, string) (string, error) { return "next", nil }

type able interface {
	Extend(ctx context.Context, ids []string, expires time.Time) error
}

type told interface {
	Changed(ctx context.Context, cursor string) (string, error)
}

func contractOf(kind bridge.CapacityKind, machines int) bridge.Capacity {
	return bridge.Capacity{
		Name: "c27", Kind: kind, GPU: "h100", GPUs: 8 * machines, Rate: bridge.Rate{Micro: 1_950_000, Currency: "USD"},
		From: noon.Add(-time.Hour), Until: noon.Add(24 * time.Hour), Cloud: "north", Type: "g8", Machines: machines,
	}
}

func reserved(zone string) bridge.Pool {
	return bridge.Pool{Cloud: "north", Region: "eu", Zone: zone, Type: "g8", Market: bridge.Reserved}
}

func launch(token, zone string, count int) bridge.Launch {
	return bridge.Launch{
		Token: token, Pool: reserved(zone), Count: count, Contract: "c27", Expires: noon.Add(2 * time.Hour),
		Tags: map[string]string{bridge.TagStore: "st", bridge.TagCluster: "cl", bridge.TagRental: token, bridge.TagAttempt: "1"},
	}
}

// left is what the offers say is left of the contract, in each zone.
func left(t *testing.T, c contract.Inner) []int {
	t.Helper()
	all, err := c.Offers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, o := range all {
		if o.Pool.Market == bridge.Reserved {
			out = append(out, o.Available)
		}
	}
	return out
}

func TestOffersOfAContract(t *testing.T) {
	inner := &plain{zones: []string{"eu-1", "eu-2"}, stock: 2}
	c := contract.New(inner, []bridge.Capacity{contractOf(bridge.Contract, 4), {Name: "own", Kind: bridge.Owned}}, func() time.Time { return noon })
	all, err := c.Offers(t.Context())
	if err != nil || len(all) != 6 {
		t.Fatalf("%d offers: %v", len(all), err)
	}
	for _, o := range all[4:] {
		free := o.Rate == bridge.Rate{Currency: "USD"} && o.Billing() == bridge.Billing{}
		if o.Pool.Market != bridge.Reserved || !free || o.Available != 4 || o.Contract != "c27" || !o.Until.Equal(noon.Add(24*time.Hour)) || !o.Fresh(noon) {
			t.Errorf("offered %+v", o)
		}
	}
	for name, change := range map[string]func(*bridge.Capacity){
		"not begun":          func(k *bridge.Capacity) { k.From = noon.Add(time.Second) },
		"ended":              func(k *bridge.Capacity) { k.Until = noon },
		"of another type":    func(k *bridge.Capacity) { k.Type = "g4" },
		"of another region":  func(k *bridge.Capacity) { k.Region = "us" },
		"of another zone":    func(k *bridge.Capacity) { k.Zone = "eu-3" },
		"with another cloud": func(k *bridge.Capacity) { k.Cloud = "south" },
	} {
		k := contractOf(bridge.Contract, 4)
		change(&k)
		if got := left(t, contract.New(inner, []bridge.Capacity{k}, func() time.Time { return noon })); len(got) > 0 {
			t.Errorf("%s: %v are offered", name, got)
		}
	}
	plan := contract.New(inner, []bridge.Capacity{contractOf(bridge.SavingsPlan, 4)}, func() time.Time { return noon })
	if got := left(t, plan); !slices.Equal(got, []int{2, 2}) {
		t.Errorf("a savings plan reserves no stock, and %v are offered", got)
	}
	if same := contract.New(inner, []bridge.Capacity{{Name: "own", Kind: bridge.Owned}}, time.Now); same != contract.Inner(inner) {
		t.Error("a cloud without a contract is not left as it is")
	}
}

// TestNoMoreThanTheContractHas holds that a contract's machines are counted over
// zones, restarts and creates that show nothing yet, and that a retry is not
// counted twice.
func TestNoMoreThanTheContractHas(t *testing.T) {
	inner := &plain{zones: []string{"eu-1", "eu-2"}, stock: -1}
	now := noon
	open := func() contract.Inner {
		return contract.New(inner, []bridge.Capacity{contractOf(bridge.Block, 4)}, func() time.Time { return now })
	}
	create := func(c contract.Inner, l bridge.Launch) bridge.CloudErrorKind {
		t.Helper()
		if _, err := c.Create(t.Context(), l); err != nil {
			return bridge.KindOf(err)
		}
		return ""
	}
	c := open()
	for _, step := range []struct {
		what string
		l    bridge.Launch
		want bridge.CloudErrorKind
	}{
		{"three of four", launch("a", "eu-1", 3), ""},
		{"the same once more", launch("a", "eu-1", 3), ""},
		{"two more, in another zone", launch("b", "eu-2", 2), bridge.CloudNoCapacity},
		{"the last", launch("c", "eu-2", 1), ""},
		{"one too many", launch("d", "eu-1", 1), bridge.CloudNoCapacity},
	} {
		if got := create(c, step.l); got != step.want {
			t.Fatalf("%s: %q, want %q", step.what, got, step.want)
		}
	}
	if got := left(t, c); !slices.Equal(got, []int{0, 0}) {
		t.Errorf("%v are left", got)
	}
	if got := create(open(), launch("e", "eu-1", 1)); got != bridge.CloudNoCapacity {
		t.Errorf("after a restart one too many: %q", got)
	}
	if got := create(open(), launch("a", "eu-1", 3)); got != "" {
		t.Errorf("after a restart the same once more: %q", got)
	}
	if err := c.Terminate(t.Context(), []string{"a-0", "a-1"}); err != nil {
		t.Fatal(err)
	}
	if got := create(c, launch("f", "eu-1", 2)); got != "" {
		t.Errorf("in the place of two that are gone: %q", got)
	}
	for _, l := range inner.launches {
		if l.Pool.Market != bridge.OnDemand || l.Tags[bridge.TagContract] != "c27" || l.Contract != "" {
			t.Errorf("the cloud was asked for %+v", l)
		}
	}
}

func TestCreatesThatAreRefused(t *testing.T) {
	unsure := &bridge.CloudError{Kind: bridge.CloudUnknown, Op: "list", Cloud: "north"}
	soldOut := &bridge.CloudError{Kind: bridge.CloudNoCapacity, Op: "create", Cloud: "north"}
	for name, c := range map[string]struct {
		launch func(*bridge.Launch)
		fail   map[string]error
		want   bridge.CloudErrorKind
		left   int // afterwards
	}{
		"past the contract's end":        {func(l *bridge.Launch) { l.Expires = noon.Add(25 * time.Hour) }, nil, bridge.CloudInvalid, 4},
		"without an end":                 {func(l *bridge.Launch) { l.Expires = time.Time{} }, nil, bridge.CloudInvalid, 4},
		"of a contract that is not":      {func(l *bridge.Launch) { l.Contract = "c26" }, nil, bridge.CloudInvalid, 4},
		"of a type without one":          {func(l *bridge.Launch) { l.Pool.Type = "g4" }, nil, bridge.CloudInvalid, 4},
		"what is in use cannot be seen":  {nil, map[string]error{"list": unsure}, bridge.CloudThrottled, 4},
		"what is in use is half seen":    {nil, map[string]error{"page": errors.New("lost")}, bridge.CloudThrottled, 4},
		"the cloud has none after all":   {nil, map[string]error{"create": soldOut}, bridge.CloudNoCapacity, 4},
		"an answer that was lost counts": {nil, map[string]error{"create": unsure}, bridge.CloudUnknown, 2},
	} {
		t.Run(name, func(t *testing.T) {
			inner := &plain{zones: []string{"eu-1"}, stock: -1, fail: c.fail}
			cloud := contract.New(inner, []bridge.Capacity{contractOf(bridge.Contract, 4)}, func() time.Time { return noon })
			l := launch("a", "eu-1", 2)
			if c.launch != nil {
				c.launch(&l)
			}
			_, err := cloud.Create(t.Context(), l)
			var ce *bridge.CloudError
			if !errors.As(err, &ce) || ce.Kind != c.want || ce.Cloud != "north" {
				t.Fatalf("%v, want %s", err, c.want)
			}
			if got := left(t, cloud); got[0] != c.left || len(inner.machines) > 0 {
				t.Errorf("%v left, %d machines", got, len(inner.machines))
			}
		})
	}
}

// TestACreateThatNeverShowsIsForgotten holds that machines of which nothing was
// ever seen do not block a contract for good, and that a refusal told late frees
// them at once.
func TestACreateThatNeverShowsIsForgotten(t *testing.T) {
	inner := &plain{zones: []string{"eu-1"}, stock: -1, fail: map[string]error{"create": &bridge.CloudError{Kind: bridge.CloudUnknown}}}
	now := noon
	c := contract.New(inner, []bridge.Capacity{contractOf(bridge.Contract, 4)}, func() time.Time { return now })
	if _, err := c.Create(t.Context(), launch("a", "eu-1", 4)); err == nil {
		t.Fatal("the answer was not lost")
	}
	if got := left(t, c); got[0] != 0 {
		t.Errorf("%v left while its effect is unknown", got)
	}
	now = noon.Add(16 * time.Minute)
	if got := left(t, c); got[0] != 4 {
		t.Errorf("%v left later", got)
	}
	inner.fail = nil
	if _, err := c.Create(t.Context(), launch("b", "eu-1", 3)); err != nil {
		t.Fatal(err)
	}
	inner.machines, inner.fail = nil, map[string]error{"observe": &bridge.CloudError{Kind: bridge.CloudNoCapacity}}
	if _, err := c.Observe(t.Context(), launch("b", "eu-1", 3), "b"); bridge.KindOf(err) != bridge.CloudNoCapacity {
		t.Fatal(err)
	}
	if got := left(t, c); got[0] != 4 {
		t.Errorf("%v left after a late refusal", got)
	}
}

// TestMachinesComeBackAsTheContracts holds that a machine of a contract is known
// for it from a list alone, and others are left as they are.
func TestMachinesComeBackAsTheContracts(t *testing.T) {
	inner := &plain{zones: []string{"eu-1"}, stock: -1}
	contracts := []bridge.Capacity{contractOf(bridge.Contract, 4)}
	c := contract.New(inner, contracts, func() time.Time { return noon })
	l := launch("a", "eu-1", 1)
	if _, err := c.Create(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	paid := launch("b", "eu-1", 1)
	paid.Pool.Market, paid.Contract = bridge.OnDemand, ""
	if _, err := c.Create(t.Context(), paid); err != nil {
		t.Fatal(err)
	}
	look := func(in bridge.Instance, mine bool) {
		t.Helper()
		want := bridge.Instance{Pool: paid.Pool, Rate: bridge.Rate{Micro: 30_000_000, Currency: "EUR"}}
		if mine {
			want = bridge.Instance{Pool: reserved("eu-1"), Rate: bridge.Rate{Currency: "USD"}, Contract: "c27"}
		}
		_, tagged := in.Tags[bridge.TagContract]
		if in.Pool != want.Pool || in.Rate != want.Rate || in.Contract != want.Contract || tagged {
			t.Errorf("%s comes back as %+v", in.ID, in)
		}
	}
	list, err := contract.New(inner, contracts, func() time.Time { return noon }).List(t.Context(), "st", "cl")
	if err != nil || len(list.Instances) != 2 {
		t.Fatalf("%d machines: %v", len(list.Instances), err)
	}
	look(list.Instances[0], true)
	look(list.Instances[1], false)
	got, err := c.Observe(t.Context(), l, "a")
	if err != nil || len(got) != 1 {
		t.Fatalf("%d machines: %v", len(got), err)
	}
	look(got[0], true)
	if inner.machines[0].Tags[bridge.TagContract] != "c27" {
		t.Error("the cloud's own answer was written in")
	}
}

// TestWhatTheCloudCanBesides holds that a cloud around another can do what that one
// can and nothing else, and that no machine outlives its contract by an extension.
func TestWhatTheCloudCanBesides(t *testing.T) {
	contracts := []bridge.Capacity{contractOf(bridge.Contract, 4)}
	clock := func() time.Time { return noon }
	for name, c := range map[string]struct {
		inner          contract.Inner
		extends, tells bool
	}{
		"nothing":      {&plain{}, false, false},
		"ends":         {&lasting{plain: &plain{}}, true, false},
		"changes":      {&telling{&plain{}}, false, true},
		"both of them": {&lastingTeller{lasting{plain: &plain{}}}, true, true},
	} {
		cloud := contract.New(c.inner, contracts, clock)
		_, extends := cloud.(able)
		_, tells := cloud.(told)
		if extends != c.extends || tells != c.tells {
			t.Errorf("%s: extends %t, tells %t", name, extends, tells)
		}
	}
	inner := &lasting{plain: &plain{zones: []string{"eu-1"}, stock: -1}}
	cloud := contract.New(inner, contracts, clock)
	if _, err := cloud.Create(t.Context(), launch("a", "eu-1", 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := cloud.List(t.Context(), "st", "cl"); err != nil {
		t.Fatal(err)
	}
	later, ok := cloud.(able)
	if !ok {
		t.Fatal("it cannot move ends")
	}
	if err := later.Extend(t.Context(), []string{"a-0"}, noon.Add(25*time.Hour)); bridge.KindOf(err) != bridge.CloudInvalid || !inner.until.IsZero() {
		t.Errorf("past the contract's end: %v, %s", err, inner.until)
	}
	if err := later.Extend(t.Context(), []string{"x"}, noon.Add(25*time.Hour)); err != nil || !inner.until.Equal(noon.Add(25*time.Hour)) {
		t.Errorf("another machine: %v, %s", err, inner.until)
	}
	if err := later.Extend(t.Context(), []string{"a-0"}, noon.Add(24*time.Hour)); err != nil || !inner.until.Equal(noon.Add(24*time.Hour)) {
		t.Errorf("until its end: %v, %s", err, inner.until)
	}
}

// lastingTeller can do both.
type lastingTeller struct{ lasting }

func (lastingTeller) Changed(context.Context, string) (string, error) { return "next", nil }
