package aws_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/aws"
	"spillway.sh/spillway/bridge/cloud/cloudtest"
	"spillway.sh/spillway/bridge/cloud/cloudtest/killed"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

func TestMain(m *testing.M) {
	killed.Obey(openVictim)
	// Whoever runs the tests may have credentials; they are nobody's business here.
	for _, name := range []string{"AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"} {
		if err := os.Unsetenv(name); err != nil {
			panic(err)
		}
	}
	for name, value := range map[string]string{
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

const (
	east, west = "us-east-1", "us-west-2"
	gpuType    = "p4d.24xlarge"
)

// world has two regions; the zones called gone have no stock, each in one of the
// shapes in which that is told.
const world = `
version: 1
clouds:
  - name: nimbus
    currency: USD
    notice: 2m
    boot: 30ms
    visibility: 30ms
    limits: 100
    accounts:
      - {name: default, quotas: [{market: on-demand, family: p, vcpus: 1000}, {market: spot, family: p, vcpus: 960}, {market: on-demand, family: g, vcpus: 0}]}
    types:
      - {name: p4d.24xlarge, cpus: 96, memory_mib: 1179648, gpu_type: a100, gpus: 8, gpu_memory_mib: 40960, network: rdma}
      - {name: g6.xlarge, cpus: 4, memory_mib: 16384, gpu_type: l4, gpus: 1}
      - {name: m7i.large, cpus: 2, memory_mib: 8192}
    regions:
      - name: us-east-1
        zones:
          - name: us-east-1a
            pools:
              - {type: p4d.24xlarge, on_demand: {rate: "32.00", stock: 6}, spot: {rate: "12.50", stock: 6}}
              - {type: g6.xlarge, on_demand: {rate: "0.80", stock: 6}}
              - {type: m7i.large, on_demand: {rate: "0.10", stock: 6}}
          - name: gone-error
            pools: [{type: p4d.24xlarge, spot: {rate: "5.60"}, failure: error}]
          - name: gone-list
            pools: [{type: p4d.24xlarge, spot: {rate: "5.60"}, failure: list}]
          - name: gone-operation
            pools: [{type: p4d.24xlarge, spot: {rate: "5.60"}, failure: operation}]
          - name: gone-instances
            pools: [{type: p4d.24xlarge, spot: {rate: "5.60"}, failure: instances}]
      - name: us-west-2
        zones:
          - name: us-west-2a
            pools: [{type: p4d.24xlarge, on_demand: {rate: "32.00", stock: 6}, spot: {rate: "11.00", stock: 4}}]
`

// rig is a local cloud that speaks EC2, and the driver on it.
type rig struct {
	*testing.T
	server *server.Server
	base   string
	cloud  *aws.Cloud
}

func start(t *testing.T) *rig { return startWorld(t, world) }

func startWorld(t *testing.T, text string) *rig {
	t.Helper()
	w, err := server.ParseWorld([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t}
	if r.server, err = server.Open(t.Context(), server.Options{Dir: t.TempDir(), World: w, Host: server.NewNullHost(), Pulse: 5 * time.Millisecond}); err != nil {
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
	r.cloud = r.open(nil)
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

// credentialsFile is one in the SDK's own form.
func (r *rig) credentialsFile(key, secret string) string {
	r.Helper()
	path := filepath.Join(r.TempDir(), "credentials")
	if err := os.WriteFile(path, fmt.Appendf(nil, "[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", key, secret), 0o600); err != nil {
		r.Fatal(err)
	}
	return path
}

// config is the driver's on the rig's cloud.
func (r *rig) config() aws.Config {
	r.Helper()
	c := aws.Config{
		Name: "nimbus", Endpoint: r.base + "/aws/nimbus", Page: 5, Types: []string{gpuType, "m7i.large"}, Limits: aws.NewLimits(100),
		CredentialsFile: r.credentialsFile("nimbus-default", r.token(r.server.TokenFile("nimbus", "default"))), Timeout: 10 * time.Second,
	}
	for _, name := range []string{east, west} {
		if images, err := r.sdk(name).DescribeImages(r.Context(), &sdk.DescribeImagesInput{Owners: []string{"amazon"}}); err != nil {
			r.Fatal(err)
		} else {
			c.Regions = append(c.Regions, aws.Region{Name: name, Image: *images.Images[0].ImageId})
		}
	}
	return c
}

// open makes another driver.
func (r *rig) open(change func(*aws.Config)) *aws.Cloud {
	r.Helper()
	c := r.config()
	if change != nil {
		change(&c)
	}
	cloud, err := aws.New(c)
	if err != nil {
		r.Fatal(err)
	}
	return cloud
}

// sdk is AWS's client, past the driver.
func (r *rig) sdk(region string) *sdk.Client {
	r.Helper()
	return sdk.New(sdk.Options{
		Region: region, BaseEndpoint: sdkaws.String(r.base + "/aws/nimbus"), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("nimbus-default", r.token(r.server.TokenFile("nimbus", "default")), ""),
		HTTPClient:  &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	})
}

// fault sets faults or gives commands, in order.
func (r *rig) fault(faults ...wire.Fault) {
	r.Helper()
	r.admin(http.MethodPost, wire.Faults{Faults: faults})
}

// heal takes all faults away.
func (r *rig) heal() {
	r.Helper()
	r.admin(http.MethodDelete, nil)
}

func (r *rig) admin(method string, body any) {
	r.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		r.Fatal(err)
	}
	req, err := http.NewRequestWithContext(r.Context(), method, r.base+"/v1/faults", bytes.NewReader(text))
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

// pool is one of the rig's.
func pool(region, zone, typ string, market bridge.Market) bridge.Pool {
	return bridge.Pool{Cloud: "nimbus", Region: region, Zone: zone, Type: typ, Market: market}
}

// launch is a create of the store "st" for the cluster "cl".
func launch(p bridge.Pool, count, attempt int) bridge.Launch {
	l := bridge.Launch{
		Rental: bridge.NewRentalID(1), Attempt: attempt, Count: count, Pool: p, MaxRate: bridge.Rate{Micro: 40_000_000, Currency: "USD"},
		Tags: map[string]string{
			bridge.TagStore: "st", bridge.TagCluster: "cl", bridge.TagRental: "r-0011", bridge.TagAttempt: fmt.Sprint(attempt),
		},
		UserData: "#!/bin/sh\n", Expires: time.Now().UTC().Add(time.Hour).Truncate(time.Second),
	}
	l.Token = bridge.Token("st", l)
	return l
}

// patience is the longest that anything of the rig's may take.
const patience = 15 * time.Second

// await polls until a thing is so.
func (r *rig) await(what string, done func() bool) {
	r.Helper()
	cloudtest.Await(r, patience, what, done)
}

// running creates machines and waits until they run.
func (r *rig) running(l bridge.Launch) []bridge.Instance {
	r.Helper()
	h, err := r.cloud.Create(r.Context(), l)
	if err != nil {
		r.Fatal(err)
	}
	return cloudtest.Running(r, patience, r.cloud, l, h)
}

func ids(all []bridge.Instance) []string {
	var out []string
	for _, m := range all {
		out = append(out, m.ID)
	}
	return out
}
