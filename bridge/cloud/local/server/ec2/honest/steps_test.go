package honest

// step is one call that every client makes, in this order.
type step struct {
	name   string
	op     string
	waiter string // of boto3, in place of op
	params string // JSON; $IMAGE, $SUBNET and $1, $2 … stand for ids of the world the client is in
	want   string // the code of the refusal; empty: it is done
	// line says that the command lines take it too: they start anew for each call.
	line   bool
	pages  int
	region string
	secret string // instead of the right one
}

// launch is what a RunInstances of ours says, with the count, type, zone and token.
const launch = `{"ImageId": "$IMAGE", "InstanceType": "g6.xlarge", "MinCount": 3, "MaxCount": 3, "SubnetId": "$SUBNET", "ClientToken": "t-1",
	"InstanceInitiatedShutdownBehavior": "terminate", "UserData": "#!/bin/sh\necho hello\n",
	"MetadataOptions": {"HttpTokens": "required", "HttpEndpoint": "enabled", "InstanceMetadataTags": "enabled"},
	"TagSpecifications": [{"ResourceType": "instance", "Tags": [{"Key": "spillway-rental", "Value": "r-0011"}, {"Key": "spillway-store", "Value": "st"}]},
		{"ResourceType": "volume", "Tags": [{"Key": "spillway-rental", "Value": "r-0011"}]}]}`

const ended = `"InstanceInitiatedShutdownBehavior": "terminate"`

// steps are the life of a few machines, with each refusal that a customer of EC2
// has to tell apart.
var steps = []step{
	{name: "who am I", op: "GetCallerIdentity", params: `{}`},
	{name: "an image by its name", op: "DescribeImages", params: `{"ImageIds": ["$IMAGE"]}`},
	{name: "subnets", op: "DescribeSubnets", params: `{"SubnetIds": ["$SUBNET"]}`},
	{name: "a subnet that is not there", op: "DescribeSubnets", params: `{"SubnetIds": ["subnet-00000000000000001"]}`, want: "InvalidSubnetID.NotFound"},
	{name: "types", op: "DescribeInstanceTypes", params: `{"InstanceTypes": ["p4d.24xlarge", "g6.xlarge"]}`, line: true},
	{name: "a type that is not there", op: "DescribeInstanceTypes", params: `{"InstanceTypes": ["bogus.9xlarge"]}`, want: "InvalidInstanceType"},
	{name: "which zones have a type", op: "DescribeInstanceTypeOfferings", params: `{"LocationType": "availability-zone", "Filters": [{"Name": "instance-type", "Values": ["g6.xlarge"]}]}`},
	{name: "zones", op: "DescribeAvailabilityZones", params: `{}`},

	{name: "would it be allowed", op: "RunInstances", params: `{"DryRun": true, "ImageId": "$IMAGE", "InstanceType": "g6.xlarge", "MinCount": 1, "MaxCount": 1, ` + ended + `}`, want: "DryRunOperation", line: true},
	{name: "three machines", op: "RunInstances", params: launch, line: true},
	{name: "the same again is the same three", op: "RunInstances", params: launch},
	{name: "the same token for something else", op: "RunInstances", params: `{"ImageId": "$IMAGE", "InstanceType": "p4d.24xlarge", "MinCount": 1, "MaxCount": 1, "SubnetId": "$SUBNET", "ClientToken": "t-1", ` + ended + `}`, want: "IdempotentParameterMismatch"},
	{name: "four more", op: "RunInstances", params: `{"ImageId": "$IMAGE", "InstanceType": "g6.xlarge", "MinCount": 4, "MaxCount": 4, "SubnetId": "$SUBNET", "ClientToken": "t-2", ` + ended + `, "TagSpecifications": [{"ResourceType": "instance", "Tags": [{"Key": "spillway-rental", "Value": "r-0022"}]}]}`},
	{name: "all of them, in pages", op: "DescribeInstances", params: `{"Filters": [{"Name": "tag:spillway-rental", "Values": ["r-0011", "r-0022"]}]}`, pages: 5, line: true},
	{name: "those of one rental", op: "DescribeInstances", params: `{"Filters": [{"Name": "tag:spillway-rental", "Values": ["r-0011"]}]}`},
	{name: "those with a token", op: "DescribeInstances", params: `{"Filters": [{"Name": "client-token", "Values": ["t-1"]}, {"Name": "instance-state-name", "Values": ["pending", "running"]}]}`},
	{name: "one by its id", op: "DescribeInstances", params: `{"InstanceIds": ["$1"]}`},
	{name: "one that is not there", op: "DescribeInstances", params: `{"InstanceIds": ["i-00000000000000001"]}`, want: "InvalidInstanceID.NotFound"},
	{name: "an id that is none", op: "DescribeInstances", params: `{"InstanceIds": ["machine"]}`, want: "InvalidInstanceID.Malformed"},
	{name: "a page after nothing", op: "DescribeInstances", params: `{"NextToken": "nonsense"}`, want: "InvalidNextToken"},
	{name: "a later end", op: "CreateTags", params: `{"Resources": ["$1", "$2"], "Tags": [{"Key": "spillway-expires", "Value": "2030-01-01T00:00:00Z"}]}`, line: true},
	{name: "a tag of nothing", op: "CreateTags", params: `{"Resources": ["i-00000000000000001"], "Tags": [{"Key": "a", "Value": "b"}]}`, want: "InvalidInstanceID.NotFound"},
	{name: "a tag that is Amazon's", op: "CreateTags", params: `{"Resources": ["$1"], "Tags": [{"Key": "aws:x", "Value": "b"}]}`, want: "InvalidParameterValue"},

	{name: "no such type", op: "RunInstances", params: `{"ImageId": "$IMAGE", "InstanceType": "bogus.9xlarge", "MinCount": 1, "MaxCount": 1, ` + ended + `}`, want: "InvalidParameterValue"},
	{name: "no such image", op: "RunInstances", params: `{"ImageId": "ami-00000000000000001", "InstanceType": "g6.xlarge", "MinCount": 1, "MaxCount": 1, ` + ended + `}`, want: "InvalidAMIID.NotFound"},
	{name: "an image id that is none", op: "RunInstances", params: `{"ImageId": "debian", "InstanceType": "g6.xlarge", "MinCount": 1, "MaxCount": 1, ` + ended + `}`, want: "InvalidAMIID.Malformed"},
	{name: "no such subnet", op: "RunInstances", params: `{"ImageId": "$IMAGE", "InstanceType": "g6.xlarge", "MinCount": 1, "MaxCount": 1, "SubnetId": "subnet-00000000000000001", ` + ended + `}`, want: "InvalidSubnetID.NotFound"},
	{name: "at least more than at most", op: "RunInstances", params: `{"ImageId": "$IMAGE", "InstanceType": "g6.xlarge", "MinCount": 3, "MaxCount": 2, ` + ended + `}`, want: "InvalidParameterValue"},
	{name: "a type that the zone does not have", op: "RunInstances", params: `{"ImageId": "$IMAGE", "InstanceType": "m5.large", "MinCount": 1, "MaxCount": 1, "SubnetId": "$OTHERSUBNET", ` + ended + `}`, want: "Unsupported"},
	{name: "more than there is", op: "RunInstances", params: `{"ImageId": "$IMAGE", "InstanceType": "p4d.24xlarge", "MinCount": 3, "MaxCount": 3, "SubnetId": "$SUBNET", ` + ended + `, "ClientToken": "t-3"}`, want: "InsufficientInstanceCapacity", line: true},
	{name: "as many as there are", op: "RunInstances", params: `{"ImageId": "$IMAGE", "InstanceType": "p4d.24xlarge", "MinCount": 1, "MaxCount": 3, "SubnetId": "$SUBNET", ` + ended + `, "ClientToken": "t-4"}`},
	{name: "spot over the quota", op: "RunInstances", params: `{"ImageId": "$IMAGE", "InstanceType": "g6.xlarge", "MinCount": 5, "MaxCount": 5, "SubnetId": "$SUBNET", ` + ended + `, "ClientToken": "t-5", "InstanceMarketOptions": {"MarketType": "spot"}}`, want: "MaxSpotInstanceCountExceeded"},
	{name: "spot for too little", op: "RunInstances", params: `{"ImageId": "$IMAGE", "InstanceType": "g6.xlarge", "MinCount": 1, "MaxCount": 1, "SubnetId": "$SUBNET", ` + ended + `, "ClientToken": "t-6", "InstanceMarketOptions": {"MarketType": "spot", "SpotOptions": {"MaxPrice": "0.01", "SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}}}`, want: "SpotMaxPriceTooLow"},
	{name: "a spot machine", op: "RunInstances", params: `{"ImageId": "$IMAGE", "InstanceType": "g6.xlarge", "MinCount": 1, "MaxCount": 1, "SubnetId": "$SUBNET", ` + ended + `, "ClientToken": "t-7", "InstanceMarketOptions": {"MarketType": "spot", "SpotOptions": {"MaxPrice": "0.50", "SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}}, "TagSpecifications": [{"ResourceType": "spot-instances-request", "Tags": [{"Key": "spillway-rental", "Value": "r-0033"}]}]}`},
	{name: "what spot costs", op: "DescribeSpotPriceHistory", params: `{"InstanceTypes": ["g6.xlarge"], "ProductDescriptions": ["Linux/UNIX"], "AvailabilityZone": "us-east-1a", "MaxResults": 10}`, line: true},

	{name: "with another's secret", op: "DescribeInstances", params: `{}`, secret: "wrong", want: "SignatureDoesNotMatch", line: true},
	{name: "in a region that is not there", op: "DescribeInstances", params: `{}`, region: "eu-nowhere-9", want: "AuthFailure"},

	{name: "one ends", op: "TerminateInstances", params: `{"InstanceIds": ["$1"]}`, line: true},
	{name: "and ends again", op: "TerminateInstances", params: `{"InstanceIds": ["$1"]}`},
	{name: "one that is not there ends", op: "TerminateInstances", params: `{"InstanceIds": ["$2", "i-00000000000000001"]}`, want: "InvalidInstanceID.NotFound"},
	{name: "the others went on", op: "DescribeInstances", params: `{"InstanceIds": ["$2"]}`},
}
