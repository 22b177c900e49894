// Package ordeal puts the real binary through what a host does to a daemon: its
// disk fills up, fails or becomes read-only under it, it is stopped for longer
// than anybody waits and comes back while another one does its work, slurmctld
// restarts, hangs and forgets everything, and it is told to end twice. The jobs
// run on a real Slurm and on machines of the local cloud, and what the jobs, the
// cloud's ledger and the books say at the end is compared. The order in which it
// writes, syncs and sends is read from the system calls it made.
package ordeal
