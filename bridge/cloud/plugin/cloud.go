package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/plugin/wire"
)

// What a plugin's create does with a token it has seen.
const (
	byToken   = "token"
	byNothing = "none"
)

// Config names a program that speaks for one account of one cloud.
type Config struct {
	// Name is the cloud's, in offers and tags.
	Name string
	// Command is the program and its arguments; a name without a slash is looked
	// up in PATH.
	Command []string
	// Settings are handed to the program as they are; nil: none.
	Settings json.RawMessage
	// Env names variables of ours that the program gets beside PATH and HOME.
	Env []string
	// Timeout is how long one call may take; a minute unless set.
	Timeout time.Duration
	// Log gets what the program writes to standard error; nil: nobody does.
	Log *slog.Logger
}

// Cloud speaks to a plugin. It is safe for concurrent use.
type Cloud struct {
	config Config

	// creates is held from a list to the create that it allowed.
	creates sync.Mutex

	mu    sync.Mutex
	about *wire.Description // once it was asked
}

// New returns the cloud that c names. It does not run the program yet.
func New(c Config) (*Cloud, error) {
	if c.Name == "" || len(c.Command) == 0 || c.Command[0] == "" {
		return nil, fmt.Errorf("plugin of cloud %q: name and command must be given", c.Name)
	}
	if len(c.Settings) > 0 && !json.Valid(c.Settings) {
		return nil, fmt.Errorf("plugin of cloud %q: its settings are no JSON", c.Name)
	}
	c.Timeout = cmp.Or(c.Timeout, time.Minute)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Cloud{config: c}, nil
}

// Name returns the cloud's name.
func (c *Cloud) Name() string { return c.config.Name }

// Describe asks the program what it is, once.
func (c *Cloud) Describe(ctx context.Context) (wire.Description, error) {
	c.mu.Lock()
	known := c.about
	c.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	a, err := c.call(ctx, wire.Request{Call: wire.CallDescribe})
	if err != nil {
		return wire.Description{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.about = a.Describe
	return *a.Describe, nil
}

// Offers returns what the plugin has for sale.
func (c *Cloud) Offers(ctx context.Context) ([]bridge.Offer, error) {
	a, err := c.call(ctx, wire.Request{Call: wire.CallOffers})
	if err != nil {
		return nil, err
	}
	out := make([]bridge.Offer, 0, len(a.Offers))
	for i := range a.Offers {
		out = append(out, c.offer(&a.Offers[i]))
	}
	return out, nil
}

// found begins the handle of a create whose machines were there already.
const found = "token:"

// Create asks for all machines or none. Where the plugin's cloud makes machines
// for every call, its list is read first: a create whose answer was lost is then
// found, and not made again.
func (c *Cloud) Create(ctx context.Context, l bridge.Launch) (bridge.Handle, error) {
	if l.Pool.Cloud != c.config.Name {
		return "", &bridge.CloudError{
			Kind: bridge.CloudInvalid, Op: string(wire.CallCreate), Cloud: c.config.Name, Message: "pool " + l.Pool.String() + " is another cloud's",
		}
	}
	about, err := c.Describe(ctx)
	if err != nil {
		return "", unsent(err)
	}
	if about.Idempotency == byNothing {
		c.creates.Lock()
		defer c.creates.Unlock()
		there, err := c.made(ctx, &l)
		if err != nil {
			return "", unsent(err)
		}
		if there {
			return bridge.Handle(found + l.Token), nil
		}
	}
	a, err := c.call(ctx, wire.Request{Call: wire.CallCreate, Create: &wire.Create{
		Token: l.Token, Region: l.Pool.Region, Zone: l.Pool.Zone, Type: l.Pool.Type, Market: string(l.Pool.Market), Count: l.Count,
		MaxRate: rateOut(l.MaxRate), Tags: l.Tags, UserData: l.UserData, Expires: l.Expires.UTC(),
	}})
	if err != nil {
		return "", err
	}
	return bridge.Handle(a.Handle), nil
}

// unsent makes the failure of what comes before a create one of which nothing
// came: it is tried again.
func unsent(err error) error {
	var e *bridge.CloudError
	if errors.As(err, &e) && !e.Kind.Refused() {
		e.Kind = bridge.CloudThrottled
	}
	return err
}

// made reports whether machines of a create are listed. A list that is not
// complete cannot say no.
func (c *Cloud) made(ctx context.Context, l *bridge.Launch) (bool, error) {
	list, err := c.List(ctx, l.Tags[bridge.TagStore], l.Tags[bridge.TagCluster])
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(list.Instances, func(m bridge.Instance) bool { return m.Token == l.Token }) {
		return true, nil
	}
	if !list.Complete {
		return false, &bridge.CloudError{
			Kind: bridge.CloudThrottled, Op: string(wire.CallCreate), Cloud: c.config.Name,
			Message: "its list is not complete, so it is not known whether this was made before",
		}
	}
	return false, nil
}

// Observe returns the machines of a create. The failure of the look itself
// refuses nothing.
func (c *Cloud) Observe(ctx context.Context, l bridge.Launch, h bridge.Handle) ([]bridge.Instance, error) {
	handle := string(h)
	if strings.HasPrefix(handle, found) {
		handle = ""
	}
	a, err := c.call(ctx, wire.Request{Call: wire.CallObserve, Observe: &wire.Observe{Token: l.Token, Handle: handle, Tags: l.Tags}})
	if err != nil {
		return nil, blind(err)
	}
	return c.instances(a.Machines), nil
}

// blind makes a denial of the look one that refuses nothing: it is not the
// create's own end.
func blind(err error) error {
	var e *bridge.CloudError
	if errors.As(err, &e) && (e.Kind == bridge.CloudDenied || e.Kind == bridge.CloudInvalid) {
		e.Kind = bridge.CloudUnknown
	}
	return err
}

// List returns the machines of a store, and those of a cluster.
func (c *Cloud) List(ctx context.Context, storeID, cluster string) (bridge.Listing, error) {
	out := bridge.Listing{Cloud: c.config.Name, At: time.Now().UTC()}
	a, err := c.call(ctx, wire.Request{Call: wire.CallList, List: &wire.List{Store: storeID, Cluster: cluster}})
	if err != nil {
		return out, err
	}
	out.Complete = a.Complete
	for _, m := range c.instances(a.Machines) {
		// It may be asked for nothing, and it may answer with too much.
		if t := m.Tags; storeID != "" && t[bridge.TagStore] == storeID || cluster != "" && t[bridge.TagCluster] == cluster {
			out.Instances = append(out.Instances, m)
		}
	}
	return out, nil
}

// Terminate ends machines.
func (c *Cloud) Terminate(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := c.call(ctx, wire.Request{Call: wire.CallTerminate, Terminate: &wire.Terminate{IDs: ids}})
	return err
}

// Extend moves the end of machines, where the plugin can.
func (c *Cloud) Extend(ctx context.Context, ids []string, expires time.Time) error {
	about, err := c.Describe(ctx)
	if err != nil {
		return err
	}
	if !about.Extends {
		return &bridge.CloudError{
			Kind: bridge.CloudInvalid, Op: string(wire.CallExtend), Cloud: c.config.Name, Message: "machines of " + about.Name + " cannot be extended",
		}
	}
	_, err = c.call(ctx, wire.Request{Call: wire.CallExtend, Extend: &wire.Extend{IDs: ids, Expires: expires.UTC()}})
	return err
}
