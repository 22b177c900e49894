package policies

import (
	"testing"

	"spillway.sh/spillway/bridge/config/strict/stricttest"
)

// TestMistakes reads files with one mistake each.
func TestMistakes(t *testing.T) {
	stricttest.Mistakes(t, "testdata/mistakes", 40, "policy.yaml", func(data []byte) error {
		_, err := Parse("policy.yaml", data)
		return err
	})
}
