package demo

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/sim/invariant"
)

// One violation, or one fault of the end, makes the demo fail.
func TestAViolationIsAFault(t *testing.T) {
	if err := verdict(nil, nil); err != nil {
		t.Errorf("nothing was found: %v", err)
	}
	if err := verdict([]invariant.Violation{{Invariant: "I2", Text: "two"}}, nil); !errors.Is(err, ErrFault) || !strings.Contains(err.Error(), "I2") {
		t.Errorf("a violation: %v", err)
	}
	if err := verdict(nil, []string{"1 machines are left in the clouds"}); !errors.Is(err, ErrFault) {
		t.Errorf("a machine that is left: %v", err)
	}
}

// What people type at the terminal decides; what is no answer is asked again, and
// where nobody is, the boss says yes.
func TestAnswersAtTheTerminal(t *testing.T) {
	for name, c := range map[string]struct {
		typed string
		yes   bool
	}{
		"yes":            {"y\n", true},
		"no":             {"no\n", false},
		"unclear, no":    {"what?\n N \n", false},
		"no line at all": {"y", true},
		"nobody":         {"", true},
	} {
		t.Run(name, func(t *testing.T) {
			p := &simPlay{story: newStory(io.Discard, time.Now()), done: map[string]bool{}, in: bufio.NewReader(strings.NewReader(c.typed))}
			n := &bridge.News{Rental: "r-0013", At: time.Now().Add(-time.Minute)}
			for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
				yes, ok := p.answered(n)
				if ok && yes != c.yes {
					t.Errorf("answered %t", yes)
				}
				if ok {
					return
				}
				if time.Now().After(end) {
					t.Fatal("no answer")
				}
			}
		})
	}
}
