package plugin_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/cloudtest"
	"spillway.sh/spillway/bridge/cloud/cloudtest/killed"
	"spillway.sh/spillway/bridge/cloud/local"
	"spillway.sh/spillway/bridge/cloud/local/server"
	lw "spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/cloud/plugin"
	"spillway.sh/spillway/bridge/cloud/plugin/wire"
)

// asPlugin makes this test binary a plugin: one for a local cloud's server.
const asPlugin = "SPILLWAY_TEST_PLUGIN"

func TestMain(m *testing.M) {
	killed.Obey(openVictim)
	if os.Getenv(asPlugin) != "" {
		if err := answer(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// settings are what the plugin of these tests needs.
type settings struct {
	URL         string `json:"url"`
	TokenFile   string `json:"token_file"`
	Idempotency string `json:"idempotency"`
}

// tokenTag is where a cloud without tokens keeps them.
const tokenTag = "token"

// answer is the plugin: it asks the local cloud for what it is asked itself.
func answer(in io.Reader, out io.Writer) error {
	var q wire.Request
	if err := json.NewDecoder(in).Decode(&q); err != nil {
		return err
	}
	var s settings
	if err := json.Unmarshal(q.Settings, &s); err != nil {
		return err
	}
	cloud, err := local.New(local.Config{Name: q.Cloud, URL: s.URL, TokenFile: s.TokenFile, Limits: 100})
	if err != nil {
		return err
	}
	a := wire.Answer{Version: wire.Version}
	if err := do(context.Background(), cloud, &s, &q, &a); err != nil {
		var e *bridge.CloudError
		if !errors.As(err, &e) {
			return err
		}
		a = wire.Answer{Version: wire.Version, Error: &wire.Error{Kind: string(e.Kind), Code: e.Code, Message: e.Message, RetryAfter: wire.Duration(e.RetryAfter)}}
	}
	return json.NewEncoder(out).Encode(a)
}

func do(ctx context.Context, cloud *local.Cloud, s *settings, q *wire.Request, a *wire.Answer) error {
	var err error
	switch q.Call {
	case wire.CallDescribe:
		a.Describe = &wire.Description{Name: "rows", Version: "1", Idempotency: s.Idempotency, Extends: true}
	case wire.CallOffers:
		var offers []bridge.Offer
		offers, err = cloud.Offers(ctx)
		for i := range offers {
			a.Offers = append(a.Offers, offerOut(&offers[i]))
		}
	case wire.CallCreate:
		var h bridge.Handle
		h, err = cloud.Create(ctx, launch(q, s))
		a.Handle = string(h)
	case wire.CallObserve:
		var found []bridge.Instance
		if found, err = observe(ctx, cloud, q, s); err == nil {
			a.Machines = machines(found)
		}
	case wire.CallList:
		var l bridge.Listing
		l, err = cloud.List(ctx, q.List.Store, q.List.Cluster)
		a.Machines, a.Complete = machines(l.Instances), l.Complete
	case wire.CallTerminate:
		err = cloud.Terminate(ctx, q.Terminate.IDs)
	case wire.CallExtend:
		err = cloud.Extend(ctx, q.Extend.IDs, q.Extend.Expires)
	}
	return err
}

func launch(q *wire.Request, s *settings) bridge.Launch {
	c := q.Create
	l := bridge.Launch{
		Token: c.Token, Count: c.Count, Tags: c.Tags, UserData: c.UserData, Expires: c.Expires,
		Pool: bridge.Pool{Cloud: q.Cloud, Region: c.Region, Zone: c.Zone, Type: c.Type, Market: bridge.Market(c.Market)},
	}
	micro := strings.NewReplacer(".", "").Replace(fmt.Sprintf("%.6f", must(c.MaxRate.Amount.Float64())))
	if _, err := fmt.Sscan(micro, &l.MaxRate.Micro); err != nil {
		panic(err)
	}
	l.MaxRate.Currency = bridge.Currency(c.MaxRate.Currency)
	if s.Idempotency == "none" {
		l.Tags = maps.Clone(c.Tags)
		l.Tags[tokenTag] = c.Token
		if len(c.Token) <= 64 {
			l.Token = rand.Text()
		}
	}
	return l
}

func observe(ctx context.Context, cloud *local.Cloud, q *wire.Request, s *settings) ([]bridge.Instance, error) {
	if s.Idempotency != "none" || q.Observe.Handle != "" {
		return cloud.Observe(ctx, bridge.Launch{Token: q.Observe.Token, Pool: bridge.Pool{Cloud: q.Cloud}}, bridge.Handle(q.Observe.Handle))
	}
	// Found again by what was tagged.
	var out []bridge.Instance
	l, err := cloud.List(ctx, q.Observe.Tags[bridge.TagStore], q.Observe.Tags[bridge.TagCluster])
	for _, m := range l.Instances {
		if m.Tags[tokenTag] == q.Observe.Token {
			out = append(out, m)
		}
	}
	return out, err
}

func machines(list []bridge.Instance) []wire.Machine {
	var out []wire.Machine
	for _, m := range list {
		if m.Pool.Type == "" {
			m.Pool.Type, m.Pool.Market = "gpu8", bridge.OnDemand // promised, and not shown yet
		}
		w := wire.Machine{
			ID: m.ID, Region: m.Pool.Region, Zone: m.Pool.Zone, Type: m.Pool.Type, Market: string(m.Pool.Market), State: string(m.State), Address: m.Address,
			Tags: m.Tags, Token: m.Token, Launched: m.Launched, Stopped: m.Stopped, NoticeAt: m.NoticeAt, ReclaimAt: m.ReclaimAt, Fault: m.Fault,
			Rate: rate(m.Rate),
		}
		if t := m.Tags[tokenTag]; t != "" {
			w.Token = t
			w.Tags = maps.Clone(m.Tags)
			delete(w.Tags, tokenTag)
		}
		out = append(out, w)
	}
	return out
}

func rate(r bridge.Rate) wire.Rate {
	if r.Currency == "" {
		r.Currency = "USD"
	}
	return wire.Rate{Amount: json.Number(fmt.Sprintf("%d.%06d", r.Micro/bridge.Micro, r.Micro%bridge.Micro)), Currency: string(r.Currency)}
}

func offerOut(o *bridge.Offer) wire.Offer {
	w := wire.Offer{
		Region: o.Pool.Region, Zone: o.Pool.Zone, Type: o.Pool.Type, Market: string(o.Pool.Market), CPUs: o.Shape.CPUs, MemoryMiB: o.Shape.MemoryMiB,
		GPUs: o.Shape.GPUs, GPUType: o.Shape.GPUType, Rate: rate(o.Rate), SampledAt: o.SampledAt, MaxAge: wire.Duration(o.MaxAge), Boot: wire.Duration(o.Boot),
		Step: wire.Duration(o.Step), Minimum: wire.Duration(o.Minimum), Notice: wire.Duration(o.Notice),
	}
	if o.Available >= 0 {
		w.Available = &o.Available
	}
	return w
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

const world = `
version: 1
clouds:
  - name: nimbus
    currency: USD
    notice: 10s
    boot: 30ms
    page: 4
    limits: 100
    accounts: [{name: default}]
    types:
      - {name: gpu8, cpus: 16, memory_mib: 64000, gpu_type: a100, gpus: 8}
    regions:
      - name: east
        zones:
          - {name: east-1, pools: [{type: gpu8, on_demand: {rate: "12.80", stock: 6}, spot: {rate: "5.60", stock: 6}}]}
          - {name: gone, pools: [{type: gpu8, spot: {rate: "5.60"}}]}
`

// serve starts a local cloud whose machines exist as rows only.
func serve(t *testing.T) (*server.Server, string) {
	t.Helper()
	w, err := server.ParseWorld([]byte(world))
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.Open(t.Context(), server.Options{Dir: t.TempDir(), World: w, Host: server.NewNullHost()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return s, "http://" + addr.String()
}

// TestConformance runs the suite of every cloud through a plugin, one whose
// cloud knows tokens and one whose cloud makes machines for every create.
func TestConformance(t *testing.T) {
	t.Setenv(asPlugin, "1")
	for name, idempotency := range map[string]cloudtest.Idempotency{"token": cloudtest.ByToken, "none": cloudtest.ByName} {
		t.Run("idempotency by "+name, func(t *testing.T) {
			s, url := serve(t)
			cloudtest.Run(t, cloudtest.Provider{
				Open: func(t cloudtest.T) cloudtest.Cloud {
					c, err := plugin.New(plugin.Config{
						Name: "nimbus", Command: []string{must(os.Executable())}, Env: []string{asPlugin},
						Settings: must(json.Marshal(settings{url, s.TokenFile("nimbus", "default"), name})),
					})
					if err != nil {
						t.Fatal(err)
					}
					return c
				},
				Idempotency: idempotency, UserData: "#!/bin/sh\ntrue\n", Stock: 6, Exact: true, Pages: true,
				Pool:     bridge.Pool{Cloud: "nimbus", Region: "east", Zone: "east-1", Type: "gpu8", Market: bridge.OnDemand},
				Patience: 30 * time.Second, Expiry: time.Second,
				SoldOut: map[string]bridge.Pool{"error": {Cloud: "nimbus", Region: "east", Zone: "gone", Type: "gpu8", Market: bridge.Spot}},
				LoseAnswer: func(cloudtest.T) {
					post(t, url, s.AdminTokenFile(), lw.Fault{Kind: lw.FaultTimeoutAfter, Op: "create", Count: 1, Delay: lw.Duration(10 * time.Millisecond)})
				},
			})
		})
	}
}

func post(t *testing.T, url, tokenFile string, f lw.Fault) {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/faults", bytes.NewReader(must(json.Marshal(f)))))
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(must(os.ReadFile(tokenFile)))))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp := must(client.Do(req))
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("set fault: %s", resp.Status)
	}
}
