package server

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"time"

	"github.com/goccy/go-yaml"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/server/ec2"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

//go:embed default.yaml
var defaultWorld []byte

// World is what the server rents out: its clouds with their prices, stock and
// manners. It is read from YAML; nothing in it changes while the server runs.
type World struct {
	Version int `yaml:"version"`
	// Seed makes the moving prices; the same seed gives the same prices.
	Seed   uint64  `yaml:"seed"`
	Clouds []Cloud `yaml:"clouds"`
}

// Cloud is one cloud.
type Cloud struct {
	Name     string `yaml:"name"`
	Currency string `yaml:"currency"`
	// Notice is the warning before a spot machine is taken; zero: none.
	Notice Span `yaml:"notice"`
	// Boot is the time from create until a machine runs its user-data.
	Boot Span `yaml:"boot"`
	// Stop is the time a machine takes to end; it costs meanwhile.
	Stop Span `yaml:"stop"`
	// Visibility is how long a new machine is missing from lists.
	Visibility Span `yaml:"visibility"`
	// Linger is how long an ended machine stays in lists; two minutes unless set.
	Linger Span `yaml:"linger"`
	// PriceAge is how long a price may be used; five minutes unless set.
	PriceAge Span    `yaml:"price_age"`
	Billing  Billing `yaml:"billing"`
	// Page is the largest page of a listing; 50 unless set.
	Page int `yaml:"page"`
	// Limits scales the rate limits of the API; 1 unless set.
	Limits float64 `yaml:"limits"`
	// HideStock keeps offers from telling what is left.
	HideStock bool      `yaml:"hide_stock"`
	Accounts  []Account `yaml:"accounts"`
	Types     []Type    `yaml:"types"`
	Regions   []Region  `yaml:"regions"`
}

// Billing is how machines are charged: a started step costs whole, and no
// machine costs less than the minimum. One on demand is taken for a term, and a
// part of what is left of it is charged when the machine ends sooner.
type Billing struct {
	Step    Span `yaml:"step"`
	Minimum Span `yaml:"minimum"`
	Term    Span `yaml:"term"`
	Early   int  `yaml:"early"` // per cent of the rest of the term
}

// Account is a customer of one cloud.
type Account struct {
	Name string `yaml:"name"`
	// TokenFile holds its secret; without one the server makes one in its
	// directory, tokens/CLOUD-ACCOUNT.
	TokenFile string  `yaml:"token_file"`
	Quotas    []Quota `yaml:"quotas"`
}

// Quota limits what an account has at one time. Empty fields match all.
type Quota struct {
	Region   string `yaml:"region"`
	Market   string `yaml:"market"`
	Machines *int   `yaml:"machines"`
	GPUs     *int   `yaml:"gpus"`
	// VCPUs limits those of the types of one Family, p, p5 (on spot), g or standard, as
	// EC2 does.
	VCPUs  *int   `yaml:"vcpus"`
	Family string `yaml:"family"`
}

// Type is a kind of machine.
type Type struct {
	Name      string   `yaml:"name"`
	CPUs      int      `yaml:"cpus"`
	MemoryMiB int64    `yaml:"memory_mib"`
	DiskMiB   int64    `yaml:"disk_mib"`
	GPUType   string   `yaml:"gpu_type"`
	GPUs      int      `yaml:"gpus"`
	Features  []string `yaml:"features"`
	// GPUMemoryMiB is that of one GPU; unset: what its type usually has.
	GPUMemoryMiB int64 `yaml:"gpu_memory_mib"`
	// Network is the class of its network: 25g, 100g, rdma; empty: nothing special.
	Network string `yaml:"network"`
}

// Region is a place with zones.
type Region struct {
	Name  string `yaml:"name"`
	Zones []Zone `yaml:"zones"`
}

// Zone is a part of a region; it has its own stock.
type Zone struct {
	Name  string   `yaml:"name"`
	Pools []Supply `yaml:"pools"`
}

// Supply is what a zone has of one type.
type Supply struct {
	Type     string      `yaml:"type"`
	OnDemand *MarketSpec `yaml:"on_demand"`
	Spot     *MarketSpec `yaml:"spot"`
	// Failure is the shape in which a lack of stock is told.
	Failure Failure `yaml:"failure"`
	// Partial hands out what there is instead of all or nothing; the other
	// machines end in error.
	Partial bool `yaml:"partial"`
	// Delay is how long an operation of the long-running shape takes.
	Delay Span `yaml:"delay"`
}

// MarketSpec is one market of a pool.
type MarketSpec struct {
	Rate  Price `yaml:"rate"` // per machine-hour
	Stock int   `yaml:"stock"`
	// Swing is how far the price moves from Rate, in percent; Every is how
	// often, one minute unless set.
	Swing int  `yaml:"swing"`
	Every Span `yaml:"every"`
	// Timeline sets the price at times after the world's first start, in place of Swing.
	Timeline []Moment `yaml:"timeline"`
}

// Moment is a price from a time on.
type Moment struct {
	After Span  `yaml:"after"`
	Rate  Price `yaml:"rate"`
}

// Failure is one of the five shapes in which clouds tell a lack of capacity.
type Failure string

// The shapes.
const (
	FailError       Failure = "error"        // the call fails
	FailList        Failure = "list"         // the call succeeds with a list of errors
	FailOperation   Failure = "operation"    // the call is accepted, its operation has failed
	FailInstances   Failure = "instances"    // the call is accepted, its machines are in error
	FailLongRunning Failure = "long-running" // the call is accepted, its operation fails after a while
)

var failures = []Failure{FailError, FailList, FailOperation, FailInstances, FailLongRunning}

// DefaultWorld is the built-in world: two clouds, nimbus and stratus, of which
// stratus is cheaper and sells out.
func DefaultWorld() World {
	w, err := ParseWorld(defaultWorld)
	if err != nil {
		panic("the built-in world is wrong: " + err.Error())
	}
	return w
}

// LoadWorld reads a world from a file.
func LoadWorld(path string) (World, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return World{}, fmt.Errorf("load world: %w", err)
	}
	w, err := ParseWorld(text)
	if err != nil {
		return World{}, fmt.Errorf("load world %s: %w", path, err)
	}
	return w, nil
}

// worldMost is the largest world that is read: a parser of YAML takes minutes for
// ten megabytes of brackets.
const worldMost = 1 << 20

// ParseWorld reads a world, fills in what is unset and checks it. Unknown keys
// are errors with line and column.
func ParseWorld(text []byte) (World, error) {
	var w World
	if len(text) > worldMost {
		return World{}, fmt.Errorf("the world has %d bytes; at most %d are read", len(text), worldMost)
	}
	if err := yaml.UnmarshalWithOptions(text, &w, yaml.Strict()); err != nil {
		return World{}, err
	}
	w.fill()
	return w, w.check()
}

func (w *World) fill() {
	for i := range w.Clouds {
		c := &w.Clouds[i]
		setDefault(&c.Linger, Span(2*time.Minute))
		setDefault(&c.PriceAge, Span(5*time.Minute))
		setDefault(&c.Billing.Step, Span(time.Second))
		setDefault(&c.Page, 50)
		setDefault(&c.Limits, 1)
		for r := range c.Regions {
			for z := range c.Regions[r].Zones {
				for p := range c.Regions[r].Zones[z].Pools {
					s := &c.Regions[r].Zones[z].Pools[p]
					setDefault(&s.Failure, FailError)
					setDefault(&s.Delay, Span(2*time.Second))
					if s.Spot != nil {
						setDefault(&s.Spot.Every, Span(time.Minute))
					}
				}
			}
		}
	}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

var (
	nameRule     = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,40}$`)
	currencyRule = regexp.MustCompile(`^[A-Z]{3}$`)
)

func (w *World) check() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if w.Version != 1 {
		fail("version is %d, want 1", w.Version)
	}
	if len(w.Clouds) == 0 {
		fail("clouds is empty: nothing to rent")
	}
	seen := map[string]bool{}
	for _, c := range w.Clouds {
		if seen[c.Name] {
			fail("cloud %s is there twice", c.Name)
		}
		seen[c.Name] = true
		if err := c.check(); err != nil {
			fail("cloud %s: %w", c.Name, err)
		}
	}
	return errors.Join(errs...)
}

func (b *Billing) check() error {
	switch {
	case b.Early < 0 || b.Early > 100:
		return fmt.Errorf("billing.early is %d, want 0 to 100 per cent", b.Early)
	case b.Early > 0 && b.Term == 0:
		return errors.New("billing.early without a billing.term charges nothing")
	}
	return nil
}

func (c *Cloud) check() error {
	var errs []error
	need := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	need(nameRule.MatchString(c.Name), "name %q is not lower-case letters, digits, dots and dashes", c.Name)
	need(currencyRule.MatchString(c.Currency), "currency %q is not three capital letters such as USD", c.Currency)
	need(len(c.Accounts) > 0, "accounts is empty: nobody could rent")
	need(c.Page > 0 && c.Limits > 0, "page and limits must be positive")
	for name, d := range map[string]Span{
		"notice": c.Notice, "boot": c.Boot, "stop": c.Stop, "visibility": c.Visibility,
		"linger": c.Linger, "billing.minimum": c.Billing.Minimum, "billing.step": c.Billing.Step, "billing.term": c.Billing.Term,
	} {
		need(d >= 0, "%s is negative", name)
	}
	errs = append(errs, c.Billing.check())
	for _, a := range c.Accounts {
		errs = append(errs, a.check())
	}
	for _, t := range c.Types {
		need(nameRule.MatchString(t.Name) && t.CPUs > 0 && t.MemoryMiB > 0, "type %q needs a name, cpus and memory_mib", t.Name)
		need(t.GPUs >= 0 && (t.GPUs == 0) == (t.GPUType == ""), "type %s: gpus and gpu_type go together", t.Name)
	}
	pools := map[wire.Pool]bool{}
	for _, r := range c.Regions {
		for _, z := range r.Zones {
			for _, s := range z.Pools {
				errs = append(errs, c.checkSupply(r, z, s, pools))
			}
		}
	}
	need(len(pools) > 0, "no zone has a pool: nothing to rent")
	return errors.Join(errs...)
}

func (a *Account) check() error {
	if !nameRule.MatchString(a.Name) {
		return fmt.Errorf("account name %q is not lower-case letters, digits, dots and dashes", a.Name)
	}
	for _, q := range a.Quotas {
		if q.Machines == nil && q.GPUs == nil && q.VCPUs == nil {
			return fmt.Errorf("account %s: a quota limits neither machines nor gpus nor vcpus", a.Name)
		}
		if q.Family != "" && !slices.Contains(ec2.Families(), q.Family) {
			return fmt.Errorf("account %s: family %q is not one of %q", a.Name, q.Family, ec2.Families())
		}
	}
	return nil
}

func (c *Cloud) checkSupply(r Region, z Zone, s Supply, pools map[wire.Pool]bool) error {
	where := r.Name + "/" + z.Name + "/" + s.Type
	if !nameRule.MatchString(r.Name) || !nameRule.MatchString(z.Name) {
		return fmt.Errorf("pool %s: a region or zone has no proper name", where)
	}
	if !slices.ContainsFunc(c.Types, func(t Type) bool { return t.Name == s.Type }) {
		return fmt.Errorf("pool %s: type %q is not among types", where, s.Type)
	}
	if !slices.Contains(failures, s.Failure) {
		return fmt.Errorf("pool %s: failure %q is not one of %q", where, s.Failure, failures)
	}
	if s.OnDemand == nil && s.Spot == nil {
		return fmt.Errorf("pool %s: neither on_demand nor spot", where)
	}
	for market, m := range map[string]*MarketSpec{string(bridge.OnDemand): s.OnDemand, string(bridge.Spot): s.Spot} {
		if m == nil {
			continue
		}
		pool := wire.Pool{Region: r.Name, Zone: z.Name, Type: s.Type, Market: market}
		if pools[pool] {
			return fmt.Errorf("pool %s is there twice", pool)
		}
		if err := m.check(pool); err != nil {
			return err
		}
		pools[pool] = true
	}
	return nil
}

func (m *MarketSpec) check(pool wire.Pool) error {
	switch {
	case m.Rate <= 0 || m.Stock < 0:
		return fmt.Errorf("pool %s: rate must be positive and stock not negative", pool)
	case m.Swing < 0 || m.Swing > 90:
		return fmt.Errorf("pool %s: swing is percent from 0 to 90", pool)
	case pool.Market == string(bridge.OnDemand) && (m.Swing != 0 || len(m.Timeline) > 0):
		return fmt.Errorf("pool %s: only spot prices move", pool)
	case !slices.IsSortedFunc(m.Timeline, func(a, b Moment) int { return int(a.After - b.After) }):
		return fmt.Errorf("pool %s: the timeline is not in order", pool)
	}
	return nil
}
