package engine_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/engine"
)

var errCrash = errors.New("the bridge was killed")

// doom kills the bridge at one of its calls: before its effect, or after it
// and before its answer. From then on no call of that bridge has an effect.
type doom struct {
	at    string         // "Create 1 after": the first create call, after its effect
	seen  map[string]int // calls by name
	all   []string       // every point that was passed
	dead  chan struct{}
	fired bool
}

func (d *doom) strike(point string) bool {
	select {
	case <-d.dead:
		return true
	default:
	}
	d.all = append(d.all, point)
	if point == d.at {
		d.fired = true
		close(d.dead)
		return true
	}
	return false
}

// world calls come from several goroutines, one at a time in what they count.
var doomLock = make(chan struct{}, 1)

func through[T any](d *doom, name string, f func() (T, error)) (T, error) {
	var none T
	doomLock <- struct{}{}
	d.seen[name]++
	n := d.seen[name]
	struck := d.strike(fmt.Sprintf("%s %d before", name, n))
	<-doomLock
	if struck {
		return none, errCrash
	}
	v, err := f()
	doomLock <- struct{}{}
	struck = d.strike(fmt.Sprintf("%s %d after", name, n))
	<-doomLock
	if struck {
		return none, errCrash
	}
	return v, err
}

func throughErr(d *doom, name string, f func() error) error {
	_, err := through(d, name, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// doomedScheduler, doomedCloud and doomedStore name every method, so that a
// new one does not compile until it is a crash point too.
type doomedScheduler struct {
	in engine.Scheduler
	d  *doom
}

func (s doomedScheduler) Observe(ctx context.Context) (bridge.Queue, error) {
	return through(s.d, "Observe", func() (bridge.Queue, error) { return s.in.Observe(ctx) })
}

func (s doomedScheduler) UserData(ctx context.Context, r *bridge.Rental, b bridge.Boot) (string, error) {
	return through(s.d, "UserData", func() (string, error) { return s.in.UserData(ctx, r, b) })
}

func (s doomedScheduler) Enrolment(ctx context.Context, r *bridge.Rental, m *bridge.Machine) (map[string]string, error) {
	return through(s.d, "Enrolment", func() (map[string]string, error) { return s.in.Enrolment(ctx, r, m) })
}

func (s doomedScheduler) Admit(ctx context.Context, r *bridge.Rental, nodes []string) error {
	return throughErr(s.d, "Admit", func() error { return s.in.Admit(ctx, r, nodes) })
}

func (s doomedScheduler) Dismiss(ctx context.Context, r *bridge.Rental, nodes []string) error {
	return throughErr(s.d, "Dismiss", func() error { return s.in.Dismiss(ctx, r, nodes) })
}

func (s doomedScheduler) Route(ctx context.Context, r *bridge.Rental, j ...bridge.JobID) error {
	return throughErr(s.d, "Route", func() error { return s.in.Route(ctx, r, j...) })
}

func (s doomedScheduler) Unroute(ctx context.Context, r *bridge.Rental, j bridge.JobID) error {
	return throughErr(s.d, "Unroute", func() error { return s.in.Unroute(ctx, r, j) })
}

func (s doomedScheduler) Drain(ctx context.Context, nodes []string, why string) error {
	return throughErr(s.d, "Drain", func() error { return s.in.Drain(ctx, nodes, why) })
}

func (s doomedScheduler) Signal(ctx context.Context, j bridge.JobID, sig, to string) error {
	return throughErr(s.d, "Signal", func() error { return s.in.Signal(ctx, j, sig, to) })
}

func (s doomedScheduler) Requeue(ctx context.Context, j bridge.JobID) error {
	return throughErr(s.d, "Requeue", func() error { return s.in.Requeue(ctx, j) })
}

func (s doomedScheduler) Down(ctx context.Context, nodes []string, why string) error {
	return throughErr(s.d, "Down", func() error { return s.in.Down(ctx, nodes, why) })
}

func (s doomedScheduler) Expedite(ctx context.Context, j bridge.JobID) (bool, error) {
	return through(s.d, "Expedite", func() (bool, error) { return s.in.Expedite(ctx, j) })
}

func (s doomedScheduler) Undrain(ctx context.Context, nodes []string, why string) error {
	return throughErr(s.d, "Undrain", func() error { return s.in.Undrain(ctx, nodes, why) })
}

func (s doomedScheduler) Nudge(ctx context.Context, j bridge.JobID) error {
	return throughErr(s.d, "Nudge", func() error { return s.in.Nudge(ctx, j) })
}

func (s doomedScheduler) Ending(ctx context.Context, j bridge.JobID) (string, error) {
	return through(s.d, "Ending", func() (string, error) { return s.in.Ending(ctx, j) })
}

func (s doomedScheduler) Comment(ctx context.Context, j bridge.JobID, text string) error {
	return throughErr(s.d, "Comment", func() error { return s.in.Comment(ctx, j, text) })
}

type doomedCloud struct {
	in *cloud
	d  *doom
}

func (c doomedCloud) Name() string { return c.in.Name() }
func (c doomedCloud) Offers(ctx context.Context) ([]bridge.Offer, error) {
	return through(c.d, "Offers", func() ([]bridge.Offer, error) { return c.in.Offers(ctx) })
}

func (c doomedCloud) Create(ctx context.Context, l bridge.Launch) (bridge.Handle, error) {
	return through(c.d, "Create", func() (bridge.Handle, error) { return c.in.Create(ctx, l) })
}

func (c doomedCloud) Observe(ctx context.Context, l bridge.Launch, h bridge.Handle) ([]bridge.Instance, error) {
	return through(c.d, "ObserveCreate", func() ([]bridge.Instance, error) { return c.in.Observe(ctx, l, h) })
}

func (c doomedCloud) List(ctx context.Context, storeID, cluster string) (bridge.Listing, error) {
	return through(c.d, "List", func() (bridge.Listing, error) { return c.in.List(ctx, storeID, cluster) })
}

func (c doomedCloud) Terminate(ctx context.Context, ids []string) error {
	return throughErr(c.d, "Terminate", func() error { return c.in.Terminate(ctx, ids) })
}

func (c doomedCloud) Changed(ctx context.Context, cursor string) (string, error) {
	return c.in.Changed(ctx, cursor)
}

type doomedStore struct {
	in engine.Store
	d  *doom
}

func (s doomedStore) StoreID() string { return s.in.StoreID() }
func (s doomedStore) Epoch() int64    { return s.in.Epoch() }
func (s doomedStore) Live(ctx context.Context) ([]bridge.Rental, error) {
	return through(s.d, "Live", func() ([]bridge.Rental, error) { return s.in.Live(ctx) })
}

func (s doomedStore) NextID(ctx context.Context) (bridge.RentalID, error) {
	return through(s.d, "NextID", func() (bridge.RentalID, error) { return s.in.NextID(ctx) })
}

func (s doomedStore) Propose(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	return through(s.d, "Propose", func() (bridge.Rental, error) { return s.in.Propose(ctx, r, news...) })
}

func (s doomedStore) Reserve(ctx context.Context, r bridge.Rental, b []bridge.Budget, news ...bridge.News) (bridge.Rental, error) {
	return through(s.d, "Reserve", func() (bridge.Rental, error) { return s.in.Reserve(ctx, r, b, news...) })
}

func (s doomedStore) Save(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	return through(s.d, "Save", func() (bridge.Rental, error) { return s.in.Save(ctx, r, news...) })
}

func (s doomedStore) Balances(ctx context.Context, now time.Time, b []bridge.Budget) ([]bridge.Balance, error) {
	return through(s.d, "Balances", func() ([]bridge.Balance, error) { return s.in.Balances(ctx, now, b) })
}

func (s doomedStore) Extend(ctx context.Context, r bridge.Rental, m bridge.Money, b []bridge.Budget, news ...bridge.News) (bridge.Rental, error) {
	return through(s.d, "Extend", func() (bridge.Rental, error) { return s.in.Extend(ctx, r, m, b, news...) })
}

func (s doomedStore) Post(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	return through(s.d, "Post", func() (bridge.Rental, error) { return s.in.Post(ctx, r, news...) })
}

func (s doomedStore) Settle(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	return through(s.d, "Settle", func() (bridge.Rental, error) { return s.in.Settle(ctx, r, news...) })
}

func (s doomedStore) Marks(ctx context.Context) (bridge.Marks, error) {
	return through(s.d, "Marks", func() (bridge.Marks, error) { return s.in.Marks(ctx) })
}

func (s doomedStore) SaveMarks(ctx context.Context, m bridge.Marks, news ...bridge.News) error {
	return throughErr(s.d, "SaveMarks", func() error { return s.in.SaveMarks(ctx, m, news...) })
}

func (s doomedStore) Tell(ctx context.Context, news ...bridge.News) error {
	return throughErr(s.d, "Tell", func() error { return s.in.Tell(ctx, news...) })
}

// doomed wraps all ports of a world's next engine.
func (w *world) doomed(at string) *doom {
	d := &doom{at: at, seen: map[string]int{}, dead: make(chan struct{})}
	w.ports = func(_ *world, s engine.Scheduler, c engine.Cloud, st engine.Store) (engine.Scheduler, engine.Cloud, engine.Store) {
		return doomedScheduler{s, d}, doomedCloud{c.(*cloud), d}, doomedStore{st, d}
	}
	return d
}

// crashStory is a spot machine that is taken, and a gang: every step of the
// flow comes up in it. It may crash once at a point, and once more at another.
func crashStory(w *world, points ...string) (passed []string) {
	w.spot()
	w.cluster.kill = time.Second
	w.terms.Signal, w.terms.SignalTo, w.terms.SignalWindow = "USR1", "batch", 3*time.Second
	w.a.fault("Create", "no-capacity") // the first attempt, whoever makes it
	w.cluster.submit("1", 1, 8, 30*time.Second)
	w.cluster.submit("2", 2, 8, 20*time.Second)
	taken := false
	for _, point := range append(points, "") {
		d := w.doomed(point)
		w.start()
		limit := time.Now().Add(30 * time.Minute)
		for !w.crashed(d) && (w.job("1").state != "done" || w.job("2").state != "done" || !w.over()) {
			if time.Now().After(limit) {
				w.t.Fatalf("crash at %q: not over after 30 min\nrentals: %s\nnews:\n%s", points, w.rentals(), strings.Join(w.story(), "\n"))
			}
			if j := w.job("1"); !taken && j.state == "running" && time.Since(j.began) > 5*time.Second {
				taken = true
				w.take(j.on[0])
			}
			time.Sleep(100 * time.Millisecond)
		}
		if point != "" || len(points) == 0 {
			w.kill()
			w.ports = nil
		}
		doomLock <- struct{}{}
		passed = d.all
		if point != "" && !d.fired {
			w.t.Errorf("the story never came to %q", point)
		}
		<-doomLock
	}
	return passed
}

func (w *world) crashed(d *doom) bool {
	select {
	case <-d.dead:
		return true
	default:
		return false
	}
}

// take gives notice of the machine a node is.
func (w *world) take(node string) {
	for _, c := range []*cloud{w.a, w.b} {
		for _, id := range c.live() {
			if c.nodeOf(id) == node {
				c.notice(id)
			}
		}
	}
}

func (c *cloud) nodeOf(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bridge.NodeName(c.machines[id].launch.Rental, c.machines[id].ordinal)
}

// points are the crash points worth a run: every write, and of each kind of
// read the first few.
func points(passed []string) []string {
	reads := []string{"Observe", "List", "Live", "Marks", "Balances", "Offers", "ObserveCreate", "Expedite", "Ending"}
	var out []string
	for _, p := range passed {
		f := strings.Fields(p)
		if slices.Contains(reads, f[0]) && len(f[1]) > 1 || slices.Contains(reads, f[0]) && f[1] > "2" {
			continue
		}
		out = append(out, p)
	}
	return out
}

// TestINV_I25_CrashAtEveryCall kills the bridge at each of its calls, before
// and after the effect, and expects the same end of it all.
func TestINV_I25_CrashAtEveryCall(t *testing.T) {
	var all []string
	inWorld(t, func(_ *testing.T, w *world) {
		all = crashStory(w)
		w.open()
		defer w.close()
		w.settled(time.Minute)
	})
	if t.Failed() {
		return
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[engine.Scheduler](), reflect.TypeFor[engine.Cloud](), reflect.TypeFor[engine.Store]()} {
		for method := range typ.Methods() {
			name := method.Name
			known := slices.Contains([]string{"Name", "StoreID", "Epoch", "Enrolment", "Comment", "Propose", "Extend", "Unroute", "Down", "Post", "Undrain", "Nudge", "Ending"}, name)
			if !known && !slices.ContainsFunc(all, func(p string) bool { return strings.HasPrefix(p, name+" ") }) {
				t.Errorf("the story never calls %s", name)
			}
		}
	}
	list := points(all)
	if testing.Short() {
		list = slices.Collect(everyNth(list, 16))
	}
	t.Logf("%d crash points of %d calls", len(list), len(all)/2)
	for _, p := range list {
		t.Run(strings.ReplaceAll(p, " ", "-"), func(t *testing.T) {
			inWorld(t, func(_ *testing.T, w *world) {
				crashStory(w, p)
				w.settled(10 * time.Minute)
				w.sane()
			})
		})
	}
}

func everyNth(list []string, n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := 0; i < len(list) && yield(list[i]); i += n {
		}
	}
}

// TestINV_I25_CrashDuringRecovery kills the bridge again while it recovers.
func TestINV_I25_CrashDuringRecovery(t *testing.T) {
	firsts := []string{"Reserve 1 after", "Create 2 after", "Create 2 before", "Admit 1 after", "Requeue 1 after", "Dismiss 1 after", "Terminate 1 after", "Settle 1 before"}
	seconds := []string{"Live 1 before", "Marks 1 after", "Save 1 before", "Save 1 after"}
	if testing.Short() {
		firsts, seconds = firsts[1:2], seconds[3:]
	}
	for _, first := range firsts {
		for _, second := range seconds {
			t.Run(strings.ReplaceAll(first+" then "+second, " ", "-"), func(t *testing.T) {
				inWorld(t, func(_ *testing.T, w *world) {
					crashStory(w, first, second)
					w.settled(10 * time.Minute)
					w.sane()
				})
			})
		}
	}
}

// sane checks what must hold however it went: nothing was made twice, no job
// was lost or started for nothing.
func (w *world) sane() {
	w.t.Helper()
	if n := w.a.made() + w.b.made(); n > 5 {
		w.t.Errorf("%d machines; want 2 for the job that was taken off one, 2 for the gang\n%s", n, strings.Join(w.story(), "\n"))
	}
	if one, two := w.cluster.started("1"), w.cluster.started("2"); one > 2 || two > 1 {
		w.t.Errorf("the jobs were started %d and %d times\n%s", one, two, strings.Join(w.story(), "\n"))
	}
	m, err := w.store.Marks(w.t.Context())
	if err != nil || m.Reclaims["c1"]["1"] != 1 || len(m.Requeued) != 0 {
		w.t.Errorf("marks: %+v, %v", m, err)
	}
	for _, c := range []*cloud{w.a, w.b} {
		if n := len(c.tokens()); n > len(c.accepted)+1 {
			w.t.Errorf("%d tokens for %d accepted creates on %s", n, len(c.accepted), c.name)
		}
	}
}
