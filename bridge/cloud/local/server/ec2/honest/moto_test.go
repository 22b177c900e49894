package honest

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write down what moto answers")

const motoFile = "testdata/moto.json"

// motoSaid is what moto answered to the steps.
type motoSaid struct {
	Version string                `json:"version"`
	Steps   map[string]motoAnswer `json:"steps"`
}

type motoAnswer struct {
	Code   string `json:"code,omitempty"`
	Status int    `json:"status"`
	Made   int    `json:"made,omitempty"` // machines
}

// unlike says where moto answers otherwise than the local cloud, and why that is
// moto's to answer for. What EC2 does is in Amazon's own documentation.
var unlike = map[string]string{
	"the same again is the same three":   "it knows no tokens: the same call makes three more",
	"the same token for something else":  "it knows no tokens",
	"those with a token":                 "it has no filter of tokens, and breaks",
	"an id that is none":                 "it does not look at an id's form",
	"a page after nothing":               "it breaks on a token that is none of its own",
	"a tag of nothing":                   "it does not look whether there is what it tags",
	"a tag that is Amazon's":             "it takes keys that are reserved",
	"no such type":                       "it starts any type",
	"no such image":                      "it starts any image",
	"an image id that is none":           "it starts any image",
	"at least more than at most":         "it makes as many as at least are wanted, more than at most",
	"a type that the zone does not have": "each of its zones has every type",
	"more than there is":                 "its stock has no end",
	"as many as there are":               "its stock has no end: it makes all three",
	"spot over the quota":                "it has no quotas",
	"spot for too little":                "it has no prices",
	"with another's secret":              "it checks no signatures",
	"in a region that is not there":      "it breaks on a region that is none",
}

// moto is another emulator of EC2, written by others. What it answered to the
// steps is kept; where the two are of one mind, neither has made it up.
func TestLocalCloudAndMotoAreOfOneMind(t *testing.T) {
	said, alike := readMoto(t), 0
	v := visit(t, func(_ *testing.T, s site) client { return &sdk{s} })
	for i := range steps {
		s := &steps[i]
		before := len(v.desk.machines())
		v.walk(t, s)
		ours := motoAnswer{Code: s.want, Made: len(v.desk.machines()) - before}
		theirs, there := said.Steps[s.name]
		why, known := unlike[s.name]
		same := ours.Code == theirs.Code && ours.Made == theirs.Made
		switch {
		case !there:
			t.Errorf("%s: what moto says to it is not written down", s.name)
		case same && known:
			t.Errorf("%s: both say %q; it is not so that %s", s.name, s.want, why)
		case same:
			alike++
		case !known:
			t.Errorf("%s: moto says %+v, the local cloud %+v, and nobody says why", s.name, theirs, ours)
		}
	}
	t.Logf("moto %s: %d of %d steps are alike; each of the others has its reason", said.Version, alike, len(steps))
	for _, name := range slices.Sorted(maps.Keys(unlike)) {
		t.Logf("%-45s moto %q: %s", name, said.Steps[name].Code, unlike[name])
	}
}

// Where this machine has moto, it still answers as it is written down.
func TestMotoAnswersAsItIsWrittenDown(t *testing.T) {
	python := motoPython(t)
	if python == "" {
		t.Log("there is no moto here, and Debian has none: what moto 5.2.1 said is kept in " + motoFile)
		return
	}
	got := askMoto(t, python)
	if *update {
		text, err := json.MarshalIndent(got, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(motoFile, append(text, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want := readMoto(t); got.Version == want.Version {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("moto %s (-written down +now):\n%s", got.Version, diff)
		}
	}
}

func readMoto(t *testing.T) motoSaid {
	t.Helper()
	text, err := os.ReadFile(motoFile)
	if err != nil {
		t.Fatal(err)
	}
	var said motoSaid
	if err := json.Unmarshal(text, &said); err != nil {
		t.Fatal(err)
	}
	return said
}

// motoPython is an interpreter that has moto's server.
func motoPython(t *testing.T) string {
	t.Helper()
	python, _ := newer(t)
	if python == "" || exec.CommandContext(t.Context(), python, "-c", "import moto.server").Run() != nil {
		return ""
	}
	return python
}

// askMoto takes all steps with moto, and notes what becomes of each.
func askMoto(t *testing.T, python string) motoSaid {
	t.Helper()
	version, err := exec.CommandContext(t.Context(), python, "-c", "import moto; print(moto.__version__)").Output()
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse("http://" + serveMoto(t, python))
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: &http.Transport{DisableKeepAlives: true},
	}
	v := &visitor{desk: front(t, proxy)}
	v.desk.key, v.desk.secret = "key", "secret"
	v.sdk = &sdk{site{v.desk.url, "key", "secret"}}
	v.who, v.wrong = v.sdk, v.sdk
	v.places(t)
	out := motoSaid{Version: strings.TrimSpace(string(version)), Steps: map[string]motoAnswer{}}
	for i := range steps {
		before := len(v.desk.machines())
		r := v.who.do(t, v.line(&steps[i]))
		out.Steps[steps[i].name] = motoAnswer{r.Code, r.Status, len(v.desk.machines()) - before}
	}
	return out
}

// serveMoto starts moto's server and waits until it serves.
func serveMoto(t *testing.T, python string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-m", "moto.server", "-H", "127.0.0.1", "-p", port)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // Wait tells nothing else.
		_ = cmd.Wait()
	})
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			return address
		}
		if time.Now().After(end) {
			t.Fatalf("moto does not serve: %s", &said)
		}
	}
}
