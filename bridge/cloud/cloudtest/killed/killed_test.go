package killed

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStartsAreReadFromALedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	text := `{"seq":1,"kind":"start","machine":"i-1","tags":{"spillway-rental":"r-0011"}}
{"seq":2,"kind":"stop","machine":"i-1"}
{"seq":3,"kind":"start","machine":"i-2"}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Ledger(path)
	want := []Start{{"i-1", map[string]string{"spillway-rental": "r-0011"}}, {ID: "i-2"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestCreatesOfRoundsAreOnesOfTheirOwn(t *testing.T) {
	a, b := Frozen(0, bridge.Pool{Cloud: "x"}), Frozen(1, bridge.Pool{Cloud: "x"})
	if a.Token == "" || a.Token == b.Token || a.Rental == b.Rental || a.Token != bridge.Token("st", a) {
		t.Errorf("%s %s and %s %s", a.Rental, a.Token, b.Rental, b.Token)
	}
}
