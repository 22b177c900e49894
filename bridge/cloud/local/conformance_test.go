package local_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/cloudtest"
	"spillway.sh/spillway/bridge/cloud/local"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// TestConformance runs the suite on machines that exist as rows only, once for
// each way in which the local cloud hands machines out.
func TestConformance(t *testing.T) {
	for name, pool := range map[string]bridge.Pool{
		"on demand":                {Cloud: "nimbus", Region: "east", Zone: "east-1", Type: "gpu8", Market: bridge.OnDemand},
		"spot":                     {Cloud: "nimbus", Region: "east", Zone: "east-1", Type: "gpu8", Market: bridge.Spot},
		"a create that takes long": {Cloud: "nimbus", Region: "east", Zone: "slow", Type: "gpu8", Market: bridge.OnDemand},
	} {
		t.Run(name, func(t *testing.T) { cloudtest.Run(t, provider(start(t, world, server.NewNullHost()), pool)) })
	}
}

// provider describes the cloud of a rig to the suite.
func provider(r *rig, pool bridge.Pool) cloudtest.Provider {
	soldOut := map[string]bridge.Pool{}
	for _, shape := range []string{"error", "list", "operation", "instances", "long-running"} {
		soldOut[shape] = bridge.Pool{Cloud: "nimbus", Region: "east", Zone: "gone-" + shape, Type: "gpu8", Market: bridge.Spot}
	}
	return cloudtest.Provider{
		Open:        func(cloudtest.T) cloudtest.Cloud { return r.open(r.T, local.Config{}) },
		Idempotency: cloudtest.ByToken,
		Pool:        pool, Stock: 6, Exact: true, Pages: true,
		UserData: "#!/bin/sh\ntrue\n",
		Patience: 20 * time.Second, Expiry: time.Second, SoldOut: soldOut,
		LoseAnswer: func(cloudtest.T) {
			r.fault(wire.Fault{Kind: wire.FaultTimeoutAfter, Op: "create", Count: 1, Delay: wire.Duration(10 * time.Millisecond)})
		},
		Stranger: func(t cloudtest.T) (string, func() bool) { return stranger(t, r, pool) },
	}
}

// stranger rents a machine without any tag, past the adapter.
func stranger(t cloudtest.T, r *rig, pool bridge.Pool) (string, func() bool) {
	t.Helper()
	account := r.server.TokenFile("nimbus", "default")
	status, answer := r.post(account, http.MethodPost, "/v1/nimbus/instances", wire.Create{
		Pool: wire.Pool{Region: pool.Region, Zone: pool.Zone, Type: pool.Type, Market: string(pool.Market)}, Count: 1,
	})
	_, rest, _ := strings.Cut(answer, `"instances":["`)
	id, _, ok := strings.Cut(rest, `"`)
	if status != http.StatusAccepted || !ok {
		t.Fatalf("rent a stranger: %d %s", status, answer)
	}
	t.Cleanup(func() { r.post(account, http.MethodDelete, "/v1/nimbus/instances/"+id, nil) })
	return id, func() bool {
		status, answer := r.post(account, http.MethodGet, "/v1/nimbus/instances/"+id, nil)
		return status == http.StatusOK && !strings.Contains(answer, "stopping") && !strings.Contains(answer, "terminated")
	}
}
