package server_test

import (
	"net/http"
	"testing"
	"time"

	"spillway.sh/spillway/bridge/cloud/local/wire"
)

func TestHiddenMachinesAreShownLate(t *testing.T) {
	r := start(t, plain)
	r.operator(wire.Fault{Kind: wire.FaultHidden, Delay: wire.Duration(90 * time.Second), Count: 1})
	first := r.rent(order("on-demand", 2))
	other := order("on-demand", 1)
	other.Token = "other"
	r.rent(other)
	var page wire.Page
	if r.as("alpha", http.MethodGet, "/instances", nil, &page); page.Total != 1 {
		t.Errorf("at once %d machines are listed, want the one that is not hidden", page.Total)
	}
	r.clock.advance(89 * time.Second)
	if status, _ := r.as("alpha", http.MethodGet, "/instances/"+first[0], nil, nil); status != http.StatusNotFound {
		t.Errorf("a hidden machine is shown alone: %d", status)
	}
	r.clock.advance(time.Second)
	if r.as("alpha", http.MethodGet, "/instances", nil, &page); page.Total != 3 {
		t.Errorf("90 s later %d machines are listed", page.Total)
	}
}

func TestEndedMachinesAreShownAlive(t *testing.T) {
	r := start(t, plain)
	id := r.rent(order("on-demand", 1))[0]
	r.clock.advance(time.Minute)
	r.await(id, wire.StateRunning)
	r.operator(wire.Fault{Kind: wire.FaultShownAlive, Delay: wire.Duration(10 * time.Minute), Count: 1})
	r.as("alpha", http.MethodDelete, "/instances/"+id, nil, nil)
	r.clock.advance(9 * time.Minute)
	var page wire.Page
	r.as("alpha", http.MethodGet, "/instances", nil, &page)
	if page.Total != 1 || page.Instances[0].State != wire.StateRunning || !page.Instances[0].Stopped.IsZero() || page.Instances[0].Ended != "" {
		t.Errorf("nine minutes later: %+v", page)
	}
	r.clock.advance(time.Minute)
	r.await(id, wire.StateTerminated)
}

func TestPriceDoublesBeforeTheCreate(t *testing.T) {
	r := start(t, plain)
	r.operator(wire.Fault{Kind: wire.FaultDearer, Count: 1})
	q := order("on-demand", 1)
	q.MaxRate = wire.Rate{Micro: 12_000_000, Currency: "USD"}
	if status, code := r.as("alpha", http.MethodPost, "/instances", q, nil); status != http.StatusBadRequest || code != wire.CodePrice {
		t.Errorf("below the new price: %d %s", status, code)
	}
	var got wire.Offers
	r.as("alpha", http.MethodGet, "/offers", nil, &got)
	for _, o := range got.Offers {
		if o.Pool == q.Pool && o.Rate.Micro != 24_000_000 {
			t.Errorf("the pool is offered at %d", o.Rate.Micro)
		}
	}
	q.Token, q.MaxRate.Micro = "again", 24_000_000
	if status, code := r.as("alpha", http.MethodPost, "/instances", q, nil); status != http.StatusAccepted {
		t.Errorf("at the new price: %d %s", status, code)
	}
}
