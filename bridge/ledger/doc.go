// Package ledger keeps the money of rentals in double entry: what was set
// aside, what was spent, and who said that more may be spent.
//
// It is pure. Time comes in as an argument, nothing is read or stored; package
// store keeps the transactions that are made here.
//
// # Accounts and books
//
// An account is a path organisation/team/project/user. Lines are written for
// the account that pays, and every prefix of it includes them. Each line is in
// one of four books:
//
//	room     what limits still allow, from the moment the ledger began
//	held     set aside at the worst case for rentals that have not ended
//	posted   metered cost
//	overage  what approvers allowed above a limit, each for one rental
//
// The lines of a transaction sum to zero in its one currency, so all books
// together do too. A hold moves room to held, a post moves held to posted,
// settling moves what is left of held back to room. Cost beyond a hold is never
// refused, since it is true: it moves room straight to posted, in an adjust
// transaction that names the overrun. An overage moves overage to room. It
// gives room to nobody: it records why posted and held may exceed a limit.
//
// # Periods
//
// A post counts in the period in which it is posted. What a hold still holds
// counts in whichever period is looked at now, because it will be posted in
// this one or a later one. So posted + held ≤ limit is kept over the end of a
// period too: a hold made on the last evening of a month takes its rest from
// the next month's limit until it is settled, and voiding it gives back just
// what it took.
//
// A budget's period is the time between two calendar dates in the budget's own
// zone, 23 or 25 hours included. Posts are summed by quarter hours of UTC: the
// offset of every zone in use is a multiple of 15 minutes, so a sum of quarter
// hours is exact for each of them, and a budget may change its zone without a
// rewrite of the past.
//
// # Rounding
//
// Amounts come in as micro-units and are never rounded here. Callers compute
// holds with [bridge.RoundUp], so that they cover, and posts with
// [bridge.RoundHalfEven] on the whole cost so far, so that nothing drifts.
//
// # Chain
//
// Each transaction carries a hash of its content and of the hash before it.
// [Verify] finds a row that was changed, is missing or stands elsewhere.
package ledger
