package node_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/node"
	"spillway.sh/spillway/bridge/node/metadatatest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is what all the played services can do.
type service interface {
	http.Handler
	Hang(bool)
	Fail(int)
	Answer(string)
}

const azureID = "/subscriptions/S/resourceGroups/RG/providers/Microsoft.Compute/virtualMachines/vm-7"

// serve plays a service for the time of a test.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

func look(t *testing.T, c node.Cloud) *bridge.Warning {
	t.Helper()
	w, err := c.Look(t.Context())
	if err != nil {
		t.Fatalf("look: %v", err)
	}
	return w
}

// moment is a time of a notice, to the second as clouds write it.
var moment = time.Date(2026, 3, 1, 23, 30, 5, 0, time.UTC)

// each is one cloud with the ways to set its notice and to take it back.
type each struct {
	service service
	cloud   func(base string) node.Cloud
	id      string
	notice  func()
	back    func()
	want    *bridge.Warning
}

func clouds() map[string]each {
	ec2, gcp, azure := metadatatest.NewEC2("i-0abc"), metadatatest.NewGCP("4711"), metadatatest.NewAzure(azureID, "vm-7", "owner:us;spillway-expires:2026-03-01T20:00:00Z")
	alibaba, tencent := metadatatest.NewAlibaba("i-bp1"), metadatatest.NewTencent("ins-9")
	return map[string]each{
		"ec2": {
			ec2, func(b string) node.Cloud { return node.NewEC2(b) }, "i-0abc",
			func() { ec2.Interrupt("terminate", moment) }, func() { ec2.Interrupt("", time.Time{}) },
			&bridge.Warning{Source: "spot/instance-action", At: moment},
		},
		"gcp": {
			gcp, func(b string) node.Cloud { return node.NewGCP(b) }, "4711",
			func() { gcp.Preempt(true) }, func() { gcp.Preempt(false) },
			&bridge.Warning{Source: "instance/preempted"}, // when is not said
		},
		"azure": {
			azure, func(b string) node.Cloud { return node.NewAzure(b) }, strings.ToLower(azureID),
			func() { azure.Schedule(metadatatest.Preempt(moment, "vm-6", "vm-7")) }, func() { azure.Schedule() },
			&bridge.Warning{Source: "scheduledevents/Preempt", At: moment},
		},
		"alibaba": {
			alibaba, func(b string) node.Cloud { return node.NewAlibaba(b) }, "i-bp1",
			func() { alibaba.Recycle(moment) }, func() { alibaba.Recycle(time.Time{}) },
			&bridge.Warning{Source: "instance/spot/termination-time", At: moment},
		},
		"tencent": {
			tencent, func(b string) node.Cloud { return node.NewTencent(b) }, "ins-9",
			func() { tencent.Terminate(moment) }, func() { tencent.Terminate(time.Time{}) },
			&bridge.Warning{Source: "spot/termination-time", At: moment},
		},
	}
}

func TestEveryCloudsNoticeIsSeenAndItsEndToo(t *testing.T) {
	for name, e := range clouds() {
		t.Run(name, func(t *testing.T) {
			c := e.cloud(serve(t, e.service))
			id, err := c.Identify(t.Context())
			if err != nil || id != e.id || c.Name() != name {
				t.Fatalf("%s: id %q, %v; want %q", c.Name(), id, err, e.id)
			}
			if w := look(t, c); w != nil {
				t.Errorf("a notice before there is one: %+v", w)
			}
			e.notice()
			for range 2 {
				w := look(t, c)
				if name == "gcp" && w != nil {
					if left := time.Until(w.At); left < 20*time.Second || left > 30*time.Second {
						t.Errorf("taken in %s, want the documented 30 s", left)
					}
					w.At = time.Time{}
				}
				if diff := cmp.Diff(e.want, w); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				if name == "gcp" {
					break // Its next look would wait for a change.
				}
			}
			e.back()
			if w := look(t, c); w != nil {
				t.Errorf("a notice that was taken back is still there: %+v", w)
			}
		})
	}
}

// What is no notice is none, and an error: the agent keeps the last word and
// says in the end that it is blind.
func TestWhatIsNoAnswerIsNoNotice(t *testing.T) {
	for name, e := range clouds() {
		t.Run(name, func(t *testing.T) {
			c := e.cloud(serve(t, e.service))
			if _, err := c.Identify(t.Context()); err != nil {
				t.Fatal(err)
			}
			for what, breakIt := range map[string]func(){
				"a page of a portal":   func() { e.service.Answer("<html><body>Sign in to the network</body></html>") },
				"a number":             func() { e.service.Answer("17") },
				"a time of nowhere":    func() { e.service.Answer("tomorrow at noon") },
				"an error":             func() { e.service.Fail(http.StatusInternalServerError) },
				"too many questions":   func() { e.service.Fail(http.StatusTooManyRequests) },
				"a redirection":        func() { e.service.Fail(http.StatusFound) },
				"half a JSON document": func() { e.service.Answer(`{"action": "termin`) },
			} {
				e.service.Answer("")
				e.service.Fail(0)
				breakIt()
				if w, err := c.Look(t.Context()); err == nil || w != nil {
					t.Errorf("%s: %+v, %v; want an error", what, w, err)
				}
			}
			e.service.Answer("")
			e.service.Fail(0)
			if w := look(t, c); w != nil {
				t.Errorf("after it all: %+v", w)
			}
		})
	}
}

func TestAServiceThatHangsIsLeftAlone(t *testing.T) {
	for name, e := range clouds() {
		t.Run(name, func(t *testing.T) {
			c := e.cloud(serve(t, e.service))
			look(t, c)
			e.service.Hang(true)
			ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
			defer cancel()
			if name == "gcp" {
				// It waits for a change anyway; a lost look is asked anew without waiting.
				ctx, cancel = context.WithTimeout(t.Context(), time.Second)
				defer cancel()
			}
			began := time.Now()
			if _, err := c.Look(ctx); err == nil || time.Since(began) > 10*time.Second {
				t.Errorf("%v after %s", err, time.Since(began))
			}
		})
	}
}

func TestEC2TokensAreRenewedAndNoticesSeenAgain(t *testing.T) {
	s := metadatatest.NewEC2("i-1")
	c := node.NewEC2(serve(t, s))
	s.Interrupt("terminate", moment)
	look(t, c)
	look(t, c)
	if n := s.Tokens(); n != 1 {
		t.Errorf("%d tokens for two looks, want 1", n)
	}
	s.RevokeTokens() // Fault 15 of clouds: an answer of 401 must not hide a notice.
	if w := look(t, c); w == nil || s.Tokens() != 2 {
		t.Errorf("after the tokens ran out: %+v with %d tokens", w, s.Tokens())
	}
}

func TestEC2WithoutTokensIsAskedWithout(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /latest/meta-data/instance-id", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("i-old")) })
	c := node.NewEC2(serve(t, mux))
	if id, err := c.Identify(t.Context()); err != nil || id != "i-old" {
		t.Errorf("id %q, %v", id, err)
	}
}

func TestEC2Words(t *testing.T) {
	for name, tc := range map[string]struct {
		set  func(*metadatatest.EC2)
		want *bridge.Warning
	}{
		"stop takes the machine too":          {func(s *metadatatest.EC2) { s.Interrupt("stop", moment) }, &bridge.Warning{Source: "spot/instance-action", At: moment}},
		"an advice is an advice":              {func(s *metadatatest.EC2) { s.Rebalance(moment) }, &bridge.Warning{Source: "events/recommendations/rebalance", Advice: true}},
		"a notice counts more than an advice": {func(s *metadatatest.EC2) { s.Rebalance(moment); s.Interrupt("terminate", moment) }, &bridge.Warning{Source: "spot/instance-action", At: moment}},
		"an advice that is taken back":        {func(s *metadatatest.EC2) { s.Rebalance(moment); s.Rebalance(time.Time{}) }, nil},
		"a notice whose time cannot be read":  {func(s *metadatatest.EC2) { s.Set("spot/instance-action", `{"action":"terminate","time":"soon"}`) }, &bridge.Warning{Source: "spot/instance-action"}},
		"a notice with more in it than is known": {func(s *metadatatest.EC2) {
			s.Set("spot/instance-action", `{"action":"terminate","x":{"y":1},"time":"2026-03-01T23:30:05Z"}`)
		}, &bridge.Warning{Source: "spot/instance-action", At: moment}},
		"a time with another zone is the same": {func(s *metadatatest.EC2) {
			s.Set("spot/instance-action", `{"action":"terminate","time":"2026-03-02T07:30:05+08:00"}`)
		}, &bridge.Warning{Source: "spot/instance-action", At: moment}},
		"maintenance that is announced elsewhere": {func(s *metadatatest.EC2) { s.Set("events/maintenance/scheduled", `[{"Code":"system-reboot"}]`) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := metadatatest.NewEC2("i-1")
			tc.set(s)
			if diff := cmp.Diff(tc.want, look(t, node.NewEC2(serve(t, s)))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAzureEventsOfOthersAreNotOurs(t *testing.T) {
	s := metadatatest.NewAzure(azureID, "vm-7", "")
	c := node.NewAzure(serve(t, s))
	if _, err := c.Identify(t.Context()); err != nil {
		t.Fatal(err)
	}
	reboot := metadatatest.Preempt(moment, "vm-7")
	reboot.EventType = "Reboot"
	s.Schedule(metadatatest.Preempt(moment, "vm-6"), metadatatest.Preempt(moment, "vm-70"), reboot)
	if w := look(t, c); w != nil {
		t.Errorf("an event of another machine, or of another kind, passes for ours: %+v", w)
	}
	s.Schedule(metadatatest.Preempt(time.Time{}, "vm-7")) // It has started: no time any more.
	w := look(t, c)
	if w == nil || time.Until(w.At) > 30*time.Second {
		t.Fatalf("an event that has started: %+v", w)
	}
	if again := look(t, c); !again.At.Equal(w.At) {
		t.Errorf("its time moves: %s, then %s", w.At, again.At)
	}
}

func TestGCPAnswersAtOnceWhenItChanges(t *testing.T) {
	s := metadatatest.NewGCP("1")
	c := node.NewGCP(serve(t, s))
	look(t, c)
	type said struct {
		w   *bridge.Warning
		err error
	}
	got := make(chan said, 1)
	go func() {
		w, err := c.Look(t.Context())
		got <- said{w, err}
	}()
	for s.Asked() < 2 { // until it waits
		time.Sleep(time.Millisecond)
	}
	began := time.Now()
	s.Preempt(true)
	if g := <-got; g.err != nil || g.w == nil || time.Since(began) > time.Second {
		t.Errorf("%+v, %v after %s", g.w, g.err, time.Since(began))
	}
}

func TestTheEndIsReadFromTags(t *testing.T) {
	want := time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC)
	s := metadatatest.NewEC2("i-1")
	s.Set("tags/instance/spillway-expires", want.Format(time.RFC3339))
	all := clouds()
	for name, c := range map[string]node.Cloud{"ec2": node.NewEC2(serve(t, s)), "azure": all["azure"].cloud(serve(t, all["azure"].service))} {
		if got, err := c.Expires(t.Context()); err != nil || !got.Equal(want) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	s.Set("tags/instance/spillway-expires", "")
	c := node.NewEC2(serve(t, s))
	if got, err := c.Expires(t.Context()); err != nil || !got.IsZero() {
		t.Errorf("without a tag: %s, %v", got, err)
	}
	s.Set("tags/instance/spillway-expires", "never")
	if _, err := c.Expires(t.Context()); err == nil {
		t.Error("a tag that is no time is believed")
	}
}

// One address serves several clouds' shapes: only the right one is believed.
func TestNoCloudPassesForAnother(t *testing.T) {
	for name, e := range clouds() {
		if name == "tencent" || name == "alibaba" {
			continue // They have addresses of their own.
		}
		t.Run(name, func(t *testing.T) {
			base := serve(t, e.service)
			for other, c := range map[string]node.Cloud{"ec2": node.NewEC2(base), "gcp": node.NewGCP(base), "azure": node.NewAzure(base)} {
				if id, err := c.Identify(t.Context()); (err == nil) != (other == name) {
					t.Errorf("asked as %s: %q, %v", other, id, err)
				}
			}
			e.service.Answer("<html>sign in</html>")
			for other, c := range map[string]node.Cloud{"gcp": node.NewGCP(base), "azure": node.NewAzure(base)} {
				if id, err := c.Identify(t.Context()); err == nil {
					t.Errorf("a portal passes for %s: %q", other, id)
				}
			}
		})
	}
}
