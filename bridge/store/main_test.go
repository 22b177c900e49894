package store_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge/sim/soak"
)

// TestMain also is the program that the crash tests kill.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		err := error(nil)
		if what := os.Getenv(doVariable); what != "" {
			err = crashing(dir, what, os.Getenv(pointVariable))
		} else {
			err = child(dir)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	size := map[string]string{"rapid.checks": "1000", "rapid.steps": "60"}
	switch {
	case soak.Long():
		size = map[string]string{"rapid.checks": "3000", "rapid.steps": "150"}
	case testing.Short():
		size = map[string]string{"rapid.checks": "15", "rapid.steps": "40"}
	}
	flag.Visit(func(f *flag.Flag) { delete(size, f.Name) }) // flags given by hand win
	for name, value := range size {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}
