package aws_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/aws"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// offer finds a pool among all.
func offer(t *testing.T, cloud *aws.Cloud, p bridge.Pool) bridge.Offer {
	t.Helper()
	all, err := cloud.Offers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(o bridge.Offer) bool { return o.Pool == p })
	if i < 0 {
		t.Fatalf("%s is not offered: %+v", p, all)
	}
	return all[i]
}

func TestOffers(t *testing.T) {
	r := start(t)
	cloud := r.open(func(c *aws.Config) { c.Reserve, c.EFA, c.Disk, c.Types = 10, true, 100, nil })
	got := offer(t, cloud, spotPool)
	if age := time.Since(got.SampledAt); age < 0 || age > time.Minute {
		t.Errorf("priced %s ago", age)
	}
	got.SampledAt = time.Time{}
	want := bridge.Offer{
		Pool: spotPool, Shape: bridge.Shape{CPUs: 96, MemoryMiB: 1179648 - 117964, GPUType: "a100-40", GPUs: 8, DiskMiB: 100 << 10},
		Features: []string{"nvlink"}, Rate: bridge.Rate{Micro: 12_500_000, Currency: "USD"}, MaxAge: 15 * time.Minute, Source: "ec2:DescribeSpotPriceHistory",
		Boot: 5 * time.Minute, Available: 10, Step: time.Second, Minimum: time.Minute, Notice: 2 * time.Minute,
		Limited: "All P4, P3 and P2 Spot Instance Requests", Score: 10, Network: bridge.NetworkRDMA,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	dear := offer(t, cloud, pool(west, "us-west-2a", gpuType, bridge.OnDemand))
	if dear.Rate.Micro != 32_000_000 || dear.Notice != 0 || dear.Source != "pricing:GetProducts" || dear.Available != 10 {
		t.Errorf("%+v", dear)
	}
	if none := offer(t, cloud, pool(east, "us-east-1a", "g6.xlarge", bridge.OnDemand)); none.Available != 0 || none.Limited == "" {
		t.Errorf("a quota of nothing leaves %d by %q", none.Available, none.Limited)
	}
	all, err := cloud.Offers(t.Context())
	if err != nil || slices.ContainsFunc(all, func(o bridge.Offer) bool { return o.Shape.GPUs == 0 }) {
		t.Errorf("a type without a GPU is offered, %v: %+v", err, all)
	}
}

// TestQuotaCountsWhatRuns rents, and what is left of the quota is less.
func TestQuotaCountsWhatRuns(t *testing.T) {
	r := start(t)
	if n := offer(t, r.cloud, spotPool).Available; n != 10 {
		t.Fatalf("%d at first", n)
	}
	r.running(launch(spotPool, 3, 1))
	if n := offer(t, r.cloud, spotPool).Available; n != 7 {
		t.Errorf("%d while three run", n)
	}
}

// TestPartsThatFailTakeNothingFromTheRest denies one call after the other: what
// does not need it is offered.
func TestPartsThatFailTakeNothingFromTheRest(t *testing.T) {
	r := start(t)
	for action, want := range map[string][]bridge.Market{
		"GetProducts":              {bridge.Spot},
		"DescribeSpotPriceHistory": {bridge.OnDemand},
		"ListServiceQuotas":        {bridge.OnDemand, bridge.Spot},
		"GetSpotPlacementScores":   {bridge.OnDemand, bridge.Spot},
	} {
		t.Run(action, func(t *testing.T) {
			r.fault(wire.Fault{Kind: wire.FaultCode, Op: action, Code: "AccessDeniedException"})
			defer r.heal()
			all, err := r.open(nil).Offers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []bridge.Market
			for _, o := range all {
				if o.Pool.Type == gpuType && !slices.Contains(got, o.Pool.Market) {
					got = append(got, o.Pool.Market)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("markets (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAnOldPriceIsNotBought lets prices fail for a day: they stay to be seen, with
// their age, and nothing is asked for on demand.
func TestAnOldPriceIsNotBought(t *testing.T) {
	r := start(t)
	now := time.Now()
	cloud := r.open(func(c *aws.Config) { c.Now = func() time.Time { return now } })
	p := pool(east, "us-east-1a", gpuType, bridge.OnDemand)
	offer(t, cloud, p)
	r.fault(wire.Fault{Kind: wire.FaultCode, Op: "GetProducts", Code: "AccessDeniedException"})
	now = now.Add(25 * time.Hour)
	if o := offer(t, cloud, p); o.Fresh(now) || o.Rate.Micro == 0 {
		t.Errorf("a price of yesterday is %+v", o)
	}
	_, err := cloud.Create(t.Context(), launch(p, 1, 1))
	wantError(t, err, bridge.CloudDenied, "AccessDeniedException")
}

func TestANoticeIsSeenInTheList(t *testing.T) {
	r := start(t)
	made := r.running(launch(spotPool, 2, 1))
	r.fault(wire.Fault{Kind: wire.CommandNotice, Instance: made[0].ID, Delay: wire.Duration(time.Minute)})
	l, err := r.cloud.List(t.Context(), "st", "cl")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range l.Instances {
		if noted := !m.NoticeAt.IsZero(); noted != (m.ID == made[0].ID) || noted && m.ReclaimAt.Sub(m.NoticeAt) != 2*time.Minute {
			t.Errorf("%s: noticed %s, ends %s", m.ID, m.NoticeAt, m.ReclaimAt)
		}
	}
	// Notices that may not be read leave the list whole.
	r.fault(wire.Fault{Kind: wire.FaultCode, Op: "DescribeSpotInstanceRequests", Code: "UnauthorizedOperation"})
	if l, err := r.cloud.List(t.Context(), "st", "cl"); err != nil || !l.Complete || len(l.Instances) != 2 {
		t.Errorf("%d machines, complete %t, %v", len(l.Instances), l.Complete, err)
	}
}

func TestAMachineTakenBackSaysSo(t *testing.T) {
	r := start(t)
	made := r.running(launch(spotPool, 1, 1))
	r.fault(wire.Fault{Kind: wire.CommandReclaim, Instance: made[0].ID})
	r.await("it is gone, and why is said", func() bool {
		l, err := r.cloud.List(t.Context(), "st", "cl")
		return err == nil && len(l.Instances) == 1 && l.Instances[0].State == bridge.InstanceGone && strings.HasPrefix(l.Instances[0].Fault, "SpotInstanceTermination")
	})
}

// TestExtendMovesTheTag also for a driver that has not seen the machines yet.
func TestExtendMovesTheTag(t *testing.T) {
	r := start(t)
	made := r.running(launch(pool(west, "us-west-2a", gpuType, bridge.Spot), 2, 1))
	later := time.Now().UTC().Add(5 * time.Hour).Truncate(time.Second)
	for range 2 {
		if err := r.open(nil).Extend(t.Context(), ids(made), later); err != nil {
			t.Fatal(err)
		}
	}
	l, err := r.cloud.List(t.Context(), "st", "cl")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range l.Instances {
		if m.Tags[bridge.TagExpires] != later.Format(time.RFC3339) {
			t.Errorf("%s ends %s", m.ID, m.Tags[bridge.TagExpires])
		}
	}
}

// TestOnDemandAboveTheCeilingIsNotAskedFor has a list price above what was agreed.
func TestOnDemandAboveTheCeilingIsNotAskedFor(t *testing.T) {
	const price = `{"FormatVersion":"aws_v1","PriceList":["{\"product\":{\"attributes\":{\"instanceType\":\"p4d.24xlarge\"}},\"terms\":{\"OnDemand\":{\"a\":{\"priceDimensions\":{\"b\":{\"unit\":\"Hrs\",\"pricePerUnit\":{\"USD\":\"40.01\"}}}}}}}"]}`
	f, cloud := faked(t, map[string]func(url.Values) (int, string){
		"": func(url.Values) (int, string) { return http.StatusCreated, price }, // the price list speaks JSON
	}, func(c *aws.Config) { c.Types = []string{gpuType} })
	_, err := cloud.Create(t.Context(), launch(pool(east, "us-east-1a", gpuType, bridge.OnDemand), 1, 1))
	wantError(t, err, bridge.CloudPrice, "")
	if n := len(f.calls("RunInstances")); n > 0 {
		t.Errorf("%d machines were asked for", n)
	}
}
