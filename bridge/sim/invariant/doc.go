// Package invariant says what must be true of a bridge and its world at any
// time: that nothing is rented twice, forgotten or lost, that the books balance,
// that no job is lost, that people's answers count once. It is given values and
// returns values; what it judges by is the truth of the world (the clouds' own
// ledger, the scheduler's own jobs), never the bridge's word for it alone.
//
// The invariants are I1 to I28, each a function named after what it says. Where
// the engine was built otherwise than they were first worded, what is meant is
// checked:
//
//   - I1: a rental that is held and has a machine without an instance knows that
//     instance by its tags. How old a stranger may get is counted in looks that
//     could have found it (complete lists, with readable queues), since a bridge
//     that is dead or blind finds nothing.
//   - I2: machines have no ordinal in their cloud; an attempt, known by its token,
//     has no more of them than its one create call asks for. A second attempt is
//     a second rental.
//   - I5: the cloud ends a machine at its end by itself; what is checked besides is
//     that this end is never later than what is held for.
//   - I6: "listed none, twice" is: none lives by the truth, and the newest complete
//     list before the settlement shows none. The first of the two looks is the one
//     by which the machine was judged gone, which I8 checks.
//   - I8: a cloud whose complete lists lack a machine that lives, twice, minutes
//     apart, cannot be seen through; one such list must change nothing.
//   - I10: an open hold counts in full in whichever period is current, so money
//     held over midnight counts in both days. What adoption took back into the
//     books had asked no budget and may exceed it.
//   - I12: the rounding is one micro-unit for each machine. While the bridge's clock
//     was wrong, the end of a machine that no list shows any more is a guess.
//   - I14: a job that failed, ran out of its time or lost a machine of its own
//     choosing (not restartable, taken by the provider) is not lost by us; nor is
//     one that slurmctld itself has forgotten.
//   - I15: "requeue count" is the scheduler's Restarts, which must not exceed the
//     runs that were broken off.
//   - I16, I17: a notice, the end of what is paid, and a person's "now" excuse. A
//     scheduler that does not answer must have been asked.
//   - I18: "untouched" is priority and time of submission of every job that no call
//     of ours has named, and that a job is let only onto what is promised to it.
//   - I22: seen from outside, a state is never in the store without its news.
//   - I24: what a bridge that was replaced reads is not judged, nor what it asks of
//     clouds: its creates carry the same token, or are orphans.
//   - I25: the end state is judged at the end; on the way, that a rental whose
//     machines are gone is settled once lists can prove it.
//   - I26: quiet is: nothing rented, asked, waiting or running, and no mark that
//     time alone will change.
//   - I27: the line in the log is looked for by the name of who answered.
package invariant
