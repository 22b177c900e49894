package enrol

import (
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// The gate lets each address ask five times at once and twice a second after,
// and all together two hundred times a second. It remembers so many addresses.
const (
	perAddress, burst = 2, 5
	perServer         = 200
	remembered        = 4096
)

type gate struct {
	all *rate.Limiter
	mu  sync.Mutex
	one map[string]*visitor
}

type visitor struct {
	*rate.Limiter
	last time.Time
}

func newGate() *gate {
	return &gate{all: rate.NewLimiter(perServer, perServer), one: map[string]*visitor{}}
}

func (g *gate) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.allow(r) {
			notYet(w, http.StatusTooManyRequests, "too many requests")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// allow spends one request of whoever asks.
func (g *gate) allow(r *http.Request) bool { return g.all.Allow() && g.admit(addressOf(r)) }

// admit spends one request of an address. When the table is full, those that
// have not asked for a minute are forgotten, or else the newcomer waits.
func (g *gate) admit(address string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	v := g.one[address]
	if v == nil {
		if len(g.one) >= remembered {
			for a, old := range g.one {
				if now.Sub(old.last) > time.Minute {
					delete(g.one, a)
				}
			}
		}
		if len(g.one) >= remembered {
			return false
		}
		v = &visitor{Limiter: rate.NewLimiter(perAddress, burst)}
		g.one[address] = v
	}
	v.last = now
	return v.Allow()
}

func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
