package novatest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/aggregates"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/hypervisors"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/resourceproviders"
)

// admin is the cloud's own operator.
type admin struct {
	identity, compute, image, placement *gophercloud.ServiceClient
	member                              string // id of the role
}

// login waits until the identity service answers.
func (c *Cloud) login(ctx context.Context) error {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	var session *gophercloud.ProviderClient
	err := poll(ctx, "the identity service", func() error {
		s, err := openstack.NewClient(c.URL())
		if err != nil {
			return err
		}
		s.HTTPClient = client
		session = s
		return openstack.Authenticate(ctx, s, gophercloud.AuthOptions{
			IdentityEndpoint: c.URL(), Username: "admin", Password: "admin", DomainID: "default", AllowReauth: true,
			Scope: &gophercloud.AuthScope{ProjectName: "admin", DomainID: "default"},
		})
	})
	if err != nil {
		return err
	}
	c.admin = &admin{}
	var errs [4]error
	c.admin.identity, errs[0] = openstack.NewIdentityV3(session, gophercloud.EndpointOpts{})
	c.admin.compute, errs[1] = openstack.NewComputeV2(session, gophercloud.EndpointOpts{})
	c.admin.image, errs[2] = openstack.NewImageV2(session, gophercloud.EndpointOpts{})
	c.admin.placement, errs[3] = openstack.NewPlacementV1(session, gophercloud.EndpointOpts{})
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	c.admin.compute.Microversion = "2.61"
	return nil
}

// furnish makes flavors, an image and zones, and waits for all hosts.
func (c *Cloud) furnish(ctx context.Context) error {
	if err := c.login(ctx); err != nil {
		return err
	}
	if err := poll(ctx, "the image service", func() error { return c.makeImage(ctx) }); err != nil {
		return err
	}
	if err := poll(ctx, "the compute service", func() error {
		_, err := flavors.ListDetail(c.admin.compute, nil).AllPages(ctx)
		return err
	}); err != nil {
		return err
	}
	for _, f := range []struct {
		name       string
		cpus, ram  int
		extraSpecs flavors.ExtraSpecsOpts
	}{
		{GPUFlavor, 16, 65536, flavors.ExtraSpecsOpts{"resources:CUSTOM_GPU": "8"}},
		{PlainFlavor, 4, 8192, nil},
	} {
		disk := 20
		made, err := flavors.Create(ctx, c.admin.compute, flavors.CreateOpts{Name: f.name, VCPUs: f.cpus, RAM: f.ram, Disk: &disk}).Extract()
		if err != nil {
			return fmt.Errorf("make flavor %s: %w", f.name, err)
		}
		if f.extraSpecs == nil {
			continue
		}
		if _, err := flavors.CreateExtraSpecs(ctx, c.admin.compute, made.ID, f.extraSpecs).Extract(); err != nil {
			return fmt.Errorf("make flavor %s: %w", f.name, err)
		}
	}
	return c.makeZones(ctx)
}

func (c *Cloud) makeImage(ctx context.Context) error {
	public := images.ImageVisibilityPublic
	image, err := images.Create(ctx, c.admin.image, images.CreateOpts{Name: Image, DiskFormat: "raw", ContainerFormat: "bare", Visibility: &public}).Extract()
	if err != nil {
		return err
	}
	return imagedata.Upload(ctx, c.admin.image, image.ID, bytes.NewReader(make([]byte, 1024))).ExtractErr()
}

// makeZones waits until every host is known to Nova and to placement, and puts it
// into its zone.
func (c *Cloud) makeZones(ctx context.Context) error {
	all := strings.Fields(gpuHosts + " " + plainHosts)
	err := poll(ctx, "the hosts", func() error {
		pages, err := hypervisors.List(c.admin.compute, nil).AllPages(ctx)
		if err != nil {
			return err
		}
		known, err := hypervisors.ExtractHypervisors(pages)
		if err != nil {
			return err
		}
		more, err := resourceproviders.List(c.admin.placement, nil).AllPages(ctx)
		if err != nil {
			return err
		}
		providers, err := resourceproviders.ExtractResourceProviders(more)
		if err == nil && (len(known) < len(all) || len(providers) < len(all)) {
			err = fmt.Errorf("%d of %d in Nova, %d in placement", len(known), len(all), len(providers))
		}
		return err
	})
	if err != nil {
		return err
	}
	for zone, hosts := range map[string]string{GPUZone: gpuHosts, PlainZone: plainHosts} {
		made, err := aggregates.Create(ctx, c.admin.compute, aggregates.CreateOpts{Name: zone, AvailabilityZone: zone}).Extract()
		if err != nil {
			return fmt.Errorf("make zone %s: %w", zone, err)
		}
		for _, host := range strings.Fields(hosts) {
			if _, err := aggregates.AddHost(ctx, c.admin.compute, made.ID, aggregates.AddHostOpts{Host: host}).Extract(); err != nil {
				return fmt.Errorf("put %s into zone %s: %w", host, zone, err)
			}
		}
	}
	return nil
}

// poll asks until there is no error, or ctx ends; the error then tells what was
// said last.
func poll(ctx context.Context, what string, ask func() error) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w: last seen: %w", what, ctx.Err(), err)
		case <-ticker.C:
		}
	}
}

// flavor is the id of a flavor.
func (c *Cloud) flavor(ctx context.Context, name string) (string, error) {
	pages, err := flavors.ListDetail(c.admin.compute, nil).AllPages(ctx)
	if err != nil {
		return "", fmt.Errorf("list flavors: %w", err)
	}
	all, err := flavors.ExtractFlavors(pages)
	if err != nil {
		return "", fmt.Errorf("list flavors: %w", err)
	}
	for i := range all {
		if all[i].Name == name {
			return all[i].ID, nil
		}
	}
	return "", fmt.Errorf("there is no flavor %s", name)
}

// image is the id of the image.
func (c *Cloud) image(ctx context.Context) (string, error) {
	pages, err := images.List(c.admin.image, images.ListOpts{Name: Image}).AllPages(ctx)
	if err != nil {
		return "", fmt.Errorf("list images: %w", err)
	}
	all, err := images.ExtractImages(pages)
	if err != nil || len(all) != 1 {
		return "", errors.Join(err, fmt.Errorf("%d images are called %s", len(all), Image))
	}
	return all[0].ID, nil
}
