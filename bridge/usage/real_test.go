package usage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// exporter writes what NVIDIA's DCGM exporter does, of GPUs that do not exist.
type exporter struct {
	mu    sync.Mutex
	hosts map[string][]string // utilisation of each GPU, by host
}

func (e *exporter) set(host string, use ...string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hosts[host] = use
}

func (e *exporter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	for _, metric := range []string{"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_MEM_COPY_UTIL"} {
		fmt.Fprintf(w, "# HELP %s Of a GPU (in %%).\n# TYPE %s gauge\n", metric, metric)
		for host, use := range e.hosts {
			for i, v := range use {
				fmt.Fprintf(w, "%s{gpu=\"%d\",UUID=\"GPU-%s-%d\",device=\"nvidia%d\",modelName=\"NVIDIA H100 80GB HBM3\",Hostname=\"%s\",DCGM_FI_DRIVER_VERSION=\"550.54.15\"} %s\n",
					metric, i, host, i, i, host, v)
			}
		}
	}
}

// prometheus starts a real one that reads the exporter every 200 ms, and
// returns its address and what ends it.
func prometheus(t *testing.T, e *exporter) (url string, end func()) {
	t.Helper()
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Fatal("no prometheus is installed here; deploy/setup/packages.sh test installs it")
	}
	source := httptest.NewServer(e)
	t.Cleanup(source.Close)
	dir := t.TempDir()
	text := fmt.Sprintf("global: {scrape_interval: 200ms, scrape_timeout: 200ms}\nscrape_configs:\n- job_name: dcgm\n  static_configs: [{targets: [\"%s\"]}]\n",
		strings.TrimPrefix(source.URL, "http://"))
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+at, "--log.level=warn")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("prometheus ended with %v\n%s", err, log.String())
		}
	})
	t.Cleanup(end)
	return "http://" + at, end
}

// eventually polls until the utilisation is as wanted.
func eventually(t *testing.T, p *Prometheus, nodes []string, want map[string]int) {
	t.Helper()
	var got map[string]int
	var err error
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if got, err = p.Utilisation(t.Context(), nodes, time.Now()); err == nil && maps.Equal(got, want) {
			return
		}
	}
	t.Fatalf("the utilisation is %v (%v), want %v", got, err, want)
}

// A real Prometheus, what a real exporter writes, and what comes of it in the
// books of an hour.
func TestARealPrometheusIsUnderstood(t *testing.T) {
	e := &exporter{hosts: map[string][]string{}}
	e.set("r1", "90", "70", "80", "60", "90", "70", "80", "60") // 75 %
	e.set("r2.north.example", "0", "0", "0", "0")
	e.set("own1", "100")
	url, end := prometheus(t, e)
	nodes := []string{"r1", "r2"}
	p, err := NewPrometheus(Access{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	eventually(t, p, nodes, map[string]int{"r1": 750, "r2": 0})

	d := &desk{now: noon, seen: true}
	r := New(Options{View: d.View, Store: d, Gauge: presently{p}, Now: func() time.Time { return d.now }, Log: slog.New(slog.NewTextHandler(&d.log, nil))})
	minute := func() {
		t.Helper()
		d.now = d.now.Add(time.Minute)
		if err := r.Sample(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	minute()
	minute()
	if u := d.stored[len(d.stored)-1]; u.Measured != 8*60 || u.Useful != 8*60*3/4 || r.Problem() != "" {
		t.Errorf("%+v; problem %q", u, r.Problem())
	}

	e.set("r1", "NaN", "NaN")
	untilAmiss(t, p, nodes, ErrValues)
	for name, a := range map[string]Access{"query": {URL: url, Query: "avg by (("}, "label": {URL: url, Query: "sum(DCGM_FI_DEV_GPU_UTIL)"}, "series": {URL: url, Query: "DCGM_FI_DEV_GPU_UTIL[1m]"}} {
		odd, err := NewPrometheus(a)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := odd.Utilisation(t.Context(), nodes, time.Now()); err == nil || len(got) > 0 {
			t.Errorf("an odd %s gives %v, %v", name, got, err)
		}
		odd.Close()
	}

	end()
	minute()
	minute()
	if u := d.stored[len(d.stored)-1]; u.Measured != 0 || u.RentedBusy != 8*60 || strings.Count(d.log.String(), "connection refused") != 1 || r.Problem() == "" {
		t.Errorf("after its end: %+v; problem %q, log\n%s", u, r.Problem(), d.log.String())
	}
}

// presently asks for the time of the host, which the server's values are of.
type presently struct{ *Prometheus }

func (p presently) Utilisation(ctx context.Context, nodes []string, _ time.Time) (map[string]int, error) {
	return p.Prometheus.Utilisation(ctx, nodes, time.Now())
}

// untilAmiss polls until asking fails as wanted.
func untilAmiss(t *testing.T, p *Prometheus, nodes []string, want error) {
	t.Helper()
	var err error
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if _, err = p.Utilisation(t.Context(), nodes, time.Now()); errors.Is(err, want) {
			return
		}
	}
	t.Fatalf("asked with %v, want %v", err, want)
}
