// Package bridge is the domain of Spillway: what a queue demands, what clouds
// offer, what a rental is, and the decision between them.
//
// Everything here is a value or a pure function. Time is an argument named
// now, money is int64 micro-units, and nothing reads a clock, a file, a socket
// or a database. Every yes and every no carries a named Reason.
//
// The words, one per idea:
//
//	demand   waiting work the local cluster cannot start
//	verdict  what Spillway says of one demand: burst, wait, ask or never
//	offer    an instance type in a zone of a cloud, on demand or spot, at a rate
//	rental   one paid loan of machines, made for a demand or by request
//	machine  one instance of a rental
//	hold     money set aside at the worst case before anything is rented
//	notice   a cloud's warning that it takes a spot machine back; reclaim is the taking
//	admit    letting a rental's machines into the scheduler, all at once
//	sweep    comparing what the clouds list with what the store knows
//
// The flow, each step one file of package engine:
//
//	observe -> decide -> reserve (or ask) -> provision -> join -> admit
//	        -> watch -> reclaim -> release -> settle -> report
package bridge
