// Package sim is a seeded world in one process: a queue, clouds whose stock and
// prices move together, people who decide, clocks that jump, calls that fail,
// and a bridge that dies and comes back. The engine, the store, the desk and the
// adapters in it are the real ones, down to the text of a command and the bytes
// of a request; only what is behind their sockets is made.
//
// Everything follows from the seed. Inside a bubble of package testing/synctest
// days pass in seconds; outside of one the same world runs in real time.
package sim
