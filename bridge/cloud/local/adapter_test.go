package local_test

import (
	"testing"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local"
	"spillway.sh/spillway/bridge/cloud/local/server"
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
