package openstack

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/availabilityzones"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/limits"

	"spillway.sh/spillway/bridge"
)

// offerAge is how long what was read of flavors, zones and quota may be bought by.
const offerAge = 5 * time.Minute

// source is where prices are from.
const source = "the site's price list in the configuration"

// Offers returns each flavor that has a price, in each zone that is open. How many
// there are in stock is not told to a project; what its quota leaves is.
func (c *Cloud) Offers(ctx context.Context) ([]bridge.Offer, error) {
	now := time.Now().UTC()
	client, err := c.compute(ctx)
	if err != nil {
		return nil, c.fail(opOffers, err)
	}
	all, err := c.allFlavors(ctx, client)
	if err != nil {
		return nil, c.fail(opOffers, err)
	}
	zones, err := c.openZones(ctx, client)
	if err != nil {
		return nil, c.fail(opOffers, err)
	}
	left, err := limits.Get(ctx, client, nil).Extract()
	if err != nil {
		return nil, c.fail(opOffers, err)
	}
	var out []bridge.Offer
	for i := range all {
		f := &all[i]
		price, priced := c.flavors[f.Name]
		if !priced {
			continue
		}
		shape, wrong := shapeOf(f, &price)
		if wrong != "" {
			continue // Examine says so.
		}
		available, limited := quota(&left.Absolute, f)
		for _, zone := range zones {
			out = append(out, bridge.Offer{
				Pool:  bridge.Pool{Cloud: c.config.Name, Region: c.config.Region, Zone: zone, Type: f.Name, Market: bridge.OnDemand},
				Shape: shape, Rate: price.Rate, SampledAt: now, MaxAge: offerAge, Source: source, Boot: c.config.Boot,
				Available: available, Limited: limited, Step: time.Second,
			})
		}
	}
	return out, nil
}

// openZones are the zones that are rented in.
func (c *Cloud) openZones(ctx context.Context, client *gophercloud.ServiceClient) ([]string, error) {
	pages, err := availabilityzones.List(client).AllPages(ctx)
	if err != nil {
		return nil, err //nolint:wrapcheck // The call is named around it.
	}
	list, err := availabilityzones.ExtractAvailabilityZones(pages)
	if err != nil {
		return nil, err //nolint:wrapcheck // The call is named around it.
	}
	var out []string
	for _, z := range list {
		if z.ZoneState.Available && (len(c.zones) == 0 || c.zones[z.ZoneName]) {
			out = append(out, z.ZoneName)
		}
	}
	slices.Sort(out)
	return out, nil
}

// shapeOf is what a machine of a flavor has. Its accelerators are the
// configuration's word, else that of the flavor's extra specs.
func shapeOf(f *flavors.Flavor, price *Flavor) (s bridge.Shape, wrong string) {
	const gib = 1 << 10
	s = bridge.Shape{CPUs: f.VCPUs, MemoryMiB: int64(f.RAM), DiskMiB: int64(f.Disk+f.Ephemeral) * gib}
	name, n := price.GPU, price.GPUs
	if n == 0 {
		name, n = accelerators(f.ExtraSpecs)
	}
	if n == 0 {
		return s, ""
	}
	gpu, known := bridge.GPUOf(name, 0)
	if !known && price.GPU == "" {
		return s, "its extra specs give it " + strconv.Itoa(n) + " of " + strconv.Quote(name) + ", and what that is nobody knows: give gpu and gpus"
	}
	s.GPUs, s.GPUType = n, gpu.Name
	if !known {
		s.GPUType = name // the site's own word
	}
	return s, ""
}

// accelerators reads what extra specs say: pci_passthrough:alias, such as a100:8,
// names a model as the site calls it; those of virtual GPUs and of Cyborg name none.
func accelerators(specs map[string]string) (name string, n int) {
	for one := range strings.SplitSeq(specs["pci_passthrough:alias"], ",") {
		alias, count, _ := strings.Cut(strings.TrimSpace(one), ":")
		of, err := strconv.Atoi(count)
		if err != nil || of < 1 {
			continue
		}
		if _, gpu := bridge.GPUOf(alias, 0); gpu {
			return alias, of
		}
		if name == "" {
			name, n = alias, of
		}
	}
	if name != "" {
		return name, n
	}
	for _, spec := range []string{"resources:VGPU", "resources:PGPU", "accel:device_profile"} {
		if count := specs[spec]; count != "" {
			of, err := strconv.Atoi(count)
			if err != nil {
				of = 1
			}
			return spec, of
		}
	}
	return "", 0
}

// quota is how many machines of a flavor the project may still have, and what
// keeps them from being more. Nova says -1 for no limit.
func quota(a *limits.Absolute, f *flavors.Flavor) (available int, limited string) {
	available = -1
	for _, q := range []struct {
		name            string
		most, used, one int
	}{
		{"instances", a.MaxTotalInstances, a.TotalInstancesUsed, 1},
		{"cores", a.MaxTotalCores, a.TotalCoresUsed, f.VCPUs},
		{"ram", a.MaxTotalRAMSize, a.TotalRAMUsed, f.RAM},
	} {
		if q.most < 0 || q.one <= 0 {
			continue
		}
		if n := max(q.most-q.used, 0) / q.one; available < 0 || n < available {
			available, limited = n, q.name
		}
	}
	return available, limited
}
