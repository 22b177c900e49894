package enrol_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/enrol"
)

// fleet is one rental of many machines that all have the same address.
type fleet struct{ rental bridge.Rental }

func (f *fleet) Rental(context.Context, bridge.RentalID) (bridge.Rental, error) {
	return f.rental, nil
}

func (f *fleet) ClaimEnrolment(context.Context, bridge.RentalID, string, string) error {
	return nil
}

func (f *fleet) Enrolment(context.Context, *bridge.Rental, *bridge.Machine) (map[string]string, error) {
	return map[string]string{}, nil
}

// BenchmarkReport2000 is the time of one report among 2,000 machines of one
// rental, both sides of TLS included.
func BenchmarkReport2000(b *testing.B) {
	f := &fleet{rental: bridge.Rental{ID: bridge.NewRentalID(1), State: bridge.StateAdmitted, Cluster: "c", Attempt: 1, Expires: time.Now().Add(time.Hour)}}
	for i := range 2000 {
		id := bridge.NodeName(f.rental.ID, i)
		f.rental.Machines = append(f.rental.Machines, bridge.Machine{Ordinal: i, State: bridge.MachineJoined, ID: id, Node: id, Address: "127.0.0.1"})
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var heard atomic.Int64
	s, err := enrol.New(enrol.Options{
		Dir: b.TempDir(), URL: "https://" + l.Addr().String(), Rentals: f, Clusters: map[string]enrol.Cluster{"c": f}, Clock: time.Now,
		Hear: func(context.Context, bridge.RentalID, string, bridge.Report) error { heard.Add(1); return nil },
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
	}()
	boot, err := s.Boot(&f.rental, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(boot.CA))
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	defer tr.CloseIdleConnections()
	leases := enrol.LeasesForTest(s, &f.rental)
	body := `{"health":"fit","gpu_pm":900,"busy":true,"checks":[` + strings.TrimSuffix(strings.Repeat(`{"name":"disk","ok":true,"got":"70000 MiB free"},`, 8), ",") + `]}`
	b.ResetTimer()
	for i := range b.N {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+l.Addr().String()+"/v1/report", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+leases[i%len(leases)])
		resp, err := (&http.Client{Transport: tr}).Do(req)
		if err != nil {
			b.Fatal(err)
		}
		if resp.StatusCode != http.StatusOK {
			b.Fatal(resp.Status)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil { // else the connection is not used again
			b.Fatal(err)
		}
		resp.Body.Close()
	}
	b.StopTimer()
	if int(heard.Load()) != b.N {
		b.Errorf("%d of %d reports were heard", heard.Load(), b.N)
	}
}
