package bridge

import (
	"flag"
	"os"
	"testing"

	"spillway.sh/spillway/bridge/sim/soak"
)

// TestMain sets how much the random tests of decisions try; flags given by hand
// win.
func TestMain(m *testing.M) {
	flag.Parse()
	size := map[string]string{"rapid.checks": "2000"}
	switch {
	case soak.Long():
		size["rapid.checks"] = "10000"
	case testing.Short():
		size["rapid.checks"] = "100"
	}
	flag.Visit(func(f *flag.Flag) { delete(size, f.Name) })
	for name, value := range size {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
