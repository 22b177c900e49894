// Package replay runs one long job with a deadline, or a gang of several nodes,
// through many seeded weeks of spot availability: under the daemon's own rules,
// which are bridge.Decide with its pools, rests, hazards and paces, and under
// others, and counts what each costs, egress included.
//
// The weeks are made, not recorded: each zone's share of time up, the length of
// its runs and its correlation with its neighbours are those measured on nine
// zones in 2023, see testdata/README.md. Prices do not move in them, and one zone
// is as good as the other while it is up.
package replay
