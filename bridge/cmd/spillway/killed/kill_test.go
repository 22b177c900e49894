package killed

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bot"
	"spillway.sh/spillway/bridge/calendar"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/engine"
	"spillway.sh/spillway/bridge/enrol"
	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/bridge/sim/soak"
	"spillway.sh/spillway/bridge/usage"
)

// size is how much a run does: each point so often, so many moments of chance,
// and how long all of it may take before the rest is left out.
type size struct {
	rounds, moments int
	most            time.Duration
}

func sizes() size {
	if soak.Long() {
		return size{20, 1000, time.Until(soak.Until(30 * time.Minute))}
	}
	return size{1, 20, 95 * time.Second}
}

// points are the first call of every method of every port, before and after its
// effect. All but the names that ports were made with.
func points() []string {
	var out []string
	for port, typ := range map[string]reflect.Type{
		"Scheduler": reflect.TypeFor[engine.Scheduler](), "Cloud": reflect.TypeFor[interface {
			engine.Cloud
			engine.Extender
			engine.Teller
		}](), "Store": reflect.TypeFor[engine.Store](),
		"Writer": reflect.TypeFor[desk.Writer](), "Bills": reflect.TypeFor[desk.BillWriter](), "Loop": reflect.TypeFor[desk.Loop](), "Finder": reflect.TypeFor[desk.Finder](),
		"Calendar": reflect.TypeFor[calendar.Store](), "Usage": reflect.TypeFor[usage.Store](), "Rentals": reflect.TypeFor[enrol.Rentals](),
		"Box": reflect.TypeFor[bot.Box](), "Slack": reflect.TypeFor[bot.Slack](),
	} {
		for m := range typ.Methods() {
			if m.Name != "Name" && m.Name != "StoreID" && m.Name != "Epoch" {
				out = append(out, port+"."+m.Name+" 1 before", port+"."+m.Name+" 1 after")
			}
		}
	}
	slices.Sort(out)
	return out
}

func TestKilledAtEveryPoint(t *testing.T) {
	r := newRig(t)
	block, err := r.Cluster.Submit(t.Context(), sandbox.Alice, "#!/bin/sh\nsleep 20000\n", "-N2", "--exclusive", "--gres=gpu:8", "--mem=1000", "--job-name=block", "--output=/dev/null")
	must(t, err)
	_, err = r.Cluster.WaitJob(t.Context(), block, "RUNNING")
	must(t, err)
	b := &bustle{r: r}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { b.run(ctx) })
	func() {
		defer wg.Wait()
		defer cancel()
		dieAll(t, r)
	}()
	must(t, b.failed)
	daemon := r.start(nil)
	defer func() { _ = daemon.Process.Kill(); _ = daemon.Wait() }() // The stage would ask; nothing is left to lose.
	b.finish()
	b.judge()
	if t.Failed() {
		t.Logf("the daemon's log:\n%s", r.tail())
	}
}

// dieAll lets the daemon live and die until it has died of everything. Every third
// life can end only at a call to the world outside, and so is long enough for
// machines to come, do their work and go.
func dieAll(t *testing.T, r *rig) {
	size, chance := sizes(), chance(t)
	end := time.Now().Add(size.most)
	all, deaths, random, abreast := order(points(), chance), map[string]int{}, 0, crew
	// On a slow host it takes what it needs for the fewest.
	on := func() bool { return time.Now().Before(end) || len(deaths) < fewest && time.Now().Before(end.Add(slow)) }
	for lives := 1; on(); lives++ {
		left := slices.DeleteFunc(slices.Clone(all), func(p string) bool { return deaths[p] >= size.rounds })
		if len(left) == 0 && random >= size.moments {
			break
		}
		if lives%5 == 0 && random < size.moments {
			random++
			r.wait(r.start(nil), time.Duration(chance.Int64N(int64(1500*time.Millisecond))))
			continue
		}
		armed := slices.DeleteFunc(slices.Clone(left), func(p string) bool { return outside(p) != (lives%3 == 0) })
		if lives%3 != 0 {
			armed = armed[:min(abreast, len(armed))]
		}
		if len(armed) == 0 {
			armed = left
		}
		began := time.Now()
		if at := r.wait(r.start(armed), patience); at != "" {
			deaths[at]++
		}
		if lives%3 != 0 && time.Since(began) > lively {
			abreast += crew // those in front are rare
		}
	}
	missed := slices.DeleteFunc(slices.Clone(all), func(p string) bool { return deaths[p] > 0 })
	slices.Sort(missed)
	t.Logf("died at %d points of %d, and at %d moments; not at: %s", len(deaths), len(all), random, strings.Join(missed, ", "))
	if len(deaths) < fewest {
		t.Errorf("it died at %d points, want %d", len(deaths), fewest)
	}
}

// order is which points come first, should time be short: what spends and gives
// back, and of that each run another part, so that many runs meet all.
func order(points []string, chance *rand.Rand) []string {
	chance.Shuffle(len(points), func(i, k int) { points[i], points[k] = points[k], points[i] })
	slices.SortStableFunc(points, func(a, b string) int {
		switch {
		case vital(a) == vital(b):
			return 0
		case vital(a):
			return -1
		}
		return 1
	})
	return points
}

// outside reports whether a point is at a call to a cloud, to the cluster or of a
// machine.
func outside(point string) bool {
	port, _, _ := strings.Cut(point, ".")
	return slices.Contains([]string{"Cloud", "Scheduler", "Rentals"}, port)
}

// vital reports whether a point is of the protocol itself: of money, machines and
// the cluster.
func vital(point string) bool {
	port, _, _ := strings.Cut(point, ".")
	return slices.Contains([]string{"Cloud", "Scheduler", "Store", "Writer", "Rentals"}, port)
}

const (
	// crew is how many points a life may die at, and how many more when none of
	// these comes soon.
	crew = 30
	// lively is how long a life may take before more points are added.
	lively = 2 * time.Second
	// patience is how long a life may go on when it comes to no point.
	patience = 8 * time.Second
	// slow is how much longer a run may take for the fewest points.
	slow = 2 * time.Minute
	// fewest is how many points a run must have come to: those of the plan.
	fewest = 66
)

// chance draws with a seed that is printed and may be given.
func chance(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("SPILLWAY_SEED"); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		must(t, err)
	}
	t.Logf("SPILLWAY_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// finish gives back what people rented, and waits for all jobs.
func (b *bustle) finish() {
	r := b.r
	r.until(2*time.Minute, "all jobs are done", func() bool {
		b.answer(r.t.Context(), 0)
		return len(b.undone()) == 0
	}, func() string { return b.tell(b.undone()) })
	r.until(time.Minute, "all is given back", func() bool {
		ask(r.t.Context(), b, desk.AskRelease, desk.ReleaseRequest{All: true, Now: true})
		open, ok := ask(r.t.Context(), b, desk.AskRentals, desk.RentalsRequest{})
		for _, q := range open.Rentals {
			if q.State == "waiting" {
				ask(r.t.Context(), b, desk.AskDecide, desk.DecideRequest{Rental: string(q.ID), Version: q.Version, Revision: q.Revision})
			}
		}
		judged, err := r.Judge(time.Now())
		return ok && err == nil && len(open.Rentals) == 0 && len(judged.Live) == 0
	}, func() string { return "" })
}

// judge compares what jobs, clouds and books say.
func (b *bustle) judge() {
	r := b.r
	for _, j := range b.jobs {
		got, most := b.record(j), 1
		for _, at := range b.taken {
			if j.spot && len(got.starts) > 0 && !at.Before(got.starts[0].Add(-time.Second)) && at.Before(got.ends[0]) {
				most++
			}
		}
		slurm, err := r.Cluster.Job(r.t.Context(), j.id)
		if err == nil && slurm.State != "COMPLETED" && slurm.State != "COMPLETING" {
			err = fmt.Errorf("it is %s", slurm.State)
		}
		if err != nil || len(got.ends) != 1 || len(got.starts) > most {
			r.t.Errorf("%s was started %d times, at most %d was right, and done %d times: %v", j.name, len(got.starts), most, len(got.ends), err)
		}
	}
	judged, err := r.Judge(time.Now())
	must(r.t, err)
	if diff := cmp.Diff([][]string{nil, nil, nil, nil}, [][]string{judged.Doubles, judged.Overlaps, judged.Late, judged.Untagged}); diff != "" {
		r.t.Errorf("doubles, overlaps, late, untagged (-want +got):\n%s", diff)
	}
	books, ok := ask(r.t.Context(), b, desk.AskLedger, desk.LedgerRequest{})
	if !ok || !books.Balanced {
		r.t.Errorf("the books do not balance: %v", books.Problems)
	}
	spend, _ := ask(r.t.Context(), b, desk.AskSpend, desk.SpendRequest{})
	i := slices.IndexFunc(spend.Accounts, func(a desk.Balance) bool { return a.Account == "test/research/vision" })
	if i < 0 || spend.Accounts[i].Posted.Micro != judged.CostMicro["USD"] || spend.Accounts[i].Held.Micro != 0 {
		r.t.Errorf("the clouds bill %d; the books: %+v", judged.CostMicro["USD"], spend.Accounts)
	}
	r.t.Logf("%d jobs done, %d machines rented, %d taken back", len(b.jobs), judged.Machines, len(judged.Reclaimed))
}
