// Package storetest makes stores for tests and measurements: a year of a busy
// site, written in seconds and yet whole, so that the ledger check finds nothing.
package storetest
