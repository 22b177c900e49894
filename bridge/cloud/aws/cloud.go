package aws

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
)

// Config names one account, where machines are rented in it, and which.
type Config struct {
	// Name is the cloud's, in offers and tags.
	Name    string
	Regions []Region
	// Types are the instance types that may be rented; none: all with a GPU.
	Types []string
	// Markets that may be rented in; none: both.
	Markets []bridge.Market
	// KeyName is an SSH key that is put on machines, and InstanceProfile the name
	// or ARN of their role; empty: none.
	KeyName, InstanceProfile string
	// Disk is the size of the image's own disk on each machine in GiB; zero: as the
	// image has it.
	Disk int
	// EFA gives machines that can have them network interfaces with RDMA.
	EFA bool
	// Reserve is the part of a type's memory, in percent, that its machines do not
	// show: firmware and kernel take it.
	Reserve int
	// Features are the words that jobs may ask for and all machines have.
	Features []string
	// Boot is the time expected from create to joined; five minutes unless set.
	Boot time.Duration

	// Profile and CredentialsFile lead the SDK to credentials; empty: its own chain
	// finds them. Role is one to take on with them.
	Profile, CredentialsFile, Role string
	// Endpoint is where all services are, for clouds that speak as AWS does; empty:
	// where AWS has them.
	Endpoint string
	// Timeout is how long one call may take; a minute unless set.
	Timeout time.Duration
	// Limits are shared by clouds of a process; nil: the cloud's own.
	Limits *Limits
	// Page is how many machines a page of a list has; as many as EC2 gives unless set.
	Page int
	// Log gets what is not as it should be and stops nothing; nil: nobody does.
	Log *slog.Logger
	// Now is the time; nil: the clock's.
	Now func() time.Time
}

// Region is where in a region machines are rented, and from what.
type Region struct {
	Name  string
	Image string // ami-...
	// Subnets are by zone. None: each zone's default one; else only the zones named
	// are rented in.
	Subnets        map[string]string
	SecurityGroups []string // none: the network's default one
}

// pageMost is what EC2 gives in one page.
const pageMost = 1000

// Cloud is one account. It is safe for concurrent use.
type Cloud struct {
	config  Config
	log     *slog.Logger
	regions map[string]*region
	order   []string
	login   login
	scores  cell[map[scoreKey]int]

	mu    sync.Mutex
	homes map[string]*region // by instance
	said  map[string]string  // what was last told of each subject
}

// region is one of the account's, with what it answered.
type region struct {
	Region
	currency bridge.Currency
	lanes    *lanes

	types    cell[map[string]kind]
	zones    cell[map[string][]string] // by type
	zoneIDs  cell[map[string]string]   // names by id
	image    cell[image]
	onDemand cell[map[string]bridge.Rate]
	spot     cell[map[zoneType]bridge.Rate]
	quotas   cell[[]quota]
	used     cell[map[bridge.Market]map[string]int] // vCPUs, by type
}

// zoneType is a type in a zone.
type zoneType struct{ zone, typ string }

// New returns the account that c names; it does not call it yet.
func New(c Config) (*Cloud, error) {
	wrong := func(text string) (*Cloud, error) { return nil, fmt.Errorf("aws cloud %q: %s", c.Name, text) }
	switch {
	case c.Name == "":
		return wrong("it has no name")
	case len(c.Regions) == 0:
		return wrong("it has no region")
	case c.Page != 0 && (c.Page < 5 || c.Page > pageMost):
		return wrong("pages have 5 to 1000 machines")
	case c.Reserve < 0 || c.Reserve > 50:
		return wrong("at most half of a machine's memory can be kept back")
	}
	c.Page, c.Timeout, c.Boot = cmp.Or(c.Page, pageMost), cmp.Or(c.Timeout, time.Minute), cmp.Or(c.Boot, 5*time.Minute)
	if len(c.Markets) == 0 {
		c.Markets = []bridge.Market{bridge.OnDemand, bridge.Spot}
	}
	if c.Limits == nil {
		c.Limits = NewLimits(1)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	cloud := &Cloud{
		config: c, log: c.Log.With("cloud", c.Name), regions: map[string]*region{}, homes: map[string]*region{}, said: map[string]string{},
	}
	account := strings.Join([]string{c.Endpoint, c.CredentialsFile, c.Profile, c.Role}, "\x00")
	for _, r := range c.Regions {
		switch {
		case r.Name == "" || cloud.regions[r.Name] != nil:
			return wrong("each region is named, and once")
		case r.Image == "":
			return wrong("region " + r.Name + " has no image")
		}
		currency := bridge.Currency("USD")
		if strings.HasPrefix(r.Name, "cn-") {
			currency = "CNY"
		}
		cloud.regions[r.Name] = &region{Region: r, currency: currency, lanes: c.Limits.of(account, r.Name)}
		cloud.order = append(cloud.order, r.Name)
	}
	return cloud, nil
}

// Name returns the cloud's name.
func (c *Cloud) Name() string { return c.config.Name }

// each runs f for all regions at once and returns their errors, in order.
func (c *Cloud) each(f func(r *region) error) []error {
	errs := make([]error, len(c.order))
	var wg sync.WaitGroup
	for i, name := range c.order {
		wg.Go(func() { errs[i] = f(c.regions[name]) })
	}
	wg.Wait()
	return errs
}

// learn remembers where machines are.
func (c *Cloud) learn(r *region, ids ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		c.homes[id] = r
	}
}

// byHome sorts ids by where their machines are; those nobody knows come for every
// region.
func (c *Cloud) byHome(ids []string) map[*region][]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[*region][]string{}
	for _, id := range ids {
		if r := c.homes[id]; r != nil {
			out[r] = append(out[r], id)
			continue
		}
		for _, r := range c.regions {
			out[r] = append(out[r], id)
		}
	}
	return out
}

// warn tells of something that stops nothing, once for as long as it stays the
// same; nil: it is well again.
func (c *Cloud) warn(subject string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	c.mu.Lock()
	changed := c.said[subject] != text
	c.said[subject] = text
	c.mu.Unlock()
	if changed && text != "" {
		c.log.Warn("part of a cloud does not answer as it should", "part", subject, "error", text)
	}
}

// rate is what a machine of a pool costs an hour as far as it is known; zero: it
// is not.
func (r *region) rate(p bridge.Pool) bridge.Rate {
	if p.Market == bridge.Spot {
		rates, _ := r.spot.last()
		return rates[zoneType{p.Zone, p.Type}]
	}
	rates, _ := r.onDemand.last()
	return rates[p.Type]
}

// regionOf finds the region of a launch's pool.
func (c *Cloud) regionOf(op string, l *bridge.Launch) (*region, error) {
	refuse := func(text string) (*region, error) {
		return nil, &bridge.CloudError{Kind: bridge.CloudInvalid, Op: op, Cloud: c.config.Name, Message: text}
	}
	r := c.regions[l.Pool.Region]
	switch {
	case l.Pool.Cloud != c.config.Name:
		return refuse("pool " + l.Pool.String() + " is another cloud's")
	case r == nil:
		return refuse("region " + l.Pool.Region + " is none of " + strings.Join(slices.Sorted(maps.Keys(c.regions)), ", "))
	}
	return r, nil
}

// firstOf is the first error that is one.
func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

var errNothing = errors.New("the answer is empty")
