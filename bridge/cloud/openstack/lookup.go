package openstack

import (
	"context"
	"fmt"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"

	"spillway.sh/spillway/bridge"
)

// allFlavors are those the project may use.
func (c *Cloud) allFlavors(ctx context.Context, client *gophercloud.ServiceClient) ([]flavors.Flavor, error) {
	pages, err := flavors.ListDetail(client, nil).AllPages(ctx)
	if err != nil {
		return nil, err //nolint:wrapcheck // The call is named around it.
	}
	return flavors.ExtractFlavors(pages) //nolint:wrapcheck // The call is named around it.
}

func (c *Cloud) flavorID(ctx context.Context, client *gophercloud.ServiceClient, name string) (string, error) {
	all, err := c.allFlavors(ctx, client)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(all, func(f flavors.Flavor) bool { return f.Name == name })
	if i < 0 {
		return "", c.refuse(opCreate, bridge.CloudInvalid, "FlavorNotFound", fmt.Sprintf("the project has no flavor %q", name))
	}
	return all[i].ID, nil
}

// image finds the image by id or by name. Two of one name are one too many: which
// is meant cannot be told.
func (c *Cloud) image(ctx context.Context) (*images.Image, error) {
	session, err := c.login(ctx)
	if err != nil {
		return nil, err
	}
	client, err := openstack.NewImageV2(session, c.endpoint())
	if err != nil {
		return nil, err //nolint:wrapcheck // The call is named around it.
	}
	var found []images.Image
	for _, opts := range []images.ListOpts{{ID: c.config.Image}, {Name: c.config.Image}} {
		pages, err := images.List(client, opts).AllPages(ctx)
		if err != nil {
			return nil, err //nolint:wrapcheck // The call is named around it.
		}
		if found, err = images.ExtractImages(pages); err != nil {
			return nil, err //nolint:wrapcheck // The call is named around it.
		}
		if len(found) > 0 {
			break
		}
	}
	if err := c.one("image", "Image", c.config.Image, len(found)); err != nil {
		return nil, err
	}
	if found[0].Status != images.ImageStatusActive {
		return nil, &bridge.CloudError{
			Kind: bridge.CloudInvalid, Op: opCreate, Cloud: c.config.Name, Code: "ImageNotActive", Reach: bridge.ReachRegion,
			Message: fmt.Sprintf("image %q is %s, not active", c.config.Image, found[0].Status),
		}
	}
	return &found[0], nil
}

// networks is what a create says of the network.
func (c *Cloud) networks(ctx context.Context) (any, error) {
	if c.config.Network == NetworkAuto || c.config.Network == NetworkNone {
		return c.config.Network, nil
	}
	session, err := c.login(ctx)
	if err != nil {
		return nil, err
	}
	client, err := openstack.NewNetworkV2(session, c.endpoint())
	if err != nil {
		return nil, err //nolint:wrapcheck // The call is named around it.
	}
	var found []networks.Network
	for _, opts := range []networks.ListOpts{{ID: c.config.Network}, {Name: c.config.Network}} {
		pages, err := networks.List(client, opts).AllPages(ctx)
		if err != nil {
			return nil, err //nolint:wrapcheck // The call is named around it.
		}
		if found, err = networks.ExtractNetworks(pages); err != nil {
			return nil, err //nolint:wrapcheck // The call is named around it.
		}
		if len(found) > 0 {
			break
		}
	}
	if err := c.one("network", "Network", c.config.Network, len(found)); err != nil {
		return nil, err
	}
	return []servers.Network{{UUID: found[0].ID}}, nil
}

// one wants exactly one thing of a name.
func (c *Cloud) one(what, code, name string, n int) error {
	out := &bridge.CloudError{Kind: bridge.CloudInvalid, Op: opCreate, Cloud: c.config.Name, Reach: bridge.ReachRegion}
	switch n {
	case 1:
		return nil
	case 0:
		out.Code, out.Message = code+"NotFound", fmt.Sprintf("the project sees no %s %q", what, name)
	default:
		out.Code, out.Message = code+"Ambiguous", fmt.Sprintf("%d are %ss called %q: give the id", n, what, name)
	}
	return out
}
