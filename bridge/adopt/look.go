package adopt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/store"
)

// Cloud is what is asked of a cloud.
type Cloud interface {
	Name() string
	List(ctx context.Context, storeID, cluster string) (bridge.Listing, error)
}

// Scheduler is what is asked of a cluster.
type Scheduler interface {
	Observe(ctx context.Context) (bridge.Queue, error)
}

// Site is where to look.
type Site struct {
	Dir      string // the store's
	Clouds   []Cloud
	Clusters map[string]Scheduler
	Watch    bridge.Watch
	Now      func() time.Time
}

// What can be in the way. Each leaves everything as it is.
var (
	// ErrUnseen: a cloud or a scheduler did not say all of what it has.
	ErrUnseen = errors.New("not everything can be seen")
	// ErrWhich: machines of several stores are there, or the store has books of
	// its own under another id. Choice has the ids.
	ErrWhich = errors.New("whose machines are meant is not clear")
	// ErrChanged: the store is not the one that was looked at any more.
	ErrChanged = errors.New("the store changed meanwhile")
)

// Choice is an ErrWhich with what there is to choose from.
type Choice struct {
	Here   string         // id of the store in place; empty: none
	Stores map[string]int // machines by id of their store
}

// Error names the ids.
func (c *Choice) Error() string {
	var whose []string
	for _, id := range slices.Sorted(maps.Keys(c.Stores)) {
		whose = append(whose, fmt.Sprintf("%d of store %s", c.Stores[id], id))
	}
	s := ErrWhich.Error() + ": " + strings.Join(whose, ", ")
	if c.Here != "" {
		s += ", and the store in place is " + c.Here
	}
	return s
}

// Unwrap returns ErrWhich.
func (c *Choice) Unwrap() error { return ErrWhich }

// Plan says what becomes of the store.
type Plan string

// The plans. A store is never changed into another one: it is set aside.
const (
	Nothing  Plan = "nothing"  // all is in the books
	New      Plan = "new"      // there is none, or none that was ever used
	Replace  Plan = "replace"  // it is damaged
	Complete Plan = "complete" // it lacks some
)

// Found is what a look found.
type Found struct {
	StoreID string // whose machines these are
	Plan    Plan
	Damage  error // of the store in place
	Rentals []Rental
	Left    []bridge.Unread // machines that nothing is done about

	site  *Site
	now   time.Time
	epoch int64 // of the store in place; zero: none that can be read
	top   int64 // the highest number of a rental seen anywhere
}

// Rental is one that lives by the clouds' word.
type Rental struct {
	bridge.Rebuilt
	Was bridge.State // in the books; empty: not there
	New bool         // it is to be stored
}

// Missing is how many rentals the store lacks, or has otherwise.
func (f *Found) Missing() int {
	n := 0
	for i := range f.Rentals {
		if f.Rentals[i].New {
			n++
		}
	}
	return n
}

// Look finds what lives, and what the store knows of it. storeID says whose
// machines are meant, empty: those of the one store there is. store.ErrLocked
// while a daemon runs.
func Look(ctx context.Context, site *Site, storeID string) (*Found, error) {
	unlock, err := store.Lock(site.Dir)
	if err != nil {
		return nil, err
	}
	f, err := look(ctx, site, storeID)
	return f, errors.Join(err, unlock())
}

func look(ctx context.Context, site *Site, storeID string) (*Found, error) {
	f := &Found{site: site, now: site.Now().UTC()}
	books, err := f.read(ctx)
	if err != nil {
		return nil, err
	}
	machines, err := f.list(ctx, cmp.Or(storeID, books.id, "-"))
	if err != nil {
		return nil, err
	}
	if f.StoreID, err = whose(machines, storeID, books); err != nil {
		return nil, err
	}
	queues, err := f.observe(ctx)
	if err != nil {
		return nil, err
	}
	var mine []bridge.Instance
	for _, in := range machines {
		if in.Tags[bridge.TagStore] == f.StoreID {
			mine = append(mine, in)
			f.top = max(f.top, bridge.RentalID(in.Tags[bridge.TagRental]).Number())
		}
	}
	rebuilt, left := bridge.Rebuild(mine, queues, site.Watch, f.now)
	f.Left = left
	for i := range rebuilt {
		f.compare(&rebuilt[i], books)
	}
	f.settle(books)
	return f, nil
}

// books are what the store in place says.
type books struct {
	id    string
	used  bool // it has had rentals
	there bool // a file is
	all   map[bridge.RentalID]bridge.Rental
}

// read reads the store in place. One that cannot be read for its own sake is
// damage; one that cannot be reached is an error.
func (f *Found) read(ctx context.Context) (*books, error) {
	b := &books{all: map[bridge.RentalID]bridge.Rental{}}
	s, err := store.OpenReadOnly(ctx, f.site.Dir, store.Options{Now: f.site.Now})
	switch {
	case errors.Is(err, store.ErrNoStore):
		return b, nil
	case errors.Is(err, store.ErrCorrupt):
		f.Damage, b.there = err, true
		return b, nil
	case err != nil:
		return nil, err
	}
	b.there, b.id, f.epoch = true, s.StoreID(), s.Epoch()
	f.Damage, err = examine(ctx, s, b)
	return b, errors.Join(err, s.Close())
}

// every is more rentals than a store has.
const every = 1 << 30

// examine reads all rentals, and judges whether the books can be gone on with.
func examine(ctx context.Context, s *store.Store, b *books) (damage, err error) {
	damage = s.Integrity(ctx)
	if damage == nil {
		report, err := s.CheckLedger(ctx)
		switch {
		case err != nil:
			damage = err
		case !report.Balanced():
			damage = fmt.Errorf("its books do not balance: %s", report.Faults[0])
		}
	}
	if damage != nil {
		b.used = true
		if err := ctx.Err(); err != nil {
			return damage, fmt.Errorf("examine books: %w", err)
		}
		return damage, nil
	}
	rentals, err := s.Recent(ctx, every)
	for i := range rentals {
		b.all[rentals[i].ID] = rentals[i]
	}
	b.used = len(rentals) > 0
	return nil, err
}

// list asks all clouds for all machines of our clusters.
func (f *Found) list(ctx context.Context, storeID string) ([]bridge.Instance, error) {
	var out []bridge.Instance
	var errs []error
	for _, cloud := range f.site.Clouds {
		seen := map[string]bool{}
		for _, cluster := range slices.Sorted(maps.Keys(f.site.Clusters)) {
			l, err := cloud.List(ctx, storeID, cluster)
			switch {
			case err != nil:
				errs = append(errs, fmt.Errorf("%w: list %s: %w", ErrUnseen, cloud.Name(), err))
			case !l.Complete:
				errs = append(errs, fmt.Errorf("%w: %s did not send every page of its list", ErrUnseen, cloud.Name()))
			}
			for _, in := range l.Instances {
				ours := in.Tags[bridge.TagStore] != "" && f.site.Clusters[in.Tags[bridge.TagCluster]] != nil
				if ours && !seen[in.ID] {
					seen[in.ID], in.Pool.Cloud = true, cloud.Name()
					out = append(out, in)
				}
			}
		}
	}
	return out, errors.Join(errs...)
}

// whose decides which store's machines are meant.
func whose(machines []bridge.Instance, asked string, b *books) (string, error) {
	stores := map[string]int{}
	for i := range machines {
		if machines[i].State != bridge.InstanceGone {
			stores[machines[i].Tags[bridge.TagStore]]++
		}
	}
	ids := slices.Sorted(maps.Keys(stores))
	own := b.used && b.id != "" // its books are worth something
	switch {
	case own && asked != "" && asked != b.id:
		return "", fmt.Errorf("%s has books of its own in place: %w", b.id, &Choice{b.id, stores})
	case asked != "":
		return asked, nil
	case own && (len(ids) == 0 || len(ids) == 1 && ids[0] == b.id):
		return b.id, nil
	case own || len(ids) > 1:
		return "", &Choice{b.id, stores}
	case len(ids) == 1:
		return ids[0], nil
	}
	return b.id, nil
}

// observe reads all clusters: what nobody can see may be busy.
func (f *Found) observe(ctx context.Context) (map[string]*bridge.Queue, error) {
	out := map[string]*bridge.Queue{}
	var errs []error
	for name, s := range f.site.Clusters {
		q, err := s.Observe(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: observe cluster %s: %w", ErrUnseen, name, err))
			continue
		}
		q.Cluster = name
		out[name] = &q
		for i := range q.Nodes {
			if id, _, ok := bridge.RentalOfNode(q.Nodes[i].Name); ok {
				f.top = max(f.top, id.Number())
			}
		}
	}
	return out, errors.Join(errs...)
}

// settle finds out what becomes of the store.
func (f *Found) settle(b *books) {
	switch missing := f.Missing(); {
	case f.Damage != nil:
		f.Plan = Replace
	case missing == 0 && (b.id == f.StoreID || f.StoreID == ""):
		f.Plan = Nothing
	case b.id == f.StoreID:
		f.Plan = Complete
	default:
		f.Plan = New
	}
}
