package honest

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "write pictures and the page's dist anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
