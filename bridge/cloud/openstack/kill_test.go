package openstack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/cloudtest/killed"
	"spillway.sh/spillway/bridge/cloud/openstack"
)

// rows is a Nova whose servers are rows: each create makes one more, as Nova's
// own does. It is quick enough to be asked fifty times.
type rows struct {
	script *script

	mu      sync.Mutex
	servers []row
}

// row is one server as Nova shows it.
type row struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Status   string            `json:"status"`
	Created  time.Time         `json:"created"`
	Updated  time.Time         `json:"updated"`
	Metadata map[string]string `json:"metadata"`
	Tags     []string          `json:"tags"`
	Flavor   map[string]string `json:"flavor"`
	Zone     string            `json:"OS-EXT-AZ:availability_zone"`
}

// ServeHTTP implements http.Handler. What is no server is the script's.
func (n *rows) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const path = "/compute/v2.1/servers"
	switch {
	case r.Method == http.MethodPost && r.URL.Path == path:
		n.create(w, r)
	case r.Method == http.MethodGet && r.URL.Path == path+"/detail":
		n.list(w, r.URL.Query())
	default:
		n.script.ServeHTTP(w, r)
	}
}

func (n *rows) create(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Server struct {
			row
			Zone string `json:"availability_zone"`
		} `json:"server"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	s, now := in.Server.row, time.Now().UTC().Truncate(time.Second)
	s.ID, s.Status, s.Created, s.Updated = fmt.Sprintf("00000000-0000-4000-8000-%012d", len(n.servers)+1), "ACTIVE", now, now
	s.Flavor, s.Zone = map[string]string{"original_name": "c4"}, in.Server.Zone
	n.servers = append(n.servers, s)
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprintf(w, `{"server": {"id": %q}}`, s.ID)
}

func (n *rows) list(w http.ResponseWriter, q url.Values) {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := []row{}
	for _, s := range n.servers {
		if name := q.Get("name"); name == "" || regexp.MustCompile(name).MatchString(s.Name) {
			out = append(out, s)
		}
	}
	if q.Get("marker") != "" {
		out = out[:0] // all were on the first page
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(map[string]any{"servers": out}); err != nil {
		panic(err)
	}
}

// started is what the rows say themselves.
func (n *rows) started() ([]killed.Start, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []killed.Start
	for _, s := range n.servers {
		out = append(out, killed.Start{ID: s.ID, Tags: s.Metadata})
	}
	return out, nil
}

// led sends all calls to one place, whatever the catalogue says.
type led struct{ to *url.URL }

func (l led) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host, r.Host = l.to.Scheme, l.to.Host, ""
	return plain.RoundTrip(r)
}

func openVictim(to string) (killed.Cloud, error) {
	u, err := url.Parse(to)
	if err != nil {
		return nil, err
	}
	return openstack.New(openstack.Config{
		Name: "stack", Region: "R", Image: "node", Network: "none", Transport: led{u},
		Auth:    openstack.Auth{URL: to + "/v3", CredentialID: "id", Secret: func() (string, error) { return "secret", nil }},
		Flavors: []openstack.Flavor{{Name: "c4", Rate: bridge.Rate{Micro: 160_000, Currency: "EUR"}}},
	})
}

func TestC_F08_FiftyKillsBetweenAcceptAndReplyMakeNoSecondMachine(t *testing.T) {
	nova := &rows{script: newScript(t)}
	killed.Run(t, &killed.Rig{
		Handler: nova,
		Creates: func(r *http.Request, _ []byte) bool {
			return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/servers")
		},
		Launch: func(round int) bridge.Launch {
			l := killed.Frozen(round, bridge.Pool{Cloud: "stack", Region: "R", Zone: "z", Type: "c4", Market: bridge.OnDemand})
			l.MaxRate = bridge.Rate{Micro: 160_000, Currency: "EUR"}
			l.Token = bridge.Token("st", l)
			return l
		},
		Started: nova.started,
	})
}
