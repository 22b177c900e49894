package openstack_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/cloudtest"
	"spillway.sh/spillway/bridge/cloud/openstack"
	"spillway.sh/spillway/bridge/cloud/openstack/novatest"
)

// patience is for a machine that does other things besides; the suite looks a
// thousand times in it.
const patience = 10 * time.Minute

const userData = "#!/bin/sh\ntrue\n"

// TestOnARealNova starts one cloud, and a project of its own for each part.
func TestOnARealNova(t *testing.T) {
	cloud := novatest.New(t)
	t.Run("conformance", func(t *testing.T) { conformance(t, cloud) })
	t.Run("quota is a refusal", func(t *testing.T) { refusesByQuota(t, cloud) })
	t.Run("a part of the machines is ended", func(t *testing.T) { endsPartOfThem(t, cloud) })
	t.Run("C-08 two requests leave the machines of one", func(t *testing.T) { leavesOneOfTwo(t, cloud) })
	t.Run("an end moves", func(t *testing.T) { movesTheEnd(t, cloud) })
	t.Run("an examination", func(t *testing.T) { examines(t, cloud) })
	t.Run("bad input", func(t *testing.T) { refusesBadInput(t, cloud) })
}

func project(t *testing.T, cloud *novatest.Cloud, instances int) *novatest.Project {
	t.Helper()
	p, err := cloud.Project(t.Context(), instances)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func open(t cloudtest.T, c openstack.Config) *openstack.Cloud {
	t.Helper()
	cloud, err := openstack.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return cloud
}

func conformance(t *testing.T, cloud *novatest.Cloud) {
	p := project(t, cloud, 100)
	wire := &wire{}
	cloudtest.Run(t, cloudtest.Provider{
		Open: func(t cloudtest.T) cloudtest.Cloud {
			c := p.Config("stack")
			c.Transport = wire
			return open(t, c)
		},
		// Names are not unique in Nova. The adapter finds what it made all the same.
		Idempotency: cloudtest.ByName,
		Pool:        bridge.Pool{Cloud: "stack", Region: novatest.Region, Zone: novatest.GPUZone, Type: novatest.GPUFlavor, Market: bridge.OnDemand},
		Stock:       novatest.GPUStock, Exact: true, Pages: true, UserData: userData, Patience: patience,
		SoldOut: map[string]bridge.Pool{
			"servers in ERROR": {Cloud: "stack", Region: novatest.Region, Zone: novatest.PlainZone, Type: novatest.GPUFlavor, Market: bridge.OnDemand},
		},
		LoseAnswer: func(cloudtest.T) { wire.lose.Store(true) },
		Stranger: func(t cloudtest.T) (string, func() bool) {
			id, err := p.Stranger(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := p.Delete(context.WithoutCancel(t.Context()), id); err != nil {
					t.Errorf("end the stranger: %v", err)
				}
			})
			return id, func() bool {
				return slices.ContainsFunc(existing(t, p), func(s servers.Server) bool { return s.ID == id && s.Status != "DELETED" })
			}
		},
	})
}

func existing(t cloudtest.T, p *novatest.Project) []servers.Server {
	t.Helper()
	all, err := p.Servers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// wire carries calls, and does to creates what a test wants.
type wire struct {
	lose atomic.Bool // the next answer
	gate func()      // called before each
}

var plain = &http.Transport{DisableKeepAlives: true}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/servers") {
		return plain.RoundTrip(r)
	}
	if w.gate != nil {
		w.gate()
	}
	resp, err := plain.RoundTrip(r)
	if err == nil && w.lose.CompareAndSwap(true, false) {
		_, err = io.Copy(io.Discard, resp.Body)
		return nil, errors.Join(io.ErrUnexpectedEOF, err, resp.Body.Close())
	}
	return resp, err
}

// launchOf is a create of a store of its own.
func launchOf(c *openstack.Cloud, zone, flavor string, count int) bridge.Launch {
	expires := time.Now().UTC().Add(time.Hour).Truncate(time.Second)
	l := bridge.Launch{
		Rental: bridge.NewRentalID(1), Attempt: 1, Count: count, UserData: userData, Expires: expires,
		Pool:    bridge.Pool{Cloud: c.Name(), Region: novatest.Region, Zone: zone, Type: flavor, Market: bridge.OnDemand},
		MaxRate: bridge.Rate{Micro: 20_000_000, Currency: "EUR"},
		Tags:    map[string]string{bridge.TagStore: "store-a", bridge.TagCluster: "main", bridge.TagExpires: expires.Format(time.RFC3339)},
	}
	l.Token = bridge.Token("store-a", l)
	return l
}

// await polls until a thing is so.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	cloudtest.Await(t, patience, what, done)
}

func wantError(t *testing.T, err error, kind bridge.CloudErrorKind, code, says string) {
	t.Helper()
	var ce *bridge.CloudError
	if !errors.As(err, &ce) || ce.Kind != kind || ce.Code != code || !strings.Contains(ce.Error(), says) {
		t.Errorf("%v, want %s with code %q that says %q", err, kind, code, says)
	}
}

func refusesByQuota(t *testing.T, cloud *novatest.Cloud) {
	p := project(t, cloud, 2)
	c := open(t, p.Config("stack"))
	offers, err := c.Offers(t.Context())
	if err != nil || len(offers) == 0 {
		t.Fatalf("%d offers, %v", len(offers), err)
	}
	for _, o := range offers {
		if o.Available != 2 || o.Limited != "instances" {
			t.Errorf("%s: %d available, limited by %q, want 2 by instances", o.Pool, o.Available, o.Limited)
		}
	}
	_, err = c.Create(t.Context(), launchOf(c, novatest.GPUZone, novatest.PlainFlavor, 3))
	wantError(t, err, bridge.CloudQuota, "403 forbidden", "Quota exceeded for instances")
	if all := existing(t, p); len(all) > 0 {
		t.Errorf("%d servers of a create that was refused", len(all))
	}
}

// endsPartOfThem rents where every other machine fails.
func endsPartOfThem(t *testing.T, cloud *novatest.Cloud) {
	p := project(t, cloud, 100)
	c := open(t, p.Config("stack"))
	l := launchOf(c, novatest.PlainZone, novatest.PlainFlavor, 4)
	h, err := c.Create(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]bool{}
	await(t, "all but one way to end", func() bool {
		for _, s := range existing(t, p) {
			states[s.Status] = true
		}
		return states["ACTIVE"] && states["ERROR"] && !slices.ContainsFunc(existing(t, p), func(s servers.Server) bool { return s.Status == "BUILD" })
	})
	await(t, "the create is refused", func() bool {
		_, err = c.Observe(t.Context(), l, h)
		return err != nil
	})
	wantError(t, err, bridge.CloudNoCapacity, "fault 500", "aborted")
	if all := existing(t, p); len(all) > 0 {
		t.Errorf("%d servers are left of it", len(all))
	}
	again := open(t, p.Config("stack")) // after a restart
	if _, err := again.Create(t.Context(), l); err != nil {
		t.Errorf("asked again: %v", err)
	}
	if all := existing(t, p); len(all) > 0 {
		t.Errorf("%d servers are made again of a create that was answered", len(all))
	}
}

// leavesOneOfTwo has two processes read the list before either sends its request.
func leavesOneOfTwo(t *testing.T, cloud *novatest.Cloud) {
	p := project(t, cloud, 100)
	var both sync.WaitGroup
	both.Add(2)
	var clouds [2]*openstack.Cloud
	for i := range clouds {
		config := p.Config("stack")
		config.Transport = &wire{gate: func() { both.Done(); both.Wait() }}
		clouds[i] = open(t, config)
	}
	l := launchOf(clouds[0], novatest.GPUZone, novatest.PlainFlavor, 2)
	var done sync.WaitGroup
	for _, c := range clouds {
		done.Go(func() {
			if _, err := c.Create(t.Context(), l); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	await(t, "two servers run and no others are there", func() bool {
		var seen [2][]string
		for i, c := range clouds {
			got, err := c.Observe(t.Context(), l, bridge.Handle(l.Token))
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range got {
				if m.State == bridge.InstanceRunning {
					seen[i] = append(seen[i], m.ID)
				}
			}
		}
		return len(existing(t, p)) == 2 && len(seen[0]) == 2 && slices.Equal(seen[0], seen[1])
	})
	giveBack(t, clouds[0], p)
}

func giveBack(t *testing.T, c *openstack.Cloud, p *novatest.Project) {
	t.Helper()
	var ids []string
	for _, s := range existing(t, p) {
		ids = append(ids, s.ID)
	}
	if err := c.Terminate(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	await(t, "all are gone", func() bool { return len(existing(t, p)) == 0 })
}

func movesTheEnd(t *testing.T, cloud *novatest.Cloud) {
	p := project(t, cloud, 100)
	c := open(t, p.Config("stack"))
	l := launchOf(c, novatest.GPUZone, novatest.PlainFlavor, 1)
	if _, err := c.Create(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	list := func() []bridge.Instance {
		got, err := c.List(t.Context(), "store-a", "main")
		if err != nil || !got.Complete {
			t.Fatalf("complete %t, %v", got.Complete, err)
		}
		return got.Instances
	}
	await(t, "it runs", func() bool { all := list(); return len(all) == 1 && all[0].State == bridge.InstanceRunning })
	later := l.Expires.Add(2 * time.Hour)
	for range 2 {
		if err := c.Extend(t.Context(), []string{list()[0].ID}, later); err != nil {
			t.Fatal(err)
		}
	}
	if got := list()[0].Tags; got[bridge.TagExpires] != later.Format(time.RFC3339) || got[bridge.TagStore] != "store-a" {
		t.Errorf("tags after the end was moved: %v", got)
	}
	giveBack(t, c, p)
	err := c.Extend(t.Context(), []string{"2b0c7a9e-0000-4000-8000-000000000000"}, later)
	if bridge.KindOf(err) != bridge.CloudNotFound {
		t.Errorf("of a machine that is not: %v", err)
	}
}

func examines(t *testing.T, cloud *novatest.Cloud) {
	p := project(t, cloud, 10)
	for _, f := range open(t, p.Config("stack")).Examine(t.Context()) {
		if f.Grade != bridge.GradeOK {
			t.Errorf("%+v", f)
		}
	}
	for name, tt := range map[string]struct {
		change           func(*openstack.Config)
		what, code, says string
	}{
		"a wrong secret": {func(c *openstack.Config) {
			c.Auth.Secret = func() (string, error) { return "no", nil }
		}, "credentials", "401 Unauthorized", "requires authentication"},
		"an unknown region":  {func(c *openstack.Config) { c.Region = "RegionTwo" }, "region", "EndpointNotFound", "RegionTwo"},
		"no such image":      {func(c *openstack.Config) { c.Image = "gone" }, "image", "ImageNotFound", "gone"},
		"no such network":    {func(c *openstack.Config) { c.Network = "gone" }, "network", "NetworkNotFound", "gone"},
		"no network":         {func(c *openstack.Config) { c.Network = openstack.NetworkNone }, "network", "", "cannot join"},
		"no such flavor":     {func(c *openstack.Config) { c.Flavors[0].Name = "gone" }, "types", "", "gone"},
		"no such zone":       {func(c *openstack.Config) { c.Zones = []string{"gone"} }, "zones", "", "no zone is open"},
		"the wrong endpoint": {func(c *openstack.Config) { c.Auth.URL = "http://127.0.0.1:1/v3" }, "credentials", "", "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			config := p.Config("stack")
			tt.change(&config)
			found := open(t, config).Examine(t.Context())
			if !slices.ContainsFunc(found, func(f bridge.Finding) bool {
				return f.What == tt.what && f.Grade == bridge.GradeBroken && f.Code == tt.code && strings.Contains(f.Said, tt.says) && f.Try != ""
			}) {
				t.Errorf("found %+v, want %s broken with code %q that says %q", found, tt.what, tt.code, tt.says)
			}
		})
	}
	if err := p.Limit(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	found := open(t, p.Config("stack")).Examine(t.Context())
	if !slices.ContainsFunc(found, func(f bridge.Finding) bool { return f.What == "quota" && f.Grade == bridge.GradeBroken }) {
		t.Errorf("without quota: %+v", found)
	}
}

func refusesBadInput(t *testing.T, cloud *novatest.Cloud) {
	p := project(t, cloud, 10)
	for name, tt := range map[string]struct {
		change func(*openstack.Config)
		kind   bridge.CloudErrorKind
		code   string
	}{
		"a wrong secret":             {func(c *openstack.Config) { c.Auth.Secret = func() (string, error) { return "no", nil } }, bridge.CloudDenied, "401 Unauthorized"},
		"a secret that is not there": {func(c *openstack.Config) { c.Auth.Secret = func() (string, error) { return "", io.EOF } }, bridge.CloudDenied, ""},
		"a user without the project": {func(c *openstack.Config) {
			c.Auth = openstack.Auth{
				URL: c.Auth.URL, User: p.User, UserDomain: "Default", Project: "admin", ProjectDomain: "Default",
				Secret: func() (string, error) { return p.Password, nil },
			}
		}, bridge.CloudDenied, "401 Unauthorized"},
		"an unknown region":  {func(c *openstack.Config) { c.Region = "RegionTwo" }, bridge.CloudInvalid, "EndpointNotFound"},
		"no such image":      {func(c *openstack.Config) { c.Image = "gone" }, bridge.CloudInvalid, "ImageNotFound"},
		"no such network":    {func(c *openstack.Config) { c.Network = "gone" }, bridge.CloudInvalid, "NetworkNotFound"},
		"no such key pair":   {func(c *openstack.Config) { c.KeyPair = "gone" }, bridge.CloudInvalid, "400 badRequest"},
		"nobody listens":     {func(c *openstack.Config) { c.Auth.URL = "http://127.0.0.1:1/v3" }, bridge.CloudThrottled, ""},
		"a user of a member": {func(*openstack.Config) {}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			config := p.Config("stack")
			tt.change(&config)
			c := open(t, config)
			l := launchOf(c, novatest.GPUZone, novatest.PlainFlavor, 1)
			l.Pool.Region = config.Region
			_, err := c.Create(t.Context(), l)
			if tt.kind == "" {
				if err != nil {
					t.Error(err)
				}
				giveBack(t, c, p)
				return
			}
			wantError(t, err, tt.kind, tt.code, "create on stack")
			if n := strings.Count(err.Error(), "\n"); n > 0 {
				t.Errorf("it is told in %d lines: %v", n+1, err)
			}
		})
	}
	if all := existing(t, p); len(all) > 0 {
		t.Errorf("%d servers of creates that were refused", len(all))
	}
}
