package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/sim"
	"spillway.sh/spillway/bridge/sim/crash"
	"spillway.sh/spillway/bridge/sim/slurmctl"
)

// ops are the calls to a cloud, with the local cloud's names of them.
var ops = map[string]string{
	"Create": "create", "Observe": "operation", "List": "list", "Terminate": "terminate", "Offers": "offers", "Extend": "update", "Changed": "events",
}

// ailment is what goes wrong with clouds: how it is brought about for a call,
// and of which calls it is none, and why.
type ailment struct {
	on  map[string]func(*drama)
	not map[string]string
}

// ailments is the fault list of the test plan.
var ailments = map[string]ailment{
	"timeout before the effect":      anyCall(wire.Fault{Kind: wire.FaultTimeoutBefore}),
	"timeout after the success":      anyCall(wire.Fault{Kind: wire.FaultTimeoutAfter}),
	"5xx after the success":          anyCall(wire.Fault{Kind: wire.FaultErrorAfter}),
	"throttled":                      anyCall(wire.Fault{Kind: wire.FaultThrottle, Delay: wire.Duration(20 * time.Second)}),
	"slow":                           anyCall(wire.Fault{Kind: wire.FaultSlow, Delay: wire.Duration(30 * time.Second)}),
	"credentials have expired":       anyCall(wire.Fault{Kind: wire.FaultAuth}),
	"k of n":                         ofCreate(wire.Fault{Kind: wire.FaultPartial, Machines: 1}),
	"no capacity":                    ofCreate(wire.Fault{Kind: wire.FaultNoStock}),
	"quota":                          ofCreate(wire.Fault{Kind: wire.FaultQuota}),
	"dies at boot":                   ofCreate(wire.Fault{Kind: wire.FaultDiesAtBoot}),
	"the price doubles":              ofCreate(wire.Fault{Kind: wire.FaultDearer}),
	"token is called a mismatch":     ofCreate(wire.Fault{Kind: wire.FaultCode, Code: wire.CodeMismatch}),
	"lists lag after a create":       ofLists(func(d *drama) { d.set(wire.Fault{Kind: wire.FaultHidden, Delay: wire.Duration(3 * time.Minute)}) }),
	"lists lag after a terminate":    ofLists(func(d *drama) { d.set(wire.Fault{Kind: wire.FaultShownAlive, Delay: wire.Duration(3 * time.Minute)}) }),
	"a page is lost, twice or stale": ofPages(wire.FaultLostPage, wire.FaultDuplicate, wire.FaultStaleList),
	"wrong tags":                     ofPages(wire.FaultWrongTags),
	"a machine is taken": {on: map[string]func(*drama){
		"Create": taken("Create"), "Observe": taken("Observe"), "List": taken("List"), "Terminate": taken("Terminate"),
		"Offers": taken("Offers"), "Extend": taken("Extend"),
	}, not: map[string]string{"Changed": "it is under way at any time: a taking during another call is one during it, too"}},
}

const (
	onlyCreate = "it is what a create comes to"
	onlyLists  = "it is in what lists show"
)

// anyCall is a fault that every call can have.
func anyCall(f wire.Fault) ailment {
	a := ailment{on: map[string]func(*drama){}}
	for call, op := range ops {
		a.on[call] = func(d *drama) {
			f := f
			f.Op = op
			if call == "Create" || call == "Offers" || call == "Terminate" || call == "Extend" {
				d.set(f)
				return
			}
			d.made(func() { d.set(f) }) // before there are machines the others say nothing
		}
	}
	return a
}

func ofCreate(f wire.Fault) ailment {
	a := ailment{on: map[string]func(*drama){"Create": func(d *drama) { d.set(f) }}, not: map[string]string{}}
	for call := range ops {
		if call != "Create" {
			a.not[call] = onlyCreate
		}
	}
	return a
}

// ofLists is a fault of what is shown; it is brought about by what is hidden.
func ofLists(set func(*drama)) ailment {
	a := ailment{on: map[string]func(*drama){"List": set, "Observe": set}, not: map[string]string{}}
	for call := range ops {
		if call != "List" && call != "Observe" {
			a.not[call] = onlyLists
		}
	}
	return a
}

// ofPages is a fault of listings that are read page by page; Observe reads the
// same ones.
func ofPages(kinds ...wire.FaultKind) ailment {
	return ofLists(func(d *drama) {
		d.made(func() {
			for _, k := range kinds {
				f := wire.Fault{Kind: k}
				if k == wire.FaultWrongTags {
					f.Tags = map[string]string{bridge.TagRental: "r-9999", bridge.TagAttempt: ""}
				}
				d.set(f)
			}
		})
	})
}

// taken has all spot machines taken while a call is under way: after a notice or
// without one.
func taken(call string) func(*drama) {
	return func(d *drama) {
		moment := "after " + call
		if call == "Terminate" { // afterwards there may be nothing to take
			moment = "before " + call
		}
		var done atomic.Bool
		d.always(moment, func() {
			kind := wire.CommandReclaim
			if d.seed%2 == 1 {
				kind = wire.CommandNotice
			}
			for _, p := range d.rented() {
				if !done.Load() && d.command(wire.Fault{Kind: kind, Pool: p, Delay: wire.Duration(2 * time.Minute)}) {
					done.Store(true)
				}
			}
		})
	}
}

// drama is a short story under one fault.
type drama struct {
	t    *testing.T
	w    *sim.World
	seed uint64

	mu      sync.Mutex
	calls   map[string]int // by cloud and method
	hooks   map[string][]func()
	pools   map[string]bool
	rentals map[bridge.RentalID]bridge.Rental
	sets    int // faults that were set
}

// around counts the calls, and has the fault come at its moment: when a call
// has had its effect, and has not been answered.
func (d *drama) around(ctx context.Context, c *crash.Call, do func(context.Context) error) error {
	d.happen(c, "before ")
	err := do(ctx)
	d.mu.Lock()
	if c.Port == "Cloud" {
		d.calls[c.Of+" "+c.Method]++
	}
	for _, a := range c.Args {
		if l, ok := a.(bridge.Launch); ok && c.Method == "Create" {
			d.pools[fmt.Sprintf("%s/%s/%s/%s", l.Pool.Region, l.Pool.Zone, l.Pool.Type, l.Pool.Market)] = true
		}
	}
	if r, ok := c.Out.(bridge.Rental); ok && err == nil {
		d.rentals[r.ID] = r
	}
	d.mu.Unlock()
	d.happen(c, "after ")
	return err
}

// happen does what is to be done at a moment of a call to a cloud.
func (d *drama) happen(c *crash.Call, moment string) {
	if c.Port != "Cloud" {
		return
	}
	d.mu.Lock()
	hooks := slices.Clone(d.hooks[moment+c.Method])
	d.mu.Unlock()
	for _, f := range hooks {
		f()
	}
}

// always does something at every moment of a kind, such as "before Create".
func (d *drama) always(moment string, do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hooks[moment] = append(d.hooks[moment], do)
}

// made does something when the first create has had its effect.
func (d *drama) made(do func()) { d.always("after Create", sync.OnceFunc(do)) }

// set sets a fault for so many calls as the seed says.
func (d *drama) set(f wire.Fault) {
	d.t.Helper()
	f.Count = 1 + int(d.seed%3)
	d.mu.Lock()
	d.sets++
	d.mu.Unlock()
	if status := d.operator(http.MethodPost, wire.Faults{Faults: []wire.Fault{f}}, nil); status != http.StatusOK {
		d.t.Errorf("fault %s: %d", f.Kind, status)
	}
}

// command changes the world, and reports whether it concerned anything.
func (d *drama) command(f wire.Fault) bool {
	if d.operator(http.MethodPost, wire.Faults{Faults: []wire.Fault{f}}, nil) != http.StatusOK {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sets++
	return true
}

// rented are the pools that anything was created in.
func (d *drama) rented() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.pools))
}

// unhit are the faults that never came.
func (d *drama) unhit() []string {
	var all wire.Faults
	d.operator(http.MethodGet, nil, &all)
	var out []string
	for _, f := range all.Faults {
		if f.Hits == 0 {
			out = append(out, string(f.Kind)+" "+f.Op)
		}
	}
	return out
}

func (d *drama) operator(method string, in, out any) int {
	secret, err := os.ReadFile(d.w.Cloud.AdminTokenFile())
	if err != nil {
		d.t.Error(err)
		return 0
	}
	text, err := json.Marshal(in)
	if err != nil {
		d.t.Error(err)
		return 0
	}
	req := httptest.NewRequest(method, "http://clouds/v1/faults", strings.NewReader(string(text)))
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(secret)))
	answer := httptest.NewRecorder()
	d.w.Cloud.Handler().ServeHTTP(answer, req)
	if out != nil {
		if err := json.Unmarshal(answer.Body.Bytes(), out); err != nil {
			d.t.Error(err)
		}
	}
	return answer.Code
}

// extend lets every admitted rental live an hour longer.
func (d *drama) extend(ctx context.Context) {
	d.mu.Lock()
	ids := slices.Sorted(maps.Keys(d.rentals))
	rentals := maps.Clone(d.rentals)
	d.mu.Unlock()
	for _, id := range ids {
		if r := rentals[id]; r.State != bridge.StateAdmitted {
			continue
		}
		if _, err := d.w.Desk.Extend(ctx, d.w.Person("root"), desk.ExtendRequest{Rental: string(id), Seconds: 3600, Again: true}); err != nil {
			d.t.Logf("extend %s: %v", id, err)
		}
	}
}

// jobs are what the story is about: one that can be requeued, one that cannot,
// and a gang, none of which fits at home.
func (d *drama) jobs() {
	limit := 90 * time.Minute
	d.w.Submit(slurmctl.Job{Name: "one", User: "ana", Account: "p3", GPUs: 8, CPUs: 8, Work: 50 * time.Minute, Limit: limit, Restartable: true, Checkpoint: 10 * time.Minute})
	d.w.Submit(slurmctl.Job{Name: "two", User: "ben", Account: "p3", GPUs: 8, CPUs: 8, Work: 40 * time.Minute, Limit: limit})
	d.w.Submit(slurmctl.Job{Name: "gang", User: "cem", Account: "p3", Nodes: 4, CPUs: 16, Work: 45 * time.Minute, Limit: limit, Restartable: true})
}

// perform plays the story once, and reports whether the fault came: where a world
// has nothing that it could befall, such as a spot machine, it does not.
func perform(t *testing.T, name string, seed uint64, bring func(*drama)) bool {
	t.Helper()
	d := &drama{t: t, seed: seed, calls: map[string]int{}, hooks: map[string][]func(){}, pools: map[string]bool{}, rentals: map[bridge.RentalID]bridge.Rental{}}
	setup := sim.Setup{
		Seed: seed, Length: 3 * time.Hour, Jobs: -1, Wrap: func(_ int, p sim.Ports) sim.Ports { return crash.Through(p, d.around) },
		Budgets: []bridge.Budget{{Account: "org", Every: bridge.Month, Limit: bridge.Money{Micro: 9000 * bridge.Micro, Currency: "USD"}}},
	}
	play(t, setup, func(ctx context.Context, w *sim.World) {
		d.w = w
		bring(d)
		w.Errand(time.Minute, func(context.Context) { d.jobs() })
		for _, at := range []time.Duration{8 * time.Minute, 12 * time.Minute, 16 * time.Minute, 25 * time.Minute, 40 * time.Minute, 55 * time.Minute} {
			w.Errand(at, d.extend)
		}
		var unhit []string
		w.Errand(3*time.Hour-time.Second, func(context.Context) { unhit = d.unhit() })
		if err := w.Play(ctx); err != nil {
			t.Error(err)
		}
		if len(unhit) > 0 {
			t.Errorf("faults that never came: %v; %d were set", unhit, d.sets)
		}
		d.served(name)
		d.bounded(int(w.Engine.Health().Cycles))
	})
	return d.sets > 0
}

// served holds that every job was done in the end, whatever went wrong, but one
// that may not be requeued and whose machine was lost.
func (d *drama) served(ailment string) {
	jobs, _ := d.w.Slurm.Truth()
	for i := range jobs {
		if j := &jobs[i]; j.State != "COMPLETED" && (j.Restartable || len(j.Starts) == 0) {
			d.t.Errorf("%s: job %s is %s", ailment, j.ID, j.State)
		}
	}
}

// bounded holds that no call is made more than twice a cycle.
func (d *drama) bounded(cycles int) {
	for _, name := range slices.Sorted(maps.Keys(d.calls)) {
		if n := d.calls[name]; n > 2*cycles {
			d.t.Errorf("%d calls of %s in %d cycles", n, name, cycles)
		}
	}
}

// TestFaultMatrix brings every fault of a cloud to every call of it, alone:
// nothing is rented twice, forgotten or lost, all is over in time, and the
// cloud is not called without end.
func TestFaultMatrix(t *testing.T) {
	played := 0
	for _, name := range slices.Sorted(maps.Keys(ailments)) {
		for _, call := range slices.Sorted(maps.Keys(ailments[name].on)) {
			t.Run(name+"/"+call, func(t *testing.T) {
				before := played
				for n := range rounds(1, 50, 12*time.Second) {
					if perform(t, name, n, ailments[name].on[call]) {
						played++
					}
				}
				if played == before {
					t.Error("the fault never came")
				}
			})
		}
	}
	t.Logf("%d runs", played)
}

// Every pair of the seventeen faults and the seven calls is either tried, or it
// is said why it cannot be.
func TestFaultMatrixIsWhole(t *testing.T) {
	if len(ailments) != 17 {
		t.Errorf("%d faults", len(ailments))
	}
	for name, a := range ailments {
		for call := range ops {
			_, tried := a.on[call]
			if why, not := a.not[call]; tried == not || not && why == "" {
				t.Errorf("%s of %s: tried %t, left out %t %q", name, call, tried, not, why)
			}
		}
		if len(a.on)+len(a.not) != len(ops) {
			t.Errorf("%s knows %d calls", name, len(a.on)+len(a.not))
		}
	}
}
