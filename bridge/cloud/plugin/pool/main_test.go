package pool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge/cloud/plugin"
	"spillway.sh/spillway/bridge/cloud/plugin/host"
	"spillway.sh/spillway/bridge/cloud/plugin/host/hosttest"
	"spillway.sh/spillway/bridge/cloud/plugin/pool"
	"spillway.sh/spillway/bridge/cloud/plugin/serve"
	"spillway.sh/spillway/bridge/cloud/plugin/wire"
)

// asPlugin makes this test binary a plugin: the pool that the file it names
// describes.
const asPlugin = "SPILLWAY_TEST_POOL"

func TestMain(m *testing.M) {
	if file := os.Getenv(asPlugin); file != "" {
		err := serve.Answer(context.Background(), os.Stdin, os.Stdout, func(string, json.RawMessage) (serve.Cloud, error) { return open(file) })
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// site is what the plugin of a test is made of, as a file.
type site struct {
	Dir      string
	Types    []wire.Offer
	Machines []pool.Machine
	// Fail kills the plugin where a file of this name with -before or -after is
	// there, and removes it: at the next thing it changes on a machine.
	Fail string
}

// open makes the pool of a site's file.
func open(file string) (*pool.Pool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var s site
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	return pool.New(pool.Options{
		Dir: s.Dir, Types: s.Types, Machines: s.Machines, Now: func() time.Time { return time.Now().UTC() },
		Runner: &deadly{&host.Shell{Dir: s.Dir}, s.Fail},
	})
}

// deadly is ssh, and kills its own process when a test says so.
type deadly struct {
	host.Runner
	file string
}

func (d *deadly) Run(ctx context.Context, h *host.Host, script string) (string, error) {
	if strings.HasSuffix(script, "\nlook\ndone_with looked\n}\nmain\nexit\n") {
		return d.Runner.Run(ctx, h, script)
	}
	d.die("before")
	out, err := d.Runner.Run(ctx, h, script)
	d.die("after")
	return out, err
}

func (d *deadly) die(when string) {
	err := os.Remove(d.file + "-" + when)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	self, findErr := os.FindProcess(os.Getpid())
	if err = errors.Join(err, findErr); err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {} // until it is dead
}

const kind = "a100x8"

// siteOf lays a site's file out for machines.
func siteOf(t *testing.T, rig *hosttest.Rig) (file string, s site) {
	t.Helper()
	s = site{
		Dir: filepath.Join(t.TempDir(), "state"), Fail: filepath.Join(t.TempDir(), "fail"),
		Types: []wire.Offer{{
			Type: kind, CPUs: 4, MemoryMiB: 8000, GPUs: 8, GPUType: "a100", Network: "100g",
			Rate: wire.Rate{Amount: "40", Currency: "CNY"}, Boot: wire.Duration(time.Minute), Step: wire.Duration(time.Second),
		}},
	}
	for _, h := range rig.Hosts {
		s.Machines = append(s.Machines, pool.Machine{Host: h, Type: kind, Region: "site", Zone: "hall-1"})
	}
	file = filepath.Join(t.TempDir(), "site.json")
	s.save(t, file)
	return file, s
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
	c, err := plugin.New(plugin.Config{Name: "mine", Command: []string{self}, Env: []string{asPlugin, "GORACE"}, Timeout: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
