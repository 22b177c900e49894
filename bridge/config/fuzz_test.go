package config

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"spillway.sh/spillway/bridge/config/strict"
)

// FuzzParse holds that no text ends the bridge, and that every refusal is made
// of faults with a place.
func FuzzParse(f *testing.F) {
	f.Add(Example())
	paths, err := filepath.Glob("testdata/mistakes/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(txtar.Parse(data).Files[0].Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := Parse("fuzz.yaml", data)
		if err == nil {
			return
		}
		var faults strict.Faults
		if !errors.As(err, &faults) || len(faults) == 0 {
			t.Fatalf("not faults: %v", err)
		}
		for _, fault := range faults {
			if fault.Line < 1 || fault.Column < 1 {
				t.Errorf("a fault without a place: %s", fault)
			}
		}
	})
}
