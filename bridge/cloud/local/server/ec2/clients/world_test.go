package clients_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/node"
)

func TestAsManyAsThereAre(t *testing.T) {
	r := start(t, world)
	q := r.order(east, "us-east-1a", "p4d.24xlarge", 8, "many")
	q.MinCount = aws.Int32(2)
	if ids := r.run(east, q); len(ids) != 7 {
		t.Errorf("%d machines, want the 7 that there are", len(ids))
	}
}

// TestMachinesThatNeverRan has the shape in which EC2 takes an order and its
// machines are gone at once.
func TestMachinesThatNeverRan(t *testing.T) {
	r := start(t, world)
	for name, tc := range map[string]struct {
		zone, token string
		count       int32
		fault       *wire.Fault
		running     int
	}{
		"the pool is like that": {"us-east-1b", "shape", 2, nil, 0},
		"a part comes up":       {"us-east-1a", "part", 3, &wire.Fault{Kind: wire.FaultPartial, Machines: 1, Count: 1}, 1},
	} {
		if tc.fault != nil {
			r.fault(*tc.fault)
		}
		out, err := r.ec2(east).RunInstances(t.Context(), r.order(east, tc.zone, "g6.xlarge", tc.count, tc.token))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		running := 0
		for _, m := range out.Instances {
			if m.State.Name != types.InstanceStateNamePending {
				t.Errorf("%s: told as %s", name, m.State.Name)
			}
			got, err := r.ec2(east).DescribeInstances(t.Context(), &sdk.DescribeInstancesInput{InstanceIds: []string{*m.InstanceId}})
			if err != nil {
				t.Fatal(err)
			}
			now := got.Reservations[0].Instances[0]
			if now.State.Name != types.InstanceStateNameTerminated {
				running++
			} else if *now.StateReason.Code != "Server.InsufficientInstanceCapacity" {
				t.Errorf("%s: %+v", name, now.StateReason)
			}
		}
		if running != tc.running {
			t.Errorf("%s: %d run, want %d", name, running, tc.running)
		}
	}
}

// TestC_F03_a_lost_answer_leaves_machines_that_are_found_by_token holds that what
// was made without an answer is tagged and can be found.
func TestC_F03_a_lost_answer_leaves_machines_that_are_found_by_token(t *testing.T) {
	r := start(t, world)
	r.fault(wire.Fault{Kind: wire.FaultTimeoutAfter, Op: "RunInstances", Count: 1, Delay: wire.Duration(time.Millisecond)})
	q := r.order(east, "us-east-1a", "p4d.24xlarge", 2, "lost")
	if _, err := r.ec2(east).RunInstances(t.Context(), q); err == nil {
		t.Fatal("there was an answer")
	}
	got, err := r.ec2(east).DescribeInstances(t.Context(), &sdk.DescribeInstancesInput{
		Filters: []types.Filter{{Name: aws.String("client-token"), Values: []string{"lost"}}, {Name: aws.String("tag:spillway-store"), Values: []string{"s1"}}},
	})
	if err != nil || len(got.Reservations) != 1 || len(got.Reservations[0].Instances) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	var found []string
	for _, m := range got.Reservations[0].Instances {
		found = append(found, *m.InstanceId)
	}
	again := r.run(east, q)
	slices.Sort(found)
	slices.Sort(again)
	if diff := cmp.Diff(found, again); diff != "" {
		t.Errorf("the same call afterwards, -found +made:\n%s", diff)
	}
}

func TestNewMachinesAreMissingForAWhile(t *testing.T) {
	r := start(t, strings.Replace(world, "notice: 2m", "visibility: 1h", 1))
	ids := r.run(east, r.order(east, "us-east-1a", "m7i.large", 1, "new"))
	if _, err := r.ec2(east).DescribeInstances(t.Context(), &sdk.DescribeInstancesInput{InstanceIds: ids}); code(err) != "InvalidInstanceID.NotFound" {
		t.Errorf("by id: %v", err)
	}
	got, err := r.ec2(east).DescribeInstances(t.Context(), &sdk.DescribeInstancesInput{})
	if err != nil || len(got.Reservations) > 0 {
		t.Errorf("listed: %+v, %v", got, err)
	}
	if out, err := r.ec2(east).TerminateInstances(t.Context(), &sdk.TerminateInstancesInput{InstanceIds: ids}); err != nil || len(out.TerminatingInstances) != 1 {
		t.Errorf("terminate: %+v, %v", out, err)
	}
}

func TestMachineThatSwitchesItselfOff(t *testing.T) {
	r := start(t, world)
	ids := r.run(east, r.order(east, "us-east-1a", "m7i.large", 1, "off"))
	r.await(east, ids[0], types.InstanceStateNameRunning)
	r.host.PowerOff(ids[0])
	if m := r.await(east, ids[0], types.InstanceStateNameTerminated); *m.StateReason.Code != "Client.InstanceInitiatedShutdown" {
		t.Errorf("reason %+v", m.StateReason)
	}
}

// TestLimitsAreEC2s holds each bucket's burst, and that regions have their own.
func TestLimitsAreEC2s(t *testing.T) {
	r := start(t, strings.Replace(world, "limits: 1000", "limits: 0.001", 1))
	q := r.order(east, "us-east-1a", "m7i.large", 1, "")
	q.DryRun = aws.Bool(true)
	calls := map[string]struct {
		burst int
		call  func() error
	}{
		"RunInstances": {5, func() error { _, err := r.ec2(east).RunInstances(t.Context(), q); return err }},
		"CreateTags": {100, func() error {
			_, err := r.ec2(east).CreateTags(t.Context(), &sdk.CreateTagsInput{Resources: []string{"i-0"}, Tags: []types.Tag{{Key: aws.String("a")}}})
			return err
		}},
		"DeleteTags": {50, func() error {
			_, err := r.ec2(east).DeleteTags(t.Context(), &sdk.DeleteTagsInput{Resources: []string{"i-0"}})
			return err
		}},
	}
	for name, c := range calls {
		for n := range c.burst {
			if err := c.call(); code(err) == "RequestLimitExceeded" {
				t.Errorf("%s: call %d of %d is one too many", name, n+1, c.burst)
				break
			}
		}
		if err := c.call(); code(err) != "RequestLimitExceeded" {
			t.Errorf("%s: one more than %d: %v", name, c.burst, err)
		}
	}
	far := spot(r.order(west, "us-west-2a", "p4d.24xlarge", 1, ""), "")
	if _, err := r.ec2(west).RunInstances(t.Context(), far); err != nil {
		t.Errorf("another region: %v", err)
	}
}

// TestMachinesMetadata asks as a machine's agent does.
func TestMachinesMetadata(t *testing.T) {
	r := start(t, world)
	open := r.order(east, "us-east-1a", "m7i.large", 1, "open")
	open.MetadataOptions = nil
	for name, tc := range map[string]struct {
		order *sdk.RunInstancesInput
		bare  int    // the status without a token
		tags  string // their names, as the machine reads them
	}{
		"with a token and tags": {r.order(east, "us-east-1a", "m7i.large", 1, "closed"), http.StatusUnauthorized, "spillway-expires\nspillway-store"},
		"as EC2 has it unasked": {open, http.StatusOK, ""},
	} {
		id := r.run(east, tc.order)[0]
		r.await(east, id, types.InstanceStateNameRunning)
		g, ok := r.host.Guest(id)
		if !ok {
			t.Fatal("the machine is off")
		}
		bare := httptest.NewRecorder()
		g.Metadata.ServeHTTP(bare, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/latest/meta-data/instance-id", nil))
		if bare.Code != tc.bare {
			t.Errorf("%s: %d without a token, want %d", name, bare.Code, tc.bare)
		}
		token := httptest.NewRecorder()
		ask := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/latest/api/token", nil)
		ask.Header.Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "60")
		g.Metadata.ServeHTTP(token, ask)
		tags := httptest.NewRecorder()
		ask = httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/latest/meta-data/tags/instance/", nil)
		ask.Header.Set("X-Aws-Ec2-Metadata-Token", token.Body.String())
		g.Metadata.ServeHTTP(tags, ask)
		if got := tags.Body.String(); tc.tags != "" && got != tc.tags || tc.tags == "" && tags.Code != http.StatusNotFound {
			t.Errorf("%s: tags %d %q, want %q", name, tags.Code, got, tc.tags)
		}
		s := httptest.NewServer(g.Metadata)
		agent := node.NewEC2(s.URL)
		if got, err := agent.Identify(t.Context()); err != nil || got != id {
			t.Errorf("%s: it is %q, %v; want %s", name, got, err, id)
		}
		if end, err := agent.Expires(t.Context()); err != nil || end.IsZero() != (tc.tags == "") {
			t.Errorf("%s: it ends at %s, %v", name, end, err)
		}
		s.Close()
		if g.UserData != "#!/bin/sh\n" {
			t.Errorf("%s: user data %q", name, g.UserData)
		}
	}
}

// TestBothFormatsShowTheSameMachines rents in each and lists in the other.
func TestBothFormatsShowTheSameMachines(t *testing.T) {
	r := start(t, world)
	ids := r.run(east, r.order(east, "us-east-1a", "p4d.24xlarge", 1, "ours"))
	status, text := r.native(http.MethodPost, "/v1/nimbus/instances",
		`{"token":"theirs","count":1,"pool":{"region":"us-east-1","zone":"us-east-1a","type":"p4d.24xlarge","market":"on-demand"}}`)
	if status != http.StatusAccepted {
		t.Fatalf("%d %s", status, text)
	}
	got, err := r.ec2(east).DescribeInstances(t.Context(), &sdk.DescribeInstancesInput{})
	if err != nil || len(got.Reservations) != 2 {
		t.Errorf("in EC2's words: %+v, %v", got, err)
	}
	if _, text := r.native(http.MethodGet, "/v1/nimbus/instances", ""); !strings.Contains(text, ids[0]) || !strings.Contains(text, `"token":"theirs"`) {
		t.Errorf("in the world's own: %s", text)
	}
	status, text = r.native(http.MethodPost, "/v1/nimbus/instances",
		`{"token":"ours","count":1,"pool":{"region":"us-east-1","zone":"us-east-1a","type":"p4d.24xlarge","market":"on-demand"}}`)
	if status != http.StatusConflict {
		t.Errorf("the same token in both: %d %s", status, text)
	}
	status, text = r.native(http.MethodPost, "/v1/nimbus/instances",
		`{"count":7,"pool":{"region":"us-east-1","zone":"us-east-1a","type":"p4d.24xlarge","market":"on-demand"}}`)
	if status != http.StatusForbidden || !strings.Contains(text, "768 vCPUs") {
		t.Errorf("the quota of vCPUs in the world's own words: %d %s", status, text)
	}
}

// TestPricesAreTheWorlds compares the told history of a moving price with what
// machines are charged.
func TestPricesAreTheWorlds(t *testing.T) {
	r := start(t, world)
	now := time.Now()
	got, err := r.ec2(west).DescribeSpotPriceHistory(t.Context(), &sdk.DescribeSpotPriceHistoryInput{StartTime: aws.Time(now), EndTime: aws.Time(now)})
	if err != nil || len(got.SpotPriceHistory) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	ceiling := *got.SpotPriceHistory[0].SpotPrice
	r.run(west, spot(r.order(west, "us-west-2a", "p4d.24xlarge", 1, "at-its-price"), ceiling))
	_, text := r.native(http.MethodGet, "/v1/nimbus/instances", "")
	if want := `"micro_per_hour":` + strings.ReplaceAll(ceiling, ".", ""); !strings.Contains(text, want) {
		t.Errorf("charged otherwise than told, %s: %s", ceiling, text)
	}
}

// TestInterfacesOfGangs asks for the network of gangs as our driver does: one
// interface on each card, of which the first carries plain traffic too.
func TestInterfacesOfGangs(t *testing.T) {
	r := start(t, world)
	kinds, err := r.ec2(east).DescribeInstanceTypes(t.Context(), &sdk.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"p4d.24xlarge"}})
	if err != nil {
		t.Fatal(err)
	}
	cards := *kinds.InstanceTypes[0].NetworkInfo.EfaInfo.MaximumEfaInterfaces
	order := func(n int32) *sdk.RunInstancesInput {
		q := r.order(east, "us-east-1a", "p4d.24xlarge", 1, "")
		for card := range n {
			i := types.InstanceNetworkInterfaceSpecification{
				DeviceIndex: aws.Int32(min(card, 1)), NetworkCardIndex: aws.Int32(card), InterfaceType: aws.String("efa-only"), SubnetId: q.SubnetId,
			}
			if card == 0 {
				i.InterfaceType = aws.String("efa")
			}
			q.NetworkInterfaces = append(q.NetworkInterfaces, i)
		}
		q.SubnetId = nil
		return q
	}
	ids := r.run(east, order(cards))
	if m := r.await(east, ids[0], types.InstanceStateNameRunning); *m.NetworkInterfaces[0].InterfaceType != "efa" {
		t.Errorf("%+v", m.NetworkInterfaces)
	}
	twice := order(2)
	twice.NetworkInterfaces[1].NetworkCardIndex = aws.Int32(0)
	plain := order(1)
	plain.NetworkInterfaces[0].DeleteOnTermination = aws.Bool(false)
	far := order(2)
	far.NetworkInterfaces[1].SubnetId = aws.String("subnet-1")
	for want, q := range map[string]*sdk.RunInstancesInput{
		"InvalidParameterValue: cards": order(cards + 1), "InvalidParameterValue: twice": twice, "UnsupportedOperation": plain, "InvalidSubnetID.NotFound": far,
	} {
		want, _, _ = strings.Cut(want, ":")
		if _, err := r.ec2(east).RunInstances(t.Context(), q); code(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
