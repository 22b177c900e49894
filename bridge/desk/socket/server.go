package socket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"spillway.sh/spillway/bridge/desk"
)

// Protocol is the version of paths and bodies. A client of another version is
// told so instead of being misread.
const Protocol = 1

// Headers of the handshake.
const (
	headerProtocol = "Spillway-Protocol"
	headerVersion  = "Spillway-Version"
)

// Limits of one request and one person.
const (
	mostBody    = 1 << 20
	mostBill    = 64 << 20 // the lines of a month
	mostAtOnce  = 16       // requests of one uid
	longest     = 40 * time.Second
	longestBill = 5 * time.Minute
	graceOnStop = 3 * time.Second
)

// Server answers requests on a socket.
type Server struct {
	desk     *desk.Desk
	accounts Accounts
	log      *slog.Logger
	http     *http.Server

	mu   sync.Mutex
	busy map[int]int // requests in flight by uid
}

// New returns a server for a desk.
func New(d *desk.Desk, accounts Accounts, log *slog.Logger) *Server {
	s := &Server{desk: d, accounts: accounts, log: log, busy: map[int]int{}}
	mux := http.NewServeMux()
	route(s, mux, desk.AskQueue)
	route(s, mux, desk.AskExplain)
	route(s, mux, desk.AskRentals)
	route(s, mux, desk.AskRental)
	route(s, mux, desk.AskQuote)
	route(s, mux, desk.AskRent)
	route(s, mux, desk.AskRelease)
	route(s, mux, desk.AskDecide)
	route(s, mux, desk.AskQuestion)
	route(s, mux, desk.AskSpend)
	route(s, mux, desk.AskPlan)
	route(s, mux, desk.AskFreeze)
	route(s, mux, desk.AskWhoAmI)
	route(s, mux, desk.AskNews)
	route(s, mux, desk.AskLedger)
	route(s, mux, desk.AskNames)
	route(s, mux, desk.AskPrices)
	route(s, mux, desk.AskBudget)
	route(s, mux, desk.AskReport)
	route(s, mux, desk.AskWeek)
	route(s, mux, desk.AskChargeback)
	route(s, mux, desk.AskExtend)
	route(s, mux, desk.AskKeep)
	route(s, mux, desk.AskCancel)
	route(s, mux, desk.AskCheckpoints)
	route(s, mux, desk.AskClouds)
	route(s, mux, desk.AskStatus)
	route(s, mux, desk.AskBill)
	route(s, mux, desk.AskBillImport)
	s.http = &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: longest + 10*time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10, ConnContext: withPeer, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return s
}

// Listen makes the socket, in place of one that no process answers on.
func Listen(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // Everybody may reach the socket.
		return nil, fmt.Errorf("make folder of socket: %w", err)
	}
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		_ = c.Close()
		return nil, fmt.Errorf("listen on %s: another spillway answers there", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove old socket: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	// Everybody may ask; who may do what is decided by the desk.
	if err := os.Chmod(path, 0o666); err != nil { //nolint:gosec // See above.
		return nil, errors.Join(fmt.Errorf("open socket to everybody: %w", err), l.Close())
	}
	return l, nil
}

// Serve answers until ctx ends, then lets requests under way finish for a
// moment. It closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ended := make(chan error, 1)
	go func() { ended <- s.http.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve socket: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceOnStop)
	defer cancel()
	if err := s.http.Shutdown(grace); err != nil {
		_ = s.http.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve socket: %w", err)
	}
	return nil
}

type peerKey struct{}

// withPeer notes who is at the other end of a connection.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return ctx
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return ctx
	}
	var cred *syscall.Ucred
	if err := raw.Control(func(fd uintptr) {
		cred, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil || cred == nil {
		return ctx
	}
	return context.WithValue(ctx, peerKey{}, int(cred.Uid))
}

// person is who sent a request.
func (s *Server) person(ctx context.Context) (desk.Person, error) {
	uid, ok := ctx.Value(peerKey{}).(int)
	if !ok {
		return desk.Person{}, &desk.Error{Kind: desk.Forbidden, Wrong: "the kernel does not say who you are"}
	}
	name, groups, err := s.accounts(ctx, uid)
	if err != nil {
		return desk.Person{}, &desk.Error{Kind: desk.Forbidden, Wrong: fmt.Sprintf("uid %d has no account on this host", uid), Try: "getent passwd " + strconv.Itoa(uid), Err: err}
	}
	return s.desk.Roles.Of(name, uid, groups), nil
}

// patience is how long an answer may take. A bill is a month's lines.
func patience(ask string) time.Duration {
	if ask == desk.AskBill.Name || ask == desk.AskBillImport.Name {
		return longestBill
	}
	return longest
}

// route serves one ask under its name.
func route[Q, A any](s *Server, mux *http.ServeMux, ask desk.Ask[Q, A]) {
	mux.HandleFunc("POST /"+ask.Name, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), patience(ask.Name))
		defer cancel()
		if patience(ask.Name) > longest {
			long := http.NewResponseController(w)
			// A connection without deadlines keeps those of the server, which are shorter.
			_ = errors.Join(long.SetReadDeadline(time.Now().Add(longestBill)), long.SetWriteDeadline(time.Now().Add(longestBill+10*time.Second)))
		}
		w.Header().Set(headerProtocol, strconv.Itoa(Protocol))
		w.Header().Set(headerVersion, s.desk.Version)
		who, err := s.person(ctx)
		var answer A
		if err == nil {
			answer, err = answerOne(ctx, s, w, r, ask, who)
		}
		s.note(ask.Name, ask.Reads, who, err)
		if err != nil {
			e := desk.AsError(err)
			send(w, status[e.Kind], e)
			return
		}
		send(w, http.StatusOK, answer)
	})
}

func answerOne[Q, A any](ctx context.Context, s *Server, w http.ResponseWriter, r *http.Request, ask desk.Ask[Q, A], who desk.Person) (answer A, err error) {
	if got := r.Header.Get(headerProtocol); got != strconv.Itoa(Protocol) {
		return answer, &desk.Error{
			Kind: desk.Conflict, Wrong: fmt.Sprintf("the daemon speaks version %d, the command version %q", Protocol, got),
			Try: "install the same version of both (daemon: " + s.desk.Version + ")",
		}
	}
	if !s.enter(who.UID) {
		return answer, &desk.Error{Kind: desk.Unavailable, Wrong: fmt.Sprintf("%d of your requests are being answered already", mostAtOnce), Try: "wait a moment"}
	}
	defer s.leave(who.UID)
	var q Q
	most := int64(mostBody)
	if patience(ask.Name) > longest {
		most = mostBill
	}
	in := json.NewDecoder(http.MaxBytesReader(w, r.Body, most))
	in.DisallowUnknownFields()
	if err := in.Decode(&q); err != nil && !errors.Is(err, io.EOF) {
		return answer, &desk.Error{Kind: desk.BadRequest, Wrong: "the request is not what was expected: " + err.Error(), Err: err}
	}
	defer func() {
		if p := recover(); p != nil { // one bad request must not stop releases
			s.log.Error("answer a request", "ask", ask.Name, "panic", p)
			err = &desk.Error{Kind: desk.Internal, Wrong: "the daemon stumbled over this request; its log says more"}
		}
	}()
	return ask.Do(s.desk, ctx, who, q)
}

func (s *Server) enter(uid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[uid] >= mostAtOnce {
		return false
	}
	s.busy[uid]++
	return true
}

func (s *Server) leave(uid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[uid]--; s.busy[uid] <= 0 {
		delete(s.busy, uid)
	}
}

// note logs what people change, and what went wrong here.
func (s *Server) note(name string, reads bool, who desk.Person, err error) {
	switch {
	case err != nil && desk.AsError(err).Kind == desk.Internal:
		s.log.Error("answer a request", "ask", name, "who", who.Name, "error", err)
	case !reads && err != nil:
		s.log.Info("refuse a request", "ask", name, "who", who.Name, "error", err)
	case !reads:
		s.log.Info("do as asked", "ask", name, "who", who.Name)
	}
}

var status = map[desk.ErrorKind]int{
	desk.BadRequest: http.StatusBadRequest, desk.NotFound: http.StatusNotFound, desk.Forbidden: http.StatusForbidden,
	desk.Conflict: http.StatusConflict, desk.OverBudget: http.StatusPaymentRequired,
	desk.Unavailable: http.StatusServiceUnavailable, desk.Internal: http.StatusInternalServerError,
}

func send(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// The client may be gone; there is nobody left to tell.
	_ = json.NewEncoder(w).Encode(body)
}
