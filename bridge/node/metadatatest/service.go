package metadatatest

import (
	"net/http"
	"strings"
	"sync"
)

// Service is what all the services have in common: what they say, by path, and
// how they fail.
type Service struct {
	mu      sync.Mutex
	values  map[string]string
	hang    bool
	fail    int
	rubbish string
	asked   int
	moved   chan struct{} // closed and made anew at each change
}

func newService(values map[string]string) Service {
	return Service{values: values, moved: make(chan struct{})}
}

// Hang lets every question wait until its asker gives up.
func (s *Service) Hang(yes bool) { s.change(func() { s.hang = yes }) }

// Fail answers everything with a status; 0: no more.
func (s *Service) Fail(status int) { s.change(func() { s.fail = status }) }

// Answer answers everything well, and with this text, as a portal would that
// sits in the way; empty: no more.
func (s *Service) Answer(rubbish string) { s.change(func() { s.rubbish = rubbish }) }

// Asked is how many questions came.
func (s *Service) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// Set gives a path a value; empty: there is nothing there.
func (s *Service) Set(path, value string) {
	s.change(func() {
		if s.values[path] = value; value == "" {
			delete(s.values, path)
		}
	})
}

func (s *Service) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.moved)
	s.moved = make(chan struct{})
}

func (s *Service) value(path string) (value string, moved <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values[path], s.moved
}

// broken answers when the service is to fail, and reports whether it did.
func (s *Service) broken(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	s.asked++
	hang, fail, rubbish := s.hang, s.fail, s.rubbish
	s.mu.Unlock()
	switch {
	case hang:
		<-r.Context().Done()
	case fail != 0:
		http.Error(w, "out of order", fail)
	case rubbish != "":
		write(w, rubbish)
	default:
		return false
	}
	return true
}

// say answers with the value of a path, 404 where there is none.
func (s *Service) say(w http.ResponseWriter, path string) {
	if value, _ := s.value(path); value != "" {
		write(w, value)
		return
	}
	http.Error(w, "404 - Not Found", http.StatusNotFound)
}

func write(w http.ResponseWriter, text string) {
	_, _ = strings.NewReader(text).WriteTo(w) // An asker that went away is no concern.
}
