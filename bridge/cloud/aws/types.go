package aws

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"spillway.sh/spillway/bridge"
)

// kind is what the machines of a type have.
type kind struct {
	shape    bridge.Shape
	features []string
	markets  []bridge.Market
	archs    []types.ArchitectureType
	network  bridge.Network // at best
	plain    bridge.Network // without RDMA
	efa      int            // network cards that do RDMA
	vcpus    int
}

// runs reports whether an image is for machines of this kind; of one that is not
// known it is not to say.
func (k *kind) runs(i image) bool {
	return i.architecture == "" || len(k.archs) == 0 || slices.Contains(k.archs, types.ArchitectureType(i.architecture))
}

// kinds are the types of a region that may be rented, by name.
func (c *Cloud) kinds(ctx context.Context, r *region, op string) (map[string]kind, time.Time, error) {
	return r.types.get(ctx, c.config.Now, typesAge, func(ctx context.Context) (map[string]kind, error) {
		out := map[string]kind{}
		for part := range parts(c.config.Types) {
			in := &ec2.DescribeInstanceTypesInput{MaxResults: aws.Int32(100)}
			if len(part) > 0 { // a filter, unlike a list, lets a wrong name spoil nothing
				in.Filters = []types.Filter{filter("instance-type", part...)}
			}
			for range pagesLimit {
				page, err := ask(ctx, c, r, op, r.lanes.read, func(ctx context.Context, s *services) (*ec2.DescribeInstanceTypesOutput, error) {
					return s.ec2.DescribeInstanceTypes(ctx, in)
				})
				if err != nil {
					return nil, err
				}
				for i := range page.InstanceTypes {
					t := &page.InstanceTypes[i]
					if k, ok := kindOf(t); ok && (len(c.config.Types) > 0 || k.shape.GPUs > 0) {
						out[string(t.InstanceType)] = k
					}
				}
				if aws.ToString(page.NextToken) == "" {
					break
				}
				in.NextToken = page.NextToken
			}
		}
		c.missing(r, out)
		return out, nil
	})
}

// missing tells of types that a region does not have.
func (c *Cloud) missing(r *region, have map[string]kind) {
	for _, typ := range c.config.Types {
		if _, ok := have[typ]; !ok {
			c.log.Warn("a region has no such instance type, or not as whole machines: it is left out", "region", r.Name, "type", typ, "code", "InvalidInstanceType")
		}
	}
}

// parts yields names in parts of one call's size, or once nothing for no names.
func parts(names []string) func(func([]string) bool) {
	if len(names) == 0 {
		return func(yield func([]string) bool) { yield(nil) }
	}
	return slices.Chunk(names, chunk)
}

// kindOf reads a type. Those that have parts of GPUs are none for jobs that count
// whole ones.
func kindOf(t *types.InstanceTypeInfo) (kind, bool) {
	k := kind{}
	if t.VCpuInfo == nil || t.MemoryInfo == nil {
		return k, false
	}
	k.vcpus = int(aws.ToInt32(t.VCpuInfo.DefaultVCpus))
	k.shape = bridge.Shape{CPUs: k.vcpus, MemoryMiB: aws.ToInt64(t.MemoryInfo.SizeInMiB)}
	for _, u := range t.SupportedUsageClasses {
		switch u {
		case types.UsageClassTypeOnDemand:
			k.markets = append(k.markets, bridge.OnDemand)
		case types.UsageClassTypeSpot:
			k.markets = append(k.markets, bridge.Spot)
		case types.UsageClassTypeCapacityBlock:
		}
	}
	if t.ProcessorInfo != nil {
		k.archs = t.ProcessorInfo.SupportedArchitectures
	}
	if t.GpuInfo != nil {
		for _, g := range t.GpuInfo.Gpus {
			if size := aws.ToFloat64(g.GpuPartitionSize); size != 0 && size < 1 {
				return k, false
			}
			memory := int64(0)
			if g.MemoryInfo != nil {
				memory = int64(aws.ToInt32(g.MemoryInfo.SizeInMiB))
			}
			name, link := gpuOf(aws.ToString(g.Name), memory)
			if n := int(aws.ToInt32(g.Count)); n > 0 {
				k.shape.GPUType, k.shape.GPUs = name, k.shape.GPUs+n
				if n > 1 && link != "" && link != bridge.LinkPCIe {
					k.features = []string{string(link)}
				}
			}
		}
	}
	k.plain, k.efa = networkOf(t.NetworkInfo)
	k.network = k.plain
	if k.efa > 0 {
		k.network = bridge.NetworkRDMA
	}
	return k, k.vcpus > 0 && k.shape.MemoryMiB > 0
}

var notWord = regexp.MustCompile(`[^a-z0-9]+`)

// gpuOf is a GPU under the name that all clouds share; one that nobody knows keeps
// AWS's, as schedulers can write it.
func gpuOf(name string, memoryMiB int64) (string, bridge.Link) {
	if g, ok := bridge.GPUOf(name, memoryMiB); ok {
		return g.Name, g.Link
	}
	if word := strings.Trim(notWord.ReplaceAllString(strings.ToLower(name), "-"), "-"); word != "" {
		return word, ""
	}
	return "gpu", ""
}

var gigabits = regexp.MustCompile(`^(?:(\d+)x )?(\d+(?:\.\d+)?) Gigabit`)

// networkOf is the class of a type's network without RDMA, and how many of its
// cards have that. What is only reached at times ("Up to") counts for nothing.
func networkOf(n *types.NetworkInfo) (plain bridge.Network, efa int) {
	if n == nil {
		return "", 0
	}
	speed := 0.0
	for _, card := range n.NetworkCards {
		speed += aws.ToFloat64(card.BaselineBandwidthInGbps)
	}
	if m := gigabits.FindStringSubmatch(aws.ToString(n.NetworkPerformance)); speed == 0 && m != nil {
		speed, _ = strconv.ParseFloat(m[2], 64)
		if times, err := strconv.Atoi(m[1]); err == nil {
			speed *= float64(times)
		}
	}
	switch {
	case speed >= 100:
		plain = bridge.NetworkVast
	case speed >= 25:
		plain = bridge.NetworkFast
	}
	if aws.ToBool(n.EfaSupported) {
		efa = 1
		if n.EfaInfo != nil {
			efa = max(efa, int(aws.ToInt32(n.EfaInfo.MaximumEfaInterfaces)))
		}
	}
	return plain, efa
}

// zonesByType are the zones that offer a type.
func (c *Cloud) zonesByType(ctx context.Context, r *region) (map[string][]string, time.Time, error) {
	return r.zones.get(ctx, c.config.Now, zonesAge, func(ctx context.Context) (map[string][]string, error) {
		out := map[string][]string{}
		for part := range parts(c.config.Types) {
			in := &ec2.DescribeInstanceTypeOfferingsInput{LocationType: types.LocationTypeAvailabilityZone, MaxResults: aws.Int32(pageMost)}
			if len(part) > 0 {
				in.Filters = []types.Filter{filter("instance-type", part...)}
			}
			for range pagesLimit {
				page, err := ask(ctx, c, r, opOffers, r.lanes.read, func(ctx context.Context, s *services) (*ec2.DescribeInstanceTypeOfferingsOutput, error) {
					return s.ec2.DescribeInstanceTypeOfferings(ctx, in)
				})
				if err != nil {
					return nil, err
				}
				for _, o := range page.InstanceTypeOfferings {
					typ := string(o.InstanceType)
					out[typ] = append(out[typ], aws.ToString(o.Location))
				}
				if aws.ToString(page.NextToken) == "" {
					break
				}
				in.NextToken = page.NextToken
			}
		}
		return out, nil
	})
}
