package openstack

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
)

// Auth says who we are: an entry of a clouds.yaml, an application credential, or
// a user with a project. Nothing is read of the environment.
type Auth struct {
	// CloudsFile is a clouds.yaml, and Entry the cloud in it.
	CloudsFile, Entry string
	// URL is the identity service's, for example https://keystone.example.org:5000/v3.
	URL string
	// CredentialID is of an application credential.
	CredentialID string
	// User and Project, each with its domain.
	User, UserDomain       string
	Project, ProjectDomain string
	// Secret is the application credential's or the user's, read at each login.
	Secret func() (string, error)
	// CAFile holds the certificates that the cloud's is signed by; empty: the system's.
	CAFile string
}

func (a *Auth) check() error {
	file := a.CloudsFile != "" && a.Entry != ""
	spelled := a.URL != "" && a.Secret != nil && ((a.CredentialID != "") != (a.User != "" && a.Project != ""))
	if file == spelled || (a.CloudsFile != "") != (a.Entry != "") {
		return errClouds
	}
	return nil
}

// options reads the credentials anew, so that a changed secret needs no restart.
func (a *Auth) options() (gophercloud.AuthOptions, error) {
	if a.CloudsFile != "" {
		ao, _, err := a.entry()
		return ao, err
	}
	secret, err := a.Secret()
	if err != nil {
		return gophercloud.AuthOptions{}, err //nolint:wrapcheck // It says which secret.
	}
	ao := gophercloud.AuthOptions{IdentityEndpoint: a.URL, AllowReauth: true}
	if a.CredentialID != "" {
		ao.ApplicationCredentialID, ao.ApplicationCredentialSecret = a.CredentialID, secret
		return ao, nil
	}
	ao.Username, ao.Password, ao.DomainName = a.User, secret, a.UserDomain
	ao.Scope = &gophercloud.AuthScope{ProjectName: a.Project, DomainName: a.ProjectDomain}
	return ao, nil
}

// entry reads the clouds.yaml, and a secure.yaml beside it.
func (a *Auth) entry() (gophercloud.AuthOptions, *tls.Config, error) {
	ao, _, certificates, err := clouds.Parse(clouds.WithLocations(a.CloudsFile), clouds.WithCloudName(a.Entry), clouds.WithPublicLocations(os.DevNull))
	if err != nil {
		return ao, nil, fmt.Errorf("read %s: %w", a.CloudsFile, err)
	}
	ao.AllowReauth = true
	return ao, certificates, nil
}

// transport is how the cloud is reached. A call that failed is not sent again by
// itself: on a connection of its own its failure is seen.
func (c *Config) transport() (http.RoundTripper, error) {
	if c.Transport != nil {
		return c.Transport, nil
	}
	t := &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment}
	if c.Auth.CloudsFile != "" {
		_, certificates, err := c.Auth.entry()
		if err != nil {
			return nil, err
		}
		t.TLSClientConfig = certificates
	}
	if c.Auth.CAFile == "" {
		return t, nil
	}
	text, err := os.ReadFile(c.Auth.CAFile)
	if err != nil {
		return nil, fmt.Errorf("read certificates: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate", c.Auth.CAFile)
	}
	t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return t, nil
}

// errCredentials is around what keeps us from logging in before anybody is asked.
var errCredentials = errors.New("no credentials")

// login returns the session, begun if there is none.
func (c *Cloud) login(ctx context.Context) (*gophercloud.ProviderClient, error) {
	c.mu.Lock()
	session := c.session
	c.mu.Unlock()
	if session != nil {
		return session, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ao, err := c.config.Auth.options()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCredentials, err)
	}
	if session, err = openstack.NewClient(ao.IdentityEndpoint); err != nil {
		return nil, fmt.Errorf("%w: %w", errCredentials, err)
	}
	session.HTTPClient = c.client
	if err := openstack.Authenticate(ctx, session, ao); err != nil {
		return nil, err //nolint:wrapcheck // The call is named around it.
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		c.session = session
	}
	return c.session, nil
}

// logout forgets a session that the cloud no longer takes, so that the next call
// reads the credentials anew.
func (c *Cloud) logout() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = nil
}

// endpoint says which of a service's addresses is meant.
func (c *Cloud) endpoint() gophercloud.EndpointOpts {
	return gophercloud.EndpointOpts{Region: c.config.Region, Availability: gophercloud.Availability(c.config.Interface)}
}

// compute is Nova in our region.
func (c *Cloud) compute(ctx context.Context) (*gophercloud.ServiceClient, error) {
	session, err := c.login(ctx)
	if err != nil {
		return nil, err
	}
	client, err := openstack.NewComputeV2(session, c.endpoint())
	if err != nil {
		return nil, err //nolint:wrapcheck // The call is named around it.
	}
	client.Microversion = Microversion
	return client, nil
}
