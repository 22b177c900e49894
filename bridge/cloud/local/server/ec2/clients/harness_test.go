package clients_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world has two regions, one of them with two zones; the second zone tells a lack
// of stock by machines in error.
const world = `
version: 1
clouds:
  - name: nimbus
    currency: USD
    notice: 2m
    limits: 1000
    page: 5
    accounts:
      - {name: default, quotas: [{machines: 60}, {market: on-demand, family: p, vcpus: 768, region: us-east-1}, {market: spot, family: p, vcpus: 384}]}
      - {name: other}
    types:
      - {name: p4d.24xlarge, cpus: 96, memory_mib: 1179648, disk_mib: 8000000, gpu_type: a100, gpus: 8, network: rdma}
      - {name: g6.xlarge, cpus: 4, memory_mib: 16384, gpu_type: l4, gpus: 1}
      - {name: m7i.large, cpus: 2, memory_mib: 8192}
    regions:
      - name: us-east-1
        zones:
          - name: us-east-1a
            pools:
              - {type: p4d.24xlarge, on_demand: {rate: "32.00", stock: 7}, spot: {rate: "12.50", stock: 6}}
              - {type: g6.xlarge, on_demand: {rate: "0.80", stock: 6}, spot: {rate: "0.30", stock: 0}}
              - {type: m7i.large, on_demand: {rate: "0.10", stock: 50}}
          - name: us-east-1b
            pools:
              - {type: g6.xlarge, on_demand: {rate: "0.80", stock: 0}, spot: {rate: "0.25", stock: 4}, failure: instances}
      - name: us-west-2
        zones:
          - name: us-west-2a
            pools: [{type: p4d.24xlarge, spot: {rate: "11.00", stock: 4, swing: 20, every: 1m}}]
`

// rig is a running server and what AWS's own client needs to call it.
type rig struct {
	*testing.T
	server *server.Server
	host   *server.NullHost
	base   string
}

func start(t *testing.T, text string) *rig {
	t.Helper()
	w, err := server.ParseWorld([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, host: server.NewNullHost()}
	r.server, err = server.Open(t.Context(), server.Options{Dir: t.TempDir(), World: w, Host: r.host, Pulse: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.server.Close(); err != nil {
			t.Error(err)
		}
	})
	address, err := r.server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.base = "http://" + address.String()
	return r
}

func (r *rig) token(path string) string {
	r.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		r.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// config is a client's, without repeats, so that each answer is seen.
func (r *rig) config(region string) aws.Config {
	r.Helper()
	return aws.Config{
		Region: region, BaseEndpoint: aws.String(r.base + "/aws/nimbus"), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("nimbus-default", r.token(r.server.TokenFile("nimbus", "default")), ""),
		HTTPClient:  &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	}
}

func (r *rig) ec2(region string) *sdk.Client { return sdk.NewFromConfig(r.config(region)) }

// order is what our driver asks for.
func (r *rig) order(region, zone, kind string, count int32, token string) *sdk.RunInstancesInput {
	r.Helper()
	images, err := r.ec2(region).DescribeImages(r.Context(), &sdk.DescribeImagesInput{Owners: []string{"amazon"}})
	if err != nil || len(images.Images) != 1 {
		r.Fatalf("images: %+v, %v", images, err)
	}
	subnets, err := r.ec2(region).DescribeSubnets(r.Context(), &sdk.DescribeSubnetsInput{
		Filters: []types.Filter{{Name: aws.String("availability-zone"), Values: []string{zone}}},
	})
	if err != nil || len(subnets.Subnets) != 1 {
		r.Fatalf("subnets: %+v, %v", subnets, err)
	}
	return &sdk.RunInstancesInput{
		ImageId: images.Images[0].ImageId, InstanceType: types.InstanceType(kind), MinCount: aws.Int32(count), MaxCount: aws.Int32(count),
		SubnetId: subnets.Subnets[0].SubnetId, ClientToken: aws.String(token), UserData: aws.String("IyEvYmluL3NoCg=="),
		InstanceInitiatedShutdownBehavior: types.ShutdownBehaviorTerminate,
		MetadataOptions: &types.InstanceMetadataOptionsRequest{
			HttpTokens: types.HttpTokensStateRequired, InstanceMetadataTags: types.InstanceMetadataTagsStateEnabled, HttpEndpoint: types.InstanceMetadataEndpointStateEnabled,
		},
		TagSpecifications: []types.TagSpecification{
			{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{{Key: aws.String("spillway-store"), Value: aws.String("s1")}, {Key: aws.String("spillway-expires"), Value: aws.String("2030-01-01T00:00:00Z")}}},
			{ResourceType: types.ResourceTypeVolume, Tags: []types.Tag{{Key: aws.String("spillway-store"), Value: aws.String("s1")}}},
		},
	}
}

// spot makes an order one for the spot market.
func spot(in *sdk.RunInstancesInput, ceiling string) *sdk.RunInstancesInput {
	in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{
		MarketType: types.MarketTypeSpot,
		SpotOptions: &types.SpotMarketOptions{
			SpotInstanceType: types.SpotInstanceTypeOneTime, InstanceInterruptionBehavior: types.InstanceInterruptionBehaviorTerminate,
		},
	}
	if ceiling != "" {
		in.InstanceMarketOptions.SpotOptions.MaxPrice = aws.String(ceiling)
	}
	return in
}

// code is an error's code in AWS's words.
func code(err error) string {
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	if err != nil {
		return "no code: " + err.Error()
	}
	return ""
}

// run makes machines and returns their ids.
func (r *rig) run(region string, in *sdk.RunInstancesInput) []string {
	r.Helper()
	out, err := r.ec2(region).RunInstances(r.Context(), in)
	if err != nil {
		r.Fatal(err)
	}
	var ids []string
	for _, m := range out.Instances {
		ids = append(ids, *m.InstanceId)
	}
	return ids
}

// await polls until a machine is in a state.
func (r *rig) await(region, id string, want types.InstanceStateName) types.Instance {
	r.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for {
		out, err := r.ec2(region).DescribeInstances(r.Context(), &sdk.DescribeInstancesInput{InstanceIds: []string{id}})
		if err == nil && out.Reservations[0].Instances[0].State.Name == want {
			return out.Reservations[0].Instances[0]
		}
		if time.Now().After(deadline) {
			r.Fatalf("machine %s is %+v, %v; want %s", id, out, err, want)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// fault sets faults or gives commands.
func (r *rig) fault(faults ...wire.Fault) {
	r.Helper()
	text, err := json.Marshal(wire.Faults{Faults: faults})
	if err != nil {
		r.Fatal(err)
	}
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, r.base+"/v1/faults", bytes.NewReader(text))
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.token(r.server.AdminTokenFile()))
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		r.Fatalf("faults: %+v, %v", resp, err)
	}
	resp.Body.Close()
}

// native calls in the world's own words.
func (r *rig) native(method, path, body string) (int, string) {
	r.Helper()
	req := httptest.NewRequestWithContext(r.Context(), method, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+r.token(r.server.TokenFile("nimbus", "default")))
	w := httptest.NewRecorder()
	r.server.Handler().ServeHTTP(w, req)
	return w.Code, w.Body.String()
}
