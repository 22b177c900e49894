package aws_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/aws"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

var spotPool = pool(east, "us-east-1a", gpuType, bridge.Spot)

// kindOf fails a test unless an error is the cloud's, of a kind and with a code.
func wantError(t *testing.T, err error, kind bridge.CloudErrorKind, code string) *bridge.CloudError {
	t.Helper()
	e, ok := errors.AsType[*bridge.CloudError](err)
	if !ok || e.Kind != kind || e.Code != code {
		t.Fatalf("%v, want %s (%s)", err, kind, code)
	}
	return e
}

// TestC_02_EveryMachineIsFoundByItsTags loses the driver with all that it knows
// while machines come up; another one finds each, and ends them.
func TestC_02_EveryMachineIsFoundByItsTags(t *testing.T) {
	r := start(t)
	want := map[string]bool{}
	for i := range 3 {
		for _, m := range r.running(launch(spotPool, 2, i+1)) {
			want[m.ID] = true
		}
	}
	other := r.open(nil)
	l, err := other.List(t.Context(), "st", "another")
	if err != nil || !l.Complete || len(l.Instances) != len(want) {
		t.Fatalf("%d machines of %d, complete %t, %v", len(l.Instances), len(want), l.Complete, err)
	}
	third := r.open(nil) // knows of no machine where it is
	if err := third.Terminate(t.Context(), ids(l.Instances)); err != nil {
		t.Fatal(err)
	}
	r.await("all are gone", func() bool {
		l, err := r.cloud.List(t.Context(), "st", "cl")
		return err == nil && !slices.ContainsFunc(l.Instances, func(m bridge.Instance) bool { return m.State != bridge.InstanceGone })
	})
}

// TestC_03_TagsAreInTheCreateCall wants every part of a machine tagged by the call
// that makes it, and no other.
func TestC_03_TagsAreInTheCreateCall(t *testing.T) {
	f, cloud := faked(t, map[string]func(url.Values) (int, string){"RunInstances": made(2)}, nil)
	l := launch(spotPool, 2, 1)
	if _, err := cloud.Create(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	asked := f.calls("RunInstances")[0]
	tagged := map[string]string{}
	for i := range 9 {
		spec := "TagSpecification." + string(rune('1'+i)) + "."
		for j := range 20 {
			tag := spec + "Tag." + string(rune('1'+j)) + "."
			if asked.Get(tag+"Key") == bridge.TagStore {
				tagged[asked.Get(spec+"ResourceType")] = asked.Get(tag + "Value")
			}
		}
	}
	for _, what := range []string{"instance", "volume", "network-interface", "spot-instances-request"} {
		if tagged[what] != "st" {
			t.Errorf("%s is tagged %q", what, tagged[what])
		}
	}
	if n := len(f.calls("CreateTags")); n > 0 {
		t.Errorf("%d calls tag what is there already", n)
	}
	for name, want := range map[string]string{
		"MinCount": "2", "MaxCount": "2", "ClientToken": l.Token, "InstanceInitiatedShutdownBehavior": "terminate", "Placement.AvailabilityZone": "us-east-1a",
		"MetadataOptions.HttpTokens": "required", "MetadataOptions.InstanceMetadataTags": "enabled", "InstanceMarketOptions.MarketType": "spot",
		"InstanceMarketOptions.SpotOptions.MaxPrice": "40", "InstanceMarketOptions.SpotOptions.SpotInstanceType": "one-time",
	} {
		if got := asked.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// TestC_08_ALostAnswerMakesNoSecondMachine loses the answer of a create after its
// work and asks again, as a bridge does that was killed between the two.
func TestC_08_ALostAnswerMakesNoSecondMachine(t *testing.T) {
	r := start(t)
	l := launch(spotPool, 2, 1)
	r.fault(wire.Fault{Kind: wire.FaultTimeoutAfter, Op: "create", Count: 2, Delay: wire.Duration(5 * time.Millisecond)})
	for range 2 {
		_, err := r.cloud.Create(t.Context(), l)
		wantError(t, err, bridge.CloudUnknown, "")
	}
	other := r.open(nil)
	var found []bridge.Instance
	r.await("the machines are found by the token", func() bool {
		var err error
		found, err = other.Observe(t.Context(), l, "")
		return err == nil && len(found) == 2
	})
	h, err := other.Create(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	again, err := other.Observe(t.Context(), l, h)
	if err != nil || len(again) != 2 || !slices.Contains(ids(found), again[0].ID) || !slices.Contains(ids(found), again[1].ID) {
		t.Errorf("found %v, asked again %v, %v", ids(found), ids(again), err)
	}
	if l, err := other.List(t.Context(), "st", "cl"); err != nil || len(l.Instances) != 2 {
		t.Errorf("%d machines are listed, %v", len(l.Instances), err)
	}
}

// TestC_09_AnotherMarketHasAnotherToken goes from spot without stock to on demand;
// the same token with other parameters is a mismatch and never a machine.
func TestC_09_AnotherMarketHasAnotherToken(t *testing.T) {
	r := start(t)
	first := launch(spotPool, 1, 1)
	r.fault(wire.Fault{Kind: wire.FaultNoStock, Op: "create", Count: 1})
	_, err := r.cloud.Create(t.Context(), first)
	wantError(t, err, bridge.CloudNoCapacity, "InsufficientInstanceCapacity")
	second := launch(pool(east, "us-east-1a", gpuType, bridge.OnDemand), 1, 2)
	if second.Token == first.Token {
		t.Fatal("two markets share a token")
	}
	r.running(second)
	wrong := launch(spotPool, 1, 3)
	wrong.Token = second.Token
	_, err = r.cloud.Create(t.Context(), wrong)
	wantError(t, err, bridge.CloudMismatch, "IdempotentParameterMismatch")
}

// TestC_16_AnUnknownCodeNeverStopsFailOver invents codes: an error of the client's
// is a refusal, by whatever its name says, and one of the server's is in doubt.
func TestC_16_AnUnknownCodeNeverStopsFailOver(t *testing.T) {
	answers := map[string]func(url.Values) (int, string){}
	f, cloud := faked(t, answers, nil)
	for code, want := range map[string]struct {
		status int
		kind   bridge.CloudErrorKind
	}{
		"InsufficientQuantumCapacity": {http.StatusBadRequest, bridge.CloudNoCapacity},
		"ZoneFolded":                  {http.StatusBadRequest, bridge.CloudInvalid},
		"ZoneFoldedInternally":        {http.StatusInternalServerError, bridge.CloudUnknown},
	} {
		f.mu.Lock()
		answers["RunInstances"] = refusal(want.status, code, "said EC2")
		f.mu.Unlock()
		_, err := cloud.Create(t.Context(), launch(spotPool, 1, 1))
		if e := wantError(t, err, want.kind, code); e.Message != "said EC2" {
			t.Errorf("%s: %q", code, e.Message)
		}
	}
	f.mu.Lock()
	answers["RunInstances"] = func(url.Values) (int, string) { return http.StatusBadGateway, "<html>a proxy</html>" }
	f.mu.Unlock()
	_, err := cloud.Create(t.Context(), launch(spotPool, 1, 1))
	wantError(t, err, bridge.CloudUnknown, "502")
	if n := len(f.calls("RunInstances")); n != 4 {
		t.Errorf("%d calls for 4 creates: something repeats them", n)
	}
}

// TestC_17_ARegionThatFailsStopsNoOther takes one region away: the other is
// offered, and the listing says that it is not whole.
func TestC_17_ARegionThatFailsStopsNoOther(t *testing.T) {
	r := start(t)
	cloud := r.open(func(c *aws.Config) { c.Regions[1].Name = "mars-north-1" })
	offers, err := cloud.Offers(t.Context())
	if err != nil || len(offers) == 0 {
		t.Fatalf("%d offers, %v", len(offers), err)
	}
	for _, o := range offers {
		if o.Pool.Region != east {
			t.Errorf("%s is offered", o.Pool)
		}
	}
	r.running(launch(spotPool, 1, 1))
	l, err := cloud.List(t.Context(), "st", "cl")
	if e := wantError(t, err, bridge.CloudDenied, "AuthFailure"); l.Complete || len(l.Instances) != 1 || !strings.Contains(e.Error(), "mars-north-1") {
		t.Errorf("complete %t, %d machines, %v", l.Complete, len(l.Instances), err)
	}
	_, err = cloud.Create(t.Context(), launch(pool("mars-north-1", "a", gpuType, bridge.Spot), 1, 2))
	wantError(t, err, bridge.CloudDenied, "AuthFailure")
}

// TestC_26_AListThatLagsShowsNobodyGone makes machines that no list shows for a
// while: they are there by their id, pending, and nothing says that they are gone.
func TestC_26_AListThatLagsShowsNobodyGone(t *testing.T) {
	r := start(t)
	l := launch(spotPool, 2, 1)
	r.fault(wire.Fault{Kind: wire.FaultHidden, Op: "create", Count: 1, Delay: wire.Duration(300 * time.Millisecond)})
	h, err := r.cloud.Create(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.cloud.Observe(t.Context(), l, h)
	if err != nil || len(got) != 2 || got[0].State != bridge.InstancePending || got[0].ID == "" || got[0].Address != "" {
		t.Fatalf("%+v, %v", got, err)
	}
	first := ids(got)
	r.await("they are shown in the same order", func() bool {
		got, err = r.cloud.Observe(t.Context(), l, h)
		return err == nil && len(got) == 2 && got[0].State == bridge.InstanceRunning && got[1].State == bridge.InstanceRunning && slices.Equal(ids(got), first)
	})
	// Ended while no list shows them: each is ended by itself.
	hidden := launch(spotPool, 2, 2)
	r.fault(wire.Fault{Kind: wire.FaultHidden, Op: "create", Count: 1, Delay: wire.Duration(300 * time.Millisecond)})
	if h, err = r.cloud.Create(t.Context(), hidden); err != nil {
		t.Fatal(err)
	}
	got, err = r.cloud.Observe(t.Context(), hidden, h)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cloud.Terminate(t.Context(), append(ids(got), "i-00000000000000042")); err != nil {
		t.Fatal(err)
	}
	r.await("they are gone", func() bool {
		got, err = r.cloud.Observe(t.Context(), hidden, h)
		return err == nil && got[0].State == bridge.InstanceGone && got[1].State == bridge.InstanceGone
	})
}

// TestC_26_WhatEC2HasForgottenIsGone looks for machines of long ago that no list
// shows and that EC2, asked by name, does not know.
func TestC_26_WhatEC2HasForgottenIsGone(t *testing.T) {
	f, cloud := faked(t, map[string]func(url.Values) (int, string){
		"DescribeInstances": func(q url.Values) (int, string) {
			if q.Get("InstanceId.1") != "" {
				return refusal(http.StatusBadRequest, "InvalidInstanceID.NotFound", "no")(q)
			}
			return http.StatusOK, "<reservationSet/>"
		},
	}, nil)
	l := launch(spotPool, 1, 1)
	got, err := cloud.Observe(t.Context(), l, bridge.Handle("1000000000 i-00000000000000001"))
	if err != nil || len(got) != 1 || got[0].State != bridge.InstanceGone {
		t.Errorf("%+v, %v", got, err)
	}
	if n := len(f.calls("DescribeInstances")); n != 2 {
		t.Errorf("%d calls: the list, and the machine by its name", n)
	}
}

// TestC_31_TwoCloudsOfOneAccountShareItsLimits asks for machines by two drivers at
// once, more than EC2's burst: neither is refused.
func TestC_31_TwoCloudsOfOneAccountShareItsLimits(t *testing.T) {
	r := startWorld(t, strings.Replace(world, "limits: 100", "limits: 1", 1))
	shared := aws.NewLimits(1)
	file := r.config().CredentialsFile
	one := r.open(func(c *aws.Config) { c.Limits, c.CredentialsFile = shared, file })
	two := r.open(func(c *aws.Config) { c.Limits, c.CredentialsFile = shared, file })
	begun := time.Now()
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		cloud := one
		if i%2 == 1 {
			cloud = two
		}
		wg.Go(func() {
			l := launch(spotPool, 9, i+1) // more than there are: none is made
			_, errs[i] = cloud.Create(context.WithoutCancel(t.Context()), l)
		})
	}
	wg.Wait()
	for _, err := range errs {
		wantError(t, err, bridge.CloudNoCapacity, "InsufficientInstanceCapacity")
	}
	if took := time.Since(begun); took < time.Second {
		t.Errorf("8 creates in %s: nobody kept to 5 and 2 a second", took)
	}
}

// TestC_31_ACallTooManyIsNoRefusal is told to slow down: nothing happened, and it
// is not repeated here.
func TestC_31_ACallTooManyIsNoRefusal(t *testing.T) {
	f, cloud := faked(t, map[string]func(url.Values) (int, string){"RunInstances": refusal(http.StatusServiceUnavailable, "RequestLimitExceeded", "slow down")}, nil)
	_, err := cloud.Create(t.Context(), launch(spotPool, 1, 1))
	wantError(t, err, bridge.CloudThrottled, "RequestLimitExceeded")
	if n := len(f.calls("RunInstances")); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// TestC_32_NothingOutlivesAMachine rents from an image with a disk that would stay,
// and with interfaces of its own.
func TestC_32_NothingOutlivesAMachine(t *testing.T) {
	const efaType = `<instanceTypeSet><item><instanceType>p4d.24xlarge</instanceType><vCpuInfo><defaultVCpus>96</defaultVCpus></vCpuInfo>` +
		`<memoryInfo><sizeInMiB>1024</sizeInMiB></memoryInfo><networkInfo><efaSupported>true</efaSupported><efaInfo><maximumEfaInterfaces>2</maximumEfaInterfaces></efaInfo></networkInfo></item></instanceTypeSet>`
	f, cloud := faked(t, map[string]func(url.Values) (int, string){
		"RunInstances":          made(1),
		"DescribeInstanceTypes": func(url.Values) (int, string) { return http.StatusOK, efaType },
	}, func(c *aws.Config) {
		c.EFA, c.Disk, c.Types = true, 200, []string{gpuType}
		c.Regions[0].Subnets, c.Regions[0].SecurityGroups = map[string]string{"us-east-1a": "subnet-01234567"}, []string{"sg-01234567"}
	})
	if _, err := cloud.Create(t.Context(), launch(spotPool, 1, 1)); err != nil {
		t.Fatal(err)
	}
	asked := f.calls("RunInstances")[0]
	for name, want := range map[string]string{
		"BlockDeviceMapping.1.DeviceName": "/dev/sda1", "BlockDeviceMapping.1.Ebs.VolumeSize": "200", "BlockDeviceMapping.1.Ebs.DeleteOnTermination": "true",
		"BlockDeviceMapping.2.DeviceName": "/dev/sdb", "BlockDeviceMapping.2.Ebs.DeleteOnTermination": "true",
		"NetworkInterface.1.InterfaceType": "efa", "NetworkInterface.1.DeleteOnTermination": "true", "NetworkInterface.1.SubnetId": "subnet-01234567",
		"NetworkInterface.1.SecurityGroupId.1": "sg-01234567", "NetworkInterface.2.InterfaceType": "efa-only", "NetworkInterface.2.NetworkCardIndex": "1",
		"NetworkInterface.2.DeleteOnTermination": "true", "SubnetId": "", "SecurityGroupId.1": "",
	} {
		if got := asked.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
