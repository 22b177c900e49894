package metadatatest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// EC2 is AWS's service that asks for tokens (IMDSv2), or one made after it.
type EC2 struct {
	Service
	lifeHeader, header string
	tokens             map[string]time.Time // by when each runs out
	made               int
	// Plain answers without a token too.
	Plain bool
}

// NewEC2 makes the service of an instance.
func NewEC2(id string) *EC2 {
	return &EC2{
		Service: newService(map[string]string{"instance-id": id}), tokens: map[string]time.Time{},
		lifeHeader: "X-aws-ec2-metadata-token-ttl-seconds", header: "X-aws-ec2-metadata-token",
	}
}

// NewAlibaba makes the service of an instance of Alibaba Cloud in its hardened
// mode.
func NewAlibaba(id string) *EC2 {
	return &EC2{
		Service: newService(map[string]string{"instance-id": id}), tokens: map[string]time.Time{},
		lifeHeader: "X-aliyun-ecs-metadata-token-ttl-seconds", header: "X-aliyun-ecs-metadata-token",
	}
}

// Interrupt sets the notice of a spot machine; a zero time takes it back.
func (s *EC2) Interrupt(action string, at time.Time) {
	if at.IsZero() {
		s.Set("spot/instance-action", "")
		return
	}
	s.Set("spot/instance-action", asJSON(map[string]string{"action": action, "time": at.UTC().Format("2006-01-02T15:04:05Z")}))
}

// Rebalance advises to leave; a zero time takes it back.
func (s *EC2) Rebalance(at time.Time) {
	text := ""
	if !at.IsZero() {
		text = asJSON(map[string]string{"noticeTime": at.UTC().Format("2006-01-02T15:04:05Z")})
	}
	s.Set("events/recommendations/rebalance", text)
}

// Recycle sets the time at which an Alibaba spot machine is taken.
func (s *EC2) Recycle(at time.Time) {
	text := ""
	if !at.IsZero() {
		text = at.UTC().Format("2006-01-02T15:04:05Z")
	}
	s.Set("instance/spot/termination-time", text)
}

// RevokeTokens lets all tokens run out.
func (s *EC2) RevokeTokens() { s.change(func() { clear(s.tokens) }) }

// Tokens is how many were handed out.
func (s *EC2) Tokens() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made
}

// ServeHTTP answers a machine.
func (s *EC2) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.broken(w, r) {
		return
	}
	if r.URL.Path == "/latest/api/token" {
		s.token(w, r)
		return
	}
	path, ok := strings.CutPrefix(r.URL.Path, "/latest/meta-data/")
	switch {
	case !ok || r.Method != http.MethodGet:
		http.Error(w, "404 - Not Found", http.StatusNotFound)
	case !s.knows(r.Header.Get(s.header)):
		http.Error(w, "401 - Unauthorized", http.StatusUnauthorized)
	default:
		s.say(w, path)
	}
}

func (s *EC2) token(w http.ResponseWriter, r *http.Request) {
	life, err := strconv.Atoi(r.Header.Get(s.lifeHeader))
	switch {
	case r.Method != http.MethodPut:
		http.Error(w, "405 - Method Not Allowed", http.StatusMethodNotAllowed)
	case r.Header.Get("X-Forwarded-For") != "":
		http.Error(w, "403 - Forbidden", http.StatusForbidden)
	case err != nil || life < 1 || life > 21600:
		http.Error(w, "400 - Bad Request", http.StatusBadRequest)
	default:
		s.mu.Lock()
		s.made++
		token := "AQAE" + strconv.Itoa(s.made) + "=="
		s.tokens[token] = time.Now().Add(time.Duration(life) * time.Second)
		s.mu.Unlock()
		w.Header().Set(s.lifeHeader, strconv.Itoa(life))
		write(w, token)
	}
}

func (s *EC2) knows(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token == "" {
		return s.Plain
	}
	return time.Now().Before(s.tokens[token])
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // Strings and numbers.
	}
	return string(text)
}
