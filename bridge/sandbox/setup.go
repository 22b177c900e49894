package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// machineNamespaces are those that the thread which sets a machine up enters;
// the process namespace follows with process 1.
const machineNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC

// onOwnThread runs f on a thread that ends with it, for f may leave the thread
// in other namespaces. The main thread is passed over: the kernel shows its
// namespaces as the whole process's, and it never ends.
func onOwnThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			done <- onOwnThread(f) // This thread is held meanwhile, so f gets another.
			runtime.UnlockOSThread()
			return
		}
		done <- f()
	}()
	return <-done
}

// setUp gives the calling thread the machine's namespaces and root, and starts
// process 1 from there. plug is called once the network namespace is there,
// with the number under which the kernel knows it.
func (m *Machine) setUp(ctx context.Context, spec Spec, start *exec.Cmd, plug func(tid int) error) error {
	if err := unix.Unshare(machineNamespaces); err != nil {
		return fmt.Errorf("make namespaces: %w", err)
	}
	if err := plug(unix.Gettid()); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(m.record.Name)); err != nil {
		return fmt.Errorf("set host name: %w", err)
	}
	batch := strings.Join([]string{
		"link set lo up",
		fmt.Sprintf("address add %s/%d dev eth0", m.record.Address, spec.Network.Prefix.Bits()),
		"link set eth0 up",
		fmt.Sprintf("route add default via %s", spec.Network.Gateway),
	}, "\n")
	if _, err := run(ctx, batch, "ip", "-batch", "-"); err != nil {
		return fmt.Errorf("set address: %w", err)
	}
	if err := m.mountRoot(spec); err != nil {
		return err
	}
	if err := changeRoot(filepath.Join(m.dir, "root")); err != nil {
		return err
	}
	// What is started from this thread starts in its namespaces.
	start.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWPID}
	if err := start.Start(); err != nil {
		return fmt.Errorf("start process 1: %w", err)
	}
	return nil
}

// mountRoot builds the machine's root file system below its folder. /proc is
// left to process 1, whose processes it shows.
func (m *Machine) mountRoot(spec Spec) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	root := filepath.Join(m.dir, "root")
	if err := mountOverlay(spec.Image.Dir, m.dir, root); err != nil {
		return err
	}
	const nosuid = unix.MS_NOSUID
	for _, mount := range []struct {
		at, kind, options string
		flags             uintptr
	}{
		{"sys", "sysfs", "", unix.MS_RDONLY | nosuid},
		// Slurm before 24.11 does not start without a control group mount; an
		// empty one of the old kind is enough when it is told to constrain nothing.
		{"sys/fs/cgroup", "tmpfs", "mode=755", nosuid},
		{"run", "tmpfs", "mode=755", nosuid},
		{"tmp", "tmpfs", "mode=1777", nosuid},
		{"dev", "tmpfs", "mode=755", nosuid},
		{"dev/pts", "devpts", "newinstance,ptmxmode=0666,mode=0620,gid=5", nosuid},
		{"dev/shm", "tmpfs", "mode=1777", nosuid},
	} {
		at := filepath.Join(root, mount.at)
		if err := os.MkdirAll(at, 0o755); err != nil {
			return fmt.Errorf("mount /%s: %w", mount.at, err)
		}
		if err := unix.Mount(mount.kind, at, mount.kind, mount.flags, mount.options); err != nil {
			return fmt.Errorf("mount /%s: %w", mount.at, err)
		}
	}
	if err := makeDevices(filepath.Join(root, "dev"), spec.GPUs); err != nil {
		return err
	}
	for _, bind := range spec.Binds {
		if err := bind.mount(root); err != nil {
			return fmt.Errorf("bind %s: %w", bind.To, err)
		}
	}
	return nil
}

func mountOverlay(image, dir, root string) error {
	layers := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", image, filepath.Join(dir, "upper"), filepath.Join(dir, "work"))
	// Nothing of a machine has to survive a crash of the host. Kernels before
	// 5.10 do not know the option.
	err := unix.Mount("overlay", root, "overlay", 0, layers+",volatile")
	if errors.Is(err, unix.EINVAL) {
		err = unix.Mount("overlay", root, "overlay", 0, layers)
	}
	if err != nil {
		return fmt.Errorf("mount overlay over %s: %w (the file system of %s must be able to hold an overlay's upper layer)", image, err, dir)
	}
	return nil
}

func makeDevices(dev string, gpus int) error {
	// The thread's own since it has a mount namespace of its own.
	unix.Umask(0)
	devices := map[string]uint64{
		"null": unix.Mkdev(1, 3), "zero": unix.Mkdev(1, 5), "full": unix.Mkdev(1, 7),
		"random": unix.Mkdev(1, 8), "urandom": unix.Mkdev(1, 9), "tty": unix.Mkdev(5, 0),
	}
	for i := range gpus {
		devices["nvidia"+strconv.Itoa(i)] = unix.Mkdev(1, 3) // Any character device will do.
	}
	for name, number := range devices {
		if err := unix.Mknod(filepath.Join(dev, name), unix.S_IFCHR|0o666, int(number)); err != nil {
			return fmt.Errorf("make device %s: %w", name, err)
		}
	}
	for name, target := range map[string]string{
		"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2",
	} {
		if err := os.Symlink(target, filepath.Join(dev, name)); err != nil {
			return fmt.Errorf("make device %s: %w", name, err)
		}
	}
	return nil
}

func (b Bind) mount(root string) error {
	to := filepath.Join(root, b.To)
	if err := b.place(to); err != nil {
		return err
	}
	if err := unix.Mount(b.From, to, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	if !b.ReadOnly {
		return nil
	}
	return unix.Mount("", to, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
}

// place makes what the bind is mounted over: a folder, or an empty file.
func (b Bind) place(to string) error {
	if isDir(b.From) {
		return os.MkdirAll(to, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// changeRoot makes root the root of the thread's mount namespace and lets go
// of the host's files.
func changeRoot(root string) error {
	if err := unix.Chdir(root); err != nil {
		return fmt.Errorf("change root: %w", err)
	}
	// The old root ends up on top of the new one; taking it away leaves the new.
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the host's root: %w", err)
	}
	return unix.Chdir("/")
}
