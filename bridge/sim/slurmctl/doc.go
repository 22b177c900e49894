// Package slurmctl is a small Slurm behind its commands, in one process: it
// answers what package slurm asks squeue, scontrol, scancel and sdiag in the
// words, states, errors and exit codes of Slurm 22.05, and it schedules, starts
// and ends jobs on nodes that come and go. That it answers as the real one is
// held by a test that plays the same table against both.
//
// It has no goroutine and no chance in it. Time passes when it is called: each
// call first does all that happened since the one before, in order and at its
// own moment, so that the same calls at the same times give the same answers.
// What it does not know it refuses, in so many words.
package slurmctl
