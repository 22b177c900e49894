package say

import (
	"context"

	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/report"
)

// Desk is what is asked of the desk; *desk.Desk has it.
type Desk interface {
	Money
	Machines
	Questions
	Names(ctx context.Context, p desk.Person, q desk.NamesRequest) (desk.NamesAnswer, error)
	WhoAmI(ctx context.Context, p desk.Person, q desk.WhoAmIRequest) (desk.WhoAmIAnswer, error)
	Freeze(ctx context.Context, p desk.Person, q desk.FreezeRequest) (desk.FreezeAnswer, error)
}

// Money is what is asked about money.
type Money interface {
	Quote(ctx context.Context, p desk.Person, q desk.QuoteRequest) (desk.QuoteAnswer, error)
	Prices(ctx context.Context, p desk.Person, q desk.PricesRequest) (desk.PricesAnswer, error)
	Clouds(ctx context.Context, p desk.Person, q desk.CloudsRequest) (desk.CloudsAnswer, error)
	Budget(ctx context.Context, p desk.Person, q desk.BudgetRequest) (desk.BudgetAnswer, error)
	Report(ctx context.Context, p desk.Person, q desk.ReportRequest) (desk.ReportAnswer, error)
	Week(ctx context.Context, p desk.Person, q desk.WeekRequest) (report.Report, error)
	Spend(ctx context.Context, p desk.Person, q desk.SpendRequest) (desk.SpendAnswer, error)
}

// Machines is what is asked about rentals.
type Machines interface {
	Rent(ctx context.Context, p desk.Person, q desk.RentRequest) (desk.RentAnswer, error)
	Keep(ctx context.Context, p desk.Person, q desk.KeepRequest) (desk.KeepAnswer, error)
	Extend(ctx context.Context, p desk.Person, q desk.ExtendRequest) (desk.ExtendAnswer, error)
	Release(ctx context.Context, p desk.Person, q desk.ReleaseRequest) (desk.ReleaseAnswer, error)
	Rentals(ctx context.Context, p desk.Person, q desk.RentalsRequest) (desk.RentalsAnswer, error)
	Rental(ctx context.Context, p desk.Person, q desk.RentalRequest) (desk.RentalAnswer, error)
}

// Questions is what is asked about what waits for a person.
type Questions interface {
	Question(ctx context.Context, p desk.Person, q desk.QuestionRequest) (desk.QuestionAnswer, error)
	Decide(ctx context.Context, p desk.Person, q desk.DecideRequest) (desk.DecideAnswer, error)
	Cancel(ctx context.Context, p desk.Person, q desk.CancelRequest) (desk.CancelAnswer, error)
}
