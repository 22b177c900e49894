package local_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

const zone = "east-1"

// TestKinds holds what each fault means for each call. Effect says whether a
// machine exists (create) or has ended (terminate) afterwards.
func TestKinds(t *testing.T) {
	soon := wire.Duration(5 * time.Millisecond)
	for name, tc := range map[string]struct {
		fault      wire.Fault
		want       bridge.CloudErrorKind
		effect     bool
		retryAfter time.Duration
	}{
		"the connection breaks before the work": {wire.Fault{Kind: wire.FaultTimeoutBefore, Delay: soon}, bridge.CloudUnknown, false, 0},
		"the connection breaks after the work":  {wire.Fault{Kind: wire.FaultTimeoutAfter, Delay: soon}, bridge.CloudUnknown, true, 0},
		"an internal error before the work":     {wire.Fault{Kind: wire.FaultErrorBefore}, bridge.CloudUnknown, false, 0},
		"an internal error after the work":      {wire.Fault{Kind: wire.FaultErrorAfter}, bridge.CloudUnknown, true, 0},
		"too many calls":                        {wire.Fault{Kind: wire.FaultThrottle, Delay: wire.Duration(7 * time.Second)}, bridge.CloudThrottled, false, 7 * time.Second},
		"the credentials have expired":          {wire.Fault{Kind: wire.FaultAuth}, bridge.CloudDenied, false, 0},
		"a code nobody has seen before":         {wire.Fault{Kind: wire.FaultCode, Code: "ZoneIsDreaming"}, bridge.CloudUnknown, false, 0},
		"the account's rights were taken away":  {wire.Fault{Kind: wire.FaultCode, Code: wire.CodeForbidden}, bridge.CloudDenied, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, world, server.NewNullHost())
			l := r.launch(1, zone, bridge.OnDemand)
			check := func(op string, want bridge.CloudErrorKind, call func() error) {
				t.Helper()
				f := tc.fault
				f.Op, f.Count = op, 1
				r.fault(f)
				err := call()
				var ce *bridge.CloudError
				if !errors.As(err, &ce) || ce.Kind != want || ce.Cloud != "nimbus" || ce.Op == "" || ce.RetryAfter != tc.retryAfter {
					t.Errorf("%s: %#v, want %s and retry after %s", op, err, want, tc.retryAfter)
				}
			}
			check("create", tc.want, func() error { _, err := r.cloud.Create(t.Context(), l); return err })
			made := 0
			r.await("new machines are visible", func() bool { made = len(r.list().Instances); return made > 0 || !tc.effect })
			if (made == 1) != tc.effect {
				t.Errorf("%d machines exist, want effect %t", made, tc.effect)
			}
			machine := r.running(l)[0]
			check("offers", tc.want, func() error { _, err := r.cloud.Offers(t.Context()); return err })
			check("list", tc.want, func() error { l, err := r.cloud.List(t.Context(), "st", "cl"); return worst(t, l, err) })
			looked := tc.want
			if looked.Refused() {
				looked = bridge.CloudUnknown // A look that fails refuses no create.
			}
			check("operation", looked, func() error { _, err := r.cloud.Observe(t.Context(), l, r.handle(l)); return err })
			check("list", looked, func() error { _, err := r.cloud.Observe(t.Context(), l, ""); return err })
			check("terminate", tc.want, func() error { return r.cloud.Terminate(t.Context(), []string{machine.ID}) })
			r.await("the end is as it should be", func() bool {
				ended := r.list().Instances[0].State == bridge.InstanceGone
				return ended == tc.effect
			})
		})
	}
}

// worst wants a failed listing not to call itself complete.
func worst(t *testing.T, l bridge.Listing, err error) error {
	t.Helper()
	if l.Complete && err != nil {
		t.Error("the failed listing says that it is complete")
	}
	return err
}

// handle asks for the handle of a create that was made.
func (r *rig) handle(l bridge.Launch) bridge.Handle {
	r.Helper()
	h, err := r.cloud.Create(r.Context(), l)
	if err != nil {
		r.Fatal(err)
	}
	return h
}

func TestC_F01_terminate_that_never_arrived_is_not_success(t *testing.T) {
	r := start(t, world, server.NewNullHost())
	machine := r.running(r.launch(1, zone, bridge.OnDemand))[0]
	hasty := r.open(t, local.Config{Timeout: 100 * time.Millisecond})
	r.fault(wire.Fault{Kind: wire.FaultTimeoutBefore, Op: "terminate", Count: 1})
	err := hasty.Terminate(t.Context(), []string{machine.ID})
	if bridge.KindOf(err) != bridge.CloudUnknown || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("terminate: %v, want unknown for want of an answer", err)
	}
	if got := r.list().Instances[0].State; got != bridge.InstanceRunning {
		t.Errorf("the machine is %s", got)
	}
	r.fault(wire.Fault{Kind: wire.FaultDeafTerminate, Count: 1})
	if err := r.cloud.Terminate(t.Context(), []string{machine.ID}); err != nil {
		t.Fatal(err)
	}
	if got := r.list().Instances[0].State; got != bridge.InstanceRunning {
		t.Errorf("after a terminate the cloud ignored, the machine is %s", got)
	}
	if err := r.cloud.Terminate(t.Context(), []string{machine.ID}); err != nil {
		t.Fatal(err)
	}
	r.await("the machine is gone", func() bool { return r.list().Instances[0].State == bridge.InstanceGone })
}

func TestC_F08_create_without_an_answer_is_asked_again_and_made_once(t *testing.T) {
	r := start(t, world, server.NewNullHost())
	hasty := r.open(t, local.Config{Timeout: 300 * time.Millisecond})
	l := r.launch(2, zone, bridge.Spot)
	r.fault(wire.Fault{Kind: wire.FaultTimeoutAfter, Op: "create", Count: 3})
	for range 3 {
		if _, err := hasty.Create(t.Context(), l); bridge.KindOf(err) != bridge.CloudUnknown {
			t.Fatalf("create: %v", err)
		}
	}
	r.await("the machines are found by token", func() bool {
		got, err := r.cloud.Observe(t.Context(), l, "")
		if err != nil && bridge.KindOf(err) != bridge.CloudNotFound {
			t.Fatal(err)
		}
		return len(got) == 2
	})
	r.heal()
	r.running(l)
	if j := r.judge(); j.Machines != 2 || len(j.Doubles) > 0 {
		t.Errorf("the ledger has %d machines, made twice: %v", j.Machines, j.Doubles)
	}
}

// judge judges the rig's ledger.
func (r *rig) judge() server.Judgement {
	r.Helper()
	entries, err := server.ReadLedger(r.server.LedgerFile())
	if err != nil {
		r.Fatal(err)
	}
	j, err := server.Judge(entries, time.Now())
	if err != nil {
		r.Fatal(err)
	}
	return j
}

func TestC_F09_another_market_needs_and_gets_another_token(t *testing.T) {
	r := start(t, world, server.NewNullHost())
	spot := r.launch(1, zone, bridge.Spot)
	r.running(spot)
	other := r.launch(1, zone, bridge.OnDemand)
	if other.Token == spot.Token {
		t.Fatal("two markets, one token")
	}
	stolen := other
	stolen.Token = spot.Token
	if _, err := r.cloud.Create(t.Context(), stolen); bridge.KindOf(err) != bridge.CloudMismatch {
		t.Errorf("the spot token on demand: %v, want a mismatch", err)
	}
	r.running(other)
}

func TestC_F12_slow_boot_is_pending_and_not_gone(t *testing.T) {
	r := start(t, world, server.NewNullHost())
	r.fault(wire.Fault{Kind: wire.FaultSlowBoot, Delay: wire.Duration(time.Hour), Count: 1})
	l := r.launch(1, zone, bridge.OnDemand)
	h := r.handle(l)
	r.await("the machine is listed", func() bool { return len(r.list().Instances) == 1 })
	got, err := r.cloud.Observe(t.Context(), l, h)
	if err != nil || got[0].State != bridge.InstancePending {
		t.Errorf("observe: %v, %v", got, err)
	}
}

func TestC_F19_quota_is_told_apart_from_stock(t *testing.T) {
	text := world + "\n" // One quota for the region, none for spot.
	r := start(t, replace(t, text, "{name: default}", "{name: default, quotas: [{region: east, market: spot, gpus: 8}]}"), server.NewNullHost())
	_, err := r.cloud.Create(t.Context(), r.launch(2, zone, bridge.Spot))
	if bridge.KindOf(err) != bridge.CloudQuota {
		t.Errorf("two spot machines: %v, want quota", err)
	}
	r.running(r.launch(2, zone, bridge.OnDemand))
	r.running(r.launch(1, zone, bridge.Spot))
}

func TestC_F20_gang_that_came_up_in_part_shows_which(t *testing.T) {
	r := start(t, world, server.NewNullHost())
	r.fault(wire.Fault{Kind: wire.FaultPartial, Machines: 2, Count: 1})
	l := r.launch(3, zone, bridge.OnDemand)
	h := r.handle(l)
	var got []bridge.Instance
	r.await("all three are told of", func() bool {
		var err error
		if got, err = r.cloud.Observe(t.Context(), l, h); err != nil {
			t.Fatal(err)
		}
		running := 0
		for _, m := range got {
			if m.State == bridge.InstanceRunning {
				running++
			}
		}
		return len(got) == 3 && running == 2
	})
	for _, m := range got {
		if (m.State == bridge.InstanceGone) != (m.Fault != "") {
			t.Errorf("%s is %s with fault %q", m.ID, m.State, m.Fault)
		}
	}
	if j := r.judge(); j.Machines != 2 {
		t.Errorf("the ledger charges %d machines, want 2", j.Machines)
	}
}

func TestC_F22_price_of_nothing_is_never_offered(t *testing.T) {
	r := start(t, world, server.NewNullHost())
	for _, rate := range []int64{0, -5} {
		r.fault(wire.Fault{Kind: wire.CommandPrice, Pool: "east/east-1/gpu8/spot", Rate: &rate})
		offers, err := r.cloud.Offers(t.Context())
		if err != nil || len(offers) == 0 {
			t.Fatalf("offers: %v, %v", offers, err)
		}
		for _, o := range offers {
			if o.Rate.Micro <= 0 || o.Pool.Zone == zone && o.Pool.Market == bridge.Spot {
				t.Errorf("%s is offered for %d", o.Pool, o.Rate.Micro)
			}
		}
	}
}

func TestC_F26_lagging_list_does_not_lose_what_was_promised(t *testing.T) {
	r := start(t, replace(t, world, "visibility: 30ms", "visibility: 1h"), server.NewNullHost())
	l := r.launch(2, zone, bridge.OnDemand)
	got, err := r.cloud.Observe(t.Context(), l, r.handle(l))
	if err != nil || len(got) != 2 {
		t.Fatalf("observe: %v, %v", got, err)
	}
	for _, m := range got {
		if m.ID == "" || m.State != bridge.InstancePending || len(m.Tags) > 0 {
			t.Errorf("%+v: want an id and nothing that was not said", m)
		}
	}
	if listed := r.list(); !listed.Complete || len(listed.Instances) != 0 {
		t.Errorf("the lagging list: %+v", listed)
	}
}

func TestForgottenMachinesAreGoneAndNotPending(t *testing.T) {
	r := start(t, replace(t, world, "page: 4", "linger: 1ms"), server.NewNullHost())
	l := r.launch(1, zone, bridge.OnDemand)
	m := r.running(l)[0]
	h := r.handle(l)
	if err := r.cloud.Terminate(t.Context(), []string{m.ID}); err != nil {
		t.Fatal(err)
	}
	r.await("no list has the machine", func() bool { return len(r.list().Instances) == 0 })
	got, err := r.cloud.Observe(t.Context(), l, h)
	if err != nil || len(got) != 1 || got[0].ID != m.ID || got[0].State != bridge.InstanceGone {
		t.Errorf("observe: %+v, %v", got, err)
	}
	if again := r.handle(l); again != h {
		t.Errorf("the same token made another operation %s, before %s", again, h)
	}
}

func TestC_F31_adapter_keeps_under_the_limits_by_itself(t *testing.T) {
	r := start(t, world, server.NewNullHost())
	for range 300 {
		if _, err := r.cloud.Offers(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// A caller that cannot wait for its turn is told so, and nothing is sent.
	slow := r.open(t, local.Config{Limits: 0.001})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	var err error
	l := r.launch(1, zone, bridge.OnDemand)
	for range 6 {
		_, err = slow.Create(ctx, l)
	}
	if bridge.KindOf(err) != bridge.CloudThrottled {
		t.Errorf("the sixth create of a burst of five: %v, want throttled", err)
	}
}

func TestC_F10_machine_that_vanishes_is_told_gone(t *testing.T) {
	host := server.NewNullHost()
	r := start(t, world, host)
	m := r.running(r.launch(1, zone, bridge.Spot))[0]
	host.PowerOff(m.ID)
	r.await("the machine is gone", func() bool { return r.list().Instances[0].State == bridge.InstanceGone })
}

func TestC_F14_notice_wakes_whoever_waits_for_it(t *testing.T) {
	r := start(t, world, server.NewNullHost())
	m := r.running(r.launch(1, zone, bridge.Spot))[0]
	r.running(r.launch(1, zone, bridge.OnDemand))
	cursor, err := r.cloud.Changed(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	woken := make(chan error, 1)
	go func() {
		_, err := r.cloud.Changed(t.Context(), cursor)
		woken <- err
	}()
	asked := time.Now()
	r.fault(wire.Fault{Kind: wire.CommandNotice, Instance: m.ID})
	if err := <-woken; err != nil {
		t.Fatal(err)
	}
	if late := time.Since(asked); late > 5*time.Second {
		t.Errorf("told after %s", late)
	}
	for _, got := range r.list().Instances {
		noticed := !got.NoticeAt.IsZero()
		if noticed != (got.ID == m.ID) || noticed && got.ReclaimAt.Sub(got.NoticeAt) != 10*time.Second {
			t.Errorf("%s: notice %s, reclaim %s", got.ID, got.NoticeAt, got.ReclaimAt)
		}
	}
	r.fault(wire.Fault{Kind: wire.CommandReclaim, Instance: m.ID})
	r.await("the machine is reclaimed", func() bool {
		j := r.judge()
		return len(j.Reclaimed) == 1 && j.Reclaimed[0] == m.ID
	})
}

func TestChangedEndsWithItsContext(t *testing.T) {
	r := start(t, world, server.NewNullHost())
	cursor, err := r.cloud.Changed(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	got, err := r.cloud.Changed(ctx, cursor)
	if !errors.Is(err, context.DeadlineExceeded) || got != cursor {
		t.Errorf("cursor %q, %v", got, err)
	}
}

func TestExtendMovesTheEnd(t *testing.T) {
	r := start(t, world, server.NewNullHost())
	m := r.running(r.launch(1, zone, bridge.OnDemand))[0]
	later := time.Now().UTC().Add(5 * time.Hour).Truncate(time.Second)
	if err := r.cloud.Extend(t.Context(), []string{m.ID}, later); err != nil {
		t.Fatal(err)
	}
	if got := r.list().Instances[0].Tags[bridge.TagExpires]; got != later.Format(time.RFC3339) {
		t.Errorf("the tag says %s", got)
	}
	_, raw := r.post(r.server.TokenFile("nimbus", "default"), http.MethodGet, "/v1/nimbus/instances/"+m.ID, nil)
	if !strings.Contains(raw, `"expires":"`+later.Format(time.RFC3339)+`"`) {
		t.Errorf("the cloud says %s", raw)
	}
	if err := r.cloud.Extend(t.Context(), []string{m.ID}, time.Now().Add(-time.Hour)); bridge.KindOf(err) != bridge.CloudInvalid {
		t.Errorf("an end that has passed: %v", err)
	}
}
