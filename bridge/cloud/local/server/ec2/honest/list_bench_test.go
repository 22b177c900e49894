package honest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge/cloud/aws"
	"spillway.sh/spillway/bridge/cloud/local"
	"spillway.sh/spillway/bridge/cloud/local/server"
)

// crowdWorld is a cloud with room for many, and EC2's page and limits.
const crowdWorld = `
version: 1
clouds:
  - name: cumulus
    currency: USD
    boot: 24h # no machine of a crowd needs to run to be listed
    page: 1000
    limits: %s
    accounts: [{name: lab}]
    types: [{name: g6.xlarge, cpus: 4, memory_mib: 16384, gpu_type: l4, gpus: 1}]
    regions: [{name: us-east-1, zones: [{name: us-east-1a, pools: [{type: g6.xlarge, on_demand: {rate: "0.80", stock: 5000}}]}]}]
`

func openCrowd(t testing.TB, dir, limits string) *server.Server {
	t.Helper()
	w, err := server.ParseWorld([]byte(fmt.Sprintf(crowdWorld, limits)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.Open(t.Context(), server.Options{Dir: dir, World: w, Host: server.NewNullHost()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// crowd rents machines fast, and then puts the cloud under EC2's limits.
func crowd(t testing.TB, machines int) *server.Server {
	t.Helper()
	dir, rented := t.TempDir(), 0
	s := openCrowd(t, dir, "10000")
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := local.New(local.Config{Name: cloudName, URL: "http://" + addr.String(), TokenFile: s.TokenFile(cloudName, account), Limits: 10000})
	if err != nil {
		t.Fatal(err)
	}
	for n := int64(1); rented < machines; n++ {
		l := rental(n, "g6.xlarge", min(100, machines-rented), nil)
		if _, err := c.Create(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		rented += l.Count
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openCrowd(t, dir, "1")
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// counter counts the calls that go to a cloud, and those that it refuses as too
// many.
type counter struct{ calls, refused int }

func (k *counter) of(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		k.calls++ // a listing makes one call after the other
		kept := &status{ResponseWriter: out}
		next.ServeHTTP(kept, r)
		if kept.code == http.StatusServiceUnavailable {
			k.refused++
		}
	})
}

type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

// listing is a driver in front of a crowd, with pages of a size.
func listing(t testing.TB, s *server.Server, k *counter, page int) *aws.Cloud {
	t.Helper()
	h := httptest.NewServer(k.of(s.Handler()))
	t.Cleanup(h.Close)
	secret, err := os.ReadFile(s.TokenFile(cloudName, account))
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/credentials"
	if err := os.WriteFile(path, fmt.Appendf(nil, "[default]\naws_access_key_id = %s-%s\naws_secret_access_key = %s\n", cloudName, account, strings.TrimSpace(string(secret))), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := aws.New(aws.Config{
		Name: cloudName, Endpoint: h.URL + "/aws/" + cloudName, CredentialsFile: path, Page: page, Timeout: time.Minute,
		Regions: []aws.Region{{Name: region, Image: "ami-00000000000000001"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func list(t testing.TB, c *aws.Cloud, want int) {
	t.Helper()
	l, err := c.List(t.Context(), "st", "cl")
	if err != nil || !l.Complete || len(l.Instances) != want {
		t.Fatalf("%d machines, complete %t, %v", len(l.Instances), l.Complete, err)
	}
}

// Lists of many small pages, one after the other, are more calls than EC2 takes
// at once: the driver waits, and is never refused.
func TestC_F31_ListsKeepUnderEC2sLimits(t *testing.T) {
	const machines, page, lists = 300, 5, 3
	s, k := crowd(t, machines), &counter{}
	c := listing(t, s, k, page)
	for range lists {
		list(t, c, machines)
	}
	if k.refused > 0 || k.calls < lists*machines/page {
		t.Errorf("%d lists took %d calls, %d refused", lists, k.calls, k.refused)
	}
}

// The cost and the time of a full list of 2,000 machines, under EC2's limits.
func BenchmarkListOf2000(b *testing.B) {
	s := crowd(b, 2000)
	for _, page := range []int{1000, 100} {
		b.Run(fmt.Sprintf("page-%d", page), func(b *testing.B) {
			k := &counter{}
			c := listing(b, s, k, page)
			list(b, c, 2000)
			first := k.calls
			for b.Loop() {
				list(b, c, 2000)
			}
			b.ReportMetric(float64(k.calls-first)/float64(b.N), "calls/list")
			b.ReportMetric(float64(k.refused), "refused")
		})
	}
}
