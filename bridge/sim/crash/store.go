package crash

import (
	"context"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/engine"
)

// Store puts a hook round every call that the engine makes to its store.
func Store(in engine.Store, a Around) engine.Store { return store{port{"Store", "", a}, in} }

type store struct {
	port
	in engine.Store
}

// StoreID is what the store was opened with: no call.
func (s store) StoreID() string { return s.in.StoreID() }

// Epoch is what the store was opened with: no call.
func (s store) Epoch() int64 { return s.in.Epoch() }

func (s store) Live(ctx context.Context) ([]bridge.Rental, error) {
	return ask(ctx, &s.port, "Live", func(ctx context.Context) ([]bridge.Rental, error) { return s.in.Live(ctx) })
}

func (s store) NextID(ctx context.Context) (bridge.RentalID, error) {
	return ask(ctx, &s.port, "NextID", func(ctx context.Context) (bridge.RentalID, error) { return s.in.NextID(ctx) })
}

func (s store) Given(ctx context.Context) (int64, error) {
	return ask(ctx, &s.port, "Given", func(ctx context.Context) (int64, error) { return s.in.Given(ctx) })
}

func (s store) Propose(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	return ask(ctx, &s.port, "Propose", func(ctx context.Context) (bridge.Rental, error) { return s.in.Propose(ctx, r, news...) }, r, news)
}

func (s store) Reserve(ctx context.Context, r bridge.Rental, budgets []bridge.Budget, news ...bridge.News) (bridge.Rental, error) {
	return ask(ctx, &s.port, "Reserve", func(ctx context.Context) (bridge.Rental, error) { return s.in.Reserve(ctx, r, budgets, news...) }, r, budgets, news)
}

func (s store) Adopt(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	return ask(ctx, &s.port, "Adopt", func(ctx context.Context) (bridge.Rental, error) { return s.in.Adopt(ctx, r, news...) }, r, news)
}

func (s store) Save(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	return ask(ctx, &s.port, "Save", func(ctx context.Context) (bridge.Rental, error) { return s.in.Save(ctx, r, news...) }, r, news)
}

func (s store) Balances(ctx context.Context, now time.Time, budgets []bridge.Budget) ([]bridge.Balance, error) {
	return ask(ctx, &s.port, "Balances", func(ctx context.Context) ([]bridge.Balance, error) { return s.in.Balances(ctx, now, budgets) }, now, budgets)
}

func (s store) Extend(ctx context.Context, r bridge.Rental, more bridge.Money, budgets []bridge.Budget, news ...bridge.News) (bridge.Rental, error) {
	return ask(ctx, &s.port, "Extend", func(ctx context.Context) (bridge.Rental, error) { return s.in.Extend(ctx, r, more, budgets, news...) }, r, more, budgets, news)
}

func (s store) Post(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	return ask(ctx, &s.port, "Post", func(ctx context.Context) (bridge.Rental, error) { return s.in.Post(ctx, r, news...) }, r, news)
}

func (s store) Settle(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	return ask(ctx, &s.port, "Settle", func(ctx context.Context) (bridge.Rental, error) { return s.in.Settle(ctx, r, news...) }, r, news)
}

func (s store) Marks(ctx context.Context) (bridge.Marks, error) {
	return ask(ctx, &s.port, "Marks", func(ctx context.Context) (bridge.Marks, error) { return s.in.Marks(ctx) })
}

func (s store) SaveMarks(ctx context.Context, m bridge.Marks, news ...bridge.News) error {
	return tell(ctx, &s.port, "SaveMarks", func(ctx context.Context) error { return s.in.SaveMarks(ctx, m, news...) }, m, news)
}

func (s store) Tell(ctx context.Context, news ...bridge.News) error {
	return tell(ctx, &s.port, "Tell", func(ctx context.Context) error { return s.in.Tell(ctx, news...) }, news)
}
