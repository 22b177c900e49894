// Package demo is the story of Spillway on one machine: a real slurmctld with
// two local nodes, eight jobs sent by an ordinary user with plain sbatch, two
// local clouds, a budget that covers part of it, one question to a person, one
// spot machine taken back, and everything returned at the end.
//
// The servers are the real ones, each a process of its own; the demo only sends
// the jobs, tells what happens, presses the two buttons a person would press,
// and judges the end from the jobs' own records and the cloud's own ledger.
package demo
