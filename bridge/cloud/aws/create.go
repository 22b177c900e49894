package aws

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/shopspring/decimal"

	"spillway.sh/spillway/bridge"
)

// Create sends one RunInstances, once, for all machines or none. The handle names
// them and when they were launched.
func (c *Cloud) Create(ctx context.Context, l bridge.Launch) (bridge.Handle, error) {
	r, err := c.regionOf(opCreate, &l)
	if err != nil {
		return "", err
	}
	if err := c.affordable(ctx, r, &l); err != nil {
		return "", err
	}
	in, err := c.request(ctx, r, &l)
	if err != nil {
		return "", err
	}
	out, err := ask(ctx, c, r, opCreate, r.lanes.run, func(ctx context.Context, s *services) (*ec2.RunInstancesOutput, error) {
		return s.ec2.RunInstances(ctx, in)
	})
	if e, ok := errors.AsType[*bridge.CloudError](err); ok {
		return "", c.noRoute(e, r.Name)
	}
	r.used.age()
	h := handle{}
	for i := range out.Instances {
		m := &out.Instances[i]
		h.ids = append(h.ids, aws.ToString(m.InstanceId))
		if at := aws.ToTime(m.LaunchTime); !at.IsZero() && (h.launched.IsZero() || at.Before(h.launched)) {
			h.launched = at
		}
	}
	c.learn(r, h.ids...)
	if len(h.ids) == 0 || slices.Contains(h.ids, "") {
		return "", &bridge.CloudError{Kind: bridge.CloudUnknown, Op: opCreate, Cloud: c.config.Name, Err: errNothing}
	}
	slices.Sort(h.ids)
	return h.pack(), nil
}

// affordable refuses machines on demand that cost more than the launch's ceiling:
// EC2 has none for them. Spot machines have it in their call.
func (c *Cloud) affordable(ctx context.Context, r *region, l *bridge.Launch) error {
	refuse := func(kind bridge.CloudErrorKind, text string) error {
		return &bridge.CloudError{Kind: kind, Op: opCreate, Cloud: c.config.Name, Message: text}
	}
	switch {
	case l.Pool.Market != bridge.OnDemand && l.Pool.Market != bridge.Spot:
		return refuse(bridge.CloudInvalid, fmt.Sprintf("EC2 has no market %q", l.Pool.Market))
	case l.Count < 1:
		return refuse(bridge.CloudInvalid, fmt.Sprintf("%d machines were asked for", l.Count))
	case l.MaxRate.Micro <= 0:
		return nil
	case l.MaxRate.Currency != r.currency:
		return refuse(bridge.CloudInvalid, fmt.Sprintf("the ceiling is in %q, region %s charges %s", l.MaxRate.Currency, r.Name, r.currency))
	case l.Pool.Market == bridge.Spot:
		return nil
	}
	rates, at, err := c.onDemandRates(ctx, r, opCreate)
	if at.IsZero() || c.config.Now().Sub(at) > onDemandMaxAge {
		return unsent(err)
	}
	rate, ok := rates[l.Pool.Type]
	switch {
	case !ok:
		return refuse(bridge.CloudInvalid, "no price on demand is listed for "+l.Pool.Type+" in "+r.Name)
	case rate.Micro > l.MaxRate.Micro:
		return refuse(bridge.CloudPrice, fmt.Sprintf("on demand it costs %s an hour, at most %s was agreed", bridge.Money(rate), bridge.Money(l.MaxRate)))
	}
	return nil
}

// request is the whole call, the same for the same launch.
func (c *Cloud) request(ctx context.Context, r *region, l *bridge.Launch) (*ec2.RunInstancesInput, error) {
	in := &ec2.RunInstancesInput{
		MinCount: aws.Int32(int32(l.Count)), MaxCount: aws.Int32(int32(l.Count)), //nolint:gosec // A gang is no larger than a tag has room for.
		ClientToken: aws.String(l.Token), ImageId: aws.String(r.Image), InstanceType: types.InstanceType(l.Pool.Type),
		// The machine's own timer switches it off at its end, whatever becomes of us.
		InstanceInitiatedShutdownBehavior: types.ShutdownBehaviorTerminate,
		UserData:                          aws.String(base64.StdEncoding.EncodeToString([]byte(l.UserData))),
		MetadataOptions: &types.InstanceMetadataOptionsRequest{
			HttpEndpoint: types.InstanceMetadataEndpointStateEnabled, HttpTokens: types.HttpTokensStateRequired,
			HttpPutResponseHopLimit: aws.Int32(1), InstanceMetadataTags: types.InstanceMetadataTagsStateEnabled,
		},
		TagSpecifications: tagsIn(l),
	}
	if c.config.KeyName != "" {
		in.KeyName = aws.String(c.config.KeyName)
	}
	if p := c.config.InstanceProfile; strings.HasPrefix(p, "arn:") {
		in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Arn: aws.String(p)}
	} else if p != "" {
		in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: aws.String(p)}
	}
	if l.Pool.Market == bridge.Spot {
		in.InstanceMarketOptions = spotOptions(l)
	}
	if err := c.place(ctx, r, l, in); err != nil {
		return nil, err
	}
	disks, err := c.disks(ctx, r)
	if err != nil {
		return nil, unsent(err)
	}
	in.BlockDeviceMappings = disks
	return in, nil
}

func spotOptions(l *bridge.Launch) *types.InstanceMarketOptionsRequest {
	o := &types.SpotMarketOptions{
		SpotInstanceType: types.SpotInstanceTypeOneTime, InstanceInterruptionBehavior: types.InstanceInterruptionBehaviorTerminate,
	}
	if l.MaxRate.Micro > 0 {
		o.MaxPrice = aws.String(decimal.New(l.MaxRate.Micro, -6).String())
	}
	return &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot, SpotOptions: o}
}

// place says in which subnet, behind which groups, and by which interfaces.
func (c *Cloud) place(ctx context.Context, r *region, l *bridge.Launch, in *ec2.RunInstancesInput) error {
	subnet := r.Subnets[l.Pool.Zone]
	if subnet == "" && len(r.Subnets) > 0 {
		return &bridge.CloudError{
			Kind: bridge.CloudInvalid, Op: opCreate, Cloud: c.config.Name, Message: "no subnet is configured for zone " + l.Pool.Zone,
		}
	}
	in.Placement = &types.Placement{AvailabilityZone: aws.String(l.Pool.Zone)}
	if c.config.EFA {
		kinds, at, err := c.kinds(ctx, r, opCreate)
		if at.IsZero() {
			return unsent(err)
		}
		if n := kinds[l.Pool.Type].efa; n > 0 {
			in.NetworkInterfaces = interfaces(n, subnet, r.SecurityGroups)
			return nil
		}
	}
	if subnet != "" {
		in.SubnetId = aws.String(subnet)
	}
	in.SecurityGroupIds = r.SecurityGroups
	return nil
}

// interfaces are those of a machine with n network cards that do RDMA. The first
// carries plain traffic as well; all go with their machine.
func interfaces(n int, subnet string, groups []string) []types.InstanceNetworkInterfaceSpecification {
	var out []types.InstanceNetworkInterfaceSpecification
	for card := range n {
		i := types.InstanceNetworkInterfaceSpecification{
			DeviceIndex: aws.Int32(int32(min(card, 1))), NetworkCardIndex: aws.Int32(int32(card)), //nolint:gosec // Tens at most.
			InterfaceType: aws.String("efa-only"), Groups: groups, DeleteOnTermination: aws.Bool(true),
		}
		if card == 0 {
			i.InterfaceType = aws.String("efa")
		}
		if subnet != "" {
			i.SubnetId = aws.String(subnet)
		}
		out = append(out, i)
	}
	return out
}

// tagsIn are the tags of all that the call makes. The end is what the launch says:
// the machine reads it there.
func tagsIn(l *bridge.Launch) []types.TagSpecification {
	said := maps.Clone(l.Tags)
	if said == nil {
		said = map[string]string{}
	}
	if !l.Expires.IsZero() {
		said[bridge.TagExpires] = l.Expires.UTC().Format(time.RFC3339)
	}
	var tags []types.Tag
	for _, key := range slices.Sorted(maps.Keys(said)) {
		tags = append(tags, types.Tag{Key: aws.String(key), Value: aws.String(said[key])})
	}
	made := []types.ResourceType{types.ResourceTypeInstance, types.ResourceTypeVolume, types.ResourceTypeNetworkInterface}
	if l.Pool.Market == bridge.Spot {
		made = append(made, types.ResourceTypeSpotInstancesRequest)
	}
	var out []types.TagSpecification
	for _, kind := range made {
		out = append(out, types.TagSpecification{ResourceType: kind, Tags: tags})
	}
	return out
}

// handle is what a create made.
type handle struct {
	ids      []string
	launched time.Time // zero: not said
}

func (h handle) pack() bridge.Handle {
	unix := int64(0)
	if !h.launched.IsZero() {
		unix = h.launched.Unix()
	}
	return bridge.Handle(strconv.FormatInt(unix, 10) + " " + strings.Join(h.ids, " "))
}

func unpack(h bridge.Handle) handle {
	f := strings.Fields(string(h))
	if len(f) == 0 {
		return handle{}
	}
	out := handle{ids: f}
	if unix, err := strconv.ParseInt(f[0], 10, 64); err == nil {
		out.ids = f[1:]
		if unix > 0 {
			out.launched = time.Unix(unix, 0).UTC()
		}
	}
	return out
}

// image is what machines are made from.
type image struct {
	architecture types.ArchitectureValues
	root         string // name of its own disk
	rootGiB      int
	keeps        []string // disks that would outlive a machine
}

// imageAge is how long an image is not looked at again; one never changes.
const imageAge = 6 * time.Hour

// imageOf looks at a region's image.
func (c *Cloud) imageOf(ctx context.Context, r *region, op string) (image, time.Time, error) {
	return r.image.get(ctx, c.config.Now, imageAge, func(ctx context.Context) (image, error) {
		out, err := ask(ctx, c, r, op, r.lanes.read, func(ctx context.Context, s *services) (*ec2.DescribeImagesOutput, error) {
			return s.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{r.Image}})
		})
		if err != nil {
			return image{}, err
		}
		if len(out.Images) == 0 {
			return image{}, &bridge.CloudError{
				Kind: bridge.CloudInvalid, Op: op, Cloud: c.config.Name, Code: "InvalidAMIID.NotFound", Reach: bridge.ReachRegion,
				Message: "image " + r.Image + " is not in region " + r.Name + ", or this account may not use it",
			}
		}
		i := &out.Images[0]
		got := image{architecture: i.Architecture, root: aws.ToString(i.RootDeviceName)}
		for _, d := range i.BlockDeviceMappings {
			switch {
			case d.Ebs == nil:
				continue
			case aws.ToString(d.DeviceName) == got.root:
				got.rootGiB = int(aws.ToInt32(d.Ebs.VolumeSize))
			}
			if !aws.ToBool(d.Ebs.DeleteOnTermination) {
				got.keeps = append(got.keeps, aws.ToString(d.DeviceName))
			}
		}
		return got, nil
	})
}

// disks are what differs from the image: the size of its own disk, and that none
// outlives its machine.
func (c *Cloud) disks(ctx context.Context, r *region) ([]types.BlockDeviceMapping, error) {
	i, at, err := c.imageOf(ctx, r, opCreate)
	if at.IsZero() {
		return nil, err
	}
	var out []types.BlockDeviceMapping
	own := func() *types.EbsBlockDevice { return &types.EbsBlockDevice{DeleteOnTermination: aws.Bool(true)} }
	grow := c.config.Disk > i.rootGiB && i.root != ""
	if grow {
		d := own()
		d.VolumeSize = aws.Int32(int32(c.config.Disk)) //nolint:gosec // At most 16384, see config.
		out = append(out, types.BlockDeviceMapping{DeviceName: aws.String(i.root), Ebs: d})
	}
	for _, name := range i.keeps {
		if !grow || name != i.root {
			out = append(out, types.BlockDeviceMapping{DeviceName: aws.String(name), Ebs: own()})
		}
	}
	return out, nil
}

// diskMiB is what the image's own disk has on a machine.
func (c *Cloud) diskMiB(i image) int64 { return int64(max(c.config.Disk, i.rootGiB)) << 10 }
