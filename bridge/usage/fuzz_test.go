package usage

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"spillway.sh/spillway/bridge/sim/bulk"
)

// saying is a Prometheus that answers everything with one text.
type saying struct {
	status int
	text   []byte
}

// RoundTrip gives the answer.
func (s saying) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: s.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(s.text)), ContentLength: int64(len(s.text)), Request: r,
	}, nil
}

func prometheusSaying(t testing.TB, s saying) *Prometheus {
	t.Helper()
	p, err := newPrometheus(Access{URL: "http://127.0.0.1:1", Query: DefaultQuery(DefaultLabel), Label: DefaultLabel, Timeout: DefaultTimeout}, s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// FuzzAnswer holds that no answer ends the bridge, and that what is measured is
// a share of the whole, of nodes that were asked for.
func FuzzAnswer(f *testing.F) {
	for _, result := range []string{
		vector("Hostname", "r1", "72.5", "r2.cloud:9400", "100"), vector("Hostname", "r1", "NaN", "r2", "-1"), vector("instance", "r1", "5"), "[]", "[[1,\"2\"]]",
	} {
		for _, kind := range []string{"vector", "scalar", "matrix", "string", ""} {
			f.Add(200, []byte(`{"status":"success","data":{"resultType":"`+kind+`","result":`+result+`}}`))
		}
	}
	f.Add(422, []byte(`{"status":"error","errorType":"execution","error":"no"}`))
	f.Add(200, []byte(`{"status":"success"}`))
	nodes := []string{"r1", "r2"}
	f.Fuzz(func(t *testing.T, status int, text []byte) {
		if status < 200 || status > 599 {
			return
		}
		got, _ := prometheusSaying(t, saying{status, text}).Utilisation(t.Context(), nodes, time.Unix(1e9, 0))
		for node, pm := range got {
			if pm < 0 || pm > 1000 || !slices.Contains(nodes, node) {
				t.Errorf("%s is used by %d per mille", node, pm)
			}
		}
	})
}

func TestALargeAnswerIsReadInTime(t *testing.T) {
	for name, text := range map[string][]byte{
		"values":   append([]byte(`{"status":"success","data":{"resultType":"vector","result":[`), bulk.Of(`{"metric":{"Hostname":"r1"},"value":[1764504000,"5"]},`)...),
		"brackets": bulk.Of("["),
	} {
		p := prometheusSaying(t, saying{200, text})
		bulk.Read(t, name, func() {
			if _, err := p.Utilisation(t.Context(), []string{"r1"}, time.Now()); err == nil {
				t.Errorf("%s that are cut short are an answer", name)
			}
		})
	}
}
