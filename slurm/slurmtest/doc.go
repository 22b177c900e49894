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
//	c, err := slurmtest.Start(ctx, slurmtest.Options{Version: "22.05", Overlays: 8})
//	defer c.Close(ctx)
//	id, err := c.Submit(ctx, sandbox.Alice, "#!/bin/bash\nsleep 60\n", "--gres=gpu:8")
//	job, err := c.WaitJob(ctx, id, "RUNNING")
//
// In a test, [New] does the same and closes the cluster with the test.
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
//
// # End
//
// [Cluster.Close] leaves nothing. When the process is killed, the machines die
// with it, and the next Start on this host sweeps what they left. A Detached
// cluster lives on; [sandbox.Sweep] of its Dir ends it.
//
// # What Slurm does
//
// Measured here on 22.05 and 24.11, and held by this package's tests:
//
//   - A partition made at run time is gone after a restart of slurmctld, and a
//     job that ran in it ends as NODE_FAIL without being requeued. A partition
//     declared in slurm.conf keeps its jobs; only its nodes must be put back.
//     Hence Options.Overlays. (slurmctld -R would keep both.)
//   - RootOnly=YES on a partition is checked again at scheduling, against the
//     owner of the job: a job routed there stays pending (PartitionConfig).
//   - State=DRAIN is the wall that works: jobs routed there before still
//     start, nobody gets in after. Routing needs State=UP at that moment.
//   - scontrol update of a pending job's partition can exit with an error
//     ("Requested partition configuration not available now") and have done
//     its work. Only the job tells.
//   - A dynamic node's address is the one it registers from; no name service
//     is needed, not even for srun across a gang of them.
//   - A node with other GPUs than its gres.conf says registers as
//     IDLE+DRAIN+INVALID_REG. slurmd --conf-server fetches the cluster's
//     gres.conf, so a machine of another shape needs files of its own.
//   - slurmd of 22.05 needs something mounted at /sys/fs/cgroup and
//     CgroupPlugin=cgroup/v1; 24.11 has CgroupPlugin=disabled.
package slurmtest
