package honest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	golden   = "../../card/testdata"
	pictures = "../../card/testdata/pictures"
)

// verdict is what pictures.mjs says.
type verdict struct {
	Cards  int      `json:"cards"`
	Strict bool     `json:"strict"`
	Wrong  []string `json:"wrong"`
}

// picture draws the golden messages of a folder; fresh pictures are in the
// folder it returns.
func picture(t *testing.T, from string, mode ...string) (verdict, string) {
	t.Helper()
	full := func(dir string) string {
		path, err := filepath.Abs(dir)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	fresh := t.TempDir()
	args := append([]string{"pictures.mjs", buildPage(t, "sheet"), full(from), full(pictures), fresh}, mode...)
	out := runIn(t, workshop(t), nil, 8*time.Minute, node(t), args...)
	var v verdict
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return v, fresh
}

func TestPicturesOfEveryCard(t *testing.T) {
	files, err := filepath.Glob(golden + "/*.json")
	if err != nil || len(files) < 40 {
		t.Fatalf("find golden messages: %d, %v", len(files), err)
	}
	if *update {
		v, fresh := picture(t, golden, "update")
		if len(v.Wrong) > 0 {
			t.Fatalf("%q", v.Wrong)
		}
		if err := os.RemoveAll(pictures); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(pictures, os.DirFS(fresh)); err != nil {
			t.Fatal(err)
		}
		return // the next run without -update compares
	}
	v, _ := picture(t, golden)
	for _, w := range v.Wrong {
		t.Errorf("%s", w)
	}
	if want := len(files) * 2 * 2; v.Cards != want { // light and dark, wide and narrow
		t.Errorf("%d pictures were drawn, want %d", v.Cards, want)
	}
	if !v.Strict {
		t.Log("another browser or other fonts than those of the kept pictures: words, buttons, fields and heights were compared, pixels were not")
	}
	if t.Failed() {
		t.Log("look at the cards, then `make pictures` keeps them")
	}
}

// A picture that is compared with nothing passes always: so a button of one
// card turns from green to red here, and has to be noticed.
func TestPicturesNoticeAnotherButton(t *testing.T) {
	changed := filepath.Join(t.TempDir(), "golden")
	if err := os.CopyFS(changed, os.DirFS(golden)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(changed, "approval-waiting.en.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	red := bytes.Replace(text, []byte(`"style": "primary"`), []byte(`"style": "danger"`), 1)
	if bytes.Equal(text, red) {
		t.Fatal("the card has no green button")
	}
	if err := os.WriteFile(file, red, 0o600); err != nil {
		t.Fatal(err)
	}
	v, _ := picture(t, changed, "en-light-700")
	if len(v.Wrong) != 1 || !strings.Contains(v.Wrong[0], "approval-waiting") {
		t.Errorf("a red button in place of a green one, and the complaints are %q", v.Wrong)
	}
}
