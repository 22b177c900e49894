package soak_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"spillway.sh/spillway/bridge/sim/soak"
)

func TestRoundsEndWithTheirTimeOrTheWhole(t *testing.T) {
	for name, c := range map[string]struct {
		long  string
		whole time.Duration // after now; zero: no end is named
		want  int
	}{
		"a push is counted, whatever it takes": {long: "", whole: time.Minute, want: 12},
		"a long run ends with the whole":       {long: "1", whole: 9 * time.Minute, want: 9},
		"one is always played":                 {long: "1", whole: -time.Hour, want: 1},
		"a long run ends with its time":        {long: "1", want: 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("SPILLWAY_SOAK", c.long)
			synctest.Test(t, func(t *testing.T) {
				end := ""
				if c.whole != 0 {
					end = strconv.FormatInt(time.Now().Add(c.whole).Unix(), 10)
				}
				t.Setenv("SPILLWAY_SOAK_END", end)
				n := 0
				for range soak.Rounds(12, 100, 30*time.Minute) {
					n++
					time.Sleep(time.Minute)
				}
				if n != c.want {
					t.Errorf("%d rounds, want %d", n, c.want)
				}
			})
		})
	}
}
