package openstack

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"spillway.sh/spillway/bridge"
)

// What Nova takes.
const (
	tokenMost    = 48        // letters, so that it has room in a tag
	metaMost     = 255       // of a name or a value
	userDataMost = 1<<16 - 1 // in base64
)

// Create asks for all machines in one request. Nova would make more of them for
// each one that is sent, so the whole list is read first: a create whose answer was
// lost is found there, and not sent again.
func (c *Cloud) Create(ctx context.Context, l bridge.Launch) (bridge.Handle, error) {
	if err := c.check(&l); err != nil {
		return "", err
	}
	defer c.creating.take(l.Token)()
	there, err := c.made(ctx, &l)
	if err != nil {
		return "", unsent(err)
	}
	if there {
		return bridge.Handle(l.Token), nil
	}
	client, opts, err := c.request(ctx, &l)
	if err != nil {
		return "", unsent(err)
	}
	if _, err := servers.Create(ctx, client, opts, nil).Extract(); err != nil {
		return "", c.notCreated(err)
	}
	return bridge.Handle(l.Token), nil
}

// notCreated says what a create that failed means.
func (c *Cloud) notCreated(err error) error {
	out := c.fail(opCreate, err)
	switch kind := bridge.KindOf(out); {
	case kind == bridge.CloudUnknown && notReached(err):
		return unsent(out)
	case kind == bridge.CloudNotFound: // a flavor or an image, gone since it was looked up
		return c.refuse(opCreate, bridge.CloudInvalid, "404 itemNotFound", out.Error())
	}
	return out
}

// check refuses what Nova would, and what it would take and should not.
func (c *Cloud) check(l *bridge.Launch) error { //nolint:gocyclo // One condition for each thing that a create must be.
	no := func(kind bridge.CloudErrorKind, format string, args ...any) error {
		return c.refuse(opCreate, kind, "", fmt.Sprintf(format, args...))
	}
	flavor, priced := c.flavors[l.Pool.Type]
	switch {
	case l.Pool.Cloud != c.config.Name || l.Pool.Region != c.config.Region:
		return no(bridge.CloudInvalid, "pool %s is not of region %s of %s", l.Pool, c.config.Region, c.config.Name)
	case l.Pool.Market != bridge.OnDemand:
		return no(bridge.CloudInvalid, "there is no market %s on OpenStack", l.Pool.Market)
	case len(c.zones) > 0 && !c.zones[l.Pool.Zone]:
		return no(bridge.CloudInvalid, "zone %q is none of those in the configuration", l.Pool.Zone)
	case !priced:
		return no(bridge.CloudInvalid, "flavor %q has no price in the configuration", l.Pool.Type)
	case l.Count < 1:
		return no(bridge.CloudInvalid, "%d machines", l.Count)
	case l.Token == "" || len(l.Token) > tokenMost || !serverID.MatchString(l.Token):
		return no(bridge.CloudInvalid, "the token must have 1 to %d letters, digits or dashes", tokenMost)
	case l.MaxRate.Currency != flavor.Rate.Currency || l.MaxRate.Micro < flavor.Rate.Micro:
		return no(bridge.CloudPrice, "flavor %s costs %d millionths of a %s an hour, the ceiling is %d of a %s",
			flavor.Name, flavor.Rate.Micro, flavor.Rate.Currency, l.MaxRate.Micro, l.MaxRate.Currency)
	case base64.StdEncoding.EncodedLen(len(l.UserData)) > userDataMost:
		return no(bridge.CloudInvalid, "the boot script has %d bytes; Nova takes %d", len(l.UserData), userDataMost/4*3)
	}
	for k, v := range l.Tags {
		if !strings.HasPrefix(k, ours) || len(k) > metaMost || len(v) > metaMost {
			return no(bridge.CloudInvalid, "tag %.40q does not fit: at most %d bytes", k, metaMost)
		}
	}
	return nil
}

// name begins the names of a create's servers, deleted ones too, which have
// nothing else left.
func name(l *bridge.Launch) string { return fmt.Sprintf("%s-%d-%s", l.Rental, l.Attempt, l.Token) }

// tag is on all servers of a create.
func tag(l *bridge.Launch) string { return ours + l.Token }

// made reports whether machines of a create are there, or were. A list that is
// not whole cannot say no.
func (c *Cloud) made(ctx context.Context, l *bridge.Launch) (bool, error) {
	all, whole, err := c.servers(ctx, servers.ListOpts{})
	if err != nil {
		return false, c.fail(opCreate, err)
	}
	if slices.ContainsFunc(all, func(m machine) bool { return m.Token == l.Token }) {
		return true, nil
	}
	if !whole {
		return false, c.refuse(opCreate, bridge.CloudThrottled, "UNKNOWN",
			"a part of the cloud does not answer, so it is not known whether this was made before")
	}
	ended, err := c.ended(ctx, l)
	return len(ended) > 0, err
}

// endedFor is how long ago a machine of a create that is asked again may have ended.
const endedFor = 6 * time.Hour

// ended returns machines of a create that were deleted lately. Nova keeps no more
// of them than the name.
func (c *Cloud) ended(ctx context.Context, l *bridge.Launch) ([]machine, error) {
	all, _, err := c.servers(ctx, servers.ListOpts{
		Name: "^" + name(l), ChangesSince: time.Now().Add(-endedFor).UTC().Format(time.RFC3339),
	})
	if err != nil {
		return nil, c.fail(opCreate, err)
	}
	return slices.DeleteFunc(all, func(m machine) bool {
		return m.State != bridge.InstanceGone || !strings.HasPrefix(m.name, name(l))
	}), nil
}

// request is the create call, whole.
func (c *Cloud) request(ctx context.Context, l *bridge.Launch) (*gophercloud.ServiceClient, servers.CreateOptsBuilder, error) {
	fail := func(err error) (*gophercloud.ServiceClient, servers.CreateOptsBuilder, error) {
		return nil, nil, c.fail(opCreate, err)
	}
	client, err := c.compute(ctx)
	if err != nil {
		return fail(err)
	}
	flavor, err := c.flavorID(ctx, client, l.Pool.Type)
	if err != nil {
		return fail(err)
	}
	image, err := c.image(ctx)
	if err != nil {
		return fail(err)
	}
	networks, err := c.networks(ctx)
	if err != nil {
		return fail(err)
	}
	meta := map[string]string{metaToken: l.Token, metaCall: rand.Text(), metaZone: l.Pool.Zone}
	for k, v := range l.Tags {
		meta[k] = v
	}
	drive := true // boots where there is no metadata service, too
	opts := servers.CreateOpts{
		Name: name(l), ImageRef: image.ID, FlavorRef: flavor, AvailabilityZone: l.Pool.Zone, Networks: networks,
		SecurityGroups: c.config.SecurityGroups, Metadata: meta, Tags: []string{"spillway", tag(l), string(l.Rental)},
		// The library sends what looks like base64 as it is.
		UserData: []byte(base64.StdEncoding.EncodeToString([]byte(l.UserData))), ConfigDrive: &drive,
		Min: l.Count, Max: l.Count,
	}
	return client, keypairs.CreateOptsExt{CreateOptsBuilder: opts, KeyName: c.config.KeyPair}, nil
}
