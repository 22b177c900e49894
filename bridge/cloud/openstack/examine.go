package openstack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/limits"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"spillway.sh/spillway/bridge"
)

// examination collects findings.
type examination struct {
	cloud *Cloud
	found []bridge.Finding
}

func (x *examination) ok(what, format string, args ...any) {
	x.found = append(x.found, bridge.Finding{What: what, Grade: bridge.GradeOK, Said: fmt.Sprintf(format, args...)})
}

func (x *examination) bad(what string, grade bridge.Grade, said, try string) {
	x.found = append(x.found, bridge.Finding{What: what, Grade: grade, Said: said, Try: try})
}

// broken notes a failure with the cloud's own code.
func (x *examination) broken(what string, err error, try string) {
	f := bridge.Finding{What: what, Grade: bridge.GradeBroken, Said: err.Error(), Try: try}
	if ce, ok := errors.AsType[*bridge.CloudError](x.cloud.fail(opExamine, err)); ok {
		f.Said, f.Code = ce.Message, ce.Code
		if f.Said == "" {
			f.Said = ce.Error()
		}
	}
	x.found = append(x.found, f)
}

// Examine looks at what a rental needs, and rents nothing.
func (c *Cloud) Examine(ctx context.Context) []bridge.Finding {
	x := &examination{cloud: c}
	session, err := c.login(ctx)
	if err != nil {
		x.broken("credentials", err, "openstack --os-cloud … token issue")
		return x.found
	}
	x.project(session)
	client, err := c.compute(ctx)
	if err != nil {
		x.broken("region", err, "openstack catalog show compute")
		return x.found
	}
	if !x.nova(ctx, client) {
		return x.found
	}
	x.image(ctx)
	x.network(ctx)
	x.zones(ctx, client)
	x.flavors(ctx, client)
	return x.found
}

// project says as whom we are logged in, and for how long.
func (x *examination) project(session *gophercloud.ProviderClient) {
	result, ok := session.GetAuthResult().(tokens.CreateResult)
	if !ok {
		x.ok("credentials", "logged in")
		return
	}
	p, err := result.ExtractProject()
	switch {
	case err != nil || p == nil:
		x.bad("credentials", bridge.GradeBroken, "logged in to no project", "make an application credential of the project")
		return
	default:
		x.ok("credentials", "logged in to project %s (%s)", p.Name, p.ID)
	}
	roles, err := result.ExtractRoles()
	if err != nil {
		return
	}
	var names []string
	for _, r := range roles {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	switch {
	case slices.Contains(names, "admin"):
		x.bad("permissions", bridge.GradeWarning, "roles: "+strings.Join(names, ", ")+". admin is more than is needed", "openstack application credential create --role member spillway")
	case slices.Contains(names, "member") || slices.Contains(names, "_member_"):
		x.ok("permissions", "roles: %s", strings.Join(names, ", "))
	default:
		x.bad("permissions", bridge.GradeWarning, "roles: "+strings.Join(names, ", ")+". Nova's own policy wants member to create servers",
			"openstack role add --user … --project … member")
	}
}

// clockMost is how far clocks may be apart before anything we compare is in doubt.
const clockMost = 30 * time.Second

// nova looks at the version and the clock. Without the version there is no use in
// going on.
func (x *examination) nova(ctx context.Context, client *gophercloud.ServiceClient) bool {
	before := time.Now()
	result := limits.Get(ctx, client, nil)
	l, err := result.Extract()
	if err != nil {
		x.broken("microversion", err, "Nova 19 (Stein) or later is needed, which has microversion "+Microversion)
		return false
	}
	x.ok("microversion", "Nova speaks %s", Microversion)
	if at, err := time.Parse(time.RFC1123, result.Header.Get("Date")); err == nil {
		off := at.Sub(before).Round(time.Second)
		if off.Abs() > clockMost {
			x.bad("clock", bridge.GradeWarning, fmt.Sprintf("the cloud's clock is %s from ours", off), "timedatectl status")
		} else {
			x.ok("clock", "the cloud's clock is ours within %s", clockMost)
		}
	}
	a := &l.Absolute
	line := fmt.Sprintf("instances %s, cores %s, ram %s MiB", of(a.TotalInstancesUsed, a.MaxTotalInstances), of(a.TotalCoresUsed, a.MaxTotalCores), of(a.TotalRAMUsed, a.MaxTotalRAMSize))
	full := a.MaxTotalInstances >= 0 && a.TotalInstancesUsed >= a.MaxTotalInstances || a.MaxTotalCores >= 0 && a.TotalCoresUsed >= a.MaxTotalCores
	if full {
		x.bad("quota", bridge.GradeBroken, "nothing is left: "+line, "openstack quota show")
	} else {
		x.ok("quota", "used of allowed: %s", line)
	}
	if need := len(bridgeTags); a.MaxServerMeta >= 0 && a.MaxServerMeta < need {
		x.bad("quota", bridge.GradeBroken, fmt.Sprintf("a server may have %d metadata items, and ours have up to %d", a.MaxServerMeta, need), "openstack quota set --properties 128 …")
	}
	return true
}

// bridgeTags are all metadata that a server may carry.
var bridgeTags = []string{
	bridge.TagStore, bridge.TagCluster, bridge.TagRental, bridge.TagAttempt, bridge.TagAccount, bridge.TagEpoch, bridge.TagRate, bridge.TagFX,
	bridge.TagContract, bridge.TagClass, bridge.TagExpires, bridge.TagTerms, bridge.TagDates, bridge.TagShape, bridge.TagFeatures,
	bridge.TagRequester, bridge.TagJobs, bridge.TagRequest, metaToken, metaCall, metaZone,
}

// of prints what is used of a limit.
func of(used, most int) string {
	if most < 0 {
		return fmt.Sprintf("%d of any", used)
	}
	return fmt.Sprintf("%d of %d", used, most)
}

func (x *examination) image(ctx context.Context) {
	image, err := x.cloud.image(ctx)
	if err != nil {
		x.broken("image", err, "openstack image list")
		return
	}
	x.ok("image", "%s (%s) is active", image.Name, image.ID)
}

func (x *examination) network(ctx context.Context) {
	if _, err := x.cloud.networks(ctx); err != nil {
		x.broken("network", err, "openstack network list")
		return
	}
	if x.cloud.config.Network == NetworkNone {
		x.bad("network", bridge.GradeBroken, "network: none, so machines have no address and cannot join", "network: batch")
		return
	}
	x.ok("network", "machines are put on %s", x.cloud.config.Network)
}

func (x *examination) zones(ctx context.Context, client *gophercloud.ServiceClient) {
	open, err := x.cloud.openZones(ctx, client)
	switch {
	case err != nil:
		x.broken("zones", err, "openstack availability zone list --compute")
	case len(open) == 0:
		x.bad("zones", bridge.GradeBroken, "no zone is open", "openstack availability zone list --compute")
	default:
		x.ok("zones", "open: %s", strings.Join(open, ", "))
	}
	for _, zone := range slices.Sorted(maps.Keys(x.cloud.zones)) {
		if err == nil && !slices.Contains(open, zone) {
			x.bad("zones", bridge.GradeWarning, fmt.Sprintf("zone %q of the configuration is not open", zone), "openstack availability zone list --compute")
		}
	}
}

func (x *examination) flavors(ctx context.Context, client *gophercloud.ServiceClient) {
	all, err := x.cloud.allFlavors(ctx, client)
	if err != nil {
		x.broken("types", err, "openstack flavor list")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(x.cloud.flavors)) {
		price := x.cloud.flavors[name]
		i := slices.IndexFunc(all, func(f flavors.Flavor) bool { return f.Name == name })
		if i < 0 {
			x.bad("types", bridge.GradeBroken, fmt.Sprintf("the project has no flavor %q", name), "openstack flavor list")
			continue
		}
		shape, wrong := shapeOf(&all[i], &price)
		if wrong != "" {
			x.bad("types", bridge.GradeBroken, fmt.Sprintf("flavor %s is not offered: %s", name, wrong), "openstack flavor show "+name)
			continue
		}
		x.ok("types", "%s: %s", name, shape)
	}
}
