// Package cloudtest is the conformance suite that the adapter of every cloud
// passes. It asks for what the engine's protocol stands on: a create that
// happens once or can be found again, tags that are there from the first
// moment, all machines or none, errors whose kind can be trusted, listings
// that say when they are not whole, ends that come.
//
// A provider's test fills in a [Provider] and calls [Run]. What a cloud does
// not have, it leaves empty, and the suite then has no such test; nothing is
// skipped at run time. Each test rents under a store id of its own and gives
// everything back, so the suite may run in an account that is in use.
package cloudtest
