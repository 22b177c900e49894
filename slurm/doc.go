// Package slurm is a Slurm cluster as Spillway's engine needs it: a queue to
// observe, machines to join, admit and dismiss, jobs to route and to bring
// back. [Cluster] satisfies engine.Scheduler without importing it.
//
// Everything goes through Slurm's own commands, the one interface that is the
// same from 22.05 to 26.05 and that an administrator can repeat by hand.
// Commands run with an environment of their own (no SQUEUE_*, epoch seconds,
// UTC, plain C messages), a time limit, and an upper bound of output.
//
// # Reading
//
// A cycle is one job dump (squeue), one node dump and one partition dump
// (scontrol). Anything that is not understood to the last byte is an error, a
// [ParseError] or a [CommandError], and never an empty or shorter queue. Users
// choose job names and comments; these stand behind separators that are drawn
// at random for each call, so that no name can play a field or a record.
//
// # Boot, then offer
//
// A machine registers itself as a dynamic node in no partition, where no job
// can start on it. Admit puts the whole gang into the rental's overlay
// partition in one call, Route adds the overlay to a pending job's partition
// list. The overlay's state is DRAIN, in which Slurm starts the jobs that are
// in it and lets no other in; Route opens it for the moment of one change.
// Dismiss goes the way back. Each reads before it writes, writes only
// differences, and reads back what it wrote.
//
// # Ownership
//
// Only nodes and partitions whose names follow from the rental, drains whose
// reason begins with "spillway: ", and admin comments of the same prefix are
// ever changed or removed. Slurm's configuration files are never written.
package slurm
