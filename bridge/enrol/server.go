package enrol

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// Rentals is the part of a store that enrolment needs.
type Rentals interface {
	Rental(ctx context.Context, id bridge.RentalID) (bridge.Rental, error)
	// ClaimEnrolment uses a rental's ticket for one machine. The same machine may
	// come again from the same address; from another it is an error.
	ClaimEnrolment(ctx context.Context, id bridge.RentalID, machine, address string) error
}

// Cluster knows what a machine needs to join.
type Cluster interface {
	Enrolment(ctx context.Context, r *bridge.Rental, m *bridge.Machine) (map[string]string, error)
}

// Options is what a server is made of.
type Options struct {
	Dir      string // state directory: authority and secret live there
	URL      string // as machines reach it, https://HOST:PORT
	Rentals  Rentals
	Clusters map[string]Cluster
	// Valid is how long a ticket is good: a launch and a join; 25 min.
	Valid time.Duration
	// Wake has the engine look at its clouds: a machine came that it does not
	// know yet. May be nil.
	Wake func()
	// Hear takes a machine's report; which machine speaks is proved by then. Nil:
	// nobody listens.
	Hear func(ctx context.Context, rental bridge.RentalID, instance string, r bridge.Report) error
	// Wants are what each cluster's machines must show before they take jobs.
	Wants map[string]bridge.Wants
	// Agent is the program that machines run as their agent: this very one. A copy
	// is kept in Dir. Empty: machines have it in their image.
	Agent   string
	Version string        // of the agent and the bridge
	Every   time.Duration // between two reports of a machine; 5 s
	Clock   func() time.Time
	Log     *slog.Logger
}

// Server answers machines.
type Server struct {
	o         Options
	authority *authority
	secret    []byte
	gate      *gate
	beats     *beats
	rentals   *rentalCache
	agents    *agents
	http      http.Server
}

// New makes a server, and its authority and secret at the first start.
func New(o Options) (*Server, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" {
		return nil, fmt.Errorf("enrolment URL %q: want https://HOST:PORT as machines reach it, for example https://10.0.0.1:6820", o.URL)
	}
	if o.Valid <= 0 {
		o.Valid = 25 * time.Minute
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Wake == nil {
		o.Wake = func() {}
	}
	if o.Hear == nil {
		o.Hear = func(context.Context, bridge.RentalID, string, bridge.Report) error { return nil }
	}
	if o.Every <= 0 {
		o.Every = 5 * time.Second
	}
	a, err := loadAuthority(o.Dir, u.Hostname(), o.Clock)
	if err != nil {
		return nil, err
	}
	secret, err := loadSecret(o.Dir)
	if err != nil {
		return nil, err
	}
	programs, err := loadAgents(o.Dir, o.Agent, o.Clock())
	if err != nil {
		return nil, err
	}
	s := &Server{o: o, authority: a, secret: secret, gate: newGate(), beats: newBeats(), rentals: newRentalCache(o.Rentals, o.Clock), agents: programs}
	s.http = http.Server{
		Handler: s.routes(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 20 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 8 << 10,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: a.certificate},
		ErrorLog:  slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// routes tells strangers, who are let in by ticket and slowly, from machines
// that hold a lease and report all the time.
func (s *Server) routes() http.Handler {
	strangers := http.NewServeMux()
	strangers.HandleFunc("POST /v1/enrol", s.enrol)
	strangers.HandleFunc("POST /v1/fault", s.fault)
	strangers.HandleFunc("GET /v1/agent", s.agent)
	mux := http.NewServeMux()
	mux.Handle("/", s.gate.limit(strangers))
	mux.HandleFunc("POST /v1/report", s.report)
	mux.HandleFunc("GET /v1/lease", s.lease)
	return mux
}

// Handler answers machines where something else than Serve carries their calls.
func (s *Server) Handler() http.Handler { return s.http.Handler }

// Boot is what the machines of a rental are given to start with.
func (s *Server) Boot(r *bridge.Rental, now time.Time) (bridge.Boot, error) {
	t := ticket{r.ID, r.Attempt, now.Add(s.o.Valid)}
	return bridge.Boot{
		URL: strings.TrimSuffix(s.o.URL, "/") + "/v1/enrol", CA: s.authority.pem, Ticket: t.seal(s.secret),
		Agent: s.agents.sum, Arch: s.agents.arch, Expires: r.Expires,
	}, nil
}

// Serve answers on a listener until ctx ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if s.http.Shutdown(grace) != nil {
			s.http.Close()
		}
	})
	err := s.http.ServeTLS(l, "", "")
	if !stop() {
		<-closed // requests under way have ended
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve enrolment: %w", err)
}
