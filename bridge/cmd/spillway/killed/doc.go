// Package killed kills the real binary, as by kill -9, at each point of each call
// that it makes and at moments of chance, and starts it again at once, while jobs
// come to a real Slurm, machines come and go at the local clouds, people rent,
// extend and decide, and Slack shows it all, each as a process of its own. At the
// end every job was done, no machine is left or was rented twice, and the books
// are the clouds' bill.
package killed
