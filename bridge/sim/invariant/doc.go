// Package invariant says what must be true of a bridge and its world at any
// time: that nothing is rented twice, forgotten or lost, that the books balance,
// that no job is lost, that people's answers count once. It is given values and
// returns values; what it judges by is the truth of the world (the clouds' own
// ledger, the scheduler's own jobs), never the bridge's word for it alone.
package invariant
