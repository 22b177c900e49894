// Package slurmtest starts real Slurm clusters for tests and for the demo:
// slurmctld and slurmd as Debian ships them, each daemon on a machine of its
// own made by package sandbox. Nothing of a Slurm that the host may run is
// touched: configuration, keys, ports, state and users all lie inside the
// machines.
//
// A cluster has a head node ("head": munge, slurmctld and, with accounting,
// slurmdbd and MariaDB) and local nodes ("local1" and up) with fake GPUs.
// Rented machines join it as dynamic nodes: what they need is in [Cluster.Join],
// and [Join.Script] is the boot script of one that joins by itself.
//
//	c, err := slurmtest.Start(ctx, slurmtest.Options{Version: "22.05"})
//	defer c.Close(ctx)
//	id, err := c.Submit(ctx, sandbox.Alice, "#!/bin/bash\nsleep 60\n", "--gres=gpu:8")
//	job, err := c.WaitJob(ctx, id, "RUNNING")
//
// # Commands
//
// [Cluster.BinDir] is a folder of the host with sbatch, squeue, scontrol and
// the other commands; put it in front of PATH and both programs and people use
// the cluster like their own. Each command replaces itself with the real one
// inside the head node, as one account.
//
// # Shared files
//
// Options.SharedDir stands for the site's shared file system. It has the same
// path on the host and on every machine, and its folder home is /home there.
// Machines of a cloud see it when they are started with Join.Binds.
package slurmtest
