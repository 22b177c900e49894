// Package replay runs one long job with a deadline through many seeded weeks of
// spot availability, under the rules of package bridge and under others, and
// counts what each costs.
//
// The weeks are made, not recorded: each zone's share of time up, the length of
// its runs and its correlation with its neighbours are those measured on nine
// zones in 2023, see testdata/README.md. Prices do not move in them, and one zone
// is as good as the other while it is up.
package replay
