package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/books"
	"spillway.sh/spillway/bridge/config"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/desk/socket"
	"spillway.sh/spillway/bridge/engine"
	"spillway.sh/spillway/bridge/enrol"
	"spillway.sh/spillway/bridge/store"
	gpus "spillway.sh/spillway/bridge/usage"
)

type runCmd struct{}

// Help gives examples.
func (runCmd) Help() string {
	return `Examples:
  spillway run --config /etc/spillway/spillway.yaml

Nothing starts while configuration or policy has a mistake. SIGTERM ends it cleanly, a second one at once; what was
under way is found again at the next start. Rented machines go on meanwhile, and end by themselves at their time.`
}

// Run is the daemon.
func (runCmd) Run(a *app) error {
	s, err := a.site()
	if err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory)
	}
	d := &daemon{site: s, log: logger(a, s.config), metrics: prometheus.NewRegistry()}
	if err := d.open(a.ctx, socketOf(a, s.config)); err != nil {
		return errors.Join(err, d.close())
	}
	return errors.Join(d.serve(a.ctx), d.close())
}

// garbage is the part of what is in use, in per cent, that may lie about unused
// before it is collected. Each look reads the whole queue anew: with 50,000 jobs
// this is a quarter less memory for a few per cent of a core.
const garbage = 50

// memory is what the daemon tries to live in, in bytes: enough for a queue of
// 50,000 jobs that are all new at once. A larger site sets GOMEMLIMIT.
const memory = 420 << 20

func socketOf(a *app, c *config.Config) string {
	if a.Socket != "" {
		return a.Socket
	}
	return c.Socket
}

func logger(a *app, c *config.Config) *slog.Logger {
	o := &slog.HandlerOptions{Level: c.Log.Level}
	if c.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(a.errs, o))
	}
	return slog.New(slog.NewTextHandler(a.errs, o))
}

// daemon is everything that runs, with what it listens on.
type daemon struct {
	site    *site
	log     *slog.Logger
	metrics *prometheus.Registry

	store   *store.Store
	engine  *engine.Engine
	desk    *desk.Desk
	enrol   *enrol.Server  // nil without enrolment
	chat    *chat          // nil without Slack
	used    *gpus.Recorder // nil until the engine is there
	closing []func() error

	asks, enrols, figures net.Listener
}

// open takes the store and all addresses, so that whatever is in the way is
// known before anything starts.
func (d *daemon) open(ctx context.Context, socketPath string) error {
	c := d.site.config
	var err error
	if d.store, err = store.Open(ctx, c.StateDir, store.Options{Now: utcNow}); err != nil {
		return err
	}
	d.closing = append(d.closing, d.store.Close)
	boot := func(*bridge.Rental, time.Time) (bridge.Boot, error) {
		return bridge.Boot{}, errors.New("machines cannot enrol: the configuration has no enrol section")
	}
	if c.Enrol.Listen != "" {
		if err := d.openEnrol(c); err != nil {
			return err
		}
		boot = d.enrol.Boot
	}
	clusters := map[string]engine.Scheduler{}
	for name, k := range d.site.clusters {
		clusters[name] = through[engine.Scheduler](k)
	}
	clouds := make([]engine.Cloud, 0, len(d.site.clouds))
	for _, c := range d.site.clouds {
		clouds = append(clouds, through(c))
	}
	finder, err := d.site.finder()
	if err != nil {
		return err
	}
	d.closing = append(d.closing, closeFinder(finder))
	d.engine, err = engine.New(engine.Options{
		Clusters: clusters, Clouds: clouds, Store: through[engine.Store](d.store), Policy: d.site.judge, Budgets: d.site.Budgets(),
		Currency: d.site.policy.Currency(), Rates: d.site.policy.Rates, Prices: d.site.policy.Prices(),
		Watch: d.site.policy.Watch(), Known: socket.KnownAccount, Admins: d.site.policy.Roles().Admins,
		Limits: limits(c), Boot: boot, Gate: c.Enrol.Listen != "", Explain: desk.English.Why, Clock: utcNow, Log: d.log, Metrics: d.metrics, Checkpoints: through[desk.Finder](finder),
		Providers: d.site.providers(),
	})
	if err != nil {
		return err
	}
	loop := through[desk.Loop](d.engine)
	d.desk = desk.New(desk.Config{
		Version: version, Reader: books.Books{Store: d.store}, Weekly: d.store, Capacity: d.site.policy.Capacity, Writer: through[desk.Writer](books.Books{Store: d.store}), Viewer: loop, Loop: loop, Reporter: d.engine, Finder: through[desk.Finder](finder),
		Rules: d.site, Roles: d.site.roles(), Clusters: d.site.clusterNames(), CloudNames: d.site.cloudNames(), CloudInfos: d.site.cloudInfos(), Replies: d.replies, Exchange: d.site.exchange, Now: utcNow, Problems: d.problems, AskAgain: c.Limits.AskAgain,
	})
	if err := d.openRecorder(); err != nil {
		return err
	}
	if c.Slack != nil {
		if err := d.openSlack(ctx); err != nil {
			return err
		}
	}
	if d.asks, err = socket.Listen(socketPath); err != nil {
		return err
	}
	d.closing = append(d.closing, closeOnce(d.asks))
	return d.openFigures(c)
}

func (d *daemon) openFigures(c *config.Config) error {
	if c.Metrics.Listen == "" {
		return nil
	}
	var err error
	if d.figures, err = net.Listen("tcp", c.Metrics.Listen); err != nil {
		return fmt.Errorf("listen for metrics: %w", err)
	}
	d.closing = append(d.closing, closeOnce(d.figures))
	return nil
}

func (d *daemon) openEnrol(c *config.Config) error {
	clusters := map[string]enrol.Cluster{}
	for name, k := range d.site.clusters {
		clusters[name] = through[engine.Scheduler](k)
	}
	url := c.Enrol.Advertise
	if url == "" {
		url = "https://" + c.Enrol.Listen
	}
	var err error
	d.enrol, err = enrol.New(enrol.Options{
		Dir: c.StateDir, URL: url, Rentals: through[enrol.Rentals](d.store), Clusters: clusters, Clock: utcNow, Log: d.log,
		Wake: func() { d.engine.Wake() }, Hear: d.hear, Wants: wants(c),
		Agent: "/proc/self/exe", Version: version, // also once the file was replaced by a newer one
		Valid: c.Limits.Launch + c.Limits.Join + 5*time.Minute, // machines that come by ticket take their time
	})
	if err != nil {
		return err
	}
	if d.enrols, err = net.Listen("tcp", c.Enrol.Listen); err != nil {
		return fmt.Errorf("listen for machines: %w", err)
	}
	d.closing = append(d.closing, closeOnce(d.enrols))
	return nil
}

// hear hands a machine's report to the engine, which is made after the door.
func (d *daemon) hear(ctx context.Context, rental bridge.RentalID, instance string, r bridge.Report) error {
	return d.engine.Hear(ctx, rental, instance, r)
}

// wants are what the clusters' machines must show.
func wants(c *config.Config) map[string]bridge.Wants {
	out := map[string]bridge.Wants{}
	for i := range c.Clusters {
		out[c.Clusters[i].Name] = c.Clusters[i].Gate
	}
	return out
}

// closeOnce closes a listener that its server may have closed already.
func closeOnce(l net.Listener) func() error {
	return func() error {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
}

// serve runs until ctx ends or a part fails: then all of it stops.
func (d *daemon) serve(ctx context.Context) error {
	housekeeping := d.housekeeping(ctx)
	d.warnOfPolicy(ctx)
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { return d.engine.Run(ctx) })
	all.Go(func() error {
		return socket.New(d.desk, socket.HostAccounts(time.Now), d.log).Serve(ctx, d.asks)
	})
	if d.enrol != nil {
		all.Go(func() error { return d.enrol.Serve(ctx, d.enrols) })
	}
	if d.figures != nil {
		all.Go(func() error { return d.serveFigures(ctx) })
	}
	if d.chat != nil {
		all.Go(func() error { return d.serveSlack(ctx) })
	}
	all.Go(func() error { return housekeeping.Run(ctx) })
	d.log.Info("spillway runs", "version", version, "socket", d.asks.Addr().String(), "clusters", len(d.site.clusters),
		"clouds", len(d.site.clouds), "mode", string(d.site.policy.Mode()), "store", d.store.StoreID())
	err := all.Wait()
	d.log.Info("spillway stops")
	return err
}

func (d *daemon) serveFigures(ctx context.Context) error {
	d.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(d.metrics, promhttp.HandlerOpts{Registry: d.metrics}))
	mux.HandleFunc("GET /healthz", d.healthz)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if err := srv.Serve(d.figures); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics: %w", err)
	}
	return nil
}

// unhealthyAfter is how long the engine may go without a look before a
// supervisor is told.
const unhealthyAfter = 5 * time.Minute

// healthz is for supervisors: 200 while the engine looks at the world.
func (d *daemon) healthz(w http.ResponseWriter, _ *http.Request) {
	if at := d.engine.Health().At; !at.IsZero() && utcNow().Sub(at) < unhealthyAfter {
		fmt.Fprintln(w, "ok")
		return
	}
	http.Error(w, "no look at the world lately", http.StatusServiceUnavailable)
}

// problems is what goes wrong just now, for spillway status.
func (d *daemon) problems() []string {
	h := d.engine.Health()
	var out []string
	if h.Dark {
		out = append(out, "the store cannot be read or written: nothing new is rented, releases go on")
	}
	for _, name := range sortedKeys(h.Ports) {
		if h.Ports[name] != "" {
			out = append(out, name+": "+h.Ports[name])
		}
	}
	for _, name := range sortedKeys(h.Steps) {
		out = append(out, "step "+name+": "+h.Steps[name])
	}
	if d.chat != nil {
		out = append(out, d.chat.bot.Problems()...)
	}
	if d.used != nil && d.used.Problem() != "" {
		out = append(out, "utilisation of GPUs: "+d.used.Problem()+"; what is allocated counts")
	}
	return out
}

func (d *daemon) close() error {
	var errs []error
	if d.engine != nil {
		d.engine.Close()
	}
	for _, c := range slices.Backward(d.closing) {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// limits are the configuration's times in the engine's words.
func limits(c *config.Config) engine.Limits {
	l := &c.Limits
	return engine.Limits{
		Cycle: c.Cycle, Read: l.Read, Write: l.Write, Call: l.Call, Lane: l.Lane, QueueAge: l.QueueAge,
		ListEvery: l.ListEvery, OffersEvery: l.OffersEvery, Launch: l.Launch, Join: l.Join, AbsentGap: l.AbsentGap,
		OrphanAge: l.OrphanAge, AskAgain: l.AskAgain, Retry: l.Retry, RetryMost: l.RetryMost, PoolDown: l.PoolDown,
		PoolMost: l.PoolMost, QuotaDown: l.QuotaDown, Post: l.Post, Reserve: l.Reserve, Warn: l.Warn, Leap: l.Leap,
		Fails: l.Breaker.Fails, FailWindow: l.Breaker.Window, CoolDown: l.Breaker.CoolDown,
		VanishMost: l.Breaker.VanishMost, VanishShare: l.Breaker.VanishShare,
	}
}
