package main

import (
	"spillway.sh/spillway/bridge/cloud/openstack"
	"spillway.sh/spillway/bridge/config"
	"spillway.sh/spillway/bridge/engine"
)

// openStackOf is the adapter of an OpenStack cloud.
func openStackOf(c *config.Cloud) (engine.Cloud, error) {
	o := c.OpenStack
	settings := openstack.Config{
		Name: c.Name, Region: o.Region, Interface: o.Interface, Image: o.Image, Network: o.Network,
		SecurityGroups: o.SecurityGroups, KeyPair: o.KeyPair, Zones: o.Zones, Boot: o.Boot, Timeout: o.Timeout,
		Auth: openstack.Auth{CloudsFile: o.CloudsYAML, Entry: o.Cloud, CAFile: o.CAFile},
	}
	if o.CloudsYAML == "" {
		a := &settings.Auth
		a.URL, a.CredentialID, a.Secret = o.AuthURL, o.CredentialID, o.Secret.Reveal
		if o.CredentialID == "" {
			a.User, a.UserDomain, a.Project, a.ProjectDomain = o.User, o.UserDomain, o.Project, o.ProjectDomain
		}
	}
	for _, f := range o.Flavors {
		settings.Flavors = append(settings.Flavors, openstack.Flavor(f))
	}
	return openstack.New(settings)
}
