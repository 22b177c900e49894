// Package lent holds the plays with machines that are reached by SSH: the real
// binary as plugin and daemon, a real Slurm, a real sshd.
package lent
