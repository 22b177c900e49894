package server

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"spillway.sh/spillway/bridge/cloud/local/server/ec2"
)

// guest is a machine as its host needs it.
func (s *Server) guest(m *machine) Guest {
	g := Guest{ID: m.ID, GPUs: m.GPUs, Metadata: s.metadata(m.ID)}
	if op := s.state.Operations[m.Operation]; op != nil && !m.Mute {
		g.UserData = op.UserData
	}
	return g
}

// metadata answers one machine's questions about itself. The paths are EC2's,
// session tokens included: who shows one must show a good one, and who shows none
// is answered too, as on EC2 where IMDSv2 is not required; machines that were made
// in EC2's words may require it.
// As in real clouds it does not know who asks inside the machine: what is in
// there is open to every process, until the machine's own packet filter closes
// it to all but root.
func (s *Server) metadata(id string) http.Handler {
	mux := http.NewServeMux()
	tokens := &tokens{required: func() bool {
		manner := s.mannerOf(id)
		return manner != nil && manner.TokenRequired
	}}
	mux.HandleFunc("PUT /latest/api/token", tokens.give)
	say := func(path string, value func(m *machine) string) {
		mux.HandleFunc("GET /latest/"+path, func(w http.ResponseWriter, _ *http.Request) {
			s.mu.Lock()
			m, text := s.state.Machines[id], ""
			if m != nil {
				text = value(m)
			}
			s.mu.Unlock()
			if text == "" {
				http.Error(w, "not found", http.StatusNotFound)
				return
			}
			w.Header().Set("Content-Type", "text/plain")
			_, _ = fmt.Fprint(w, text) // A machine that is gone is no concern.
		})
	}
	say("meta-data/instance-id", func(m *machine) string { return m.ID })
	say("meta-data/ami-launch-index", func(m *machine) string { return strconv.Itoa(m.Index) })
	say("meta-data/instance-type", func(m *machine) string { return m.Pool.Type })
	say("meta-data/instance-life-cycle", func(m *machine) string { return m.Pool.Market })
	say("meta-data/placement/region", func(m *machine) string { return m.Pool.Region })
	say("meta-data/placement/availability-zone", func(m *machine) string { return m.Pool.Zone })
	say("meta-data/expires", func(m *machine) string { return stamp(m.Expires) })
	say("meta-data/spot/instance-action", instanceAction)
	say("meta-data/spot/termination-time", func(m *machine) string { return stamp(m.ReclaimAt) })
	say("user-data", func(m *machine) string {
		if op := s.state.Operations[m.Operation]; op != nil {
			return op.UserData
		}
		return ""
	})
	say("meta-data/tags/instance/{$}", func(m *machine) string {
		if !m.showsTags() {
			return ""
		}
		return strings.Join(slices.Sorted(maps.Keys(m.Tags)), "\n")
	})
	mux.HandleFunc("GET /latest/meta-data/tags/instance/{key}", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		value, ok := "", false
		if m := s.state.Machines[id]; m != nil && m.showsTags() {
			value, ok = m.Tags[r.PathValue("key")]
		}
		s.mu.Unlock()
		if !ok {
			http.Error(w, "not found", http.StatusNotFound)
			return
		}
		_, _ = fmt.Fprint(w, value) // A machine that is gone is no concern.
	})
	return tokens.ask(mux)
}

// mannerOf is what a create in EC2's words said of a machine; nil: it was none.
func (s *Server) mannerOf(id string) *ec2.Manner {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.state.Machines[id]; m != nil {
		return m.EC2
	}
	return nil
}

// showsTags says whether the machine may read its own tags: EC2 must be asked to.
func (m *machine) showsTags() bool { return m.EC2 == nil || m.EC2.MetadataTags }

// tokens are the session tokens of one machine, by when each runs out.
type tokens struct {
	required func() bool // nobody is answered without one
	mu       sync.Mutex
	all      map[string]time.Time
}

// The headers of session tokens, the longest life of one, and how many are kept.
const (
	tokenHeader     = "X-aws-ec2-metadata-token"
	tokenLifeHeader = "X-aws-ec2-metadata-token-ttl-seconds"
	tokenLifeMost   = 21600
	tokensMost      = 1000
)

func (t *tokens) give(w http.ResponseWriter, r *http.Request) {
	life, err := strconv.Atoi(r.Header.Get(tokenLifeHeader))
	if err != nil || life < 1 || life > tokenLifeMost {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	now, token := time.Now(), rand.Text()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.all) >= tokensMost || t.all == nil {
		t.all = map[string]time.Time{} // Their holders ask again.
	}
	t.all[token] = now.Add(time.Duration(life) * time.Second)
	w.Header().Set(tokenLifeHeader, strconv.Itoa(life))
	_, _ = fmt.Fprint(w, token) // A machine that is gone is no concern.
}

// ask lets questions through that come with a good token or, unless the machine
// requires one, with none. A token itself is asked for without.
func (t *tokens) ask(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.Header.Get(tokenHeader)
		if token != "" || r.Method != http.MethodPut && t.required() {
			t.mu.Lock()
			good := time.Now().Before(t.all[token])
			t.mu.Unlock()
			if !good {
				http.Error(w, "unauthorised", http.StatusUnauthorized)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// instanceAction is the notice, and nothing while there is none.
func instanceAction(m *machine) string {
	if m.NoticeAt.IsZero() {
		return ""
	}
	text, err := json.Marshal(struct {
		Action string `json:"action"`
		Time   string `json:"time"`
	}{"terminate", stamp(m.ReclaimAt)})
	if err != nil {
		panic(err) // Two strings.
	}
	return string(text)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
