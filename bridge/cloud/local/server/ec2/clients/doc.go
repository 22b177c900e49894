// Package clients holds the EC2 dialect of the local cloud against AWS's own SDK
// for Go and against requests that no SDK would send. It has tests only, apart
// from the dialect's, so that its fuzzers need not build the SDK.
package clients
