package sim_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/sim"
	"spillway.sh/spillway/bridge/sim/crash"
	"spillway.sh/spillway/bridge/sim/invariant"
	"spillway.sh/spillway/bridge/sim/slurmctl"
)

// stops are the moments of a leader's work in which it is stopped.
var stops = []string{
	"Store.Reserve after", "Cloud.Create before", "Cloud.Create after", "Store.Save before", "Store.Save after", "Cloud.Terminate before",
	"Cloud.Terminate after", "Scheduler.Admit before", "Scheduler.Admit after", "Scheduler.Route before", "Store.Post before", "Store.Settle before",
	"Store.Settle after", "Cloud.List after", "Scheduler.Observe after", "Scheduler.Drain after", "Scheduler.Dismiss before", "Store.SaveMarks before",
	"Store.Tell after", "Cloud.Observe after", "Store.NextID after", "Store.Live after",
}

// rival is one leader: it can be stopped in all it does, as by SIGSTOP.
type rival struct {
	r     *rivalry
	life  int
	epoch int64

	mu     sync.Mutex
	stop   string        // the moment to stop in; empty: none
	caught chan struct{} // closed when it has stopped
	shut   chan struct{} // closed when it goes on; nil: it goes on
	held   int           // calls that are stopped
}

// rivalry is what is known of all leaders of one store.
type rivalry struct {
	t  *testing.T
	mu sync.Mutex
	by []*rival

	writers map[int64]map[int]bool // epoch: lives whose writes were accepted
	late    []string               // accepted though another had taken over
}

func (r *rivalry) wrap(life int, p sim.Ports) sim.Ports {
	one := &rival{r: r, life: life, epoch: p.Store.Epoch(), caught: make(chan struct{})}
	r.mu.Lock()
	r.by = append(r.by, one)
	r.mu.Unlock()
	return crash.Through(p, one.around)
}

func (r *rivalry) newest() *rival {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.by[len(r.by)-1]
}

// around holds calls while the leader is stopped. One that was held goes on as if
// no time had passed: what it was about to send is sent.
func (v *rival) around(ctx context.Context, c *crash.Call, do func(context.Context) error) error {
	name := c.Port + "." + c.Method
	if v.pass(name + " before") {
		ctx = context.WithoutCancel(ctx)
	}
	err := do(ctx)
	if err == nil && (c.Port == "Store" || c.Port == "Writer" || c.Port == "Rentals") && !invariant.Reads(c.Method) {
		v.r.accepted(v, name)
	}
	v.pass(name + " after")
	return err
}

func (r *rivalry) accepted(v *rival, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writers[v.epoch] == nil {
		r.writers[v.epoch] = map[int]bool{}
	}
	r.writers[v.epoch][v.life] = true
	if last := r.by[len(r.by)-1]; last != v {
		r.late = append(r.late, fmt.Sprintf("%s of life %d, epoch %d, when epoch %d had begun", name, v.life, v.epoch, last.epoch))
	}
}

// pass comes to a moment, and reports whether it was held there.
func (v *rival) pass(moment string) bool {
	v.mu.Lock()
	if v.stop == moment && v.shut == nil {
		v.halt()
	}
	shut := v.shut
	if shut != nil {
		v.held++
	}
	v.mu.Unlock()
	if shut == nil {
		return false
	}
	<-shut
	return true
}

func (v *rival) halt() {
	v.stop, v.shut = "", make(chan struct{})
	close(v.caught)
}

// freeze stops the leader at a moment, or now where it does not come.
func (v *rival) freeze(moment string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stop = moment
}

func (v *rival) freezeNow() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shut == nil {
		v.halt()
	}
}

func (v *rival) isCaught() bool {
	select {
	case <-v.caught:
		return true
	default:
		return false
	}
}

// thaw lets it go on with whatever it was about to do.
func (v *rival) thaw() {
	v.mu.Lock()
	defer v.mu.Unlock()
	close(v.shut)
	v.shut = nil
}

// TestRivals: a leader is stopped in the middle of anything for more than twice
// its cycle, its lock is lost, and another bridge takes the store over. When the
// first goes on, none of its writes is accepted, nothing is rented twice or lost,
// and it stops by itself.
func TestRivals(t *testing.T) {
	played, quiet := 0, 0
	for n := range rounds(20, 2000, 12*time.Minute) {
		t.Run(fmt.Sprintf("seed %d", n), func(t *testing.T) {
			if !rivals(t, n) {
				quiet++
			}
		})
		played++
	}
	t.Logf("%d schedules, %d of them with nothing to write for the next leader", played, quiet)
	if *seed == 0 && quiet*4 > played {
		t.Errorf("%d of %d schedules say nothing", quiet, played)
	}
}

// rivals plays one schedule, and reports whether more than one leader wrote.
func rivals(t *testing.T, seed uint64) bool {
	t.Helper()
	r := &rivalry{t: t, writers: map[int64]map[int]bool{}}
	chance := rand.New(rand.NewPCG(seed, 11))
	setup := sim.Setup{
		Seed: seed, Length: 6 * time.Hour, Jobs: 60, Wrap: r.wrap,
		Budgets: []bridge.Budget{{Account: "org", Every: bridge.Month, Limit: bridge.Money{Micro: 9000 * bridge.Micro, Currency: "USD"}}},
	}
	play(t, setup, func(ctx context.Context, w *sim.World) {
		w.Errand(time.Minute, func(context.Context) {
			w.Submit(slurmctl.Job{User: "ana", Account: "p3", GPUs: 8, CPUs: 8, Work: 50 * time.Minute, Limit: 90 * time.Minute, Restartable: true})
			w.Submit(slurmctl.Job{User: "cem", Account: "p3", Nodes: 4, CPUs: 16, Work: 45 * time.Minute, Limit: 90 * time.Minute})
		})
		var forsaken []*takeover
		for i := range 1 + int(seed%3) {
			o := &takeover{w: w, r: r, moment: stops[(int(seed)+7*i)%len(stops)], chance: chance}
			forsaken = append(forsaken, o)
			w.Errand(time.Duration(i)*100*time.Minute+time.Duration(chance.Int64N(int64(40*time.Minute))), o.begin)
		}
		if err := w.Play(ctx); err != nil {
			t.Error(err)
		}
		for _, o := range forsaken {
			o.judge(t)
		}
		r.judge()
	})
	return len(r.writers) > 1
}

// takeover is one change of leaders.
type takeover struct {
	w      *sim.World
	r      *rivalry
	moment string
	chance *rand.Rand

	old   *rival
	gone  *sim.Forsaken
	since time.Time // when the old one went on
	ended time.Time
}

// begin waits for the moment, a quarter of an hour at most.
func (o *takeover) begin(ctx context.Context) {
	o.old = o.r.newest()
	o.old.freeze(o.moment)
	o.wait(ctx, 15)
}

func (o *takeover) wait(_ context.Context, minutes int) {
	if !o.old.isCaught() && minutes > 0 {
		o.w.Errand(time.Minute, func(ctx context.Context) { o.wait(ctx, minutes-1) })
		return
	}
	o.old.freezeNow()
	var err error
	if o.gone, err = o.w.Forsake(); err != nil {
		o.r.t.Error(err)
		return
	}
	asleep := 2*time.Minute + time.Duration(o.chance.Int64N(int64(40*time.Minute)))
	o.w.Errand(time.Duration(o.chance.Int64N(int64(asleep))), func(ctx context.Context) {
		if err := o.w.Start(ctx); err != nil {
			o.r.t.Error(err)
		}
	})
	o.w.Errand(asleep, func(context.Context) {
		o.since = time.Now()
		o.old.thaw()
		o.watch(20)
	})
}

// watch sees the old leader end.
func (o *takeover) watch(minutes int) {
	select {
	case <-o.gone.Ended():
		o.ended = time.Now()
	default:
		if minutes > 0 {
			o.w.Errand(time.Minute, func(context.Context) { o.watch(minutes - 1) })
		}
	}
}

func (o *takeover) judge(t *testing.T) {
	t.Helper()
	switch {
	case o.gone == nil:
		t.Errorf("the leader was never stopped at %s", o.moment)
		return
	case !o.gone.Replaced():
		t.Errorf("stopped at %s, the old leader has not ended by itself because it was replaced", o.moment)
	case o.old.held == 0:
		t.Errorf("stopped at %s, nothing was held", o.moment)
	case o.ended.Sub(o.since) > 3*time.Minute:
		t.Errorf("stopped at %s, the old leader went on for %s", o.moment, o.ended.Sub(o.since))
	}
	if err := o.gone.End(); err != nil {
		t.Error(err)
	}
}

// judge holds that each epoch had one writer, and none after its time.
func (r *rivalry) judge() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, text := range r.late {
		r.t.Errorf("accepted: %s", text)
	}
	for epoch, lives := range r.writers {
		if len(lives) > 1 {
			r.t.Errorf("lives %v have written in epoch %d", lives, epoch)
		}
	}
}
