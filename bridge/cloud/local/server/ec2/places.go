package ec2

import (
	"slices"
	"strconv"

	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// What every region has: one image, one network with a subnet in each zone, one
// security group. Their ids are derived and stay.

func (q *request) imageID() string   { return ImageID(q.Cloud, q.Region) }
func (q *request) vpcID() string     { return id("vpc", q.Cloud, q.Account, q.Region) }
func (q *request) groupID() string   { return id("sg", q.Cloud, q.Account, q.Region) }
func (q *request) owner() string     { return number(q.Cloud, q.Account) }
func (q *request) imageName() string { return "local-cloud-linux-x86_64" }

func (q *request) subnetID(zone string) string {
	return id("subnet", q.Cloud, q.Account, q.Region, zone)
}

const (
	groupName  = "default"
	rootDevice = "/dev/xvda"
	rootGiB    = 8
)

// regions are all of the cloud, in its order.
func (q *request) regions() []string {
	var out []string
	for _, o := range q.pools {
		if !slices.Contains(out, o.Pool.Region) {
			out = append(out, o.Pool.Region)
		}
	}
	return out
}

// zonesOf are all of a region, in the cloud's order.
func (q *request) zonesOf(region string) []string {
	var out []string
	for _, o := range q.pools {
		if o.Pool.Region == region && !slices.Contains(out, o.Pool.Zone) {
			out = append(out, o.Pool.Zone)
		}
	}
	return out
}

func (q *request) zones() []string { return q.zonesOf(q.Region) }

// zoneID is the name that a zone has for all accounts.
func (q *request) zoneID(region, zone string) string {
	return region + "-az" + strconv.Itoa(slices.Index(q.zonesOf(region), zone)+1)
}

// zoneOf is the zone of a subnet; empty if there is no such subnet.
func (q *request) zoneOf(subnet string) string {
	for _, zone := range q.zones() {
		if q.subnetID(zone) == subnet {
			return zone
		}
	}
	return ""
}

// pool finds a pool of the request's region.
func (q *request) pool(zone, kind, market string) *wire.Offer {
	want := wire.Pool{Region: q.Region, Zone: zone, Type: kind, Market: market}
	for i := range q.pools {
		if q.pools[i].Pool == want {
			return &q.pools[i]
		}
	}
	return nil
}

type tag struct {
	Key   string `xml:"key"`
	Value string `xml:"value"`
}

type blockDevice struct {
	Name string     `xml:"deviceName"`
	Ebs  blockImage `xml:"ebs"`
}

type blockImage struct {
	DeleteOnTermination bool   `xml:"deleteOnTermination"`
	VolumeSize          int    `xml:"volumeSize"`
	VolumeType          string `xml:"volumeType"`
}

type image struct {
	ID              string        `xml:"imageId"`
	Location        string        `xml:"imageLocation"`
	State           string        `xml:"imageState"`
	Owner           string        `xml:"imageOwnerId"`
	OwnerAlias      string        `xml:"imageOwnerAlias"`
	Public          bool          `xml:"isPublic"`
	Architecture    string        `xml:"architecture"`
	Type            string        `xml:"imageType"`
	Name            string        `xml:"name"`
	Description     string        `xml:"description"`
	RootDeviceType  string        `xml:"rootDeviceType"`
	RootDeviceName  string        `xml:"rootDeviceName"`
	Devices         []blockDevice `xml:"blockDeviceMapping>item"`
	Virtualization  string        `xml:"virtualizationType"`
	Hypervisor      string        `xml:"hypervisor"`
	EnaSupport      bool          `xml:"enaSupport"`
	PlatformDetails string        `xml:"platformDetails"`
	UsageOperation  string        `xml:"usageOperation"`
	CreationDate    string        `xml:"creationDate"`
}

type describeImages struct {
	head
	Images []image `xml:"imagesSet>item"`
	Next   string  `xml:"nextToken,omitempty"`
}

var imageFilters = []string{"architecture", "image-id", "image-type", "is-public", "name", "owner-alias", "owner-id", "root-device-type", "state", "virtualization-type", "hypervisor"}

func (q *request) describeImages() (any, *Refusal) {
	filters, no := q.filters(imageFilters...)
	if no != nil {
		return nil, no
	}
	owner := number("images")
	one := image{
		ID: q.imageID(), Location: "amazon/" + q.imageName(), State: "available", Owner: owner, OwnerAlias: "amazon", Public: true,
		Architecture: "x86_64", Type: "machine", Name: q.imageName(), Description: "what machines of the local cloud run",
		RootDeviceType: "ebs", RootDeviceName: rootDevice, Virtualization: "hvm", Hypervisor: "xen", EnaSupport: true,
		Devices:         []blockDevice{{rootDevice, blockImage{true, rootGiB, "gp3"}}},
		PlatformDetails: "Linux/UNIX", UsageOperation: "RunInstances", CreationDate: "2026-11-30T00:00:00.000Z",
	}
	for _, want := range q.texts("ImageId") {
		if want != one.ID {
			return nil, refuse("InvalidAMIID.NotFound", "The image id '[%s]' does not exist", want)
		}
	}
	a := attributes{
		"architecture": {one.Architecture}, "image-id": {one.ID}, "image-type": {one.Type}, "is-public": {"true"}, "name": {one.Name},
		"owner-alias": {one.OwnerAlias}, "owner-id": {owner}, "root-device-type": {one.RootDeviceType}, "state": {one.State},
		"virtualization-type": {one.Virtualization}, "hypervisor": {one.Hypervisor},
	}
	out := &describeImages{}
	owners := q.texts("Owner")
	if a.pass(filters) && (chosen(owners, "amazon") || slices.Contains(owners, owner)) {
		out.Images = []image{one}
	}
	out.Images, out.Next, no = pageOf(q, out.Images, pageMost)
	return out, no
}

type subnet struct {
	ID           string `xml:"subnetId"`
	ARN          string `xml:"subnetArn"`
	State        string `xml:"state"`
	Owner        string `xml:"ownerId"`
	VPC          string `xml:"vpcId"`
	CIDR         string `xml:"cidrBlock"`
	Free         int    `xml:"availableIpAddressCount"`
	Zone         string `xml:"availabilityZone"`
	ZoneID       string `xml:"availabilityZoneId"`
	DefaultForAZ bool   `xml:"defaultForAz"`
	MapPublicIP  bool   `xml:"mapPublicIpOnLaunch"`
}

type describeSubnets struct {
	head
	Subnets []subnet `xml:"subnetSet>item"`
	Next    string   `xml:"nextToken,omitempty"`
}

var subnetFilters = []string{"availability-zone", "availability-zone-id", "default-for-az", "state", "subnet-id", "vpc-id", "owner-id", "tag-key"}

func (q *request) describeSubnets() (any, *Refusal) {
	filters, no := q.filters(subnetFilters...)
	if no != nil {
		return nil, no
	}
	wanted := q.texts("SubnetId")
	for _, want := range wanted {
		if q.zoneOf(want) == "" {
			return nil, refuse("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", want)
		}
	}
	var all []subnet
	for i, zone := range q.zones() {
		one := subnet{
			ID: q.subnetID(zone), State: "available", Owner: q.owner(), VPC: q.vpcID(), CIDR: "172.31." + strconv.Itoa(i*16%256) + ".0/20", Free: 4091,
			Zone: zone, ZoneID: q.zoneID(q.Region, zone), DefaultForAZ: true, MapPublicIP: true,
		}
		one.ARN = "arn:aws:ec2:" + q.Region + ":" + one.Owner + ":subnet/" + one.ID
		a := attributes{
			"availability-zone": {zone}, "availability-zone-id": {one.ZoneID}, "default-for-az": {"true"}, "state": {one.State},
			"subnet-id": {one.ID}, "vpc-id": {one.VPC}, "owner-id": {one.Owner},
		}
		if chosen(wanted, one.ID) && a.pass(filters) {
			all = append(all, one)
		}
	}
	out := &describeSubnets{}
	out.Subnets, out.Next, no = pageOf(q, all, len(all))
	return out, no
}

type permission struct {
	Protocol string   `xml:"ipProtocol"`
	Ranges   []cidr   `xml:"ipRanges>item"`
	Groups   []within `xml:"groups>item"`
}

type cidr struct {
	CIDR string `xml:"cidrIp"`
}

type within struct {
	Owner string `xml:"userId"`
	ID    string `xml:"groupId"`
}

type securityGroup struct {
	Owner       string       `xml:"ownerId"`
	ID          string       `xml:"groupId"`
	Name        string       `xml:"groupName"`
	Description string       `xml:"groupDescription"`
	VPC         string       `xml:"vpcId"`
	In          []permission `xml:"ipPermissions>item"`
	Out         []permission `xml:"ipPermissionsEgress>item"`
}

type describeSecurityGroups struct {
	head
	Groups []securityGroup `xml:"securityGroupInfo>item"`
	Next   string          `xml:"nextToken,omitempty"`
}

func (q *request) describeSecurityGroups() (any, *Refusal) {
	filters, no := q.filters("group-id", "group-name", "vpc-id", "owner-id", "description", "tag-key")
	if no != nil {
		return nil, no
	}
	one := securityGroup{
		Owner: q.owner(), ID: q.groupID(), Name: groupName, Description: "default VPC security group", VPC: q.vpcID(),
		In: []permission{{Protocol: "-1", Groups: []within{{q.owner(), q.groupID()}}}}, Out: []permission{{Protocol: "-1", Ranges: []cidr{{"0.0.0.0/0"}}}},
	}
	for _, want := range q.texts("GroupId") {
		if want != one.ID {
			return nil, refuse("InvalidGroup.NotFound", "The security group '%s' does not exist", want)
		}
	}
	for _, want := range q.texts("GroupName") {
		if want != one.Name {
			return nil, refuse("InvalidGroup.NotFound", "The security group '%s' does not exist", want)
		}
	}
	a := attributes{"group-id": {one.ID}, "group-name": {one.Name}, "vpc-id": {one.VPC}, "owner-id": {one.Owner}, "description": {one.Description}}
	out := &describeSecurityGroups{}
	if a.pass(filters) {
		out.Groups = []securityGroup{one}
	}
	out.Groups, out.Next, no = pageOf(q, out.Groups, pageMost)
	return out, no
}

type availabilityZone struct {
	Name   string `xml:"zoneName"`
	State  string `xml:"zoneState"`
	Region string `xml:"regionName"`
	ID     string `xml:"zoneId"`
	Group  string `xml:"groupName"`
	Border string `xml:"networkBorderGroup"`
	Type   string `xml:"zoneType"`
	OptIn  string `xml:"optInStatus"`
}

type describeAvailabilityZones struct {
	head
	Zones []availabilityZone `xml:"availabilityZoneInfo>item"`
}

func (q *request) describeAvailabilityZones() (any, *Refusal) {
	filters, no := q.filters("region-name", "state", "zone-id", "zone-name", "zone-type", "opt-in-status", "group-name")
	if no != nil {
		return nil, no
	}
	out := &describeAvailabilityZones{}
	names, ids := q.texts("ZoneName"), q.texts("ZoneId")
	for _, want := range names {
		if !slices.Contains(q.zones(), want) {
			return nil, refuse("InvalidParameterValue", "Invalid availability zones: [%s]", want)
		}
	}
	for _, zone := range q.zones() {
		one := availabilityZone{
			Name: zone, State: "available", Region: q.Region, ID: q.zoneID(q.Region, zone), Group: q.Region, Border: q.Region,
			Type: "availability-zone", OptIn: "opt-in-not-required",
		}
		a := attributes{
			"region-name": {one.Region}, "state": {one.State}, "zone-id": {one.ID}, "zone-name": {one.Name}, "zone-type": {one.Type},
			"opt-in-status": {one.OptIn}, "group-name": {one.Group},
		}
		if chosen(names, one.Name) && chosen(ids, one.ID) && a.pass(filters) {
			out.Zones = append(out.Zones, one)
		}
	}
	return out, nil
}

type region struct {
	Name     string `xml:"regionName"`
	Endpoint string `xml:"regionEndpoint"`
	OptIn    string `xml:"optInStatus"`
}

type describeRegions struct {
	head
	Regions []region `xml:"regionInfo>item"`
}

func (q *request) describeRegions() (any, *Refusal) {
	filters, no := q.filters("region-name", "endpoint", "opt-in-status")
	if no != nil {
		return nil, no
	}
	out, names := &describeRegions{}, q.texts("RegionName")
	for _, want := range names {
		if !slices.Contains(q.regions(), want) {
			return nil, refuse("InvalidParameterValue", "Invalid region names: [%s]", want)
		}
	}
	for _, name := range q.regions() {
		one := region{name, "ec2." + name + ".amazonaws.com", "opt-in-not-required"}
		a := attributes{"region-name": {one.Name}, "endpoint": {one.Endpoint}, "opt-in-status": {one.OptIn}}
		if chosen(names, name) && a.pass(filters) {
			out.Regions = append(out.Regions, one)
		}
	}
	return out, nil
}
