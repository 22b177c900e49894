package clients_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	pricingtypes "github.com/aws/aws-sdk-go-v2/service/pricing/types"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

const east, west = "us-east-1", "us-west-2"

func TestMachinesLifeInTheSDKsWords(t *testing.T) {
	r := start(t, world)
	in := spot(r.order(east, "us-east-1a", "p4d.24xlarge", 2, "token-1"), "13.00")
	ids := r.run(east, in)
	if len(ids) != 2 {
		t.Fatalf("%d machines", len(ids))
	}
	if again := r.run(east, in); !slices.Equal(again, ids) {
		t.Errorf("the same call made %v, not %v", again, ids)
	}
	m := r.await(east, ids[0], types.InstanceStateNameRunning)
	got := map[string]string{
		"type": string(m.InstanceType), "lifecycle": string(m.InstanceLifecycle), "token": *m.ClientToken, "zone": *m.Placement.AvailabilityZone,
		"address": *m.PrivateIpAddress, "subnet": *m.SubnetId, "image": *m.ImageId, "tokens": string(m.MetadataOptions.HttpTokens), "tag": *m.Tags[1].Value,
	}
	want := map[string]string{
		"type": "p4d.24xlarge", "lifecycle": "spot", "token": "token-1", "zone": "us-east-1a", "address": "192.0.2.1", "subnet": *in.SubnetId,
		"image": *in.ImageId, "tokens": "required", "tag": "s1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	r.fault(wire.Fault{Kind: wire.CommandNotice, Instance: ids[1], Delay: wire.Duration(time.Minute)})
	requests, err := r.ec2(east).DescribeSpotInstanceRequests(t.Context(), &sdk.DescribeSpotInstanceRequestsInput{
		Filters: []types.Filter{{Name: aws.String("instance-id"), Values: []string{ids[1]}}},
	})
	if err != nil || len(requests.SpotInstanceRequests) != 1 || *requests.SpotInstanceRequests[0].Status.Code != "marked-for-termination" {
		t.Errorf("spot request: %+v, %v", requests, err)
	}
	ended, err := r.ec2(east).TerminateInstances(t.Context(), &sdk.TerminateInstancesInput{InstanceIds: ids[:1]})
	if err != nil || ended.TerminatingInstances[0].PreviousState.Name != types.InstanceStateNameRunning {
		t.Errorf("terminate: %+v, %v", ended, err)
	}
	gone := r.await(east, ids[0], types.InstanceStateNameTerminated)
	if gone.StateReason == nil || *gone.StateReason.Code != "Client.UserInitiatedShutdown" {
		t.Errorf("reason %+v", gone.StateReason)
	}
	r.fault(wire.Fault{Kind: wire.CommandReclaim, Instance: ids[1]})
	taken := r.await(east, ids[1], types.InstanceStateNameTerminated)
	if *taken.StateReason.Code != "Server.SpotInstanceTermination" {
		t.Errorf("reason %+v", taken.StateReason)
	}
	if _, err := r.ec2(east).RunInstances(t.Context(), in); code(err) != "IdempotentInstanceTerminated" {
		t.Errorf("the token of ended machines: %v", err)
	}
	entries, err := server.ReadLedger(r.server.LedgerFile())
	if err != nil {
		t.Fatal(err)
	}
	j, err := server.Judge(entries, time.Now())
	if err != nil || j.Machines != 2 || len(j.Live)+len(j.Untagged)+len(j.Doubles) != 0 || !slices.Equal(j.Reclaimed, ids[1:]) {
		t.Errorf("the ledger says %+v, %v", j, err)
	}
}

func TestListingsInTheSDKsWords(t *testing.T) {
	r := start(t, world)
	many := r.run(east, r.order(east, "us-east-1a", "m7i.large", 12, "many"))
	r.run(west, spot(r.order(west, "us-west-2a", "p4d.24xlarge", 1, "far"), ""))
	filters := []types.Filter{{Name: aws.String("tag:spillway-store"), Values: []string{"s1"}}, {Name: aws.String("instance-state-name"), Values: []string{"pending", "running"}}}
	pages := sdk.NewDescribeInstancesPaginator(r.ec2(east), &sdk.DescribeInstancesInput{Filters: filters, MaxResults: aws.Int32(1000)})
	var got []string
	n := 0
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n++
		for _, res := range page.Reservations {
			for _, m := range res.Instances {
				got = append(got, *m.InstanceId)
			}
		}
	}
	slices.Sort(got)
	slices.Sort(many)
	if !slices.Equal(got, many) || n != 3 {
		t.Errorf("%d pages with %v, want 3 with %v", n, got, many)
	}
	for name, tc := range map[string]struct {
		filter string
		values []string
		want   int
	}{
		"another store":       {"tag:spillway-store", []string{"s2"}, 0},
		"a part of a name":    {"tag:spillway-store", []string{"?1"}, 12},
		"all that are tagged": {"tag-key", []string{"spillway-*"}, 12},
		"by token":            {"client-token", []string{"many", "none"}, 12},
		"by id":               {"instance-id", many[:3], 3},
		"by state":            {"instance-state-name", []string{"terminated"}, 0},
	} {
		all := 0
		pages := sdk.NewDescribeInstancesPaginator(r.ec2(east), &sdk.DescribeInstancesInput{Filters: []types.Filter{{Name: aws.String(tc.filter), Values: tc.values}}})
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, res := range page.Reservations {
				all += len(res.Instances)
			}
		}
		if all != tc.want {
			t.Errorf("%s: %d, want %d", name, all, tc.want)
		}
	}
}

func TestTagsInTheSDKsWords(t *testing.T) {
	r := start(t, world)
	ids := r.run(east, r.order(east, "us-east-1a", "m7i.large", 1, "tagged"))
	c := r.ec2(east)
	if _, err := c.CreateTags(t.Context(), &sdk.CreateTagsInput{Resources: ids, Tags: []types.Tag{{Key: aws.String("spillway-expires"), Value: aws.String("2031-01-01T00:00:00Z")}, {Key: aws.String("x"), Value: aws.String("")}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DeleteTags(t.Context(), &sdk.DeleteTagsInput{Resources: ids, Tags: []types.Tag{{Key: aws.String("spillway-store")}, {Key: aws.String("x"), Value: aws.String("other")}}}); err != nil {
		t.Fatal(err)
	}
	got, err := c.DescribeTags(t.Context(), &sdk.DescribeTagsInput{Filters: []types.Filter{{Name: aws.String("resource-id"), Values: ids}}})
	if err != nil {
		t.Fatal(err)
	}
	tags := map[string]string{}
	for _, tag := range got.Tags {
		tags[*tag.Key] = *tag.Value
	}
	if diff := cmp.Diff(map[string]string{"spillway-expires": "2031-01-01T00:00:00Z", "x": ""}, tags); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTypesAndPricesInTheSDKsWords(t *testing.T) {
	r := start(t, world)
	c := r.ec2(east)
	kinds, err := c.DescribeInstanceTypes(t.Context(), &sdk.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"p4d.24xlarge"}})
	if err != nil || len(kinds.InstanceTypes) != 1 {
		t.Fatalf("types: %+v, %v", kinds, err)
	}
	k := kinds.InstanceTypes[0]
	if g := k.GpuInfo.Gpus[0]; *k.VCpuInfo.DefaultVCpus != 96 || *k.MemoryInfo.SizeInMiB != 1179648 || *g.Name != "A100" || *g.Count != 8 ||
		*g.MemoryInfo.SizeInMiB != 40960 || !*k.NetworkInfo.EfaSupported || k.ProcessorInfo.SupportedArchitectures[0] != "x86_64" ||
		!slices.Equal(k.SupportedUsageClasses, []types.UsageClassType{"on-demand", "spot"}) {
		t.Errorf("%+v %+v", k, g)
	}
	offerings, err := c.DescribeInstanceTypeOfferings(t.Context(), &sdk.DescribeInstanceTypeOfferingsInput{LocationType: types.LocationTypeAvailabilityZone})
	if err != nil || len(offerings.InstanceTypeOfferings) != 4 {
		t.Errorf("offerings: %+v, %v", offerings, err)
	}
	history, err := c.DescribeSpotPriceHistory(t.Context(), &sdk.DescribeSpotPriceHistoryInput{
		StartTime: aws.Time(time.Now()), ProductDescriptions: []string{"Linux/UNIX"}, InstanceTypes: []types.InstanceType{"g6.xlarge"},
	})
	if err != nil || len(history.SpotPriceHistory) != 2 || *history.SpotPriceHistory[0].SpotPrice != "0.300000" || history.SpotPriceHistory[0].Timestamp.After(time.Now()) {
		t.Errorf("history: %+v, %v", history, err)
	}
	r.fault(wire.Fault{Kind: wire.CommandPrice, Pool: "us-east-1/us-east-1a/g6.xlarge/spot", Rate: aws.Int64(400_000)})
	history, err = c.DescribeSpotPriceHistory(t.Context(), &sdk.DescribeSpotPriceHistoryInput{
		StartTime: aws.Time(time.Now().Add(-time.Hour)), AvailabilityZone: aws.String("us-east-1a"), InstanceTypes: []types.InstanceType{"g6.xlarge"},
	})
	if err != nil || len(history.SpotPriceHistory) != 2 || *history.SpotPriceHistory[0].SpotPrice != "0.400000" {
		t.Errorf("history with a command: %+v, %v", history, err)
	}
	scores, err := c.GetSpotPlacementScores(t.Context(), &sdk.GetSpotPlacementScoresInput{
		InstanceTypes: []string{"g6.xlarge"}, TargetCapacity: aws.Int32(2), SingleAvailabilityZone: aws.Bool(true), RegionNames: []string{east},
	})
	if err != nil || len(scores.SpotPlacementScores) != 2 || *scores.SpotPlacementScores[0].Score != 10 || *scores.SpotPlacementScores[1].Score != 1 {
		t.Errorf("scores: %+v, %v", scores, err)
	}
	products, err := pricing.NewFromConfig(r.config(east)).GetProducts(t.Context(), &pricing.GetProductsInput{
		ServiceCode: aws.String("AmazonEC2"), Filters: []pricingtypes.Filter{
			{Type: pricingtypes.FilterTypeTermMatch, Field: aws.String("instanceType"), Value: aws.String("g6.xlarge")},
			{Type: pricingtypes.FilterTypeTermMatch, Field: aws.String("regionCode"), Value: aws.String(east)},
		},
	})
	if err != nil || len(products.PriceList) != 1 {
		t.Fatalf("products: %+v, %v", products, err)
	}
	var item struct {
		Terms struct {
			OnDemand map[string]struct {
				PriceDimensions map[string]struct{ PricePerUnit map[string]string }
			}
		}
	}
	if err := json.Unmarshal([]byte(products.PriceList[0]), &item); err != nil {
		t.Fatal(err)
	}
	for _, term := range item.Terms.OnDemand {
		for _, d := range term.PriceDimensions {
			if d.PricePerUnit["USD"] != "0.8000000000" {
				t.Errorf("price %v", d.PricePerUnit)
			}
		}
	}
}

func TestIdentityQuotasAndPlacesInTheSDKsWords(t *testing.T) {
	r := start(t, world)
	who, err := sts.NewFromConfig(r.config(east)).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	if err != nil || *who.UserId != "nimbus-default" || len(*who.Account) != 12 {
		t.Errorf("identity: %+v, %v", who, err)
	}
	quotas, err := servicequotas.NewFromConfig(r.config(east)).ListServiceQuotas(t.Context(), &servicequotas.ListServiceQuotasInput{ServiceCode: aws.String("ec2")})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, q := range quotas.Quotas {
		got[*q.QuotaName] = *q.Value
	}
	want := map[string]float64{"Running On-Demand P instances": 768, "All P4, P3 and P2 Spot Instance Requests": 384}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	one, err := servicequotas.NewFromConfig(r.config(west)).GetServiceQuota(t.Context(), &servicequotas.GetServiceQuotaInput{ServiceCode: aws.String("ec2"), QuotaCode: aws.String("L-417A185B")})
	if code(err) != "NoSuchResourceException" {
		t.Errorf("a quota of another region: %+v, %v", one, err)
	}
	regions, err := r.ec2(east).DescribeRegions(t.Context(), &sdk.DescribeRegionsInput{})
	if err != nil || len(regions.Regions) != 2 {
		t.Errorf("regions: %+v, %v", regions, err)
	}
	zones, err := r.ec2(east).DescribeAvailabilityZones(t.Context(), &sdk.DescribeAvailabilityZonesInput{})
	if err != nil || len(zones.AvailabilityZones) != 2 || *zones.AvailabilityZones[1].ZoneId != "us-east-1-az2" {
		t.Errorf("zones: %+v, %v", zones, err)
	}
	groups, err := r.ec2(east).DescribeSecurityGroups(t.Context(), &sdk.DescribeSecurityGroupsInput{GroupNames: []string{"default"}})
	if err != nil || len(groups.SecurityGroups) != 1 {
		t.Errorf("groups: %+v, %v", groups, err)
	}
	ids := r.run(east, r.order(east, "us-east-1a", "m7i.large", 1, "status"))
	r.await(east, ids[0], types.InstanceStateNameRunning)
	status, err := r.ec2(east).DescribeInstanceStatus(t.Context(), &sdk.DescribeInstanceStatusInput{InstanceIds: ids})
	if err != nil || len(status.InstanceStatuses) != 1 || status.InstanceStatuses[0].SystemStatus.Status != types.SummaryStatusOk {
		t.Errorf("status: %+v, %v", status, err)
	}
}
