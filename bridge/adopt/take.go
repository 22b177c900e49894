package adopt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/store"
)

// Gap is how many numbers of rentals are left out after the highest that was
// seen: a lost store may have given ids that nothing carries any more, and bills
// still do.
const Gap = 1000

// Take makes or completes the store. It may be killed and run again: a new store
// comes into place whole, and one that is completed has money stopped first.
// What was set aside is returned.
func (f *Found) Take(ctx context.Context) (aside []string, err error) {
	switch f.Plan {
	case Nothing:
		return nil, nil
	case Complete:
		return nil, f.complete(ctx)
	case New, Replace:
	}
	return f.replace(ctx)
}

// complete adds to the store in place.
func (f *Found) complete(ctx context.Context) error {
	s, err := store.Open(ctx, f.site.Dir, store.Options{Now: f.site.Now})
	if err != nil {
		return err
	}
	if s.Epoch() != f.epoch+1 || s.StoreID() != f.StoreID {
		return errors.Join(ErrChanged, s.Close())
	}
	return errors.Join(f.fill(ctx, s), s.Close())
}

// replace makes the store beside its place, and moves it there when it is whole.
func (f *Found) replace(ctx context.Context) (aside []string, err error) {
	unlock, err := store.Lock(f.site.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := f.same(ctx); err != nil {
		return nil, err
	}
	beside := filepath.Join(f.site.Dir, "adopting")
	if err := os.RemoveAll(beside); err != nil { // of one that was killed
		return nil, fmt.Errorf("make a store beside: %w", err)
	}
	s, err := store.Open(ctx, beside, store.Options{Now: f.site.Now, StoreID: f.StoreID})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.fill(ctx, s), s.Close()); err != nil {
		return nil, err
	}
	aside, err = store.Place(f.site.Dir, beside, "lost-"+f.now.Format("20060102T150405"))
	if err != nil {
		return aside, err
	}
	if err := os.RemoveAll(beside); err != nil {
		return aside, fmt.Errorf("clean up: %w", err)
	}
	return aside, nil
}

// same refuses a store that is not as it was when it was looked at.
func (f *Found) same(ctx context.Context) error {
	now := &Found{site: f.site}
	b, err := now.read(ctx)
	if err != nil {
		return err
	}
	if now.epoch != f.epoch || (now.Damage == nil) != (f.Damage == nil) || f.Damage == nil && b.used {
		return ErrChanged
	}
	return nil
}

// fill stops new money first, then takes rental after rental.
func (f *Found) fill(ctx context.Context, s *store.Store) error {
	m, err := s.Marks(ctx)
	if err != nil {
		return err
	}
	m.Protected, m.Foreign = f.Cause(), nil
	n := bridge.News{Kind: bridge.NewsProtected, Text: m.Protected}
	if err := s.SaveMarks(ctx, m, n); err != nil {
		return err
	}
	if err := s.SkipIDs(ctx, f.top+Gap); err != nil {
		return err
	}
	for i := range f.Rentals {
		r := &f.Rentals[i]
		if !r.New {
			continue
		}
		if _, err := s.Adopt(ctx, r.Rental, r.news()); err != nil {
			return err
		}
	}
	return nil
}

// Cause is why no new money flows afterwards.
func (f *Found) Cause() string {
	if f.Plan == Complete {
		return "The store was completed by `spillway adopt`: what was spent since its copy was made is not in the books. " +
			"Check the budgets, then `spillway thaw`"
	}
	return "The store was rebuilt by `spillway adopt`: what was spent before is not in the books, and budgets count from nothing. " +
		"Check the budgets, then `spillway thaw`"
}

func (r *Rental) news() bridge.News {
	pool := r.Rental.Pool
	return bridge.News{
		Kind: bridge.NewsAdopted, Cluster: r.Rental.Cluster, Rental: r.Rental.ID, Why: bridge.ReasonRebuilt, Pool: &pool,
		Cost: r.Rental.Hold, Who: r.Rental.Requester, Text: "taken into the books by its machines' tags",
	}
}
