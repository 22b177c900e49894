package ec2

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// userDataMost is EC2's own limit, before base64.
const userDataMost = 16 << 10

// poolAsked is the pool that a RunInstances is for, as far as it names one.
func (q *request) poolAsked() wire.Pool {
	pool := wire.Pool{Region: q.Region, Type: q.str("InstanceType"), Market: string(bridge.OnDemand)}
	if q.str("InstanceMarketOptions", "MarketType") == "spot" {
		pool.Market = string(bridge.Spot)
	}
	pool.Zone = q.str("Placement", "AvailabilityZone")
	if zone := q.zoneOf(q.subnetAsked()); zone != "" {
		pool.Zone = zone
	}
	if pool.Zone != "" {
		return pool
	}
	// Whoever names no zone leaves it to EC2, which here takes the first that has
	// the type.
	for _, zone := range q.zones() {
		if q.pool(zone, pool.Type, pool.Market) != nil {
			pool.Zone = zone
			break
		}
	}
	return pool
}

// subnetAsked is the subnet, which either the call or its network interface names.
func (q *request) subnetAsked() string {
	if q.has("SubnetId") {
		return q.str("SubnetId")
	}
	for _, n := range q.each("NetworkInterface") {
		return n.str("SubnetId")
	}
	return ""
}

type runInstances struct {
	head
	reservation
}

// run is RunInstances.
func (q *request) run() (any, *Refusal) {
	o := Order{Least: q.num(0, "MinCount"), Hash: q.hash()}
	o.Token, o.Pool, o.Count = q.str("ClientToken"), q.Pool, q.num(0, "MaxCount")
	for _, step := range []func(*Order) *Refusal{
		q.askCounts, q.askImage, q.askPlace, q.askGroups, q.askMarket, q.askEnd, q.askTags, q.askUserData, q.askInterfaces, q.askDevices, q.askManner,
	} {
		if no := step(&o); no != nil {
			return nil, no
		}
	}
	if no := q.dry(); no != nil {
		return nil, no
	}
	made, again, refused := q.Create(o)
	if refused != nil {
		return nil, refused.refusal(q.Pool.Market)
	}
	if again && !slices.ContainsFunc(made, func(m Machine) bool { return m.Ended == "" && m.State != wire.StateError }) {
		return nil, refuse("IdempotentInstanceTerminated", "The client token was used for instances that have been terminated")
	}
	for i := range made {
		if made[i].State == wire.StateError {
			made[i].State, made[i].Fault = wire.StatePending, nil // EC2 tells it later.
		}
	}
	return &runInstances{reservation: q.reservation(made)}, nil
}

// hash stands for all that the call says but its token.
func (q *request) hash() string {
	sum := sha256.New()
	q.leaves(func(_ string, leaf *params) {
		if leaf.path != "ClientToken" && leaf.path != "DryRun" {
			_, _ = fmt.Fprintf(sum, "%q=%q\n", leaf.path, leaf.text) // A hash never fails to write.
		}
	})
	return q.Region + " " + hex.EncodeToString(sum.Sum(nil))
}

func (q *request) askCounts(o *Order) *Refusal {
	switch {
	case o.Least < 1 || o.Count < 1:
		return refuse("InvalidParameterValue", "Value for parameter MinCount or MaxCount is invalid: it is below 1")
	case o.Least > o.Count:
		return refuse("InvalidParameterValue", "Value (%d) for parameter MaxCount is invalid: it is below MinCount, %d", o.Count, o.Least)
	}
	return nil
}

// askImage refuses an image that is not there.
func (q *request) askImage(*Order) *Refusal {
	switch image := q.str("ImageId"); {
	case image == "":
		return refuse("MissingParameter", "The request must contain the parameter ImageId")
	case !strings.HasPrefix(image, "ami-"):
		return refuse("InvalidAMIID.Malformed", "Invalid id: \"%s\" (expecting \"ami-...\")", image)
	case image != q.imageID():
		return refuse("InvalidAMIID.NotFound", "The image id '[%s]' does not exist", image)
	}
	return nil
}

// askPlace refuses a type, subnet or zone that is not there, or not together.
func (q *request) askPlace(*Order) *Refusal {
	kind, subnet, zone := q.Pool.Type, q.subnetAsked(), q.str("Placement", "AvailabilityZone")
	switch {
	case kind == "":
		return refuse("MissingParameter", "The request must contain the parameter InstanceType")
	case !slices.ContainsFunc(q.pools, func(o wire.Offer) bool { return o.Pool.Type == kind }):
		return refuse("InvalidParameterValue", "Invalid value '%s' for InstanceType.", kind)
	case subnet != "" && q.zoneOf(subnet) == "":
		return refuse("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", subnet)
	case zone != "" && !slices.Contains(q.zones(), zone):
		return refuse("InvalidParameterValue", "Invalid availability zone: [%s]", zone)
	case zone != "" && subnet != "" && zone != q.zoneOf(subnet):
		return refuse("InvalidParameterValue", "The subnet %s is not in the availability zone %s", subnet, zone)
	case q.pool(q.Pool.Zone, kind, string(bridge.OnDemand)) == nil && q.pool(q.Pool.Zone, kind, string(bridge.Spot)) == nil:
		return refuse("Unsupported", "Your requested instance type (%s) is not supported in your requested Availability Zone (%s).", kind, q.Pool.Zone)
	case q.pool(q.Pool.Zone, kind, q.Pool.Market) == nil:
		return refuse("Unsupported", "The requested configuration is currently not supported: %s of %s in %s", q.Pool.Market, kind, q.Pool.Zone)
	}
	return nil
}

// askGroups refuses a security group that is not there, and hardware of one's own.
func (q *request) askGroups(*Order) *Refusal {
	if t := q.str("Placement", "Tenancy"); t != "" && t != "default" {
		return refuse("UnsupportedOperation", "Placement.Tenancy other than default is not supported by the local cloud")
	}
	if no := q.checkGroups(q.texts("SecurityGroupId")); no != nil {
		return no
	}
	for _, name := range q.texts("SecurityGroup") {
		if name != groupName {
			return refuse("InvalidGroup.NotFound", "The security group '%s' does not exist", name)
		}
	}
	return nil
}

func (q *request) checkGroups(ids []string) *Refusal {
	for _, want := range ids {
		if want != q.groupID() {
			return refuse("InvalidGroup.NotFound", "The security group '%s' does not exist", want)
		}
	}
	return nil
}

// askMarket reads the ceiling of spot machines. Without one it is the price on
// demand, as EC2 has it.
func (q *request) askMarket(o *Order) *Refusal {
	m := q.get("InstanceMarketOptions")
	spot := m.str("MarketType")
	switch {
	case spot == "" && m.has("SpotOptions"):
		return refuse("InvalidParameterCombination", "SpotOptions need the MarketType spot")
	case spot == "":
		return nil
	case spot != "spot":
		return refuse("UnsupportedOperation", "The MarketType %s is not supported by the local cloud", spot)
	case m.str("SpotOptions", "SpotInstanceType") == "persistent":
		return refuse("UnsupportedOperation", "persistent spot requests are not supported by the local cloud")
	case m.has("SpotOptions", "InstanceInterruptionBehavior") && m.str("SpotOptions", "InstanceInterruptionBehavior") != "terminate":
		return refuse("InvalidParameterCombination", "one-time spot requests are terminated when interrupted")
	}
	offer := q.pool(q.Pool.Zone, q.Pool.Type, q.Pool.Market)
	o.MaxRate.Currency = offer.Rate.Currency
	if !m.has("SpotOptions", "MaxPrice") {
		if on := q.pool(q.Pool.Zone, q.Pool.Type, string(bridge.OnDemand)); on != nil {
			o.MaxRate.Micro = on.Rate.Micro
		}
		return nil
	}
	d, err := decimal.NewFromString(m.str("SpotOptions", "MaxPrice"))
	if micro := d.Shift(6).Floor(); err == nil && micro.IsPositive() && micro.BigInt().IsInt64() {
		o.MaxRate.Micro = micro.IntPart()
		return nil
	}
	return refuse("InvalidParameterValue", "Invalid value '%.40s' for SpotOptions.MaxPrice", m.str("SpotOptions", "MaxPrice"))
}

// askEnd refuses machines that would not be gone once they switch themselves off.
func (q *request) askEnd(*Order) *Refusal {
	if q.str("InstanceInitiatedShutdownBehavior") != "terminate" {
		return refuse("UnsupportedOperation", "machines of the local cloud cannot be stopped: InstanceInitiatedShutdownBehavior must be terminate")
	}
	return nil
}

// askTags reads the tags of the machines. Those of volumes, network interfaces
// and spot requests are checked and forgotten.
func (q *request) askTags(o *Order) *Refusal {
	var seen []string
	for _, spec := range q.each("TagSpecification") {
		kind := spec.str("ResourceType")
		taggable := slices.Contains([]string{"instance", "volume", "network-interface"}, kind) ||
			kind == "spot-instances-request" && q.Pool.Market == string(bridge.Spot)
		if !taggable || slices.Contains(seen, kind) {
			return refuse("InvalidParameterValue", "'%s' is not a valid taggable resource type for this operation, or it is there twice.", kind)
		}
		seen = append(seen, kind)
		tags, no := readTags(spec.each("Tag"))
		if no != nil {
			return no
		}
		if kind == "instance" {
			o.Tags = tags
		}
	}
	return nil
}

func (q *request) askUserData(o *Order) *Refusal {
	text := q.str("UserData")
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return refuse("InvalidParameterValue", "Invalid BASE64 encoding of user data.")
	}
	if len(data) > userDataMost {
		return refuse("InvalidParameterValue", "User data is limited to %d bytes", userDataMost)
	}
	o.UserData = string(data)
	return nil
}

// askInterfaces takes one network interface for each card, that ends with its machine.
func (q *request) askInterfaces(o *Order) *Refusal {
	all := q.each("NetworkInterface")
	if len(all) == 0 {
		return nil
	}
	if q.has("SubnetId") || q.has("SecurityGroupId") || q.has("SecurityGroup") {
		return refuse("InvalidParameterCombination", "Network interfaces and an instance-level subnet ID or security groups may not be specified on the same request")
	}
	offer := q.pool(q.Pool.Zone, q.Pool.Type, q.Pool.Market)
	cards := networkOf(offer).Cards
	var used []int
	for i, n := range all {
		card := n.num(0, "NetworkCardIndex")
		if no := q.checkInterface(n, offer); no != nil {
			return no
		}
		if n.num(-1, "DeviceIndex") != min(i, 1) || card < 0 || card >= cards || slices.Contains(used, card) {
			return refuse("InvalidParameterValue", "network interface %d: %s has %d network cards, one interface on each, of which the first has the DeviceIndex 0 and the others 1", i+1, q.Pool.Type, cards)
		}
		used = append(used, card)
		if n.str("InterfaceType") == "efa" {
			o.Manner.Interface = "efa"
		}
	}
	if used[0] != 0 {
		return refuse("InvalidParameterValue", "the first network interface has the NetworkCardIndex 0")
	}
	return nil
}

// checkInterface refuses an interface that could not be one of the machine's.
func (q *request) checkInterface(n *params, offer *wire.Offer) *Refusal {
	kind, subnet := n.str("InterfaceType"), n.str("SubnetId")
	switch {
	case !slices.Contains([]string{"", "interface", "efa", "efa-only"}, kind):
		return refuse("InvalidParameterValue", "Value (%s) for parameter InterfaceType is invalid", kind)
	case strings.HasPrefix(kind, "efa") && offer.Network != networkRDMA:
		return refuse("InvalidParameterCombination", "EFA interfaces are not supported on %s", q.Pool.Type)
	case n.str("DeleteOnTermination") == "false":
		return refuse("UnsupportedOperation", "a network interface that outlives its machine is not supported by the local cloud")
	case subnet != "" && q.zoneOf(subnet) != q.Pool.Zone:
		return refuse("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist in %s", subnet, q.Pool.Zone)
	}
	return q.checkGroups(n.texts("SecurityGroupId"))
}

// askDevices takes the image's own disk, that ends with its machine.
func (q *request) askDevices(*Order) *Refusal {
	for i, d := range q.each("BlockDeviceMapping") {
		size := d.num(rootGiB, "Ebs", "VolumeSize")
		switch {
		case i > 0 || d.str("DeviceName") != rootDevice:
			return refuse("UnsupportedOperation", "disks other than the image's own, %s, are not supported by the local cloud", rootDevice)
		case d.str("Ebs", "DeleteOnTermination") == "false":
			return refuse("UnsupportedOperation", "a disk that outlives its machine is not supported by the local cloud")
		case size < rootGiB || size > 16384:
			return refuse("InvalidBlockDeviceMapping", "Volume of size %dGB is smaller than snapshot, expect size >= %dGB, or larger than 16384GB", size, rootGiB)
		}
	}
	return nil
}

// askManner reads how the machine meets itself.
func (q *request) askManner(o *Order) *Refusal {
	m := q.get("MetadataOptions")
	if m.str("HttpEndpoint") == "disabled" {
		return refuse("UnsupportedOperation", "machines without a metadata service are not supported by the local cloud")
	}
	if hops := m.num(1, "HttpPutResponseHopLimit"); hops < 1 || hops > 64 {
		return refuse("InvalidParameterValue", "Value (%d) for parameter HttpPutResponseHopLimit is invalid: it is not 1 to 64", hops)
	}
	if p := q.str("CapacityReservationSpecification", "CapacityReservationPreference"); p != "" && p != "open" && p != "none" {
		return refuse("UnsupportedOperation", "capacity reservations are not supported by the local cloud")
	}
	o.Manner.Image = q.imageID()
	o.Manner.TokenRequired = m.str("HttpTokens") == "required"
	o.Manner.MetadataTags = m.str("InstanceMetadataTags") == "enabled"
	if !o.Manner.MetadataTags {
		return nil
	}
	for key := range o.Tags {
		if strings.ContainsFunc(key, outsideMetadata) || key == "." || key == ".." || key == "_index" {
			return refuse("InvalidParameterValue", "'%s' is not a valid tag key. Tag keys must match pattern ([0-9a-zA-Z\\-_+=,.@:]{1,255}), and must not be a reserved name ('.', '..', '_index')", key)
		}
	}
	return nil
}

// outsideMetadata says which characters a key may not have that the metadata
// service shows in a path.
func outsideMetadata(r rune) bool {
	letter := r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	return !letter && !strings.ContainsRune("-_+=,.@:", r)
}

const (
	tagsMost     = 50
	tagKeyMost   = 128
	tagValueMost = 256
)

// readTags reads a list of tags.
func readTags(list []*params) (map[string]string, *Refusal) {
	if len(list) > tagsMost {
		return nil, refuse("TagLimitExceeded", "%d tags, at most %d are allowed", len(list), tagsMost)
	}
	out := map[string]string{}
	for _, p := range list {
		key, value := p.str("Key"), p.str("Value")
		_, twice := out[key]
		switch {
		case key == "":
			return nil, refuse("InvalidParameterValue", "Tag keys must not be empty")
		case strings.HasPrefix(key, "aws:"):
			return nil, refuse("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
		case len([]rune(key)) > tagKeyMost || len([]rune(value)) > tagValueMost:
			return nil, refuse("InvalidParameterValue", "Tag %q exceeds the maximum length of %d characters, or its value that of %d", key, tagKeyMost, tagValueMost)
		case twice:
			return nil, refuse("InvalidParameterValue", "Tag key '%s' specified more than once", key)
		}
		out[key] = value
	}
	return out, nil
}
