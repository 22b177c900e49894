package ec2

// The world's operations, as its faults and limits name them.
const (
	opCreate    = "create"
	opList      = "list"
	opGet       = "get"
	opTerminate = "terminate"
	opUpdate    = "update"
	opOffers    = "offers"
)

// read is an action that only tells. Of pages and filters all of them know the
// same, as far as the model has them.
func read(op string, do func(*request) (any, *Refusal), takes ...string) *action {
	return &action{
		op: op, takes: append(takes, "DryRun", "Filter.Name", "Filter.Value", "MaxResults", "NextToken"),
		do: func(q *request) (any, *Refusal) {
			if no := q.dry(); no != nil {
				return nil, no
			}
			return do(q)
		},
	}
}

func ec2Actions() map[string]*action {
	return map[string]*action{
		"RunInstances":       {op: opCreate, do: (*request).run, takes: runTakes, idle: runIdle},
		"TerminateInstances": {op: opTerminate, do: (*request).terminate, takes: []string{"DryRun", "InstanceId"}},
		"CreateTags":         {op: opUpdate, do: (*request).createTags, takes: []string{"DryRun", "ResourceId", "Tag.Key", "Tag.Value"}},
		"DeleteTags":         {op: opUpdate, do: (*request).deleteTags, takes: []string{"DryRun", "ResourceId", "Tag.Key", "Tag.Value"}},

		"DescribeInstances":            read(opList, (*request).describeInstances, "InstanceId"),
		"DescribeInstanceStatus":       read(opList, (*request).describeInstanceStatus, "InstanceId", "IncludeAllInstances"),
		"DescribeTags":                 read(opGet, (*request).describeTags),
		"DescribeSpotInstanceRequests": read(opGet, (*request).describeSpotRequests, "SpotInstanceRequestId"),

		"DescribeInstanceTypes":         read(opOffers, (*request).describeInstanceTypes, "InstanceType"),
		"DescribeInstanceTypeOfferings": read(opOffers, (*request).describeOfferings, "LocationType"),
		"DescribeSpotPriceHistory": read(opOffers, (*request).describeSpotPrices,
			"InstanceType", "ProductDescription", "AvailabilityZone", "StartTime", "EndTime"),
		"GetSpotPlacementScores": read(opOffers, (*request).placementScores,
			"InstanceType", "TargetCapacity", "TargetCapacityUnitType", "SingleAvailabilityZone", "RegionName"),

		"DescribeImages":            withIdle(read(opGet, (*request).describeImages, "ImageId", "Owner"), "IncludeDeprecated", "IncludeDisabled"),
		"DescribeSubnets":           read(opGet, (*request).describeSubnets, "SubnetId"),
		"DescribeSecurityGroups":    read(opGet, (*request).describeSecurityGroups, "GroupId", "GroupName"),
		"DescribeAvailabilityZones": withIdle(read(opGet, (*request).describeAvailabilityZones, "ZoneName", "ZoneId"), "AllAvailabilityZones"),
		"DescribeRegions":           withIdle(read(opGet, (*request).describeRegions, "RegionName"), "AllRegions"),
	}
}

func withIdle(a *action, idle ...string) *action {
	a.idle = idle
	return a
}

var runTakes = []string{
	"BlockDeviceMapping.DeviceName", "BlockDeviceMapping.Ebs.DeleteOnTermination", "BlockDeviceMapping.Ebs.VolumeSize",
	"CapacityReservationSpecification.CapacityReservationPreference", "ClientToken", "DryRun", "ImageId", "InstanceInitiatedShutdownBehavior",
	"InstanceMarketOptions.MarketType", "InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior",
	"InstanceMarketOptions.SpotOptions.MaxPrice", "InstanceMarketOptions.SpotOptions.SpotInstanceType", "InstanceType", "MaxCount",
	"MetadataOptions.HttpEndpoint", "MetadataOptions.HttpTokens", "MetadataOptions.InstanceMetadataTags", "MinCount",
	"NetworkInterface.DeleteOnTermination", "NetworkInterface.DeviceIndex", "NetworkInterface.InterfaceType",
	"NetworkInterface.NetworkCardIndex", "NetworkInterface.SecurityGroupId", "NetworkInterface.SubnetId", "Placement.AvailabilityZone",
	"Placement.Tenancy", "SecurityGroup", "SecurityGroupId", "SubnetId", "TagSpecification.ResourceType", "TagSpecification.Tag.Key",
	"TagSpecification.Tag.Value", "UserData",
}

// runIdle are checked and have no effect, as machines here have no disk of their
// own kind, no address to the outside and one path to their metadata.
var runIdle = []string{
	"BlockDeviceMapping.Ebs.Encrypted", "BlockDeviceMapping.Ebs.Iops", "BlockDeviceMapping.Ebs.Throughput", "BlockDeviceMapping.Ebs.VolumeType",
	"EbsOptimized", "MetadataOptions.HttpPutResponseHopLimit", "Monitoring.Enabled", "NetworkInterface.AssociatePublicIpAddress",
	"NetworkInterface.Description",
}

func stsActions() map[string]*action {
	return map[string]*action{"GetCallerIdentity": {op: opGet, do: (*request).callerIdentity}}
}

func pricingActions() map[string]*action {
	return map[string]*action{"GetProducts": {
		op: opOffers, do: (*request).getProducts,
		takes: []string{"ServiceCode", "FormatVersion", "Filters.Type", "Filters.Field", "Filters.Value", "MaxResults", "NextToken"},
	}}
}

func quotaActions() map[string]*action {
	return map[string]*action{
		"ListServiceQuotas": {op: opOffers, do: (*request).listQuotas, takes: []string{"ServiceCode", "QuotaCode", "MaxResults", "NextToken"}},
		"GetServiceQuota":   {op: opOffers, do: (*request).getQuota, takes: []string{"ServiceCode", "QuotaCode"}},
	}
}
