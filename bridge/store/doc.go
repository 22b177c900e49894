// Package store keeps rentals, money and what happened in one SQLite file.
//
// One method is one transaction: a rental's row, its ledger rows and the news of
// it become durable together or not at all. A method that returned nil has
// reached the disk (WAL with synchronous=FULL), so a create call may follow a
// Reserve at once.
//
// One process writes. It holds a file lock on the data directory, and each
// write checks that the epoch it took at Open is still the store's: a bridge
// that was stopped and came back late is refused with bridge.ErrEpoch. Within the
// process one connection writes; a pool of others reads.
//
// Rules kept here whatever the caller does:
//
//   - a rental changes from the version that was read, else bridge.ErrVersion
//   - a state changes by one event of bridge.Advance at most
//   - money is held by Reserve and Approve, ended by Settle, and by nothing else;
//     what a rental cost changes after that by Correct alone
//   - the account, the cloud and the class of GPU of a rental stay while it is held
//   - posted + held stays within every budget, but for an overage that an
//     approver allowed and an overrun that really happened
//   - ledger, news and bills are append-only
//   - a key or a name that was used stands for what it was used for
package store
