package slackd

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// news is one line of the feed.
type news struct {
	kind string
	data json.RawMessage
}

// reader is one open feed.
type reader struct {
	user string
	ch   chan news
	lost bool // the reader was slow; it is told and reads again
}

// Notice is what Slack itself tells a person, for instance that an app did not
// answer.
type Notice struct {
	User    string `json:"user"`
	Channel string `json:"channel,omitempty"`
	TS      string `json:"ts"`
	Error   string `json:"error"`
	Text    string `json:"text"`
}

// tell sends news to the feeds of one person, of those who see a channel, or
// of all when both are empty. The lock is held.
func (s *Server) tell(kind string, what any, user, channel string) {
	if len(s.readers) == 0 {
		return
	}
	data, err := json.Marshal(what)
	if err != nil {
		return // all kinds of news are plain structs
	}
	for r := range s.readers {
		if r.user != "" && !s.concerns(r.user, user, channel) {
			continue
		}
		select {
		case r.ch <- news{kind, data}:
		default:
			r.lost = true
		}
	}
}

func (s *Server) concerns(reader, user, channel string) bool {
	if user != "" {
		return reader == user
	}
	c := s.work.channel(channel)
	return c == nil || s.visible(c, reader)
}

// notice tells a person what Slack has to say about the app.
func (s *Server) notice(user, channel, name, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := &Notice{User: user, Channel: channel, TS: s.clock.stamp(), Error: name, Text: text}
	s.notices = remember(s.notices, n)
	s.tell("notice", n, user, "")
}

// feed serves the events until the reader leaves or the server stops.
func (s *Server) feed(w http.ResponseWriter, r *http.Request) {
	flush := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	me := &reader{ch: make(chan news, 1024)}
	s.mu.Lock()
	if u := s.work.user(r.URL.Query().Get("user")); u != nil {
		me.user = u.ID
	}
	s.readers[me] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.readers, me)
		s.mu.Unlock()
	}()
	fmt.Fprint(w, "event: ready\ndata: {}\n\n")
	_ = flush.Flush() // a reader that left is seen below
	beat := time.NewTicker(15 * time.Second)
	defer beat.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-s.stopped:
			return
		case <-beat.C:
			fmt.Fprint(w, ": alive\n\n")
		case n := <-me.ch:
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", n.kind, n.data)
			s.mu.Lock()
			lost := me.lost
			me.lost = false
			s.mu.Unlock()
			if lost {
				fmt.Fprint(w, "event: lost\ndata: {}\n\n")
			}
		}
		if flush.Flush() != nil {
			return
		}
	}
}
