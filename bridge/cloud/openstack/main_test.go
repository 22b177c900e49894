package openstack_test

import (
	"testing"

	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge/cloud/cloudtest/killed"
)

func TestMain(m *testing.M) {
	killed.Obey(openVictim)
	goleak.VerifyTestMain(m)
}
