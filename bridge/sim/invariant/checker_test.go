package invariant

import (
	"testing"
)

func TestNothingIsWrongWithAGoodTale(t *testing.T) {
	for _, v := range good(t).judge() {
		t.Error(v)
	}
}
