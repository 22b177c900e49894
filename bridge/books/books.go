package books

import (
	"context"
	"errors"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/store"
)

// Books is the store in the desk's words.
type Books struct{ *store.Store }

var (
	_ desk.BillReader = Books{}
	_ desk.BillWriter = Books{}
)

// Rental returns one rental, or desk.ErrNoRental.
func (b Books) Rental(ctx context.Context, id bridge.RentalID) (bridge.Rental, error) {
	r, err := b.Store.Rental(ctx, id)
	return r, inDeskWords(err)
}

// ByKey returns the rental of a request, or desk.ErrNoRental.
func (b Books) ByKey(ctx context.Context, key string) (bridge.Rental, error) {
	r, err := b.Store.ByKey(ctx, key)
	return r, inDeskWords(err)
}

func inDeskWords(err error) error {
	if errors.Is(err, store.ErrNoRental) {
		return errors.Join(desk.ErrNoRental, err)
	}
	return err
}

// News returns what happened.
func (b Books) News(ctx context.Context, f desk.NewsFilter) ([]bridge.News, error) {
	return b.Store.News(ctx, store.NewsFilter(f))
}

// CheckLedger proves the books, and the file they are in.
func (b Books) CheckLedger(ctx context.Context) (desk.LedgerReport, error) {
	r, err := b.Store.CheckLedger(ctx)
	if err != nil {
		return desk.LedgerReport{}, err
	}
	out := desk.LedgerReport{Entries: r.Transactions, OpenHolds: r.OpenHolds, Held: r.Held, Posted: r.Posted, Problems: r.Faults, Head: r.Head.Hash}
	if err := b.Integrity(ctx); err != nil {
		out.Problems = append(out.Problems, err.Error())
	}
	return out, nil
}
