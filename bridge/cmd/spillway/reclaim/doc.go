// Package reclaim holds the test that takes machines back at random: real
// Slurm, the local cloud and the daemon as processes of their own, and jobs of
// every kind on them. No job may be lost, run twice at once, or lose more than
// one checkpoint interval; and it says what plain Slurm does in the same run.
package reclaim
