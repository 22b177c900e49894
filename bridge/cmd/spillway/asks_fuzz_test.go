package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// everyAsk reads the names of all requests where they are listed.
func everyAsk() ([]string, error) {
	text, err := os.ReadFile("../../desk/asks.go")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, m := range regexp.MustCompile(`\]\{"([a-z-]+)", (?:true|false), `).FindAllStringSubmatch(string(text), -1) {
		out = append(out, m[1])
	}
	return out, nil
}

const fuzzPolicy = `version: 1
organisation: site
currency: USD
mode: burst
zone: UTC
roles: {admins: [ana], approvers: [tom]}
accounts:
  - {account: "*", to: "ai/{account}"}
defaults: {max_rate: 30 USD/h, most: 8, wait: 0s, ask: true, ask_for: 1h, idle: 20m}
rules:
  - {name: everyone, class: P1}
budgets:
  - {account: site, every: month, limit: 2000 USD, hard: true}
`

// FuzzAsks holds that whoever can reach the socket gets, whatever they send, an
// answer in JSON: what was asked for, or what was wrong with it in words. The
// daemon stumbles over nothing, and its books stay right.
func FuzzAsks(f *testing.F) {
	asks, err := everyAsk()
	if err != nil || len(asks) < 20 {
		f.Fatalf("%d requests are known: %v", len(asks), err)
	}
	for _, body := range []string{
		`{}`, ``, `null`, `{"rental":"r-0013"}`, `{"job":"1","cluster":"main"}`, `{"wish":{"count":-1,"gpu":"h100","for":9223372036854775807}}`, `{"all":true,"now":true}`,
		`{"wish":{"machines":2147483647,"gpus":8,"gpu":"h100","for":3600000000000,"project":"nlp"},"yes":true}`, `{"rental":"r-0013","revision":-5,"yes":true,"text":"\u0000"}`,
		`{"from":"0001-01-01T00:00:00Z","to":"9999-12-31T00:00:00Z"}`, `{"limit":-1,"since":-9}`, `{"lines":[{}]}`, `{"cloud":"north","lines":[{"amount":{"micro":9223372036854775807,"currency":"USD"}}]}`,
	} {
		for n := range uint8(len(asks)) {
			f.Add(n, []byte(body))
		}
	}
	s := &stand{dir: f.TempDir()}
	if err := os.WriteFile(filepath.Join(s.dir, "policy.yaml"), []byte(fuzzPolicy), 0o600); err != nil {
		f.Fatal(err)
	}
	if err := s.open(func(end func()) { f.Cleanup(end) }); err != nil {
		f.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", filepath.Join(s.dir, "s"))
	}}}
	f.Cleanup(client.CloseIdleConnections)
	f.Fuzz(func(t *testing.T, n uint8, body []byte) {
		ask := asks[int(n)%len(asks)]
		status, answer := post(t, client, ask, body)
		var said struct{ Wrong, Kind string }
		switch {
		case status == http.StatusNotFound && len(answer) > 0 && answer[0] != '{':
			t.Fatalf("nobody answers %s", ask)
		case !json.Valid(answer):
			t.Errorf("%s %s: %d, and no JSON: %s", ask, body, status, answer)
		case status == http.StatusInternalServerError:
			t.Errorf("%s %s: the daemon stumbles: %s", ask, body, answer)
		case status != http.StatusOK && (json.Unmarshal(answer, &said) != nil || said.Wrong == ""):
			t.Errorf("%s %s: %d without a word: %s", ask, body, status, answer)
		}
		if report, err := s.store.CheckLedger(t.Context()); err != nil || len(report.Faults) > 0 {
			t.Errorf("%s %s: the books: %v, %v", ask, body, report.Faults, err)
		}
	})
}

func post(t *testing.T, client *http.Client, ask string, body []byte) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x/"+ask, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Spillway-Protocol", "1")
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var out bytes.Buffer
	if _, err := out.ReadFrom(res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, out.Bytes()
}
