package clients_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// TestCreatesThatAreRefused holds the code of each refusal, and that none leaves
// a machine behind.
func TestCreatesThatAreRefused(t *testing.T) {
	type in = sdk.RunInstancesInput
	tag := func(kind types.ResourceType, keys ...string) func(*in) {
		return func(q *in) {
			q.TagSpecifications = []types.TagSpecification{{ResourceType: kind}}
			for _, k := range keys {
				q.TagSpecifications[0].Tags = append(q.TagSpecifications[0].Tags, types.Tag{Key: aws.String(k), Value: aws.String("v")})
			}
		}
	}
	count := func(n int32) func(*in) { return func(q *in) { q.MinCount, q.MaxCount = aws.Int32(n), aws.Int32(n) } }
	kind := func(name string) func(*in) { return func(q *in) { q.InstanceType = types.InstanceType(name) } }
	all := func(changes ...func(*in)) func(*in) {
		return func(q *in) {
			for _, c := range changes {
				c(q)
			}
		}
	}
	onSpot := func(ceiling string) func(*in) { return func(q *in) { spot(q, ceiling) } }
	fault := func(f wire.Fault) *wire.Fault { return &f }
	for name, tc := range map[string]struct {
		change func(*in)
		fault  *wire.Fault
		want   string
	}{
		"a dry run":                      {func(q *in) { q.DryRun = aws.Bool(true) }, nil, "DryRunOperation"},
		"no image":                       {func(q *in) { q.ImageId = nil }, nil, "MissingParameter"},
		"another image":                  {func(q *in) { q.ImageId = aws.String("ami-00000000000000000") }, nil, "InvalidAMIID.NotFound"},
		"no image's id":                  {func(q *in) { q.ImageId = aws.String("debian") }, nil, "InvalidAMIID.Malformed"},
		"a type that nobody has":         {kind("p9.mega"), nil, "InvalidParameterValue"},
		"a subnet that is not there":     {func(q *in) { q.SubnetId = aws.String("subnet-1") }, nil, "InvalidSubnetID.NotFound"},
		"a zone that is not there":       {func(q *in) { q.SubnetId, q.Placement = nil, &types.Placement{AvailabilityZone: aws.String("x")} }, nil, "InvalidParameterValue"},
		"another zone than the subnet's": {func(q *in) { q.Placement = &types.Placement{AvailabilityZone: aws.String("us-east-1b")} }, nil, "InvalidParameterValue"},
		"a type that the zone has not": {all(kind("m7i.large"), func(q *in) {
			q.SubnetId, q.Placement = nil, &types.Placement{AvailabilityZone: aws.String("us-east-1b")}
		}), nil, "Unsupported"},
		"a market that the type has not": {all(kind("m7i.large"), onSpot("")), nil, "Unsupported"},
		"a group that is not there":      {func(q *in) { q.SecurityGroupIds = []string{"sg-1"} }, nil, "InvalidGroup.NotFound"},
		"none":                           {count(0), nil, "InvalidParameterValue"},
		"less at most than at least":     {func(q *in) { q.MinCount = aws.Int32(2) }, nil, "InvalidParameterValue"},
		"more than the stock":            {count(8), nil, "InsufficientInstanceCapacity"},
		"more vCPUs than the quota":      {count(9), nil, "VcpuLimitExceeded"},
		"more spot than the quota":       {all(count(5), onSpot("")), nil, "MaxSpotInstanceCountExceeded"},
		"more machines than the quota":   {all(kind("m7i.large"), count(61)), nil, "InstanceLimitExceeded"},
		"sold-out spot":                  {all(kind("g6.xlarge"), onSpot("")), nil, "InsufficientInstanceCapacity"},
		"a ceiling below the price":      {onSpot("12.49"), nil, "SpotMaxPriceTooLow"},
		"a ceiling of nothing":           {onSpot("0"), nil, "InvalidParameterValue"},
		"a ceiling that is no number":    {onSpot("cheap"), nil, "InvalidParameterValue"},
		"a request that stays":           {all(onSpot(""), func(q *in) { q.InstanceMarketOptions.SpotOptions.SpotInstanceType = "persistent" }), nil, "UnsupportedOperation"},
		"machines that would be stopped": {func(q *in) { q.InstanceInitiatedShutdownBehavior = types.ShutdownBehaviorStop }, nil, "UnsupportedOperation"},
		"no word of what shutdown means": {func(q *in) { q.InstanceInitiatedShutdownBehavior = "" }, nil, "UnsupportedOperation"},
		"a key pair":                     {func(q *in) { q.KeyName = aws.String("mine") }, nil, "UnsupportedOperation"},
		"a launch template": {func(q *in) {
			q.LaunchTemplate = &types.LaunchTemplateSpecification{LaunchTemplateName: aws.String("x")}
		}, nil, "UnsupportedOperation"},
		"a machine of one's own":        {func(q *in) { q.Placement = &types.Placement{Tenancy: types.TenancyDedicated} }, nil, "UnsupportedOperation"},
		"a second disk":                 {func(q *in) { q.BlockDeviceMappings = []types.BlockDeviceMapping{{DeviceName: aws.String("/dev/sdb")}} }, nil, "UnsupportedOperation"},
		"a disk that stays":             {func(q *in) { q.BlockDeviceMappings = disk(40, false) }, nil, "UnsupportedOperation"},
		"a disk smaller than the image": {func(q *in) { q.BlockDeviceMappings = disk(4, true) }, nil, "InvalidBlockDeviceMapping"},
		"subnets twice": {func(q *in) {
			q.NetworkInterfaces = []types.InstanceNetworkInterfaceSpecification{{DeviceIndex: aws.Int32(0)}}
		}, nil, "InvalidParameterCombination"},
		"EFA without RDMA":                   {all(kind("g6.xlarge"), efa), nil, "InvalidParameterCombination"},
		"no metadata":                        {func(q *in) { q.MetadataOptions.HttpEndpoint = "disabled" }, nil, "UnsupportedOperation"},
		"a tag of AWS's":                     {tag("instance", "aws:x"), nil, "InvalidParameterValue"},
		"a tag twice":                        {tag("instance", "x", "x"), nil, "InvalidParameterValue"},
		"a tag that metadata cannot show":    {tag("instance", "a/b"), nil, "InvalidParameterValue"},
		"too many tags":                      {tag("instance", strings.Split(strings.Repeat("x,", 50)+"x", ",")...), nil, "TagLimitExceeded"},
		"tags of a spot request on demand":   {tag("spot-instances-request", "x"), nil, "InvalidParameterValue"},
		"tags of what cannot be had":         {tag("elastic-ip", "x"), nil, "InvalidParameterValue"},
		"a resource type that nobody has":    {tag("moon", "x"), nil, "InvalidParameterValue"},
		"user data that is not base64":       {func(q *in) { q.UserData = aws.String("#!") }, nil, "InvalidParameterValue"},
		"too much user data":                 {func(q *in) { q.UserData = aws.String(strings.Repeat("QUFB", 5462)) }, nil, "InvalidParameterValue"},
		"a token that is too long":           {func(q *in) { q.ClientToken = aws.String(strings.Repeat("x", 65)) }, nil, "InvalidParameterValue"},
		"no permission, set by a fault":      {nil, fault(wire.Fault{Kind: wire.FaultCode, Op: "RunInstances", Code: "UnauthorizedOperation"}), "UnauthorizedOperation"},
		"no stock, set by a fault":           {nil, fault(wire.Fault{Kind: wire.FaultNoStock, Pool: "us-east-1/us-east-1a/p4d.24xlarge/on-demand"}), "InsufficientInstanceCapacity"},
		"a quota, set by a fault":            {nil, fault(wire.Fault{Kind: wire.FaultQuota}), "VcpuLimitExceeded"},
		"a spot quota, set by a fault":       {onSpot(""), fault(wire.Fault{Kind: wire.FaultQuota}), "MaxSpotInstanceCountExceeded"},
		"too many calls, set by a fault":     {nil, fault(wire.Fault{Kind: wire.FaultThrottle, Op: "create"}), "RequestLimitExceeded"},
		"an error before, set by a fault":    {nil, fault(wire.Fault{Kind: wire.FaultErrorBefore, Op: "create"}), "InternalError"},
		"expired credentials, by a fault":    {nil, fault(wire.Fault{Kind: wire.FaultAuth, Op: "create"}), "AuthFailure"},
		"a price that doubles just before":   {onSpot("13.00"), fault(wire.Fault{Kind: wire.FaultDearer}), "SpotMaxPriceTooLow"},
		"a code that nobody knows, by fault": {nil, fault(wire.Fault{Kind: wire.FaultCode, Op: "create", Code: "ZoneIsDreaming"}), "ZoneIsDreaming"},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, world)
			q := r.order(east, "us-east-1a", "p4d.24xlarge", 1, "refused")
			if tc.change != nil {
				tc.change(q)
			}
			if tc.fault != nil {
				r.fault(*tc.fault)
			}
			_, err := r.ec2(east).RunInstances(t.Context(), q)
			if code(err) != tc.want {
				t.Errorf("%v, want %s", err, tc.want)
			}
			got, err := r.ec2(east).DescribeInstances(t.Context(), &sdk.DescribeInstancesInput{})
			if err != nil || len(got.Reservations) > 0 {
				t.Errorf("it left %+v, %v", got, err)
			}
		})
	}
}

func disk(gib int32, ends bool) []types.BlockDeviceMapping {
	return []types.BlockDeviceMapping{{DeviceName: aws.String("/dev/xvda"), Ebs: &types.EbsBlockDevice{VolumeSize: aws.Int32(gib), DeleteOnTermination: aws.Bool(ends)}}}
}

// efa asks for the network of gangs, in the way that EC2 wants it.
func efa(q *sdk.RunInstancesInput) {
	q.NetworkInterfaces = []types.InstanceNetworkInterfaceSpecification{{
		DeviceIndex: aws.Int32(0), SubnetId: q.SubnetId, InterfaceType: aws.String("efa"), DeleteOnTermination: aws.Bool(true),
	}}
	q.SubnetId = nil
}

func TestTokenIsOfOneOrder(t *testing.T) {
	r := start(t, world)
	ids := r.run(east, r.order(east, "us-east-1a", "p4d.24xlarge", 1, "once"))
	for name, change := range map[string]func(*sdk.RunInstancesInput){
		"another count":  func(q *sdk.RunInstancesInput) { q.MaxCount = aws.Int32(2) },
		"another tag":    func(q *sdk.RunInstancesInput) { q.TagSpecifications[0].Tags[0].Value = aws.String("s2") },
		"another market": func(q *sdk.RunInstancesInput) { spot(q, "") },
		"a volume's tag": func(q *sdk.RunInstancesInput) { q.TagSpecifications[1].Tags[0].Value = aws.String("s2") },
	} {
		q := r.order(east, "us-east-1a", "p4d.24xlarge", 1, "once")
		change(q)
		if _, err := r.ec2(east).RunInstances(t.Context(), q); code(err) != "IdempotentParameterMismatch" {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A refused order leaves its token unused.
	q := spot(r.order(east, "us-east-1a", "g6.xlarge", 1, "later"), "")
	if _, err := r.ec2(east).RunInstances(t.Context(), q); code(err) != "InsufficientInstanceCapacity" {
		t.Error(err)
	}
	if again := r.run(east, r.order(east, "us-east-1a", "p4d.24xlarge", 1, "later")); again[0] == ids[0] {
		t.Error("another order has the same machine")
	}
}

func TestOtherCallsThatAreRefused(t *testing.T) {
	r := start(t, world)
	ids := r.run(east, r.order(east, "us-east-1a", "m7i.large", 1, "here"))
	c, ctx := r.ec2(east), t.Context()
	list := func(in *sdk.DescribeInstancesInput) error { _, err := c.DescribeInstances(ctx, in); return err }
	end := func(id ...string) error {
		_, err := c.TerminateInstances(ctx, &sdk.TerminateInstancesInput{InstanceIds: id})
		return err
	}
	mark := func(id, key string) error {
		_, err := c.CreateTags(ctx, &sdk.CreateTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: aws.String(key)}}})
		return err
	}
	_, unknownType := c.DescribeInstanceTypes(ctx, &sdk.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"p9.mega"}})
	_, unknownImage := c.DescribeImages(ctx, &sdk.DescribeImagesInput{ImageIds: []string{"ami-1"}})
	_, nextImages := c.DescribeImages(ctx, &sdk.DescribeImagesInput{NextToken: aws.String("7")})
	_, unknownSubnet := c.DescribeSubnets(ctx, &sdk.DescribeSubnetsInput{SubnetIds: []string{"subnet-1"}})
	_, far := r.ec2(west).TerminateInstances(ctx, &sdk.TerminateInstancesInput{InstanceIds: ids})
	_, nowhere := r.ec2("moon-1").DescribeInstances(ctx, &sdk.DescribeInstancesInput{})
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"list: an id that is not there":        {list(&sdk.DescribeInstancesInput{InstanceIds: []string{"i-0"}}), "InvalidInstanceID.NotFound"},
		"list: no id":                          {list(&sdk.DescribeInstancesInput{InstanceIds: []string{"vm-0"}}), "InvalidInstanceID.Malformed"},
		"list: a filter that nobody has":       {list(&sdk.DescribeInstancesInput{Filters: []types.Filter{{Name: aws.String("mood"), Values: []string{"x"}}}}), "InvalidParameterValue"},
		"list: a filter without a value":       {list(&sdk.DescribeInstancesInput{Filters: []types.Filter{{Name: aws.String("tag:a")}}}), "InvalidParameterValue"},
		"list: pages that are too small":       {list(&sdk.DescribeInstancesInput{MaxResults: aws.Int32(4)}), "InvalidParameterValue"},
		"list: pages of ids":                   {list(&sdk.DescribeInstancesInput{MaxResults: aws.Int32(5), InstanceIds: ids}), "InvalidParameterCombination"},
		"list: a page that nobody has":         {list(&sdk.DescribeInstancesInput{NextToken: aws.String("x.1")}), "InvalidNextToken"},
		"terminate: one of two is not there":   {end(ids[0], "i-0"), "InvalidInstanceID.NotFound"},
		"terminate: in another region":         {far, "InvalidInstanceID.NotFound"},
		"tag: one that is not there":           {mark("i-0", "a"), "InvalidInstanceID.NotFound"},
		"tag: an image":                        {mark("ami-0", "a"), "UnsupportedOperation"},
		"tag: one of AWS's":                    {mark(ids[0], "aws:a"), "InvalidParameterValue"},
		"types: one that nobody has":           {unknownType, "InvalidInstanceType"},
		"images: one that is not there":        {unknownImage, "InvalidAMIID.NotFound"},
		"images: a page that nobody has":       {nextImages, "InvalidNextToken"},
		"subnets: one that is not there":       {unknownSubnet, "InvalidSubnetID.NotFound"},
		"any call to a region that is nowhere": {nowhere, "AuthFailure"},
	} {
		if code(tc.err) != tc.want {
			t.Errorf("%s: %v, want %s", name, tc.err, tc.want)
		}
	}
	r.await(east, ids[0], types.InstanceStateNameRunning)
}

// raw signs and sends a request and returns status and body.
func (r *rig) raw(change func(*http.Request), service, method, body, key, secret string, at time.Time) (int, string) {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), method, r.base+"/aws/nimbus/", strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if service != "ec2" && service != "sts" {
		req.Header.Set("Content-Type", "application/x-amz-json-1.1")
		req.Header.Set("X-Amz-Target", "AWSPriceListService.GetProducts")
	}
	sum := sha256.Sum256([]byte(body))
	if err := v4.NewSigner().SignHTTP(r.Context(), aws.Credentials{AccessKeyID: key, SecretAccessKey: secret}, req, hex.EncodeToString(sum[:]), service, east, at); err != nil {
		r.Fatal(err)
	}
	if change != nil {
		change(req)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// TestRequestsThatTheModelRefuses sends what no SDK would.
func TestRequestsThatTheModelRefuses(t *testing.T) {
	r := start(t, world)
	secret := r.token(r.server.TokenFile("nimbus", "default"))
	const run = "Action=RunInstances&Version=2016-11-15&ImageId=ami-0&InstanceType=x&MinCount=1"
	for name, tc := range map[string]struct{ method, body, want string }{
		"no action":                         {"POST", "Version=2016-11-15", "MissingAction"},
		"an action that nobody has":         {"POST", "Action=RunAway&Version=2016-11-15", "InvalidAction"},
		"an action that is not served":      {"POST", "Action=StopInstances&Version=2016-11-15&InstanceId.1=i-0", "InvalidAction"},
		"an action of another service":      {"POST", "Action=GetCallerIdentity&Version=2016-11-15", "InvalidAction"},
		"another version":                   {"POST", "Action=DescribeRegions&Version=2012-01-01", "InvalidAction"},
		"in the address":                    {"GET", "", "InvalidRequest"},
		"no query":                          {"POST", "Action=DescribeRegions;Version=%zz", "MalformedQueryString"},
		"a parameter that nobody has":       {"POST", run + "&MaxCount=1&Wish=x", "UnknownParameter"},
		"a member that nobody has":          {"POST", run + "&MaxCount=1&Placement.Moon=x", "UnknownParameter"},
		"a member of an element of nothing": {"POST", run + "&MaxCount=1&SecurityGroupId.1.Name=x", "UnknownParameter"},
		"an element number nought":          {"POST", run + "&MaxCount=1&SecurityGroupId.0=x", "UnknownParameter"},
		"a list that is a value":            {"POST", run + "&MaxCount=1&SecurityGroupId=x", "InvalidParameterValue"},
		"a structure that is a value":       {"POST", run + "&MaxCount=1&Placement=x", "InvalidParameterValue"},
		"a required parameter is missing":   {"POST", run, "MissingParameter"},
		"a required member is missing":      {"POST", run + "&MaxCount=1&CreditSpecification.x=1", "UnknownParameter"},
		"a required member of a structure":  {"POST", run + "&MaxCount=1&ElasticGpuSpecification.1.x=1", "UnknownParameter"},
		"a number that is none":             {"POST", run + "&MaxCount=many", "InvalidParameterValue"},
		"a number that is too large":        {"POST", run + "&MaxCount=4294967296", "InvalidParameterValue"},
		"neither true nor false":            {"POST", run + "&MaxCount=1&DryRun=maybe", "InvalidParameterValue"},
		"none of the known values":          {"POST", run + "&MaxCount=1&MetadataOptions.HttpTokens=never", "InvalidParameterValue"},
		"a time that is none":               {"POST", "Action=DescribeSpotPriceHistory&Version=2016-11-15&StartTime=yesterday", "InvalidParameterValue"},
		"a page larger than any":            {"POST", "Action=DescribeInstanceTypes&Version=2016-11-15&MaxResults=101", "InvalidParameterValue"},
		"a parameter twice":                 {"POST", run + "&MaxCount=1&MaxCount=2", "InvalidParameterCombination"},
		"known and not served":              {"POST", run + "&MaxCount=1&HibernationOptions.Configured=true", "UnsupportedOperation"},
	} {
		t.Run(name, func(t *testing.T) {
			status, text := r.raw(nil, "ec2", tc.method, tc.body, "nimbus-default", secret, time.Now())
			var got struct {
				XMLName   xml.Name `xml:"Response"`
				Code      string   `xml:"Errors>Error>Code"`
				Message   string   `xml:"Errors>Error>Message"`
				RequestID string   `xml:"RequestID"`
			}
			if err := xml.Unmarshal([]byte(text), &got); err != nil || got.Code != tc.want || got.Message == "" || got.RequestID == "" || status != http.StatusBadRequest {
				t.Errorf("%d %s, want %s", status, text, tc.want)
			}
		})
	}
}

func TestCallersThatAreRefused(t *testing.T) {
	r := start(t, world)
	secret, other := r.token(r.server.TokenFile("nimbus", "default")), r.token(r.server.TokenFile("nimbus", "other"))
	now := time.Now()
	const list, who = "Action=DescribeInstances&Version=2016-11-15", "Action=GetCallerIdentity&Version=2011-06-15"
	for name, tc := range map[string]struct {
		change                     func(*http.Request)
		service, body, key, secret string
		at                         time.Time
		status                     int
		want                       string
	}{
		"EC2: another's secret":       {nil, "ec2", list, "nimbus-default", other, now, 403, "<Code>SignatureDoesNotMatch</Code>"},
		"EC2: nobody":                 {nil, "ec2", list, "nimbus-nobody", secret, now, 401, "<Code>AuthFailure</Code>"},
		"EC2: of another cloud":       {nil, "ec2", list, "stratus-default", secret, now, 401, "<Code>AuthFailure</Code>"},
		"EC2: of the hour before":     {nil, "ec2", list, "nimbus-default", secret, now.Add(-16 * time.Minute), 400, "<Code>RequestExpired</Code>"},
		"EC2: of the hour to come":    {nil, "ec2", list, "nimbus-default", secret, now.Add(16 * time.Minute), 400, "<Code>RequestExpired</Code>"},
		"EC2: of some minutes before": {nil, "ec2", list, "nimbus-default", secret, now.Add(-14 * time.Minute), 200, "<reservationSet"},
		"EC2: not signed":             {func(r *http.Request) { r.Header.Del("Authorization") }, "ec2", list, "nimbus-default", secret, now, 403, "<Code>MissingAuthenticationToken</Code>"},
		"EC2: signed with the token":  {func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret) }, "ec2", list, "nimbus-default", secret, now, 400, "<Code>IncompleteSignature</Code>"},
		"EC2: of a session":           {func(r *http.Request) { r.Header.Set("X-Amz-Security-Token", "x") }, "ec2", list, "nimbus-default", secret, now, 401, "<Code>AuthFailure</Code>"},
		"EC2: changed on the way":     {func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, "ec2", list, "nimbus-default", secret, now, 403, "<Code>SignatureDoesNotMatch</Code>"},
		"EC2: without a date":         {func(r *http.Request) { r.Header.Del("X-Amz-Date") }, "ec2", list, "nimbus-default", secret, now, 400, "<Code>IncompleteSignature</Code>"},
		"a service that is not here":  {nil, "lambda", list, "nimbus-default", secret, now, 403, "<Code>SignatureDoesNotMatch</Code>"},
		"STS: another's secret":       {nil, "sts", who, "nimbus-default", other, now, 403, "<ErrorResponse><Error><Type>Sender</Type><Code>SignatureDoesNotMatch</Code>"},
		"STS: nobody":                 {nil, "sts", who, "nimbus-nobody", secret, now, 403, "<Code>InvalidClientTokenId</Code>"},
		"STS: ourselves":              {nil, "sts", who, "nimbus-default", secret, now, 200, "<UserId>nimbus-default</UserId>"},
		"prices: another's secret":    {nil, "pricing", "{}", "nimbus-default", other, now, 403, `"__type":"InvalidSignatureException"`},
		"prices: nobody":              {nil, "pricing", "{}", "nimbus-nobody", secret, now, 403, `"__type":"UnrecognizedClientException"`},
		"prices: nothing asked":       {nil, "pricing", "{}", "nimbus-default", secret, now, 400, `"__type":"ValidationException"`},
		"prices: no JSON":             {nil, "pricing", "[", "nimbus-default", secret, now, 400, `"__type":"SerializationException"`},
		"prices: of another service":  {nil, "pricing", `{"ServiceCode":"AmazonS3"}`, "nimbus-default", secret, now, 400, `"__type":"NotFoundException"`},
		"prices: a field of nothing":  {nil, "pricing", `{"ServiceCode":"AmazonEC2","Filters":[{"Type":"TERM_MATCH","Field":"mood","Value":"x"}]}`, "nimbus-default", secret, now, 400, `"__type":"InvalidParameterException"`},
		"prices: a text for a number": {nil, "pricing", `{"ServiceCode":"AmazonEC2","MaxResults":"5"}`, "nimbus-default", secret, now, 400, `"__type":"ValidationException"`},
	} {
		t.Run(name, func(t *testing.T) {
			status, text := r.raw(tc.change, tc.service, http.MethodPost, tc.body, tc.key, tc.secret, tc.at)
			if status != tc.status || !strings.Contains(text, tc.want) {
				t.Errorf("%d %s, want %d %s", status, text, tc.status, tc.want)
			}
		})
	}
}
