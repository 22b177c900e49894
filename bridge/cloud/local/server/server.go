package server

import (
	"cmp"
	"context"
	secrets "crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"spillway.sh/spillway/bridge/cloud/local/wire"
)

const (
	// pulse is the longest time between two looks at what is due, unless set.
	pulse = 100 * time.Millisecond
	// watch is how often running machines are checked for having ended.
	watch = 500 * time.Millisecond
	// tokenMemory is how long a create's token is remembered after it ended.
	tokenMemory = 24 * time.Hour
	// parting is how long Close waits for answers under way.
	parting = 2 * time.Second
)

// Options say what to serve and from where.
type Options struct {
	// Dir keeps the state, the ledger and the tokens; one server at a time.
	Dir   string
	World World
	Host  Host
	// Log may be nil.
	Log *slog.Logger
	// Now may be nil; tests bring a clock of their own.
	Now func() time.Time
	// Pulse is the longest time between two looks at what is due; 100 ms unless set.
	Pulse time.Duration
	// ID names a machine or an operation, once each; nil: at random.
	ID func() string
}

// Server is the local cloud. It is safe for concurrent use.
type Server struct {
	dir    string
	host   Host
	log    *slog.Logger
	now    func() time.Time
	seed   uint64
	pulse  time.Duration
	id     func() string
	lock   *flock.Flock
	clouds map[string]*cloud
	admin  string // token of the faults, ledger and purge calls
	mux    *http.ServeMux

	// ctx ends with Close; work counts goroutines that Close waits for.
	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup
	kick chan struct{}
	http []*http.Server

	mu      sync.Mutex
	state   *state
	ledger  *ledger
	busy    map[string]bool // machines that the host works on
	faults  []*fault
	dice    *rand.Rand
	pages   map[string]pageSet
	serial  int64 // of pages
	watched time.Time
	// broken is set when state or ledger could not be written: from then on
	// nothing may change, as nothing would be remembered.
	broken error
}

// cloud is one cloud as the server runs it.
type cloud struct {
	spec     Cloud
	markets  []*market
	accounts map[string]*account // by token
	feed     *feed
}

// account is one customer with its rate limits.
type account struct {
	spec   Account
	limits limits
	secret string
	// regional are the limits of EC2's dialect, which count by region.
	regional map[string]limits
}

// Open starts the world in dir, or goes on with the one that is there. The
// caller owns the server and must Close it.
func Open(ctx context.Context, o Options) (*Server, error) {
	if err := o.World.check(); err != nil {
		return nil, fmt.Errorf("open local cloud: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(o.Dir, "tokens"), 0o700); err != nil {
		return nil, fmt.Errorf("open local cloud: %w", err)
	}
	lock := flock.New(filepath.Join(o.Dir, "lock"))
	if ok, err := lock.TryLock(); err != nil || !ok {
		return nil, fmt.Errorf("open local cloud: another server uses %s: %w", o.Dir, errors.Join(err, os.ErrExist))
	}
	s := &Server{
		dir: o.Dir, host: o.Host, log: o.Log, now: o.Now, seed: o.World.Seed, pulse: cmp.Or(o.Pulse, pulse), lock: lock,
		clouds: map[string]*cloud{}, kick: make(chan struct{}, 1), busy: map[string]bool{},
		dice:  rand.New(rand.NewPCG(o.World.Seed, 1)), //nolint:gosec // Faults that come again with their seed; no secret.
		pages: map[string]pageSet{},
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.id = o.ID; s.id == nil {
		s.id = func() string { return strings.ToLower(secrets.Text()[:12]) }
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	if err := s.load(ctx, o.World); err != nil {
		s.stop()
		if s.ledger != nil {
			err = errors.Join(err, s.ledger.file.Close())
		}
		return nil, errors.Join(fmt.Errorf("open local cloud: %w", err), lock.Unlock())
	}
	s.mux = s.routes()
	s.work.Go(s.run)
	return s, nil
}

// load reads state and ledger and takes the machines over that still run.
func (s *Server) load(ctx context.Context, w World) error {
	var err error
	if s.admin, err = secret(filepath.Join(s.dir, "tokens", "admin")); err != nil {
		return err
	}
	for _, spec := range w.Clouds {
		c := &cloud{spec: spec, markets: spec.markets(w.Seed), accounts: map[string]*account{}, feed: newFeed()}
		for _, a := range spec.Accounts {
			token, err := secret(s.TokenFile(spec.Name, a.Name))
			if a.TokenFile != "" {
				token, err = readSecret(a.TokenFile)
			}
			if err != nil {
				return err
			}
			c.accounts[token] = &account{spec: a, limits: newLimits(spec.Limits), secret: token, regional: map[string]limits{}}
		}
		s.clouds[spec.Name] = c
	}
	now := s.time()
	if s.state, err = loadState(filepath.Join(s.dir, "state.json"), now); err != nil {
		return err
	}
	if s.ledger, err = openLedger(filepath.Join(s.dir, "ledger.jsonl")); err != nil {
		return err
	}
	for id, m := range s.state.Machines {
		if s.clouds[m.Cloud] == nil && m.live() {
			return fmt.Errorf("machine %s of cloud %s still runs, and the world no longer has that cloud: end it with the old world first", id, m.Cloud)
		}
		if s.clouds[m.Cloud] == nil {
			delete(s.state.Machines, id)
		}
	}
	for _, m := range s.state.Machines {
		if m.State == wire.StateRunning {
			if err := s.host.Attach(ctx, s.guest(m)); err != nil {
				return fmt.Errorf("take over machine %s: %w", m.ID, err)
			}
		}
	}
	// What a crash kept out of the ledger goes in now.
	return s.commit()
}

// TokenFile is where an account's secret lies unless the world names a place.
func (s *Server) TokenFile(cloud, account string) string {
	return filepath.Join(s.dir, "tokens", cloud+"-"+account)
}

// AdminTokenFile is where the secret of the faults, ledger and purge calls lies.
func (s *Server) AdminTokenFile() string { return filepath.Join(s.dir, "tokens", "admin") }

// LedgerFile is the ledger's path, for ReadLedger.
func (s *Server) LedgerFile() string { return filepath.Join(s.dir, "ledger.jsonl") }

// Handler serves the API.
func (s *Server) Handler() http.Handler { return s.mux }

// Listen serves the API on an address until Close and returns the address,
// with the port that was chosen for ":0".
func (s *Server) Listen(address string) (net.Addr, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	srv := &http.Server{Handler: s.mux, ReadHeaderTimeout: 10 * time.Second}
	s.mu.Lock()
	s.http = append(s.http, srv)
	s.mu.Unlock()
	s.work.Go(func() {
		if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("serve local cloud", "address", address, "err", err)
		}
	})
	return listener.Addr(), nil
}

// Close stops serving. Machines live on, and a server opened later in the same
// directory takes them over.
func (s *Server) Close() error {
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), parting)
	defer cancel()
	s.mu.Lock()
	servers := s.http
	s.http = nil
	s.mu.Unlock()
	for _, srv := range servers {
		if srv.Shutdown(ctx) != nil {
			srv.Close() // Its clients are gone either way.
		}
	}
	s.work.Wait()
	return errors.Join(s.host.Close(), s.ledger.file.Close(), s.lock.Unlock())
}

// Purge ends every machine at once and waits until all are gone. The server
// goes on; its ledger stays.
func (s *Server) Purge(ctx context.Context) error {
	for {
		s.mu.Lock()
		left := 0
		for _, m := range s.machines() {
			if m.live() {
				left++
				s.end(m, endPurged, 0)
			}
		}
		s.advance()
		err := s.broken
		s.mu.Unlock()
		if left == 0 || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("purge local cloud: %d machines are left: %w", left, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// run looks at what is due, often and when kicked.
func (s *Server) run() {
	ticker := time.NewTicker(s.pulse)
	defer ticker.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-ticker.C:
		case <-s.kick:
		}
		s.mu.Lock()
		s.advance()
		s.mu.Unlock()
	}
}

func (s *Server) wake() {
	select {
	case s.kick <- struct{}{}:
	default: // A wake-up waits already.
	}
}

// time is the world's time, in UTC.
func (s *Server) time() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// machines returns all rows in the order of their making.
func (s *Server) machines() []*machine {
	return slices.SortedFunc(maps.Values(s.state.Machines), func(a, b *machine) int {
		return cmp.Or(a.Launched.Compare(b.Launched), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Index, b.Index))
	})
}

// commit makes the state durable, then the ledger: what a crash between the
// two leaves out of the ledger is repaired from the state at the next start.
func (s *Server) commit() error {
	if s.broken != nil {
		return s.broken
	}
	err := s.state.save(filepath.Join(s.dir, "state.json"))
	if err == nil {
		var entries []wire.Entry
		for _, m := range s.machines() {
			entries = append(entries, m.entries()...)
		}
		err = s.ledger.append(entries...)
	}
	if err != nil {
		s.broken = fmt.Errorf("the local cloud stands still: %w", err)
		s.log.Error("local cloud cannot write: nothing changes any more", "dir", s.dir, "err", err)
	}
	return s.broken
}
