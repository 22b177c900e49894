package slackd

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
)

// Options say what a local Slack is made of.
type Options struct {
	// Workspace is who is there; DefaultWorkspace when nil.
	Workspace *Workspace
	// State is the folder of messages, uploads and tokens. One process at a time.
	State string
	// Speed makes waits of Slack's own shorter: rate limits, event retries. 1
	// when zero.
	Speed float64
	// RequestURL switches to signed HTTP when it is set; else Socket Mode.
	RequestURL string
	// Page is the web page shown at /; a line of text when nil.
	Page http.Handler
	// Now is the clock; time.Now when nil.
	Now func() time.Time
	// Ack is how long Slack waits for an acknowledgement; 3 s when zero.
	Ack time.Duration
	// Ping is the time between pings on a connection; 5 s when zero.
	Ping time.Duration
}

const (
	modeSocket = "socket"
	modeHTTP   = "http"
)

// Server is a local Slack.
type Server struct {
	opt    Options
	clock  *clock
	limits *limits
	faults faults
	tokens Tokens
	client *http.Client
	lock   *flock.Flock
	base   string // address that a bot reaches it at, set by Serve

	running   context.Context // ends with Serve
	stop      context.CancelFunc
	stopped   <-chan struct{}
	jobs      sync.WaitGroup // deliveries nobody waits for
	sockets   sync.WaitGroup // hijacked connections, which the HTTP server does not know
	linkCount atomic.Int64

	mu         sync.Mutex // guards all below
	work       *Workspace
	journal    journal
	changed    map[string]record     // people, groups and channels that are not as in the workspace's file
	messages   map[string][]*Message // by channel, oldest first
	ephemerals map[string][]*Message // by user
	views      map[string]*View
	stacks     map[string][]*View // open forms by user, bottom first
	homes      map[string]*View
	files      map[string]*File
	uploads    map[string]string // ticket of an upload: file
	triggers   map[string]trigger
	hooks      map[string]*hook
	swept      time.Time           // when old triggers and hooks were last dropped
	offers     map[string][]object // suggestions that were shown
	tickets    map[string]time.Time
	links      map[string]*link
	waiting    map[string]chan rawJSON // acknowledgements by envelope
	next       chan struct{}           // closed when another delivery goes; nil when none waits
	readers    map[*reader]bool
	notices    []*Notice
	calls      []*Call
	deliveries []*Delivery
	revoked    map[tokenKind]bool
	disabled   bool // Socket Mode is switched off
	closing    bool
	url        string // request URL; empty: Socket Mode
}

// New makes a local Slack from its state folder.
func New(opt Options) (*Server, error) {
	if opt.State == "" {
		return nil, errors.New("open local Slack: a state folder is needed")
	}
	if opt.Workspace == nil {
		opt.Workspace = DefaultWorkspace()
	}
	if opt.Ack == 0 {
		opt.Ack = 3 * time.Second
	}
	if opt.Ping == 0 {
		opt.Ping = 5 * time.Second
	}
	c := newClock(opt.Now, opt.Speed)
	s := &Server{
		opt: opt, clock: c, limits: newLimits(c), work: opt.Workspace, url: opt.RequestURL, client: &http.Client{},
		messages: map[string][]*Message{}, ephemerals: map[string][]*Message{}, views: map[string]*View{}, stacks: map[string][]*View{},
		homes: map[string]*View{}, files: map[string]*File{}, uploads: map[string]string{}, triggers: map[string]trigger{}, hooks: map[string]*hook{},
		changed: map[string]record{}, offers: map[string][]object{}, tickets: map[string]time.Time{}, links: map[string]*link{}, waiting: map[string]chan rawJSON{},
		readers: map[*reader]bool{}, revoked: map[tokenKind]bool{},
	}
	s.running, s.stop = context.WithCancel(context.Background())
	s.stopped = s.running.Done()
	if err := os.MkdirAll(filepath.Join(opt.State, "files"), 0o700); err != nil {
		return nil, fmt.Errorf("open local Slack: %w", err)
	}
	s.lock = flock.New(filepath.Join(opt.State, "lock"))
	locked, err := s.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", opt.State, err)
	}
	if !locked {
		return nil, fmt.Errorf("open local Slack: another one uses %s", opt.State)
	}
	if err := s.load(); err != nil {
		return nil, errors.Join(err, s.lock.Unlock())
	}
	return s, nil
}

// load reads what an earlier run left.
func (s *Server) load() (err error) {
	if s.tokens, err = openTokens(filepath.Join(s.opt.State, "tokens"), s.opt.Workspace.App); err != nil {
		return err
	}
	return s.replay()
}

// Tokens are the secrets of the one app and of the control interface.
type Tokens struct {
	Bot, App, Secret, Control string
	// Dir is the folder of their files: bot, app, signing-secret, control.
	Dir string
}

// Tokens are for those who start a bot; the files are of mode 0600.
func (s *Server) Tokens() Tokens { return s.tokens }

// openTokens reads the tokens or makes them, once.
func openTokens(dir string, a App) (Tokens, error) {
	t := Tokens{Dir: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return t, fmt.Errorf("open tokens: %w", err)
	}
	for _, f := range []struct {
		name, given, prefix string
		to                  *string
	}{
		{"bot", a.BotToken, "xoxb-local-", &t.Bot},
		{"app", a.AppToken, "xapp-1-" + a.ID + "-", &t.App},
		{"signing-secret", a.SigningSecret, "", &t.Secret},
		{"control", "", "", &t.Control},
	} {
		path := filepath.Join(dir, f.name)
		text, err := os.ReadFile(path)
		switch {
		case f.given != "":
			*f.to = f.given
		case err == nil:
			*f.to = strings.TrimSpace(string(text))
			continue
		case !errors.Is(err, fs.ErrNotExist):
			return t, fmt.Errorf("open tokens: %w", err)
		default:
			*f.to = f.prefix + random(16)
		}
		if err := os.WriteFile(path, []byte(*f.to+"\n"), 0o600); err != nil {
			return t, fmt.Errorf("open tokens: %w", err)
		}
	}
	return t, nil
}

func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// secret is a random word of 2n digits.
func (s *Server) secret(n int) string { return random(n) }

// newID is a new id of Slack's kind, with its letter.
func (s *Server) newID(letter string) string {
	b := make([]byte, 6)
	_, _ = rand.Read(b) // never fails
	return letter + "0" + base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b)
}

// Serve answers until the context ends, then closes everything. It is called
// once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	s.base = "http://" + reachable(l.Addr())
	h := &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	s.jobs.Go(func() { done <- h.Serve(l) })
	var err error
	select {
	case <-ctx.Done():
	case err = <-done:
	}
	return errors.Join(err, s.close(h))
}

// reachable is an address to connect to; loopback when it is all of them.
func reachable(a net.Addr) string {
	if t, ok := a.(*net.TCPAddr); ok && t.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(t.Port))
	}
	return a.String()
}

// close ends connections, waits for what runs and closes the journal.
func (s *Server) close(h *http.Server) error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := h.Shutdown(ctx)
	s.mu.Lock()
	for _, l := range s.links {
		_ = l.ws.Close() // its reader ends
	}
	s.mu.Unlock()
	s.jobs.Wait()
	s.sockets.Wait()
	s.client.CloseIdleConnections()
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(err, s.journal.err, s.journal.file.Close(), s.lock.Unlock())
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/", s.api)
	mux.HandleFunc("GET /link/", s.connect)
	mux.HandleFunc("POST /hooks/{team}/{id}", s.answerHook)
	mux.HandleFunc("POST /upload/v1/{ticket}", s.upload)
	mux.HandleFunc("GET /files-pri/", s.fetchFile)
	mux.HandleFunc("GET /archives/{channel}/{stamp}", permalink)
	mux.Handle("/control/", s.control())
	if s.opt.Page != nil {
		mux.Handle("/", s.opt.Page)
	} else {
		mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(w, "A local Slack. Its Web API is below /api/; this build has no page.")
		})
	}
	return mux
}

func (s *Server) mode() string {
	if s.requestURL() != "" {
		return modeHTTP
	}
	return modeSocket
}

func (s *Server) requestURL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

// setURL switches the way of delivery after Slack's own handshake.
func (s *Server) setURL(to string) error {
	if to != "" {
		if u, err := url.Parse(to); err != nil || u.Host == "" {
			return fmt.Errorf("%q is no address", to)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.url = to
	return nil
}
