package local_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

func TestNewRefusesWhatCannotWork(t *testing.T) {
	for name, c := range map[string]local.Config{
		"no name":       {URL: "http://127.0.0.1:1", TokenFile: "t"},
		"no token file": {Name: "nimbus", URL: "http://127.0.0.1:1"},
		"no url":        {Name: "nimbus", TokenFile: "t"},
		"not http":      {Name: "nimbus", URL: "ftp://127.0.0.1", TokenFile: "t"},
	} {
		if _, err := local.New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestServerThatIsAwayIsUnknown(t *testing.T) {
	r := start(t, world, server.NewNullHost())
	away, err := local.New(local.Config{Name: "nimbus", URL: "http://127.0.0.1:1", TokenFile: r.server.TokenFile("nimbus", "default")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := away.Create(t.Context(), r.launch(1, zone, bridge.Spot)); bridge.KindOf(err) != bridge.CloudUnknown {
		t.Errorf("create: %v", err)
	}
	noToken, err := local.New(local.Config{Name: "nimbus", URL: r.url, TokenFile: t.TempDir() + "/none"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := noToken.Create(t.Context(), r.launch(1, zone, bridge.Spot)); bridge.KindOf(err) != bridge.CloudDenied {
		t.Errorf("create without a token file: %v", err)
	}
}

func TestC_F03_machines_are_tagged_from_the_first_moment(t *testing.T) {
	r := start(t, world, server.NewNullHost())
	l := r.launch(2, zone, bridge.Spot)
	// The answer is lost, so no later call could have tagged them.
	r.fault(wire.Fault{Kind: wire.FaultTimeoutAfter, Op: "create", Count: 1, Delay: 1})
	if _, err := r.cloud.Create(t.Context(), l); bridge.KindOf(err) != bridge.CloudUnknown {
		t.Fatalf("create: %v", err)
	}
	var got []bridge.Instance
	r.await("the machines are listed", func() bool { got = r.list().Instances; return len(got) == 2 })
	for _, m := range got {
		if diff := cmp.Diff(l.Tags, m.Tags); diff != "" {
			t.Errorf("%s (-asked +listed):\n%s", m.ID, diff)
		}
	}
	if j := r.judge(); len(j.Untagged) > 0 {
		t.Errorf("started without tags: %v", j.Untagged)
	}
}

func TestC_F16_code_that_is_not_known_is_unknown_and_kept(t *testing.T) {
	r := start(t, world, server.NewNullHost())
	r.fault(wire.Fault{Kind: wire.FaultCode, Op: "create", Code: "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", Count: 1})
	_, err := r.cloud.Create(t.Context(), r.launch(1, zone, bridge.Spot))
	var ce *bridge.CloudError
	if !errors.As(err, &ce) || ce.Kind != bridge.CloudUnknown || ce.Code != "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS" {
		t.Errorf("%#v, want unknown with the cloud's own code", err)
	}
}
