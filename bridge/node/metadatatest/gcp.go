package metadatatest

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// GCP is Google's service: it wants its flavour in each question, and lets a
// question wait for a change.
type GCP struct{ Service }

// NewGCP makes the service of an instance with a numeric id.
func NewGCP(id string) *GCP {
	return &GCP{newService(map[string]string{"instance/id": id, "instance/preempted": "FALSE"})}
}

// Preempt begins a preemption, or says that there is none.
func (s *GCP) Preempt(yes bool) {
	s.Set("instance/preempted", strings.ToUpper(strconv.FormatBool(yes)))
}

// ServeHTTP answers a machine.
func (s *GCP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.broken(w, r) {
		return
	}
	path, ok := strings.CutPrefix(r.URL.Path, "/computeMetadata/v1/")
	switch {
	case !ok:
		http.Error(w, "404 page not found", http.StatusNotFound)
	case r.Header.Get("Metadata-Flavor") != "Google":
		http.Error(w, "Missing Metadata-Flavor:Google header.", http.StatusForbidden)
	case r.Header.Get("X-Forwarded-For") != "":
		http.Error(w, "X-Forwarded-For is not allowed.", http.StatusForbidden)
	default:
		w.Header().Set("Metadata-Flavor", "Google")
		value := s.await(r, path)
		w.Header().Set("ETag", etag(value))
		if value == "" {
			http.Error(w, "404 page not found", http.StatusNotFound)
			return
		}
		write(w, value)
	}
}

// await waits for a value that is not the asker's last, as long as he likes.
func (s *GCP) await(r *http.Request, path string) string {
	q := r.URL.Query()
	var timeout <-chan time.Time
	if sec, err := strconv.Atoi(q.Get("timeout_sec")); err == nil {
		t := time.NewTimer(time.Duration(sec) * time.Second)
		defer t.Stop()
		timeout = t.C
	}
	first, _ := s.value(path)
	for {
		value, moved := s.value(path)
		last := q.Get("last_etag")
		if q.Get("wait_for_change") != "true" || last != "" && last != etag(value) || last == "" && value != first {
			return value
		}
		select {
		case <-moved:
		case <-timeout:
			return value
		case <-r.Context().Done():
			return value
		}
	}
}

func etag(value string) string {
	h := fnv.New64a()
	h.Write([]byte(value))
	return fmt.Sprintf("%016x", h.Sum64())
}
