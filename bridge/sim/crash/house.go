package crash

import (
	"context"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/calendar"
	"spillway.sh/spillway/bridge/enrol"
	"spillway.sh/spillway/bridge/usage"
)

// Calendar puts a hook round what the calendar reads of the store and tells it.
func Calendar(in calendar.Store, a Around) calendar.Store {
	return calendarStore{port{"Calendar", "", a}, in}
}

type calendarStore struct {
	port
	in calendar.Store
}

// Usage puts a hook round what is recorded of the use of GPUs.
func Usage(in usage.Store, a Around) usage.Store { return usageStore{port{"Usage", "", a}, in} }

type usageStore struct {
	port
	in usage.Store
}

// Rentals puts a hook round what the door for machines asks of the store.
func Rentals(in enrol.Rentals, a Around) enrol.Rentals { return rentals{port{"Rentals", "", a}, in} }

type rentals struct {
	port
	in enrol.Rentals
}

func (s calendarStore) Balances(ctx context.Context, now time.Time, budgets []bridge.Budget) ([]bridge.Balance, error) {
	return ask(ctx, &s.port, "Balances", func(ctx context.Context) ([]bridge.Balance, error) { return s.in.Balances(ctx, now, budgets) }, now, budgets)
}

func (s calendarStore) Live(ctx context.Context) ([]bridge.Rental, error) {
	return ask(ctx, &s.port, "Live", func(ctx context.Context) ([]bridge.Rental, error) { return s.in.Live(ctx) })
}

func (s calendarStore) PostedBetween(ctx context.Context, from, to time.Time) ([]bridge.PostedSum, error) {
	return ask(ctx, &s.port, "PostedBetween", func(ctx context.Context) ([]bridge.PostedSum, error) { return s.in.PostedBetween(ctx, from, to) }, from, to)
}

func (s calendarStore) NewsBetween(ctx context.Context, from, to time.Time, kinds ...bridge.NewsKind) ([]bridge.News, error) {
	return ask(ctx, &s.port, "NewsBetween", func(ctx context.Context) ([]bridge.News, error) { return s.in.NewsBetween(ctx, from, to, kinds...) }, from, to, kinds)
}

func (s calendarStore) TellOnce(ctx context.Context, once ...bridge.Once) (int, error) {
	return ask(ctx, &s.port, "TellOnce", func(ctx context.Context) (int, error) { return s.in.TellOnce(ctx, once...) }, once)
}

func (s usageStore) AddUsage(ctx context.Context, us ...bridge.Usage) error {
	return tell(ctx, &s.port, "AddUsage", func(ctx context.Context) error { return s.in.AddUsage(ctx, us...) }, us)
}

func (r rentals) Rental(ctx context.Context, id bridge.RentalID) (bridge.Rental, error) {
	return ask(ctx, &r.port, "Rental", func(ctx context.Context) (bridge.Rental, error) { return r.in.Rental(ctx, id) }, id)
}

func (r rentals) ClaimEnrolment(ctx context.Context, id bridge.RentalID, machine, address string) error {
	return tell(ctx, &r.port, "ClaimEnrolment", func(ctx context.Context) error { return r.in.ClaimEnrolment(ctx, id, machine, address) }, id, machine, address)
}
