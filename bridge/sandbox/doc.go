// Package sandbox turns Linux namespaces into machines: each [Machine] has its
// own root (an overlay over a shared [Image]), process tree, host name and
// network address on a [Network], and boots by running a script as a child of
// its process 1. The local cloud rents such machines out; slurmtest builds
// whole clusters from them.
//
// The kernel is the record of what exists. A machine's mounts, processes and
// network namespace belong to its process 1 and die with it, so killing that
// one process switches the machine off and nothing has to be unmounted. What
// the kernel does not take back by itself (bridges, the host's end of a
// machine's cable, directories) carries the rig's directory in its name or
// alias, and [Sweep] removes it even when every process that knew of it was
// killed.
//
// # Directories
//
// The caller chooses one directory per rig, and everything of the rig lies in
// it:
//
//	rig/net/                network.json, addresses/   [CreateNetwork]
//	rig/machines/NAME/      machine.json, console.log, upper/   [Start]
//
// Images are shared between rigs and lie in the cache (see [CacheDir]).
//
// # Use
//
//	spec, err := sandbox.SlurmImage("22.05", false)
//	image, err := sandbox.EnsureImage(ctx, spec, os.Stderr)
//	net, err := sandbox.CreateNetwork(ctx, filepath.Join(rig, "net"))
//	m, err := sandbox.Start(ctx, sandbox.Spec{
//		Dir: filepath.Join(rig, "machines"), Name: "node1", Image: image, Network: net,
//		GPUs: 8, Init: userData, Detached: true,
//	})
//	text, err := m.Output(ctx, sandbox.Command{Args: []string{"hostname"}})
//	err = m.Cut(ctx)   // pull the network cable
//	err = m.Stop(ctx)  // power off, free the address, remove the directory
//	err = net.Close(ctx)
//
// A machine that is not Detached dies with the process that started it. A
// Detached one lives on, and a later process finds it with [Find] or [Open].
//
// Everything here needs root; the functions say so with [ErrNotRoot] instead
// of failing half way.
package sandbox
