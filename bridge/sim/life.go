package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/books"
	"spillway.sh/spillway/bridge/cloud/contract"
	"spillway.sh/spillway/bridge/cloud/local"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/engine"
	"spillway.sh/spillway/bridge/enrol"
	"spillway.sh/spillway/bridge/sim/crash"
	"spillway.sh/spillway/bridge/sim/invariant"
	"spillway.sh/spillway/bridge/store"
	"spillway.sh/spillway/slurm"
)

// life is one life of the bridge.
type life struct {
	w     *World
	n     int // from 1
	since time.Time
	ctx   context.Context // ends with it
	end   context.CancelFunc
	ports Ports
	door  *enrol.Server
	store *store.Store
	loop  *engine.Engine
	done  chan struct{} // closed when the loop has ended, with err
	err   error

	// held by calls that write the store while they do, and by its death
	mu     sync.RWMutex
	dead   bool
	fuse   int           // points of calls until it dies; 0: it does not die of it
	struck chan struct{} // closed when the fuse has burnt down
}

// Start begins a life of the bridge: its store is opened, and its loop runs.
func (w *World) Start(ctx context.Context) error {
	if w.life != nil {
		return errors.New("start bridge: it lives")
	}
	w.lives++
	l := &life{w: w, n: w.lives, since: time.Now().UTC(), struck: make(chan struct{}), done: make(chan struct{})}
	l.ctx, l.end = context.WithCancel(w.ctx)
	if err := l.open(ctx); err != nil {
		l.end()
		if l.store != nil {
			err = errors.Join(err, l.store.Close())
		}
		return fmt.Errorf("start bridge: %w", err)
	}
	w.setLife(l)
	w.Store, w.Engine = l.store, l.loop
	w.Desk = desk.New(desk.Config{
		Version: "sim", Reader: books.Books{Store: l.store}, Weekly: l.store, Capacity: w.policy.Capacity, Writer: l.ports.Writer,
		Viewer: l.ports.Loop, Loop: l.ports.Loop, Reporter: l.loop, Rules: w.terms(), Roles: w.roles(), Clusters: []string{Cluster},
		CloudNames: w.site.cloudNames(), Now: w.Now, AskAgain: w.setup.limits().AskAgain,
	})
	w.story.tell(time.Now(), "life %d of the bridge begins", l.n)
	go func() { // Kill waits for it.
		defer close(l.done)
		l.err = l.loop.Run(l.ctx)
	}()
	return nil
}

// open makes all of a life but the desk.
func (l *life) open(ctx context.Context) error {
	w, err := l.w, error(nil)
	if l.store, err = store.Open(ctx, w.stateDir(), store.Options{Now: w.Now, StoreID: w.storeID()}); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(io.MultiWriter(&w.seen.log, cmp.Or(w.setup.Log, io.Discard)), &slog.HandlerOptions{Level: slog.LevelInfo}))
	cluster := slurm.New(slurm.Options{
		Name: Cluster, Exec: l.exec, MungeKeyFile: filepath.Join(w.setup.Dir, "munge.key"), Log: log, Now: w.Now, Silence: w.setup.span(time.Minute),
	})
	ports := Ports{Clusters: map[string]engine.Scheduler{Cluster: cluster}, Store: l.store, Writer: books.Books{Store: l.store}, Loop: latest{l}, Rentals: l.store}
	for _, name := range w.site.cloudNames() {
		c, err := local.New(local.Config{
			Name: name, URL: "http://clouds", TokenFile: w.Cloud.TokenFile(name, account), Timeout: listen, Limits: 100, // Timeout: the engine ends calls sooner.
			Transport: line{w, l},
		})
		if err != nil {
			return err
		}
		ports.Clouds = append(ports.Clouds, contract.New(c, w.policy.Capacity(), w.Now))
	}
	ports = crash.Through(ports, l.around)
	if w.setup.Wrap != nil {
		ports = w.setup.Wrap(l.n, ports)
	}
	l.ports = ports
	return l.openLoop(log)
}

func (l *life) openLoop(log *slog.Logger) error {
	w, err := l.w, error(nil)
	l.door, err = enrol.New(enrol.Options{
		Dir: w.stateDir(), URL: "https://bridge.invalid:7443", Rentals: l.ports.Rentals, Clusters: map[string]enrol.Cluster{Cluster: l.ports.Clusters[Cluster]},
		Wake: func() { l.loop.Wake() }, Hear: func(ctx context.Context, r bridge.RentalID, id string, said bridge.Report) error {
			return l.loop.Hear(ctx, r, id, said)
		},
		Agent: filepath.Join(w.setup.Dir, "agent"), Version: "sim", Clock: w.Now, Log: log,
	})
	if err != nil {
		return err
	}
	l.loop, err = engine.New(engine.Options{
		Clusters: l.ports.Clusters, Clouds: l.ports.Clouds, Store: l.ports.Store, Policy: w.policy.Policy(), Budgets: w.budgets(),
		Currency: w.policy.Currency(), Rates: w.policy.Rates, Watch: w.policy.Watch(), Admins: w.policy.Roles().Admins,
		Limits: w.setup.limits(), Boot: l.door.Boot, Explain: desk.English.Why, Clock: w.Now, Log: log,
	})
	return err
}

// latest is the loop of a life, which is made after its ports.
type latest struct{ l *life }

// View is the loop's latest look and plan.
func (t latest) View() (bridge.Snapshot, bridge.Plan, bool) { return t.l.loop.View() }

// Remember changes the marks.
func (t latest) Remember(ctx context.Context, change func(*bridge.Marks), news ...bridge.News) error {
	return t.l.loop.Remember(ctx, change, news...)
}

// Wake makes the next look start now.
func (t latest) Wake() { t.l.loop.Wake() }

// exec brings a command to the scheduler and its output back.
func (l *life) exec(ctx context.Context, input string, args ...string) (slurm.Output, error) {
	name := nameOfCommand(args)
	if err := l.w.travel(ctx, name); err != nil {
		return slurm.Output{}, err
	}
	if l.isDead() {
		return slurm.Output{}, errCut
	}
	out, err := l.w.Slurm.Exec(ctx, input, args...)
	if e := l.w.travel(ctx, name); e != nil {
		return slurm.Output{}, e
	}
	if l.isDead() {
		return slurm.Output{}, errCut
	}
	return out, err
}

// nameOfCommand names a command without its format, whose separators the adapter
// draws anew for each.
func nameOfCommand(args []string) string {
	plain := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.ContainsRune(a, 0x1f) })
	return strings.Join(plain, " ")
}

func (l *life) isDead() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.dead
}

// die cuts a life off: from here on no call of it has an effect.
func (l *life) die() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
}

// Kill ends the bridge as kill -9 does: no call that it makes from then on has
// an effect, and its store stays as it is.
func (w *World) Kill() {
	l := w.life
	if l == nil {
		return
	}
	l.die()
	l.end()
	<-l.done
	w.books.Lock()
	w.look(context.WithoutCancel(w.ctx), l)
	w.books.Unlock()
	w.setLife(nil)
	w.Store, w.Desk, w.Engine = nil, nil, nil
	w.story.tell(time.Now(), "life %d of the bridge ends", l.n)
	if err := l.store.Close(); err != nil {
		w.found = append(w.found, invariant.Violation{Invariant: "I27", At: time.Now().UTC(), Text: err.Error()})
	}
}

// fell is why the bridge's loop has ended by itself; empty: it has not.
func (l *life) fell() string {
	select {
	case <-l.done:
		if l.err != nil && !errors.Is(l.err, bridge.ErrEpoch) {
			return l.err.Error()
		}
	default:
	}
	return ""
}

// Alive reports whether a bridge lives.
func (w *World) Alive() bool { return w.life != nil }

func (w *World) setLife(l *life) {
	w.lifeMu.Lock()
	defer w.lifeMu.Unlock()
	w.life = l
}

// present is the life of now, for machines that knock; nil: none.
func (w *World) present() *life {
	w.lifeMu.Lock()
	defer w.lifeMu.Unlock()
	return w.life
}

// died is closed when something has ended the present life from within.
func (w *World) died() <-chan struct{} {
	if w.life == nil || w.setup.Died == nil {
		return nil
	}
	return w.setup.Died(w.life.n)
}
