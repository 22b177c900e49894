package aws_test

import (
	"testing"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/aws"
	"spillway.sh/spillway/bridge/cloud/cloudtest"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// TestConformance runs the suite for both markets, against the local cloud in
// EC2's words.
func TestConformance(t *testing.T) {
	for name, p := range map[string]bridge.Pool{
		"on demand": pool(east, "us-east-1a", gpuType, bridge.OnDemand),
		"spot":      pool(east, "us-east-1a", gpuType, bridge.Spot),
	} {
		t.Run(name, func(t *testing.T) { cloudtest.Run(t, provider(start(t), p)) })
	}
}

func provider(r *rig, p bridge.Pool) cloudtest.Provider {
	soldOut := map[string]bridge.Pool{}
	for _, shape := range []string{"error", "list", "operation", "instances"} {
		soldOut[shape] = pool(east, "gone-"+shape, gpuType, bridge.Spot)
	}
	return cloudtest.Provider{
		Open:        func(cloudtest.T) cloudtest.Cloud { return r.open(func(c *aws.Config) { c.Types = []string{gpuType} }) },
		Idempotency: cloudtest.ByToken,
		Pool:        p, Stock: 6, Exact: true, Pages: true,
		UserData: "#!/bin/sh\ntrue\n", Patience: 20 * time.Second, SoldOut: soldOut,
		LoseAnswer: func(cloudtest.T) {
			r.fault(wire.Fault{Kind: wire.FaultTimeoutAfter, Op: "create", Count: 1, Delay: wire.Duration(10 * time.Millisecond)})
		},
		Stranger: func(t cloudtest.T) (string, func() bool) { return stranger(t, r, p) },
	}
}

// stranger rents a machine without any tag, past the driver.
func stranger(t cloudtest.T, r *rig, p bridge.Pool) (string, func() bool) {
	t.Helper()
	client := r.sdk(p.Region)
	out, err := client.RunInstances(t.Context(), &sdk.RunInstancesInput{
		ImageId: sdkaws.String(r.config().Regions[0].Image), InstanceType: types.InstanceType(p.Type), MinCount: sdkaws.Int32(1), MaxCount: sdkaws.Int32(1),
		Placement: &types.Placement{AvailabilityZone: sdkaws.String(p.Zone)}, InstanceInitiatedShutdownBehavior: types.ShutdownBehaviorTerminate,
	})
	if err != nil {
		t.Fatalf("rent a stranger: %v", err)
	}
	id := *out.Instances[0].InstanceId
	one := []string{id}
	t.Cleanup(func() {
		if _, err := client.TerminateInstances(r.Context(), &sdk.TerminateInstancesInput{InstanceIds: one}); err != nil {
			t.Errorf("end the stranger: %v", err)
		}
	})
	return id, func() bool {
		got, err := client.DescribeInstances(r.Context(), &sdk.DescribeInstancesInput{InstanceIds: one})
		return err == nil && got.Reservations[0].Instances[0].State.Name == types.InstanceStateNameRunning
	}
}
