package checkpoint_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spillway.sh/spillway/bridge/checkpoint"
)

// FuzzManifest holds that whatever a program wrote as its last word, a folder is a
// checkpoint only if that word is whole JSON and names nothing that is not there
// in full; else the older one stays the newest.
func FuzzManifest(f *testing.F) {
	for _, s := range []string{
		`{"step":7,"files":["weights.bin"]}`, `{"global_step":9,"files":{"weights.bin":5}}`, `{"files":[{"name":"weights.bin","size":5},{"path":"optim.bin"}]}`,
		`{"files":{"weights.bin":6}}`, `{"files":["../older/weights.bin"]}`, `{"files":["/etc/passwd"]}`, `{"step":-1,"files":[]}`, `{"files":"all"}`, `{"step":`,
		`{"files":{"weights.bin":-1}}`, `{"files":[1]}`, `null`, `[]`, `{"step":9223372036854775807}`, "\x00", `{"files":{"weights.bin":5e0}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) == 0 {
			return // an empty one is in the table of shapes
		}
		root := t.TempDir()
		write(t, root, written{"run/older/weights.bin", "other"}, written{"run/older/manifest.json", `{"step":1}`},
			written{"run/newer/weights.bin", "12345"}, written{"run/newer/optim.bin", "12"}, written{"run/newer/manifest.json", string(text)})
		look, err := finder(checkpoint.Options{}).Find(t.Context(), rule("generic", root), job("run"))
		if err != nil || look.Newest == nil {
			t.Fatalf("with %q: %+v, %v", text, look, err)
		}
		if !strings.HasSuffix(look.Newest.Place, "newer") {
			return
		}
		if !json.Valid(text) {
			t.Errorf("%q is half a manifest, and completes", text)
		}
		for name, size := range namedIn(text) {
			info, err := os.Stat(filepath.Join(root, "run/newer", filepath.Clean("/"+name)))
			if err != nil || size >= 0 && info.Size() != size {
				t.Errorf("%q completes, and %s is not there in full: %v", text, name, err)
			}
		}
	})
}

// namedIn are the files that a manifest names, with their sizes; negative: none
// is said. It reads what is plain to see, by its own means.
func namedIn(text []byte) map[string]int64 {
	var doc map[string]any
	if json.Unmarshal(text, &doc) != nil {
		return nil
	}
	out := map[string]int64{}
	switch files := doc["files"].(type) {
	case []any:
		for _, e := range files {
			if name, ok := e.(string); ok {
				out[name] = -1
			}
		}
	case map[string]any:
		for name, size := range files {
			if n, ok := size.(float64); ok {
				out[name] = int64(n)
			}
		}
	}
	return out
}
