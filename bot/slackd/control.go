package slackd

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// mistake is how the control interface says no.
type mistake struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
}

// control serves everything below /control/, to loopback and with the token.
func (s *Server) control() http.Handler {
	mux := http.NewServeMux()
	get := func(path string, f http.HandlerFunc) { mux.HandleFunc("GET /control/"+path, f) }
	post := func(path string, f http.HandlerFunc) { mux.HandleFunc("POST /control/"+path, f) }
	get("workspace", s.getWorkspace)
	get("channels", s.getChannels)
	get("messages", s.getMessages)
	get("views", s.getViews)
	get("home", s.getHome)
	get("notices", s.getNotices)
	get("calls", s.getCalls)
	get("deliveries", s.getDeliveries)
	get("feed", s.feed)
	get("files/{id}", func(w http.ResponseWriter, r *http.Request) { s.sendFile(w, r.PathValue("id")) })
	for path, do := range map[string]func(act) Outcome{
		"command": s.command, "press": s.press, "submit": s.submit, "close": s.closeView, "suggest": s.suggest, "open-home": s.openHome,
	} {
		post(path, func(w http.ResponseWriter, r *http.Request) {
			var a act
			if decode(w, r, &a) {
				writeJSON(w, http.StatusOK, do(a))
			}
		})
	}
	post("say", s.postSay)
	post("open-dm", s.postDirect)
	post("users/{id}", s.postUser)
	post("groups/{id}", s.postGroup)
	post("channels/{id}", s.postChannel)
	post("event", s.postEvent)
	post("tokens", s.postTokens)
	post("scopes", s.postScopes)
	post("without", s.postWithout)
	get("faults", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, object{"faults": s.faults.all()})
	})
	post("faults", s.postFault)
	mux.HandleFunc("DELETE /control/faults", s.deleteFault)
	mux.HandleFunc("DELETE /control/faults/{id}", s.deleteFault)
	post("sockets", s.postSockets)
	get("clock", s.getClock)
	post("clock", s.postClock)
	post("redeliver", s.postRedeliver)
	get("delivery", s.getDelivery)
	post("delivery", s.postDelivery)
	return s.guarded(mux)
}

// guarded lets in who is on this host and has the token.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
			writeJSON(w, http.StatusForbidden, mistake{Error: "the control interface answers on loopback only"})
			return
		}
		token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !bearer {
			token = r.URL.Query().Get("token")
		}
		if !equal(token, s.tokens.Control) {
			writeJSON(w, http.StatusUnauthorized, mistake{Error: "the control token is missing or wrong", Hint: "it is in the state folder, tokens/control"})
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// decode reads a body strictly; false means that the answer is given.
func decode(w http.ResponseWriter, r *http.Request, v any) bool {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil && !errors.Is(err, io.EOF) {
		writeJSON(w, http.StatusBadRequest, mistake{Error: "the body is not understood: " + err.Error()})
		return false
	}
	return true
}

func bad(w http.ResponseWriter, why string) { writeJSON(w, http.StatusBadRequest, mistake{Error: why}) }

// view writes what f reads, with the lock held while it is written down.
func (s *Server) view(w http.ResponseWriter, f func() any) {
	s.mu.Lock()
	text, err := json.Marshal(f())
	s.mu.Unlock()
	if err != nil {
		bad(w, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(text) // a reader that left needs no answer
}

// asked is the user of a question, by the U id; empty when nobody is named.
func (s *Server) asked(r *http.Request) string {
	id := r.URL.Query().Get("user")
	if u := s.work.user(id); u != nil {
		return u.ID
	}
	return id
}

func (s *Server) getWorkspace(w http.ResponseWriter, _ *http.Request) {
	mode := s.mode()
	s.view(w, func() any {
		channels := slices.DeleteFunc(slices.Clone(s.work.Channels), func(c *Channel) bool { return c.IsIM })
		return object{
			"team": s.work.Team, "app": s.work.App, "users": s.work.Users, "groups": s.work.Groups, "channels": channels,
			"connections": len(s.links), "mode": mode, "clock": s.clockNow(),
		}
	})
}

func (s *Server) getChannels(w http.ResponseWriter, r *http.Request) {
	s.view(w, func() any {
		user, out := s.asked(r), []*Channel{}
		for _, c := range s.work.Channels {
			if user == "" || s.visible(c, user) {
				out = append(out, c)
			}
		}
		return object{"channels": out}
	})
}

func (s *Server) getMessages(w http.ResponseWriter, r *http.Request) {
	s.view(w, func() any {
		user, c := s.asked(r), s.work.channel(r.URL.Query().Get("channel"))
		if c == nil || user != "" && !s.visible(c, user) {
			return object{"messages": []*Message{}}
		}
		list := s.seen(c.ID, user)
		if n, err := strconv.Atoi(r.URL.Query().Get("limit")); err == nil && n > 0 {
			list = list[max(0, len(list)-n):]
		}
		return object{"messages": append([]*Message{}, list...)}
	})
}

func (s *Server) getViews(w http.ResponseWriter, r *http.Request) {
	s.view(w, func() any { return object{"views": append([]*View{}, s.stacks[s.asked(r)]...)} })
}

func (s *Server) getHome(w http.ResponseWriter, r *http.Request) {
	s.view(w, func() any { return object{"view": s.homes[s.asked(r)]} })
}

func (s *Server) getNotices(w http.ResponseWriter, r *http.Request) {
	s.view(w, func() any {
		user, out := s.asked(r), []*Notice{}
		for _, n := range s.notices {
			if user == "" || n.User == user {
				out = append(out, n)
			}
		}
		return object{"notices": out}
	})
}

func (s *Server) getCalls(w http.ResponseWriter, r *http.Request) {
	s.view(w, func() any {
		name, out := r.URL.Query().Get("method"), []*Call{}
		for _, c := range latest(s.calls) {
			if name == "" || c.Method == name {
				out = append(out, c)
			}
		}
		return object{"calls": out}
	})
}

func (s *Server) getDeliveries(w http.ResponseWriter, _ *http.Request) {
	s.view(w, func() any { return object{"deliveries": append([]*Delivery{}, latest(s.deliveries)...)} })
}

func (s *Server) postSay(w http.ResponseWriter, r *http.Request) {
	var a act
	if !decode(w, r, &a) {
		return
	}
	m, why := s.say(a)
	if why != "" {
		bad(w, why)
		return
	}
	writeJSON(w, http.StatusOK, object{"message": m})
}

func (s *Server) postDirect(w http.ResponseWriter, r *http.Request) {
	var a act
	if !decode(w, r, &a) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u, why := s.person(a.User)
	with := s.work.user(a.With)
	if a.With == "" {
		with = s.work.user(s.work.App.BotUser)
	}
	if why != "" || with == nil {
		bad(w, "there is no such person")
		return
	}
	writeJSON(w, http.StatusOK, object{"channel": s.direct(u.ID, with.ID)})
}

// clockState is the clock as people see it.
type clockState struct {
	Now   time.Time `json:"now"`
	Speed float64   `json:"speed"`
}

func (s *Server) clockNow() clockState { return clockState{s.clock.now(), s.clock.rate()} }

func (s *Server) getClock(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, s.clockNow())
}

func (s *Server) postClock(w http.ResponseWriter, r *http.Request) {
	var in struct {
		AdvanceMS int64   `json:"advance_ms"`
		Speed     float64 `json:"speed"`
	}
	if !decode(w, r, &in) {
		return
	}
	s.clock.jump(time.Duration(in.AdvanceMS) * time.Millisecond)
	s.clock.setSpeed(in.Speed)
	s.mu.Lock()
	s.tell("clock", s.clockNow(), "", "")
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, s.clockNow())
}

func (s *Server) getDelivery(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, object{"mode": s.mode(), "url": s.requestURL()})
}

// postDelivery switches between Socket Mode and HTTP; a request URL has to
// answer Slack's challenge.
func (s *Server) postDelivery(w http.ResponseWriter, r *http.Request) {
	var in struct{ Mode, URL string }
	if !decode(w, r, &in) {
		return
	}
	if in.Mode != modeHTTP && in.Mode != modeSocket || in.Mode == modeHTTP && in.URL == "" {
		bad(w, `mode is "socket" or "http", the latter with a url`)
		return
	}
	if in.Mode == modeSocket {
		in.URL = ""
	}
	if err := s.setURL(in.URL); err != nil {
		bad(w, err.Error())
		return
	}
	verified := in.Mode == modeHTTP && s.challenge(r.Context())
	writeJSON(w, http.StatusOK, object{"mode": in.Mode, "url": in.URL, "verified": verified})
}

// challenge is Slack's own check of a request URL.
func (s *Server) challenge(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, s.opt.Ack)
	defer cancel()
	word := s.secret(16)
	body, err := json.Marshal(object{"token": "local", "type": "url_verification", "challenge": word})
	if err != nil {
		return false
	}
	d := &Delivery{Kind: kindEvent, Payload: body}
	answer, err := s.post(ctx, d, body, "application/json", s.clock.now())
	return err == nil && strings.Contains(string(answer), word)
}
