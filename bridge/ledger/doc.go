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
// A transaction also names the cloud and the class of GPU that its rental is on,
// so that a budget may be of one cloud or one class. They are fixed with the
// hold; a hold of before they were kept names neither, until it ends.
//
// # Corrections
//
// A provider's bill, credit or refund comes after the end. It changes the cost
// of a settled hold by an entry of its own, which moves room to posted or back,
// in the period in which the cost arose. Its key counts once. No cost falls below
// nothing.
//
// Capacity that is paid for anyway has a hold of nothing: two entries without
// lines say from when to when its machines were there.
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
// [Verify] finds a row that was changed, is missing or stands elsewhere. What
// transactions gained later is hashed only where it is set, so older ones verify.
//
// # Invariants
//
// Each is held by tests of its name, TestI01 to TestI18, or by those named here:
//
//	I01 debits equal credits, per entry and currency    here
//	I02 no admissions exceed a budget, however many     package store; there also TestStoreKeepsTheBooksWhateverHappens
//	I03 a hold ends once                                package store
//	I04 a key stands for one content                    package store; requests by hand: TestTheSameRequestRentsOnce of package desk
//	I05 children sum to their parent                    package store
//	I06 nothing is held without a live rental           package store, killed at any time; TestKilledAtEveryRowOfAWrite
//	I07 one rental, one set of machines; one request,   TestINV_I25_KilledAtEveryPoint of package sim/crash, TestC_F08 of package engine;
//	    one rental                                      TestTheSameKeySentAtOnceRentsOnce of package desk
//	I08 posted falls by a named entry alone             here
//	I09 days add up to their month, in any zone         package store
//	I10 one decision, by another, in time, on the       TestEveryOrderOfAnswersGivesOneOutcome of package desk;
//	    question that is open                           TestAnswersThatDoNotFitTheQuestion of package store
//	I11 a hold covers whatever obeys it                 here; orders: TestHoldIsTheWorstCase of package bridge
//	I12 an unknown price is never zero                  package bridge
//	I13 a name is told once                             package store
//	I14 the journal gives the tables                    here; the stored ones: TestStoreKeepsTheBooksWhateverHappens of package store
//	I15 shown left is no more than left                 here
//	I16 an old period frees and blocks nothing          package store
//	I17 the order of deliveries changes nothing         the command's package; the deliveries themselves: TestB_F16 of package bot
//	I18 the chain of hashes shows every change          here; the stored one: TestLedgerCheckFindsWhatWasTamperedWith of package store
package ledger
