package aws_test

import (
	"testing"

	"spillway.sh/spillway/bridge"
)

// TestAnAnswerAtOnceIsReadWhole asks a server that answers faster than the client
// is done with its request.
func TestAnAnswerAtOnceIsReadWhole(t *testing.T) {
	r := start(t)
	r.running(launch(pool(east, "us-east-1a", gpuType, bridge.OnDemand), 6, 1))
	for i := range 500 {
		if _, err := r.cloud.List(t.Context(), "st", "cl"); err != nil {
			t.Fatalf("list %d: %v", i, err)
		}
	}
}
