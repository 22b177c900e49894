package slurm_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/node/metadatatest"
	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/slurm/slurmtest"
)

// gate plays the bridge's enrolment service for the tests' machines.
type gate struct {
	url, ca string
	server  *http.Server
	others  map[string]string // agents that are none, by the sum they are asked for by
	sum     string            // of the agent: this test's own program, see TestMain

	mu       sync.Mutex
	answers  map[string]map[string]any // by instance
	asked    []string
	leases   map[string]string            // by lease: when it ends, empty: it has ended
	reports  map[string]bridge.Report     // by lease: the latest
	metadata map[string]*metadatatest.EC2 // by instance
	faults   []string                     // of machines that cannot run their agent
	fetched  int                          // agents handed out
}

func newGate(t *testing.T, s *site) *gate {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(s.Network().Gateway.String(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "gate"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{s.Network().Gateway.AsSlice()},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{
		url: "https://" + listener.Addr().String() + "/v1/enrol", answers: map[string]map[string]any{}, leases: map[string]string{}, reports: map[string]bridge.Report{}, metadata: map[string]*metadatatest.EC2{},
		ca: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/enrol", g.enrol)
	mux.HandleFunc("POST /v1/report", g.report)
	mux.HandleFunc("GET /v1/agent", g.agent)
	mux.HandleFunc("POST /v1/fault", g.fault)
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	g.sum = fmt.Sprintf("%x", sha256.Sum256(self))
	g.server = &http.Server{Handler: mux, TLSConfig: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}}
	go func() { _ = g.server.ServeTLS(listener, "", "") }() // until close
	return g
}

func (g *gate) close() { _ = g.server.Close() }

// enrol answers the first question of each machine with "not yet".
func (g *gate) enrol(w http.ResponseWriter, r *http.Request) {
	var ask struct{ Ticket, Instance string }
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil || ask.Ticket != "ticket-'1" {
		http.Error(w, "no ticket", http.StatusForbidden)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked = append(g.asked, ask.Instance)
	answer := g.answers[ask.Instance]
	if answer == nil || strings.Count(strings.Join(g.asked, " "), ask.Instance) < 2 {
		http.Error(w, "not yet", http.StatusServiceUnavailable)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// agent hands out this program to whoever holds the ticket.
func (g *gate) agent(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	other, ok := g.others[r.URL.Query().Get("sum")]
	g.mu.Unlock()
	if ok {
		_, _ = io.WriteString(w, other)
		return
	}
	if r.Header.Get("Authorization") != "Bearer ticket-'1" || r.URL.Query().Get("sum") != g.sum {
		http.Error(w, "no ticket", http.StatusUnauthorized)
		return
	}
	g.mu.Lock()
	g.fetched++
	g.mu.Unlock()
	http.ServeFile(w, r, "/proc/self/exe")
}

// handed is how many agents were handed out.
func (g *gate) handed() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.fetched
}

func (g *gate) report(w http.ResponseWriter, r *http.Request) {
	lease := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	var said bridge.Report
	if err := json.NewDecoder(r.Body).Decode(&said); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reports[lease] = said
	end := g.leases[lease]
	if end == "" {
		http.Error(w, "ended", http.StatusGone)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"expires": end, "now": time.Now().UTC().Format(time.RFC3339Nano), "every": time.Second})
}

func (g *gate) fault(w http.ResponseWriter, r *http.Request) {
	var said struct{ Ticket, Text string }
	if err := json.NewDecoder(r.Body).Decode(&said); err != nil || said.Ticket != "ticket-'1" {
		http.Error(w, "no ticket", http.StatusUnauthorized)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults = append(g.faults, said.Text)
}

// heard is what a machine's agent said last.
func (g *gate) heard(node string) bridge.Report {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reports["lease-"+node]
}

// rentals counts the tests' rentals, so that no two have an id in common.
var rentals struct {
	sync.Mutex
	n int64
}

// rental makes up a rental of some machines of the local nodes' kind.
func rental(machines int) *bridge.Rental {
	rentals.Lock()
	defer rentals.Unlock()
	rentals.n++
	r := &bridge.Rental{
		ID: bridge.NewRentalID(rentals.n), Cluster: "rig", Gang: machines, Count: machines, Origin: "gpu",
		Shape:    bridge.Shape{CPUs: 8, MemoryMiB: 60800, GPUType: "a100", GPUs: 8},
		Features: []string{"ib", "cloud"}, Expires: time.Now().Add(time.Hour),
	}
	for i := range machines {
		r.Machines = append(r.Machines, bridge.Machine{Ordinal: i, ID: fmt.Sprintf("i-%s-%d", r.ID, i), Node: bridge.NodeName(r.ID, i)})
	}
	return r
}

func nodesOf(r *bridge.Rental) []string {
	var out []string
	for _, m := range r.Machines {
		out = append(out, m.Node)
	}
	return out
}

// rent boots a rental's machines with the adapter's own boot script and waits
// until all are registered. It returns them by node name.
func (s *site) rent(t *testing.T, r *bridge.Rental) map[string]*sandbox.Machine {
	t.Helper()
	out := map[string]*sandbox.Machine{}
	for i := range r.Machines {
		m := &r.Machines[i]
		s.grant(t, r, m)
		out[m.Node] = s.boot(t, m.ID, s.userData(t, r))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	for name, m := range out {
		if _, err := s.WaitNode(ctx, name, "IDLE", "DYNAMIC_NORM"); err != nil {
			log, _ := os.ReadFile(m.Path("/var/log/spillway-boot.log"))
			slurmd, _ := os.ReadFile(slurmtest.NodeLog(m))
			t.Fatalf("%v\nboot log:\n%s\nslurmd log:\n%s", err, log, slurmd)
		}
	}
	return out
}

// userData is the adapter's boot script of a rental.
func (s *site) userData(t *testing.T, r *bridge.Rental, change ...func(*bridge.Boot)) string {
	t.Helper()
	b := bridge.Boot{URL: s.gate.url, CA: s.gate.ca, Ticket: "ticket-'1", Agent: s.gate.sum, Arch: machineArch(t), Expires: r.Expires}
	for _, f := range change {
		f(&b)
	}
	data, err := s.adapter(sandbox.Account{}).UserData(t.Context(), r, b)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// grant has the gate let a machine in.
func (s *site) grant(t *testing.T, r *bridge.Rental, m *bridge.Machine) {
	t.Helper()
	fields, err := s.adapter(sandbox.Account{}).Enrolment(t.Context(), r, m)
	if err != nil {
		t.Fatal(err)
	}
	expires := r.Expires.UTC().Format(time.RFC3339)
	answer := map[string]any{
		"lease": "lease-" + m.Node, "expires": expires, "now": time.Now().UTC().Format(time.RFC3339Nano),
		"wants": bridge.Wants{GPUs: r.Shape.GPUs, GPUType: r.Shape.GPUType},
	}
	for name, value := range fields {
		answer[name] = value
	}
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	s.gate.answers[m.ID], s.gate.leases["lease-"+m.Node] = answer, expires
}

func machineArch(t *testing.T) string {
	t.Helper()
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	return unix.ByteSliceToString(u.Machine[:])
}

// boot starts one machine under the host name a cloud would give it, with a
// metadata service that knows its id.
func (s *site) boot(t *testing.T, id, userData string, change ...func(*sandbox.Spec)) *sandbox.Machine {
	t.Helper()
	join := s.Join()
	spec := sandbox.Spec{
		Dir: filepath.Join(s.Dir(), "machines"), Name: id, Image: join.Image, Network: join.Network, Binds: join.Binds, GPUs: 8,
		Init:  []byte("until [ -e /run/cloud-ready ]; do sleep 0.05; done\nexec /bin/sh /root/user-data\n"),
		Files: []sandbox.File{{Path: "/root/user-data", Data: []byte(userData), Mode: 0o700}},
	}
	for _, f := range change {
		f(&spec)
	}
	m, err := sandbox.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if _, err := m.Output(t.Context(), sandbox.Command{Args: []string{"ip", "address", "replace", "169.254.169.254/32", "dev", "lo"}, Dir: "/"}); err != nil {
		t.Fatal(err)
	}
	listener, err := listenInside(m.PID(), "169.254.169.254:80")
	if err != nil {
		t.Fatal(err)
	}
	metadata := metadatatest.NewEC2(id)
	metadata.Plain = true // Programs of the machine may ask without a token.
	s.gate.mu.Lock()
	s.gate.metadata[id] = metadata
	s.gate.mu.Unlock()
	server := &http.Server{Handler: metadata}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }() // until Close
	if err := os.WriteFile(m.Path("/run/cloud-ready"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return m
}

// listenInside opens a listener in the network namespace of a process, on a
// thread that ends with its goroutine because it is never unlocked.
func listenInside(pid int, address string) (net.Listener, error) {
	type result struct {
		listener net.Listener
		err      error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread()
		fd, err := unix.Open(fmt.Sprintf("/proc/%d/ns/net", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			defer func() { _ = unix.Close(fd) }()
			err = unix.Setns(fd, unix.CLONE_NEWNET)
		}
		if err != nil {
			done <- result{nil, err}
			return
		}
		l, err := net.Listen("tcp", address)
		done <- result{l, err}
	}()
	r := <-done
	return r.listener, r.err
}
