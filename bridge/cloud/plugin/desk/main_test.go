package desk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge/cloud/plugin"
	"spillway.sh/spillway/bridge/cloud/plugin/desk"
	"spillway.sh/spillway/bridge/cloud/plugin/host"
	"spillway.sh/spillway/bridge/cloud/plugin/host/hosttest"
	"spillway.sh/spillway/bridge/cloud/plugin/serve"
	"spillway.sh/spillway/bridge/cloud/plugin/wire"
)

// asPlugin makes this test binary a plugin: the desk that the file it names
// describes.
const asPlugin = "SPILLWAY_TEST_DESK"

func TestMain(m *testing.M) {
	if file := os.Getenv(asPlugin); file != "" {
		err := serve.Answer(context.Background(), os.Stdin, os.Stdout, func(string, json.RawMessage) (serve.Cloud, error) {
			d, err := open(file)
			return deadly{d, file + "-die"}, err
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// deadly kills its own process between the order and the reply when a test says so.
type deadly struct {
	*desk.Desk
	file string
}

func (d deadly) Create(ctx context.Context, c *wire.Create) (string, error) {
	h, err := d.Desk.Create(ctx, c)
	if os.Remove(d.file) == nil {
		self, findErr := os.FindProcess(os.Getpid())
		if findErr != nil || self.Kill() != nil {
			panic("cannot die")
		}
		select {} // until it is dead
	}
	return h, err
}

const kind = "a100x8"

// site is what the plugin of a test is made of, as a file.
type site struct {
	Dir     string
	Access  host.Host
	Hook    string // URL of a webhook
	Kind    desk.Kind
	Most    int
	Ahead   string // a file with how far the plugin's clock is ahead
	Deliver time.Duration
}

func open(file string) (*desk.Desk, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var s site
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	return desk.New(s.options(nil))
}

func (s *site) options(runner host.Runner) desk.Options {
	return desk.Options{
		Dir: s.Dir, Vendor: "简米科技", Access: s.Access, Deliver: s.Deliver, Remind: 10 * time.Minute, RemindReturn: 30 * time.Minute, Runner: runner,
		Types: []desk.Type{{Most: s.Most, Offer: wire.Offer{
			Region: "bj", Type: kind, CPUs: 4, MemoryMiB: 8000, GPUs: 8, GPUType: "a100",
			Rate: wire.Rate{Amount: "96", Currency: "CNY"}, Boot: wire.Duration(25 * time.Minute), Step: wire.Duration(time.Second),
		}}},
		Channels: []desk.Channel{{Name: "ops", Kind: s.Kind, URL: func() (string, error) { return s.Hook, nil }}},
		Answer:   func(what, ticket string) string { return "spillway plugin desk " + what + " " + ticket },
		Now: func() time.Time {
			text, err := os.ReadFile(s.Ahead)
			if errors.Is(err, os.ErrNotExist) {
				return time.Now().UTC()
			}
			ahead, parseErr := time.ParseDuration(string(text))
			if err = errors.Join(err, parseErr); err != nil {
				panic(err)
			}
			return time.Now().UTC().Add(ahead)
		},
	}
}

// channel is a webhook that keeps what it was told.
type channel struct {
	*httptest.Server

	mu      sync.Mutex
	letters []desk.Letter
	bodies  []string
	refuse  int                // so many more are refused
	answer  string             // 200 with this text
	told    func(*desk.Letter) // of each letter that was taken; nil: nobody
}

func newChannel(t *testing.T) *channel {
	t.Helper()
	c := &channel{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.refuse > 0 {
			c.refuse--
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
		var l desk.Letter
		if err := json.Unmarshal(body, &l); err != nil {
			t.Errorf("a letter that is no JSON: %s", body)
		}
		c.letters, c.bodies = append(c.letters, l), append(c.bodies, string(body))
		if c.told != nil {
			c.told(&l)
		}
		_, _ = io.WriteString(w, c.answer)
	}))
	t.Cleanup(c.Close)
	return c
}

// kinds are the letters that came, in order.
func (c *channel) kinds() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := []string{}
	for i := range c.letters {
		out = append(out, c.letters[i].Kind)
	}
	return out
}

// siteOf lays a site's file out.
func siteOf(t *testing.T, hook string) (file string, s site) {
	t.Helper()
	dir := t.TempDir()
	s = site{Dir: filepath.Join(dir, "state"), Hook: hook, Kind: desk.Webhook, Most: 6, Ahead: filepath.Join(dir, "ahead"), Deliver: 30 * time.Minute}
	return filepath.Join(dir, "site.json"), s
}

func (s *site) save(t *testing.T, file string) {
	t.Helper()
	text, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// cloudOf is the plugin as Spillway has it: a process for each call.
func cloudOf(t *testing.T, file string) *plugin.Cloud {
	t.Helper()
	t.Setenv(asPlugin, file)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := plugin.New(plugin.Config{Name: "jianmi", Command: []string{self}, Env: []string{asPlugin}, Timeout: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// person is somebody at the vendor who does at once what letters ask for, with
// the machines of a rig.
type person struct {
	t      *testing.T
	desk   *desk.Desk
	rig    *hosttest.Rig
	inbox  chan desk.Letter
	busy   map[string]bool // addresses
	closed chan struct{}
}

// hire has a person read a channel until the test ends.
func hire(t *testing.T, c *channel, d *desk.Desk, rig *hosttest.Rig) {
	t.Helper()
	p := &person{t: t, desk: d, rig: rig, inbox: make(chan desk.Letter, 1000), busy: map[string]bool{}, closed: make(chan struct{})}
	c.told = func(l *desk.Letter) { p.inbox <- *l }
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(p.closed)
		for {
			select {
			case <-ctx.Done():
				return
			case l := <-p.inbox:
				p.do(ctx, &l)
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-p.closed })
}

func (p *person) do(ctx context.Context, l *desk.Letter) {
	switch l.Kind {
	case "order", "changed":
		var brought []desk.Brought
		for i := range p.rig.Hosts {
			if a := p.rig.Hosts[i].Address; !p.busy[a] && len(brought) < l.Count {
				brought = append(brought, desk.Brought{Address: a, HostKey: p.rig.HostKey})
			}
		}
		if len(brought) < l.Count {
			if _, err := p.desk.Refuse(ctx, l.Ticket, "sold out"); err != nil {
				p.t.Errorf("refuse %s: %v", l.Ticket, err)
			}
			return
		}
		for _, b := range brought {
			p.busy[b.Address] = true
		}
		if _, err := p.desk.Deliver(ctx, l.Ticket, brought); err != nil && ctx.Err() == nil {
			p.t.Errorf("deliver %s: %v", l.Ticket, err)
		}
	case "return", "return-reminder":
		for _, m := range l.Machines {
			if !m.Clean {
				p.t.Errorf("machine %s is to go back as it is: %s", m.ID, m.Said)
			}
			if _, err := p.desk.Returned(ctx, l.Ticket, []string{m.ID}, time.Time{}, false); err != nil {
				p.t.Errorf("return %s: %v", m.ID, err)
			}
			p.busy[m.Address] = false
		}
	}
}
