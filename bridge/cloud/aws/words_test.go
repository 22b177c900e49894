package aws

import (
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

// TestCodes has every code that field notes know of EC2's, and what proves nothing.
func TestCodes(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		code   string
		want   bridge.CloudErrorKind
	}{
		"no machine of the type, as an error of the server's": {500, "InsufficientInstanceCapacity", bridge.CloudNoCapacity},
		"a fleet that cannot be filled":                       {400, "UnfulfillableCapacity", bridge.CloudNoCapacity},
		"a type that the zone lacks":                          {400, "Unsupported", bridge.CloudNoCapacity},
		"no address left in the subnet":                       {400, "InsufficientFreeAddressesInSubnet", bridge.CloudNoCapacity},
		"a reservation that is used up":                       {400, "ReservationCapacityExceeded", bridge.CloudNoCapacity},
		"spot dearer than the ceiling":                        {400, "SpotMaxPriceTooLow", bridge.CloudPrice},
		"too many fleets":                                     {400, "MaxFleetCountExceeded", bridge.CloudQuota},
		"too many vCPUs":                                      {400, "VcpuLimitExceeded", bridge.CloudQuota},
		"too many spot machines":                              {400, "MaxSpotInstanceCountExceeded", bridge.CloudQuota},
		"too many machines":                                   {400, "InstanceLimitExceeded", bridge.CloudQuota},
		"too many calls":                                      {503, "RequestLimitExceeded", bridge.CloudThrottled},
		"a token with other parameters":                       {400, "IdempotentParameterMismatch", bridge.CloudMismatch},
		"a token whose machines have ended":                   {400, "IdempotentInstanceTerminated", bridge.CloudUnknown},
		"a key that is unknown":                               {401, "AuthFailure", bridge.CloudDenied},
		"a right that is missing":                             {403, "UnauthorizedOperation", bridge.CloudDenied},
		"an image that is not there":                          {400, "InvalidAMIID.NotFound", bridge.CloudInvalid},
		"a type that does not exist":                          {400, "InvalidParameterValue", bridge.CloudInvalid},
		"a machine that is not there":                         {400, "InvalidInstanceID.NotFound", bridge.CloudNotFound},
		"an error of the server's":                            {500, "InternalError", bridge.CloudUnknown},
		"a server that is away":                               {503, "Unavailable", bridge.CloudUnknown},
		"an invented lack, found before anything was done":    {400, "InsufficientQuantumCapacity", bridge.CloudNoCapacity},
		"an invented limit":                                   {400, "QuantumLimitExceeded", bridge.CloudQuota},
		"an invented refusal":                                 {400, "QuantumStateInvalid", bridge.CloudInvalid},
		"an invented error of the server's":                   {500, "QuantumLimitExceeded", bridge.CloudUnknown},
		"an invented word about the token":                    {400, "IdempotentRequestPending", bridge.CloudUnknown},
		"an invented word about another call":                 {400, "RunInstancesInProgress", bridge.CloudUnknown},
		"a conflict":                                          {409, "QuantumConflict", bridge.CloudUnknown},
		"a client that was too slow":                          {408, "RequestTimeout", bridge.CloudUnknown},
		"an invented word for too many calls":                 {429, "QuantumFlood", bridge.CloudThrottled},
	} {
		t.Run(name, func(t *testing.T) {
			if got := meaningOf(test.code, test.status).kind; got != test.want {
				t.Errorf("%d %s is %s, want %s", test.status, test.code, got, test.want)
			}
		})
	}
}

// TestQuotasByName reads the names of AWS's quotas of vCPUs.
func TestQuotasByName(t *testing.T) {
	var all []quota
	for _, name := range []string{
		"Running On-Demand P instances", "Running On-Demand G and VT instances", "Running On-Demand High Memory instances",
		"Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", "Running On-Demand Trn instances", "Running On-Demand X instances",
		"All P4, P3 and P2 Spot Instance Requests", "All P5 Spot Instance Requests", "All G and VT Spot Instance Requests",
		"All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests", "EC2-VPC Elastic IPs",
	} {
		if q, ok := readQuota(name, 64); ok {
			all = append(all, q)
		}
	}
	for typ, want := range map[string][2]string{
		"p5.48xlarge":   {"Running On-Demand P instances", "All P5 Spot Instance Requests"},
		"p4de.24xlarge": {"Running On-Demand P instances", "All P4, P3 and P2 Spot Instance Requests"},
		"p6.48xlarge":   {"Running On-Demand P instances", ""},
		"g6e.12xlarge":  {"Running On-Demand G and VT instances", "All G and VT Spot Instance Requests"},
		"m7i.large":     {"Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests"},
		"trn1.32xlarge": {"Running On-Demand Trn instances", ""},
		"mac2.metal":    {"", ""},
		"u-6tb1.metal":  {"", ""},
	} {
		got := [2]string{}
		for i, m := range []bridge.Market{bridge.OnDemand, bridge.Spot} {
			if q := quotaOf(all, m, typ); q != nil {
				got[i] = q.name
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", typ, diff)
		}
	}
}

// TestKinds reads types in EC2's words.
func TestKinds(t *testing.T) {
	info := func(gpu string, mib, count int32, network *types.NetworkInfo) *types.InstanceTypeInfo {
		return &types.InstanceTypeInfo{
			VCpuInfo: &types.VCpuInfo{DefaultVCpus: sdk.Int32(8)}, MemoryInfo: &types.MemoryInfo{SizeInMiB: sdk.Int64(65536)}, NetworkInfo: network,
			GpuInfo: &types.GpuInfo{Gpus: []types.GpuDeviceInfo{{
				Name: sdk.String(gpu), Count: sdk.Int32(count), MemoryInfo: &types.GpuDeviceMemoryInfo{SizeInMiB: sdk.Int32(mib)},
			}}},
		}
	}
	for name, test := range map[string]struct {
		info    *types.InstanceTypeInfo
		gpu     string
		network bridge.Network
		plain   bridge.Network
		efa     int
	}{
		"p4d":                            {info("A100", 40960, 8, &types.NetworkInfo{NetworkPerformance: sdk.String("4x 100 Gigabit"), EfaSupported: sdk.Bool(true), EfaInfo: &types.EfaInfo{MaximumEfaInterfaces: sdk.Int32(4)}}), "a100-40", "rdma", "100g", 4},
		"p5":                             {info("H100", 81920, 8, &types.NetworkInfo{NetworkPerformance: sdk.String("3200 Gigabit"), EfaSupported: sdk.Bool(true)}), "h100", "rdma", "100g", 1},
		"g6 that only sometimes is fast": {info("L4", 22888, 1, &types.NetworkInfo{NetworkPerformance: sdk.String("Up to 50 Gigabit")}), "l4", "", "", 0},
		"a card that says what it does at least": {info("L40S", 45776, 1, &types.NetworkInfo{
			NetworkPerformance: sdk.String("Up to 50 Gigabit"), NetworkCards: []types.NetworkCardInfo{{BaselineBandwidthInGbps: sdk.Float64(30)}},
		}), "l40s", "25g", "25g", 0},
		"a GPU nobody knows": {info("Quantum X-1", 1024, 2, nil), "quantum-x-1", "", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			k, ok := kindOf(test.info)
			if !ok || k.shape.GPUType != test.gpu || k.network != test.network || k.plain != test.plain || k.efa != test.efa {
				t.Errorf("%+v, %t", k, ok)
			}
		})
	}
	part := info("L4", 22888, 1, nil)
	part.GpuInfo.Gpus[0].GpuPartitionSize = sdk.Float64(0.25)
	if _, ok := kindOf(part); ok {
		t.Error("a quarter of a GPU is taken for a whole one")
	}
}

func TestProducts(t *testing.T) {
	entry := func(kind, unit, price string) string {
		return `{"product":{"attributes":{"instanceType":"` + kind + `","marketoption":"OnDemand"}},"terms":{"OnDemand":{"a":{"priceDimensions":{"b":{"unit":"` + unit + `","pricePerUnit":{"USD":"` + price + `"}}}}}}}`
	}
	for name, test := range map[string]struct {
		text string
		want int64 // zero: no price
	}{
		"an hourly price":             {entry("p5.48xlarge", "Hrs", "55.0400000000"), 55_040_000},
		"finer than a millionth":      {entry("t3.nano", "Hrs", "0.0000001000"), 1},
		"nothing":                     {entry("p5.48xlarge", "Hrs", "0.0000000000"), 0},
		"less than nothing":           {entry("p5.48xlarge", "Hrs", "-1"), 0},
		"another unit":                {entry("p5.48xlarge", "Quantity", "400000"), 0},
		"no type":                     {entry("", "Hrs", "1"), 0},
		"no number":                   {entry("p5.48xlarge", "Hrs", "free"), 0},
		"more than there is":          {entry("p5.48xlarge", "Hrs", "1e30"), 0},
		"rubbish":                     {`{"product":`, 0},
		"another currency than asked": {`{"product":{"attributes":{"instanceType":"a"}},"terms":{"OnDemand":{"a":{"priceDimensions":{"b":{"unit":"Hrs","pricePerUnit":{"CNY":"7"}}}}}}}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, rate, ok := readProduct(test.text, "USD")
			if rate.Micro != test.want || ok != (test.want > 0) {
				t.Errorf("%v, %t", rate, ok)
			}
		})
	}
}

// TestReasons reads why machines end.
func TestReasons(t *testing.T) {
	launched := time.Date(2026, 12, 1, 3, 0, 0, 500e6, time.UTC)
	for name, test := range map[string]struct {
		code, message, transition string
		fault                     string
		stopped                   time.Time
	}{
		"we asked":                   {"Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown", "User initiated (2026-12-01 03:10:00 GMT)", "", launched.Add(10*time.Minute - 500e6)},
		"the machine asked":          {"Client.InstanceInitiatedShutdown", "x", "", "", time.Time{}},
		"in its first second":        {"Client.UserInitiatedShutdown", "x", "User initiated (2026-12-01 03:00:00 GMT)", "", launched},
		"taken back":                 {"Server.SpotInstanceTermination", "Server.SpotInstanceTermination: Spot instance termination", "Server.SpotInstanceTermination (2026-12-01 03:10:00 GMT)", "SpotInstanceTermination: Spot instance termination", launched.Add(10*time.Minute - 500e6)},
		"taken back, older word":     {"Server.SpotInstanceShutdown", "x", "", "SpotInstanceTermination: x", time.Time{}},
		"a disk that cannot be read": {"Client.InternalError", "Client error on launch", "", "InternalError: Client error on launch", time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &types.Instance{
				LaunchTime: &launched, StateTransitionReason: sdk.String(test.transition), State: &types.InstanceState{Name: types.InstanceStateNameTerminated},
				StateReason: &types.StateReason{Code: sdk.String(test.code), Message: sdk.String(test.message)},
			}
			c, r := &Cloud{}, &region{}
			got := c.instance(r, m)
			if got.Fault != test.fault || !got.Stopped.Equal(test.stopped) || got.State != bridge.InstanceGone {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestHandles(t *testing.T) {
	h := handle{ids: []string{"i-1", "i-2"}, launched: time.Unix(1_764_560_000, 0).UTC()}
	if diff := cmp.Diff(h, unpack(h.pack()), cmp.AllowUnexported(handle{})); diff != "" {
		t.Errorf("-packed +unpacked:\n%s", diff)
	}
	if got := unpack(""); len(got.ids) > 0 {
		t.Errorf("nothing is %v", got)
	}
}

// TestSecretsStayOut keeps what a request was signed with out of what is shown.
func TestSecretsStayOut(t *testing.T) {
	const said = "The request signature we calculated does not match. The Canonical String for this request should have been\n'POST\n/\nx-amz-security-token:HUSH'"
	if got := clip(said); got != "The request signature we calculated does not match." {
		t.Errorf("%q", got)
	}
}
