// Package stage starts what a play of the whole product needs: a real Slurm
// cluster, the clouds' server and daemons, the latter two as processes of their
// own with logs. It ends them in good order and leaves nothing behind.
package stage
