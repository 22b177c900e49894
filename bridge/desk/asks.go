package desk

import (
	"context"

	"spillway.sh/spillway/bridge/report"
)

// Ask is one thing people can ask for, by name: the socket's path, the audit's
// word. Reads answers without a daemon, from the store alone.
type Ask[Q, A any] struct {
	Name  string
	Reads bool
	Do    func(*Desk, context.Context, Person, Q) (A, error)
}

// Everything that can be asked.
var (
	AskQueue       = Ask[QueueRequest, QueueAnswer]{"queue", true, (*Desk).Queue}
	AskExplain     = Ask[ExplainRequest, ExplainAnswer]{"explain", true, (*Desk).Explain}
	AskRentals     = Ask[RentalsRequest, RentalsAnswer]{"rentals", true, (*Desk).Rentals}
	AskRental      = Ask[RentalRequest, RentalAnswer]{"rental", true, (*Desk).Rental}
	AskQuote       = Ask[QuoteRequest, QuoteAnswer]{"quote", true, (*Desk).Quote}
	AskRent        = Ask[RentRequest, RentAnswer]{"rent", false, (*Desk).Rent}
	AskRelease     = Ask[ReleaseRequest, ReleaseAnswer]{"release", false, (*Desk).Release}
	AskDecide      = Ask[DecideRequest, DecideAnswer]{"decide", false, (*Desk).Decide}
	AskQuestion    = Ask[QuestionRequest, QuestionAnswer]{"question", true, (*Desk).Question}
	AskSpend       = Ask[SpendRequest, SpendAnswer]{"spend", true, (*Desk).Spend}
	AskPlan        = Ask[PlanRequest, PlanAnswer]{"plan", true, (*Desk).Plan}
	AskFreeze      = Ask[FreezeRequest, FreezeAnswer]{"freeze", false, (*Desk).Freeze}
	AskWhoAmI      = Ask[WhoAmIRequest, WhoAmIAnswer]{"whoami", true, (*Desk).WhoAmI}
	AskNews        = Ask[NewsRequest, NewsAnswer]{"news", true, (*Desk).News}
	AskLedger      = Ask[LedgerRequest, LedgerAnswer]{"ledger", true, (*Desk).CheckBooks}
	AskNames       = Ask[NamesRequest, NamesAnswer]{"names", true, (*Desk).Names}
	AskPrices      = Ask[PricesRequest, PricesAnswer]{"prices", true, (*Desk).Prices}
	AskBudget      = Ask[BudgetRequest, BudgetAnswer]{"budget", true, (*Desk).Budget}
	AskWeek        = Ask[WeekRequest, report.Report]{"week", true, (*Desk).Week}
	AskChargeback  = Ask[ChargebackRequest, ChargebackAnswer]{"chargeback", true, (*Desk).Chargeback}
	AskReport      = Ask[ReportRequest, ReportAnswer]{"report", true, (*Desk).Report}
	AskExtend      = Ask[ExtendRequest, ExtendAnswer]{"extend", false, (*Desk).Extend}
	AskKeep        = Ask[KeepRequest, KeepAnswer]{"keep", false, (*Desk).Keep}
	AskCancel      = Ask[CancelRequest, CancelAnswer]{"cancel", false, (*Desk).Cancel}
	AskCheckpoints = Ask[CheckpointsRequest, CheckpointsAnswer]{"checkpoints", true, (*Desk).Checkpoints}
	AskBill        = Ask[BillRequest, BillAnswer]{"bill", true, (*Desk).CheckBill}
	AskBillImport  = Ask[BillRequest, BillAnswer]{"bill-import", false, (*Desk).ImportBill}
	AskClouds      = Ask[CloudsRequest, CloudsAnswer]{"clouds", true, (*Desk).Clouds}
	AskStatus      = Ask[StatusRequest, StatusAnswer]{"status", true, (*Desk).Status}
)
