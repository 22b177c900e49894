package openstack

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"spillway.sh/spillway/bridge"
)

// Microversion is what the adapter speaks to Nova: the first whose lists say
// when a part of the cloud does not answer. Nova 19 of April 2019 has it.
const Microversion = "2.69"

// Networks that are no network's name.
const (
	NetworkAuto = "auto" // the project's own, made if there is none
	NetworkNone = "none"
)

// Config names one project of one OpenStack cloud in one region.
type Config struct {
	// Name is the cloud's, in offers and tags.
	Name string
	Auth Auth
	// Region is the region's name in the catalogue.
	Region string
	// Interface is public, internal or admin: which addresses of the catalogue are
	// asked; public unless set.
	Interface string
	// Image, Network, SecurityGroups and KeyPair are of each machine, by name or id.
	Image          string
	Network        string
	SecurityGroups []string
	KeyPair        string
	// Zones are those that are rented in; empty: all that are open.
	Zones []string
	// Flavors are those that are offered, with their prices.
	Flavors []Flavor
	// Boot is how long a machine takes from its create until it has joined; five
	// minutes unless set.
	Boot time.Duration
	// Timeout is how long one call may take; a minute unless set.
	Timeout time.Duration
	// Transport carries the calls; nil: the network does.
	Transport http.RoundTripper
}

// Flavor is what one machine of a flavor costs, and has beyond what the flavor says.
type Flavor struct {
	Name string
	Rate bridge.Rate // an hour
	// GPU and GPUs say what accelerators it has, where its extra specs do not.
	GPU  string
	GPUs int
}

// Cloud is one project in one region. It is safe for concurrent use.
type Cloud struct {
	config   Config
	client   http.Client
	zones    map[string]bool
	flavors  map[string]Flavor // by name
	creating locks             // by token, from a list to the create that it allowed

	mu      sync.Mutex
	session *gophercloud.ProviderClient // nil: not logged in
	failed  map[string]*bridge.CloudError
}

// New returns the cloud that c names; it does not call it yet.
func New(c Config) (*Cloud, error) {
	switch {
	case c.Name == "" || c.Region == "":
		return nil, fmt.Errorf("openstack cloud %q: name and region must be given", c.Name)
	case c.Image == "" || c.Network == "":
		return nil, fmt.Errorf("openstack cloud %q: image and network must be given", c.Name)
	case len(c.Flavors) == 0:
		return nil, fmt.Errorf("openstack cloud %q: no flavor has a price, so there is nothing to rent", c.Name)
	}
	if err := c.Auth.check(); err != nil {
		return nil, fmt.Errorf("openstack cloud %q: %w", c.Name, err)
	}
	c.Interface = cmp.Or(c.Interface, string(gophercloud.AvailabilityPublic))
	c.Boot, c.Timeout = cmp.Or(c.Boot, 5*time.Minute), cmp.Or(c.Timeout, time.Minute)
	out := &Cloud{config: c, zones: map[string]bool{}, flavors: map[string]Flavor{}, failed: map[string]*bridge.CloudError{}}
	for _, f := range c.Flavors {
		if f.Name == "" || f.Rate.Micro <= 0 || f.Rate.Currency == "" || f.GPUs < 0 || (f.GPUs > 0) != (f.GPU != "") {
			return nil, fmt.Errorf("openstack cloud %q: flavor %q needs a price above nothing, and gpu and gpus together or neither", c.Name, f.Name)
		}
		if _, twice := out.flavors[f.Name]; twice {
			return nil, fmt.Errorf("openstack cloud %q: flavor %q is there twice", c.Name, f.Name)
		}
		out.flavors[f.Name] = f
	}
	for _, z := range c.Zones {
		out.zones[z] = true
	}
	transport, err := c.transport()
	if err != nil {
		return nil, fmt.Errorf("openstack cloud %q: %w", c.Name, err)
	}
	out.client = http.Client{Transport: transport, Timeout: c.Timeout}
	return out, nil
}

// Name returns the cloud's name.
func (c *Cloud) Name() string { return c.config.Name }

// errClouds reports credentials that are given in two ways, or in none.
var errClouds = errors.New("credentials: give clouds_yaml and cloud, or auth_url with an application credential or a user, and not both")

// locks are mutexes by name.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	sync.Mutex
	wanted int
}

// take waits for a name's turn and returns what gives it on.
func (l *locks) take(name string) (release func()) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*lock{}
	}
	one := l.held[name]
	if one == nil {
		one = &lock{}
		l.held[name] = one
	}
	one.wanted++
	l.mu.Unlock()
	one.Lock()
	return func() {
		one.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if one.wanted--; one.wanted == 0 {
			delete(l.held, name)
		}
	}
}
