package store_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// soak makes the random tests as large as on a release.
var soak = os.Getenv("SPILLWAY_SOAK") == "1"

// TestMain also is the program that the crash tests kill.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		if err := child(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	size := map[string]string{"rapid.checks": "15", "rapid.steps": "40"}
	if soak {
		size = map[string]string{"rapid.checks": "300", "rapid.steps": "150"}
	}
	for name, value := range size { // flags given by hand win
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}
