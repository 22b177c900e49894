package openstack_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/openstack"
)

// script is a cloud that says what it is told to: for what a real one says only
// in trouble that nobody can make.
type script struct {
	server *httptest.Server

	mu      sync.Mutex
	create  func(w http.ResponseWriter)
	servers func(w http.ResponseWriter, r *http.Request)
	asked   []string // path and query of each call to Nova
	logins  int
	expired bool // the next call to Nova finds its token too old
}

func newScript(t *testing.T) *script {
	s := &script{}
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	s.servers = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"servers": []}`) }
	return s
}

// cloud is an adapter on the script, with one flavor.
func (s *script) cloud(t *testing.T) *openstack.Cloud {
	return open(t, openstack.Config{
		Name: "stack", Region: "R", Image: "node", Network: "none",
		Auth:      openstack.Auth{URL: s.server.URL + "/v3", CredentialID: "id", Secret: func() (string, error) { return "secret", nil }},
		Flavors:   []openstack.Flavor{{Name: "c4", Rate: bridge.Rate{Micro: 160_000, Currency: "EUR"}}},
		Transport: plain,
	})
}

// ServeHTTP implements http.Handler.
func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if compute, ok := strings.CutPrefix(r.URL.Path, "/compute"); ok {
		s.asked = append(s.asked, compute+"?"+r.URL.RawQuery)
		if s.expired {
			s.expired = false
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error": {"code": 401, "title": "Unauthorized", "message": "The request you have made requires authentication."}}`)
			return
		}
	}
	switch path := r.Method + " " + r.URL.Path; {
	case path == "POST /v3/auth/tokens":
		s.logins++
		w.Header().Set("X-Subject-Token", "t")
		w.WriteHeader(http.StatusCreated)
		endpoint := func(kind, path string) string {
			return fmt.Sprintf(`{"type": %q, "endpoints": [{"interface": "public", "region": "R", "region_id": "R", "url": %q}]}`, kind, s.server.URL+path)
		}
		fmt.Fprintf(w, `{"token": {"expires_at": "2099-01-01T00:00:00.000000Z", "catalog": [%s, %s]}}`, endpoint("compute", "/compute/v2.1"), endpoint("image", "/image/v2"))
	case path == "GET /compute/v2.1/flavors/detail":
		fmt.Fprint(w, `{"flavors": [{"id": "f1", "name": "c4", "vcpus": 4, "ram": 8192, "disk": 20, "extra_specs": {}}]}`)
	case path == "GET /image/v2/images":
		fmt.Fprint(w, `{"images": [{"id": "i1", "name": "node", "status": "active"}]}`)
	case path == "POST /compute/v2.1/servers":
		s.create(w)
	case strings.HasPrefix(path, "GET /compute/v2.1/servers/detail"):
		s.servers(w, r)
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"itemNotFound": {"code": 404, "message": "Instance could not be found."}}`)
	}
}

func launchC4(c *openstack.Cloud) bridge.Launch {
	l := launchOf(c, "z", "c4", 2)
	l.Pool.Region = "R"
	return l
}

// TestWhatAnswersMean holds that each word of Nova is understood for what it says
// about the machines: nothing came of a refusal, and of anything doubtful it is
// not known.
func TestWhatAnswersMean(t *testing.T) {
	quota := "Quota exceeded for instances: Requested 2, but already used 9 of 10 instances"
	for name, tt := range map[string]struct {
		status     int
		body, wait string
		kind       bridge.CloudErrorKind
		code, says string
		reach      bridge.Reach
		after      time.Duration
	}{
		"no quota":               {403, `{"forbidden": {"code": 403, "message": "` + quota + `"}}`, "", bridge.CloudQuota, "403 forbidden", quota, bridge.ReachZones, 0},
		"no quota, as of old":    {413, `{"overLimit": {"code": 413, "message": "` + quota + `"}}`, "0", bridge.CloudQuota, "413 overLimit", quota, bridge.ReachZones, 0},
		"no right":               {403, `{"forbidden": {"code": 403, "message": "Policy doesn't allow os_compute_api:servers:create to be performed."}}`, "", bridge.CloudDenied, "403 forbidden", "Policy", bridge.ReachCloud, 0},
		"too many calls":         {429, `{"overLimit": {"code": 429, "message": "This request was rate-limited."}}`, "17", bridge.CloudThrottled, "429 overLimit", "rate-limited", "", 17 * time.Second},
		"too many, as of old":    {413, `{"overLimit": {"code": 413, "message": "This request was rate-limited."}}`, "5", bridge.CloudThrottled, "413 overLimit", "rate-limited", "", 5 * time.Second},
		"a pause of years":       {429, `{"overLimit": {"code": 429, "message": "Later."}}`, "99999999", bridge.CloudThrottled, "429 overLimit", "Later", "", time.Hour},
		"a pause that is no":     {429, `Slow down`, "Wed, 21 Oct 2026 07:28:00 GMT", bridge.CloudThrottled, "429", "Slow down", "", 0},
		"a zone that is not":     {400, `{"badRequest": {"code": 400, "message": "The requested availability zone is not available"}}`, "", bridge.CloudInvalid, "400 badRequest", "availability zone", "", 0},
		"an image that is not":   {400, `{"badRequest": {"code": 400, "message": "Can not find requested image"}}`, "", bridge.CloudInvalid, "400 badRequest", "image", bridge.ReachRegion, 0},
		"a flavor that is not":   {404, `{"itemNotFound": {"code": 404, "message": "Flavor f1 could not be found."}}`, "", bridge.CloudInvalid, "404 itemNotFound", "Flavor f1", "", 0},
		"a port in use":          {409, `{"conflictingRequest": {"code": 409, "message": "Port is still in use."}}`, "", bridge.CloudInvalid, "409 conflictingRequest", "Port", "", 0},
		"an old Nova":            {406, `{"computeFault": {"code": 406, "message": "Version 2.69 is not supported by the API. Minimum is 2.1 and maximum is 2.53."}}`, "", bridge.CloudInvalid, "406 computeFault", "2.53", bridge.ReachRegion, 0},
		"a body that is too big": {413, `{"message": "Request is too large."}`, "", bridge.CloudInvalid, "413", "too large", "", 0},
		"Nova breaks down":       {500, `{"computeFault": {"code": 500, "message": "Unexpected API Error. <class 'oslo_messaging.exceptions.MessagingTimeout'>"}}`, "", bridge.CloudUnknown, "500 computeFault", "MessagingTimeout", "", 0},
		"a proxy gives up":       {504, "<html><body><h1>504 Gateway Time-out</h1>\nThe server didn't respond in time.\n</body></html>", "", bridge.CloudUnknown, "504", "Gateway Time-out", "", 0},
		"a proxy is alone":       {503, "", "", bridge.CloudUnknown, "503", "", "", 0},
		"an answer that is cut":  {202, `{"server": {"id":`, "", bridge.CloudUnknown, "", "", "", 0},
		"an empty answer":        {202, ``, "", bridge.CloudUnknown, "", "", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t)
			s.create = func(w http.ResponseWriter) {
				w.Header().Set("Retry-After", tt.wait)
				w.WriteHeader(tt.status)
				fmt.Fprint(w, tt.body)
			}
			c := s.cloud(t)
			_, err := c.Create(t.Context(), launchC4(c))
			var ce *bridge.CloudError
			if !errors.As(err, &ce) {
				t.Fatalf("%v is no cloud's error", err)
			}
			if ce.Kind != tt.kind || ce.Code != tt.code || ce.Reach != tt.reach || ce.RetryAfter != tt.after || ce.Op != "create" || ce.Cloud != "stack" {
				t.Errorf("%+v", ce)
			}
			if text := ce.Error(); !strings.Contains(text, tt.says) || strings.Contains(text, "\n") {
				t.Errorf("%q does not say %q in one line", text, tt.says)
			}
		})
	}
}

// server is one as Nova shows it, with a word changed.
func server(id string, change map[string]any) string {
	s := map[string]any{
		"id": id, "name": "n", "status": "ACTIVE", "created": "2026-12-01T12:00:00Z", "updated": "2026-12-01T12:00:00Z",
		"OS-SRV-USG:launched_at": "2026-12-01T12:00:07.000000", "OS-EXT-AZ:availability_zone": "z", "OS-EXT-STS:task_state": nil,
		"flavor": map[string]any{"original_name": "c4"}, "metadata": map[string]string{"spillway-store": "store-a", "spillway-token": "tok", "note": "a person's"},
		"addresses": map[string]any{},
	}
	for k, v := range change {
		s[k] = v
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func listing(w http.ResponseWriter, servers ...string) {
	fmt.Fprintf(w, `{"servers": [%s]}`, strings.Join(servers, ","))
}

// TestStatesOfServers holds that what still holds a place is never shown as gone.
func TestStatesOfServers(t *testing.T) {
	fault := map[string]any{"code": 500, "message": "No valid host was found. There are not enough hosts available."}
	for name, tt := range map[string]struct {
		change map[string]any
		want   bridge.InstanceState
		fault  string
	}{
		"runs":                    {nil, bridge.InstanceRunning, ""},
		"is being built":          {map[string]any{"status": "BUILD", "OS-SRV-USG:launched_at": nil}, bridge.InstancePending, ""},
		"is being deleted":        {map[string]any{"OS-EXT-STS:task_state": "deleting"}, bridge.InstanceStopping, ""},
		"was switched off":        {map[string]any{"status": "SHUTOFF"}, bridge.InstanceStopping, ""},
		"was put on a shelf":      {map[string]any{"status": "SHELVED_OFFLOADED"}, bridge.InstanceStopping, ""},
		"restarts":                {map[string]any{"status": "HARD_REBOOT"}, bridge.InstanceRunning, ""},
		"never was":               {map[string]any{"status": "ERROR", "OS-SRV-USG:launched_at": nil, "fault": fault}, bridge.InstancePending, "No valid host"},
		"ran, and its host broke": {map[string]any{"status": "ERROR", "fault": fault}, bridge.InstanceRunning, "No valid host"},
		"is deleted":              {map[string]any{"status": "DELETED"}, bridge.InstanceGone, ""},
		"of a state to come":      {map[string]any{"status": "TELEPORTING"}, bridge.InstanceRunning, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t)
			s.servers = func(w http.ResponseWriter, _ *http.Request) { listing(w, server("a", tt.change)) }
			got, err := s.cloud(t).List(t.Context(), "store-a", "main")
			if err != nil || len(got.Instances) != 1 || !got.Complete {
				t.Fatalf("%+v, %v", got, err)
			}
			m := got.Instances[0]
			if m.State != tt.want || !strings.HasPrefix(m.Fault, tt.fault) || (m.Fault == "") != (tt.fault == "") || len(m.Tags) != 1 || m.Token != "tok" || m.Pool.Type != "c4" {
				t.Errorf("%+v, want %s with fault %q", m, tt.want, tt.fault)
			}
		})
	}
}

// TestAddresses holds that a machine's own address on its network comes first.
func TestAddresses(t *testing.T) {
	entry := func(addr, kind string) map[string]any { return map[string]any{"addr": addr, "OS-EXT-IPS:type": kind} }
	for name, tt := range map[string]struct {
		addresses map[string]any
		want      string
	}{
		"none":                     {map[string]any{}, ""},
		"one":                      {map[string]any{"x": []any{entry("10.0.0.5", "fixed")}}, "10.0.0.5"},
		"a floating one besides":   {map[string]any{"x": []any{entry("192.0.2.7", "floating"), entry("10.0.0.5", "fixed")}}, "10.0.0.5"},
		"two networks":             {map[string]any{"a": []any{entry("10.1.0.5", "fixed")}, "none": []any{entry("10.0.0.5", "fixed")}}, "10.0.0.5"},
		"IPv6 besides":             {map[string]any{"x": []any{entry("2001:db8::5", "fixed"), entry("10.0.0.5", "fixed")}}, "10.0.0.5"},
		"IPv6 only":                {map[string]any{"x": []any{entry("2001:db8::5", "fixed")}}, "2001:db8::5"},
		"what is no address":       {map[string]any{"x": []any{entry("soon", "fixed")}}, ""},
		"what is no list of them":  {map[string]any{"x": "soon"}, ""},
		"what has no name of addr": {map[string]any{"x": []any{map[string]any{"version": 4}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t)
			s.servers = func(w http.ResponseWriter, _ *http.Request) {
				listing(w, server("a", map[string]any{"addresses": tt.addresses}))
			}
			got, err := s.cloud(t).List(t.Context(), "store-a", "")
			if err != nil || len(got.Instances) != 1 || got.Instances[0].Address != tt.want {
				t.Errorf("%+v, %v, want %q", got.Instances, err, tt.want)
			}
		})
	}
}

// TestAPartOfTheCloudThatDoesNotAnswerProvesNothing: Nova then shows servers
// without a word of what they are. No create is sent on such a list, and the list
// is asked for without a filter, which would hide them.
func TestAPartOfTheCloudThatDoesNotAnswerProvesNothing(t *testing.T) {
	s := newScript(t)
	s.servers = func(w http.ResponseWriter, _ *http.Request) {
		listing(w, server("a", nil), `{"id": "b", "status": "UNKNOWN", "tenant_id": "p", "created": "2026-12-01T12:00:00Z", "links": []}`)
	}
	s.create = func(http.ResponseWriter) { t.Error("a create was sent") }
	c := s.cloud(t)
	got, err := c.List(t.Context(), "store-a", "main")
	if err != nil || got.Complete || len(got.Instances) != 1 {
		t.Errorf("complete %t, %d machines, %v", got.Complete, len(got.Instances), err)
	}
	if len(s.asked) != 1 || s.asked[0] != "/v2.1/servers/detail?" {
		t.Errorf("asked %q", s.asked)
	}
	_, err = c.Create(t.Context(), launchC4(c))
	wantError(t, err, bridge.CloudThrottled, "UNKNOWN", "not known whether this was made before")
}

// TestAListIsWholeOrNone holds that a page that fails, or pages without end, make
// no complete list.
func TestAListIsWholeOrNone(t *testing.T) {
	for name, second := range map[string]func(w http.ResponseWriter, url string){
		"the second page fails": func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusInternalServerError) },
		"the marker is gone": func(w http.ResponseWriter, _ string) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"badRequest": {"code": 400, "message": "marker [a] not found"}}`)
		},
		"it does not end": func(w http.ResponseWriter, url string) {
			fmt.Fprintf(w, `{"servers": [%s], "servers_links": [{"rel": "next", "href": %q}]}`, server("a", nil), url)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t)
			next := s.server.URL + "/compute/v2.1/servers/detail?marker=a"
			s.servers = func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("marker") != "" {
					second(w, next)
					return
				}
				fmt.Fprintf(w, `{"servers": [%s], "servers_links": [{"rel": "next", "href": %q}]}`, server("a", nil), next)
			}
			got, err := s.cloud(t).List(t.Context(), "store-a", "main")
			if err == nil || got.Complete {
				t.Errorf("complete %t, %v", got.Complete, err)
			}
		})
	}
}

// TestATokenThatIsTooOldIsMadeAnew: the call is sent again once, and no create is
// sent twice for it.
func TestATokenThatIsTooOldIsMadeAnew(t *testing.T) {
	s := newScript(t)
	c := s.cloud(t)
	for range 3 {
		if _, err := c.List(t.Context(), "store-a", "main"); err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		s.expired = true
		s.mu.Unlock()
	}
	if s.logins != 3 {
		t.Errorf("%d logins, want the first and two for tokens that were too old", s.logins)
	}
}

// TestCredentialsOfACloudsFile holds that an entry of a clouds.yaml logs in, and
// that nothing of the environment has a say in it.
func TestCredentialsOfACloudsFile(t *testing.T) {
	s := newScript(t)
	file := filepath.Join(t.TempDir(), "clouds.yaml")
	text := fmt.Sprintf("clouds:\n  batch:\n    auth_type: v3applicationcredential\n    region_name: elsewhere\n    auth: {auth_url: %q, application_credential_id: id, application_credential_secret: s}\n", s.server.URL+"/v3")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"OS_CLOUD": "other", "OS_CLIENT_CONFIG_FILE": "/no/such/file", "OS_AUTH_URL": "http://127.0.0.1:1", "OS_REGION_NAME": "S", "OS_INTERFACE": "admin",
	} {
		t.Setenv(name, value)
	}
	c := open(t, openstack.Config{
		Name: "stack", Region: "R", Image: "node", Network: "none", Auth: openstack.Auth{CloudsFile: file, Entry: "batch"},
		Flavors: []openstack.Flavor{{Name: "c4", Rate: bridge.Rate{Micro: 1, Currency: "EUR"}}},
	})
	if got, err := c.List(t.Context(), "store-a", "main"); err != nil || !got.Complete {
		t.Errorf("complete %t, %v", got.Complete, err)
	}
}

// TestConfigurationsThatCannotWork are refused before anybody is asked.
func TestConfigurationsThatCannotWork(t *testing.T) {
	for name, change := range map[string]func(*openstack.Config){
		"no name":             func(c *openstack.Config) { c.Name = "" },
		"no region":           func(c *openstack.Config) { c.Region = "" },
		"no image":            func(c *openstack.Config) { c.Image = "" },
		"no network":          func(c *openstack.Config) { c.Network = "" },
		"no flavor":           func(c *openstack.Config) { c.Flavors = nil },
		"a flavor for free":   func(c *openstack.Config) { c.Flavors[0].Rate.Micro = 0 },
		"no currency":         func(c *openstack.Config) { c.Flavors[0].Rate.Currency = "" },
		"GPUs of no name":     func(c *openstack.Config) { c.Flavors[0].GPUs = 8 },
		"a flavor twice":      func(c *openstack.Config) { c.Flavors = append(c.Flavors, c.Flavors[0]) },
		"no credentials":      func(c *openstack.Config) { c.Auth = openstack.Auth{} },
		"credentials twice":   func(c *openstack.Config) { c.Auth.CloudsFile, c.Auth.Entry = "clouds.yaml", "x" },
		"a user besides":      func(c *openstack.Config) { c.Auth.User, c.Auth.Project = "me", "p" },
		"a file that is none": func(c *openstack.Config) { c.Auth = openstack.Auth{CloudsFile: "/no/such/clouds.yaml", Entry: "x"} },
		"no certificates":     func(c *openstack.Config) { c.Auth.CAFile = "/no/such/ca.pem" },
	} {
		t.Run(name, func(t *testing.T) {
			c := openstack.Config{
				Name: "stack", Region: "R", Image: "node", Network: "none",
				Auth:    openstack.Auth{URL: "http://127.0.0.1:1/v3", CredentialID: "id", Secret: func() (string, error) { return "s", nil }},
				Flavors: []openstack.Flavor{{Name: "c4", Rate: bridge.Rate{Micro: 1, Currency: "EUR"}}},
			}
			change(&c)
			if _, err := openstack.New(c); err == nil {
				t.Error("it is taken")
			}
		})
	}
}
