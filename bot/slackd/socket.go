package slackd

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

const (
	connectionLife = 18060 * time.Second // as Slack says in its hello
	debugLife      = 360 * time.Second
	warningBefore  = 10 * time.Second
	writeWithin    = 10 * time.Second
)

// link is one Socket Mode connection.
type link struct {
	id     string
	ws     *websocket.Conn
	write  sync.Mutex
	frozen atomic.Bool // half-open: nothing goes out, nothing is heard
}

func (l *link) send(v any) error {
	if l.frozen.Load() {
		return nil // it looks fine from this side
	}
	l.write.Lock()
	defer l.write.Unlock()
	_ = l.ws.SetWriteDeadline(time.Now().Add(writeWithin)) // a failed write says so
	return l.ws.WriteJSON(v)
}

// connect serves /link/: a ticket is good for one connection.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	s.sockets.Add(1)
	defer s.sockets.Done()
	ticket := r.URL.Query().Get("ticket")
	s.mu.Lock()
	until, known := s.tickets[ticket]
	delete(s.tickets, ticket)
	ok := known && s.clock.now().Before(until) && !s.revoked[appToken]
	s.mu.Unlock()
	if !ok {
		writeJSON(w, http.StatusForbidden, object{"ok": false, "error": "invalid_ticket"})
		return
	}
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }} // the ticket is the authority
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	l := &link{id: "s" + strconv.FormatInt(s.linkCount.Add(1), 10), ws: ws}
	if !s.admit(l) {
		_ = l.send(s.goodbye("too_many_websockets"))
		_ = ws.Close()
		return
	}
	defer s.dismiss(l)
	life := connectionLife
	if r.URL.Query().Get("debug_reconnects") == "true" {
		life = debugLife
	}
	if l.send(s.hello(life)) != nil {
		return
	}
	done := make(chan struct{})
	var keeping sync.WaitGroup
	keeping.Go(func() { s.tend(l, life, done) })
	s.listen(l)
	close(done)
	keeping.Wait()
}

// admit counts a connection in; there are ten at most.
func (s *Server) admit(l *link) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.links) >= maxConnections || s.disabled || s.closing {
		return false
	}
	s.links[l.id] = l
	s.tell("sockets", object{"connections": len(s.links)}, "", "")
	return true
}

func (s *Server) dismiss(l *link) {
	_ = l.ws.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.links, l.id)
	s.tell("sockets", object{"connections": len(s.links)}, "", "")
}

func (s *Server) hello(life time.Duration) object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return object{
		"type": "hello", "num_connections": len(s.links), "connection_info": object{"app_id": s.work.App.ID},
		"debug_info": object{"host": "applink-local", "build_number": 1, "approximate_connection_time": int(life.Seconds())},
	}
}

func (s *Server) goodbye(reason string) object {
	return object{"type": "disconnect", "reason": reason, "debug_info": object{"host": "applink-local"}}
}

// tend pings, and asks the bot to connect anew when the connection is old.
func (s *Server) tend(l *link, life time.Duration, done <-chan struct{}) {
	ping := time.NewTicker(s.opt.Ping)
	defer ping.Stop()
	warn := time.NewTimer(life - warningBefore)
	defer warn.Stop()
	refresh := time.NewTimer(life)
	defer refresh.Stop()
	for {
		select {
		case <-done:
			return
		case <-s.stopped:
			_ = l.ws.Close()
			return
		case <-ping.C:
			if !l.frozen.Load() {
				_ = l.ws.WriteControl(websocket.PingMessage, []byte("Ping from slackd"), time.Now().Add(writeWithin)) // the reader sees an end
			}
		case <-warn.C:
			_ = l.send(s.goodbye("warning"))
		case <-refresh.C:
			_ = l.send(s.goodbye("refresh_requested"))
			_ = l.ws.Close()
			return
		}
	}
}

// answer is what a bot sends back: an acknowledgement, with a payload where
// one is wanted.
type answer struct {
	EnvelopeID string  `json:"envelope_id"`
	Payload    rawJSON `json:"payload"`
}

// listen takes acknowledgements until the connection ends.
func (s *Server) listen(l *link) {
	l.ws.SetReadLimit(maxBody)
	pong := l.ws.PingHandler()
	l.ws.SetPingHandler(func(data string) error {
		if l.frozen.Load() {
			return nil
		}
		return pong(data)
	})
	for {
		_, text, err := l.ws.ReadMessage()
		if err != nil {
			return
		}
		if l.frozen.Load() {
			continue
		}
		var a answer
		if json.Unmarshal(text, &a) != nil || a.EnvelopeID == "" {
			continue
		}
		if len(a.Payload) >= maxResponsePayload {
			continue // Slack drops it and says nothing
		}
		s.acknowledge(a)
	}
}

// acknowledge wakes who waits for this answer, whichever connection it came by.
func (s *Server) acknowledge(a answer) {
	s.mu.Lock()
	waiting := s.waiting[a.EnvelopeID]
	delete(s.waiting, a.EnvelopeID)
	s.mu.Unlock()
	if waiting != nil {
		waiting <- a.Payload // has room for one, and gets only one
	}
}

// pickLink is the connection the next envelope goes to: any one of them.
func (s *Server) pickLink() *link {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.links) == 0 {
		return nil
	}
	n := rand.IntN(len(s.links)) //nolint:gosec // which connection it is, is no secret
	for _, l := range s.links {
		if n == 0 {
			return l
		}
		n--
	}
	return nil
}
