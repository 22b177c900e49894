package honest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/aws"
)

// driver is ours, in a visitor's world.
func (v *visitor) driver(t *testing.T) *aws.Cloud {
	t.Helper()
	path := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(path, fmt.Appendf(nil, "[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", v.desk.key, v.desk.secret), 0o600); err != nil {
		t.Fatal(err)
	}
	c := aws.Config{
		Name: cloudName, Endpoint: v.desk.url, CredentialsFile: path, Types: []string{"p4d.24xlarge", "g6.xlarge", "m5.large"}, Disk: 100, Page: 5,
		Regions: []aws.Region{{Name: region, Image: v.ids.Replace("$IMAGE"), Subnets: map[string]string{"us-east-1a": v.ids.Replace("$SUBNET")}}},
		Limits:  aws.NewLimits(1000), Timeout: 30 * time.Second,
	}
	cloud, err := aws.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return cloud
}

// rental is a launch of ours.
func rental(n int64, kind string, count int, change func(*bridge.Launch)) bridge.Launch {
	id := bridge.NewRentalID(n)
	l := bridge.Launch{
		Rental: id, Attempt: 1, Count: count, UserData: "#!/bin/sh\necho hello\n", Expires: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
		Pool: bridge.Pool{Cloud: cloudName, Region: region, Zone: "us-east-1a", Type: kind, Market: bridge.OnDemand},
		Tags: map[string]string{bridge.TagStore: "st", bridge.TagCluster: "cl", bridge.TagRental: string(id), bridge.TagAttempt: "1"},
	}
	if change != nil {
		change(&l)
	}
	l.Token = bridge.Token("st", l)
	return l
}

func spotFor(units float64) func(*bridge.Launch) {
	return func(l *bridge.Launch) {
		l.Pool.Market, l.MaxRate = bridge.Spot, bridge.Rate{Micro: int64(units * bridge.Micro), Currency: "USD"}
	}
}

// said is what a launch of ours is in the words of a customer of EC2.
func said(l *bridge.Launch) string {
	tags := []map[string]string{{"Key": bridge.TagExpires, "Value": l.Expires.Format(time.RFC3339)}}
	for k, v := range l.Tags {
		tags = append(tags, map[string]string{"Key": k, "Value": v})
	}
	slices.SortFunc(tags, func(a, b map[string]string) int { return strings.Compare(a["Key"], b["Key"]) })
	kinds := []string{"instance", "volume", "network-interface"}
	call := map[string]any{
		"ImageId": "$IMAGE", "InstanceType": l.Pool.Type, "MinCount": l.Count, "MaxCount": l.Count, "ClientToken": l.Token,
		"SubnetId": "$SUBNET", "Placement": map[string]any{"AvailabilityZone": l.Pool.Zone}, "UserData": l.UserData,
		"InstanceInitiatedShutdownBehavior": "terminate",
		"MetadataOptions":                   map[string]any{"HttpEndpoint": "enabled", "HttpTokens": "required", "HttpPutResponseHopLimit": 1, "InstanceMetadataTags": "enabled"},
		"BlockDeviceMappings":               []any{map[string]any{"DeviceName": "/dev/xvda", "Ebs": map[string]any{"VolumeSize": 100, "DeleteOnTermination": true}}},
	}
	if l.Pool.Market == bridge.Spot {
		price := fmt.Sprintf("%g", float64(l.MaxRate.Micro)/bridge.Micro)
		call["InstanceMarketOptions"] = map[string]any{"MarketType": "spot", "SpotOptions": map[string]any{
			"MaxPrice": price, "SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate",
		}}
		kinds = append(kinds, "spot-instances-request")
	}
	var specs []any
	for _, k := range kinds {
		specs = append(specs, map[string]any{"ResourceType": k, "Tags": tags})
	}
	call["TagSpecifications"] = specs
	text, err := json.Marshal(call)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// last is the newest request for an action.
func last(t *testing.T, all []asked, action string) asked {
	t.Helper()
	for _, a := range slices.Backward(all) {
		if a.Action == action {
			return a
		}
	}
	t.Fatalf("%s was not asked for: %+v", action, all)
	return asked{}
}

// What the driver asks for is what boto3 asks for when it is told the same, to
// the last parameter: the second of the two calls is a repetition of the first.
func TestDriverAsksAsBotoWould(t *testing.T) {
	v := visit(t, func(t *testing.T, s site) client { return newBoto(t, debianPython, s) })
	c := v.driver(t)
	for name, l := range map[string]bridge.Launch{
		"on demand": rental(1, "g6.xlarge", 3, nil),
		"spot":      rental(2, "g6.xlarge", 2, spotFor(0.5)),
	} {
		if _, err := c.Create(t.Context(), l); err != nil {
			t.Fatal(name, err)
		}
		ours, made := last(t, v.desk.take(), "RunInstances"), len(v.desk.machines())
		theirs := v.walk(t, &step{name: name, op: "RunInstances", params: said(&l)})
		if diff := cmp.Diff(theirs.Asked, []asked{ours}); diff != "" {
			t.Errorf("%s (-boto3 +driver):\n%s", name, diff)
		}
		if n := len(v.desk.machines()); n != made {
			t.Errorf("%s: boto3's call made %d more machines", name, n-made)
		}
	}
	list, err := c.List(t.Context(), "st", "cl")
	if err != nil || !list.Complete || len(list.Instances) != 5 {
		t.Fatalf("%+v, %v", list, err)
	}
	ids := v.desk.machines()
	v.desk.take()
	if err := c.Extend(t.Context(), ids[:1], time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	if err := c.Terminate(t.Context(), ids[:1]); err != nil {
		t.Fatal(err)
	}
	ours := v.desk.take()
	for action, params := range map[string]string{
		"CreateTags":         `{"Resources": ["$1"], "Tags": [{"Key": "spillway-expires", "Value": "2031-01-01T00:00:00Z"}]}`,
		"TerminateInstances": `{"InstanceIds": ["$1"]}`,
	} {
		theirs := v.walk(t, &step{name: action, op: action, params: params})
		one := &told{Asked: []asked{last(t, ours, action)}}
		v.plain(one)
		if diff := cmp.Diff(theirs.Asked, one.Asked); diff != "" {
			t.Errorf("%s (-boto3 +driver):\n%s", action, diff)
		}
	}
}

// The driver is refused as boto3 is, with the same word, and knows what it means.
func TestDriverIsRefusedAsBotoIs(t *testing.T) {
	v := visit(t, func(t *testing.T, s site) client { return newBoto(t, debianPython, s) })
	c := v.driver(t)
	for name, r := range map[string]struct {
		l    bridge.Launch
		kind bridge.CloudErrorKind
		want string
	}{
		"more than there is":   {rental(11, "p4d.24xlarge", 3, nil), bridge.CloudNoCapacity, "InsufficientInstanceCapacity"},
		"spot over the quota":  {rental(12, "g6.xlarge", 5, spotFor(0.5)), bridge.CloudQuota, "MaxSpotInstanceCountExceeded"},
		"spot for too little":  {rental(13, "g6.xlarge", 1, spotFor(0.01)), bridge.CloudPrice, "SpotMaxPriceTooLow"},
		"a type not sold here": {rental(14, "m5.large", 1, spotFor(0.5)), bridge.CloudNoCapacity, "Unsupported"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.Create(t.Context(), r.l)
			ce, ok := errors.AsType[*bridge.CloudError](err)
			if !ok || ce.Kind != r.kind || ce.Code != r.want {
				t.Errorf("the driver: %#v, want %s %s", err, r.kind, r.want)
			}
			v.walk(t, &step{name: name, op: "RunInstances", params: said(&r.l), want: r.want})
		})
	}
	if n := len(v.desk.machines()); n != 0 {
		t.Errorf("refusals made %d machines", n)
	}
}

// Nothing is made before a machine or beside it: all that the driver ever sends
// that changes something is the create itself, which tags the disk and the
// interface and has them end with the machine, tags, and the end.
func TestC_F32_NothingIsMadeThatCouldBeLeftOver(t *testing.T) {
	v := visit(t, func(_ *testing.T, s site) client { return &sdk{s} })
	c := v.driver(t)
	if _, err := c.Offers(t.Context()); err != nil {
		t.Fatal(err)
	}
	l := rental(21, "g6.xlarge", 1, nil)
	h, err := c.Create(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create(t.Context(), rental(22, "p4d.24xlarge", 3, nil)); err == nil {
		t.Fatal("there is no stock for it")
	}
	if _, err := c.Observe(t.Context(), l, h); err != nil {
		t.Fatal(err)
	}
	if err := c.Terminate(t.Context(), v.desk.machines()); err != nil {
		t.Fatal(err)
	}
	all, created := v.desk.take(), 0
	for _, a := range all {
		reads := slices.ContainsFunc([]string{"Describe", "Get", "List"}, func(verb string) bool { return strings.HasPrefix(a.Action, verb) })
		switch {
		case reads || a.Action == "TerminateInstances":
		case a.Action == "RunInstances":
			created++
			for _, want := range []string{
				"TagSpecification.1.ResourceType=instance", "TagSpecification.2.ResourceType=volume", "TagSpecification.3.ResourceType=network-interface",
				"InstanceInitiatedShutdownBehavior=terminate", "BlockDeviceMapping.1.Ebs.DeleteOnTermination=true",
			} {
				if !slices.Contains(a.Said, want) {
					t.Errorf("a create without %s", want)
				}
			}
		default:
			t.Errorf("%s is sent: what it makes outlives its machine", a.Action)
		}
	}
	if created != 2 {
		t.Errorf("%d creates", created)
	}
}
