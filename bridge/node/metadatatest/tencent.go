package metadatatest

import (
	"net/http"
	"strings"
	"time"
)

// Tencent is Tencent Cloud's service, which writes the time of China without
// saying so.
type Tencent struct{ Service }

// NewTencent makes the service of an instance.
func NewTencent(id string) *Tencent {
	return &Tencent{newService(map[string]string{"instance-id": id})}
}

// Terminate sets the time at which a spot machine is taken; a zero time takes it
// back.
func (s *Tencent) Terminate(at time.Time) {
	text := ""
	if !at.IsZero() {
		text = at.UTC().Add(8 * time.Hour).Format("2006-01-02 15:04:05")
	}
	s.Set("spot/termination-time", text)
}

// ServeHTTP answers a machine.
func (s *Tencent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.broken(w, r) {
		return
	}
	path, ok := strings.CutPrefix(r.URL.Path, "/latest/meta-data/")
	if !ok || r.Method != http.MethodGet {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	s.say(w, path)
}
