// Package reporttest is one week of a made-up site, for tests of whatever shows
// a report.
package reporttest
