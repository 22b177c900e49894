package novatest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/quotasets"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"

	"spillway.sh/spillway/bridge"
	driver "spillway.sh/spillway/bridge/cloud/openstack"
)

// Project is a tenant of the cloud with a user of its own, who is a member and no
// more.
type Project struct {
	ID, Name string
	// User and Password log in to it; CredentialID and CredentialSecret are of an
	// application credential.
	User, Password                 string
	CredentialID, CredentialSecret string

	cloud  *Cloud
	client *gophercloud.ServiceClient // Nova's, as the user
}

// Project makes one whose quota is so many machines.
func (c *Cloud) Project(ctx context.Context, instances int) (*Project, error) {
	p := &Project{Name: "p-" + strings.ToLower(rand.Text()[:8]), Password: rand.Text(), cloud: c}
	p.User = p.Name
	project, err := projects.Create(ctx, c.admin.identity, projects.CreateOpts{Name: p.Name, DomainID: "default"}).Extract()
	if err != nil {
		return nil, fmt.Errorf("make project: %w", err)
	}
	p.ID = project.ID
	user, err := users.Create(ctx, c.admin.identity, users.CreateOpts{Name: p.User, DomainID: "default", Password: p.Password}).Extract()
	if err != nil {
		return nil, fmt.Errorf("make user: %w", err)
	}
	if err := c.grant(ctx, p.ID, user.ID); err != nil {
		return nil, fmt.Errorf("make user a member: %w", err)
	}
	if err := p.Limit(ctx, instances); err != nil {
		return nil, err
	}
	return p, p.login(ctx, user.ID)
}

func (c *Cloud) grant(ctx context.Context, project, user string) error {
	if c.admin.member == "" {
		pages, err := roles.List(c.admin.identity, roles.ListOpts{Name: "member"}).AllPages(ctx)
		if err != nil {
			return err
		}
		all, err := roles.ExtractRoles(pages)
		if err != nil || len(all) != 1 {
			return errors.Join(err, fmt.Errorf("%d roles are called member", len(all)))
		}
		c.admin.member = all[0].ID
	}
	return roles.Assign(ctx, c.admin.identity, c.admin.member, roles.AssignOpts{UserID: user, ProjectID: project}).ExtractErr()
}

// Limit sets the project's quota of machines. Cores and memory have none.
func (p *Project) Limit(ctx context.Context, instances int) error {
	none := -1
	_, err := quotasets.Update(ctx, p.cloud.admin.compute, p.ID, quotasets.UpdateOpts{Instances: &instances, Cores: &none, RAM: &none}).Extract()
	if err != nil {
		return fmt.Errorf("set quota: %w", err)
	}
	return nil
}

// login begins a session of the user and makes an application credential.
func (p *Project) login(ctx context.Context, user string) error {
	session, err := openstack.NewClient(p.cloud.URL())
	if err != nil {
		return err
	}
	session.HTTPClient = p.cloud.admin.compute.HTTPClient
	if err := openstack.Authenticate(ctx, session, gophercloud.AuthOptions{
		IdentityEndpoint: p.cloud.URL(), Username: p.User, Password: p.Password, DomainID: "default", AllowReauth: true,
		Scope: &gophercloud.AuthScope{ProjectID: p.ID},
	}); err != nil {
		return fmt.Errorf("log in to project: %w", err)
	}
	identity, err := openstack.NewIdentityV3(session, gophercloud.EndpointOpts{})
	if err != nil {
		return err
	}
	credential, err := applicationcredentials.Create(ctx, identity, user, applicationcredentials.CreateOpts{Name: "spillway"}).Extract()
	if err != nil {
		return fmt.Errorf("make application credential: %w", err)
	}
	p.CredentialID, p.CredentialSecret = credential.ID, credential.Secret
	p.client, err = openstack.NewComputeV2(session, gophercloud.EndpointOpts{})
	return err
}

// Servers counts what the project has, as Nova tells its user.
func (p *Project) Servers(ctx context.Context) ([]servers.Server, error) {
	pages, err := servers.List(p.client, nil).AllPages(ctx)
	if err != nil {
		return nil, fmt.Errorf("list servers: %w", err)
	}
	return servers.ExtractServers(pages)
}

// Stranger makes a server in the project that is not ours.
func (p *Project) Stranger(ctx context.Context) (id string, err error) {
	flavor, err := p.cloud.flavor(ctx, PlainFlavor)
	if err != nil {
		return "", err
	}
	image, err := p.cloud.image(ctx)
	if err != nil {
		return "", err
	}
	p.client.Microversion = "2.37"
	made, err := servers.Create(ctx, p.client, servers.CreateOpts{
		Name: "stranger", FlavorRef: flavor, ImageRef: image, Networks: "none", AvailabilityZone: GPUZone,
	}, nil).Extract()
	if err != nil {
		return "", fmt.Errorf("make a stranger: %w", err)
	}
	return made.ID, nil
}

// Delete ends a server of the project.
func (p *Project) Delete(ctx context.Context, id string) error {
	return servers.Delete(ctx, p.client, id).ExtractErr()
}

// Config is a driver's for the project, with its application credential.
func (p *Project) Config(name string) driver.Config {
	return driver.Config{
		Name: name, Region: Region, Image: Image, Network: Network,
		Auth: driver.Auth{URL: p.cloud.URL(), CredentialID: p.CredentialID, Secret: func() (string, error) { return p.CredentialSecret, nil }},
		Flavors: []driver.Flavor{
			{Name: GPUFlavor, Rate: bridge.Rate{Micro: 12_800_000, Currency: "EUR"}, GPU: "a100-80", GPUs: 8},
			{Name: PlainFlavor, Rate: bridge.Rate{Micro: 160_000, Currency: "EUR"}},
		},
	}
}
