package novatest_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge/cloud/openstack/novatest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestACloudTakesAllWithIt holds that nothing of a cloud outlives it.
func TestACloudTakesAllWithIt(t *testing.T) {
	begun := time.Now()
	c, err := novatest.Start(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("started in %s", time.Since(begun).Round(time.Second))
	dir := c.Machine().Dir()
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if c.Machine().Alive() {
		t.Error("its machine lives on")
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s is left", dir)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), dir) {
		t.Errorf("its mounts are left (%v)", err)
	}
}
