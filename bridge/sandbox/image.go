package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ImageSpec says what an image holds. Two equal specs share one image.
type ImageSpec struct {
	// Name is the readable part of the image's folder name.
	Name string
	// Suite is the Debian suite it is built from, for instance "bookworm".
	Suite string
	// Packages are installed beside the base system, without recommendations.
	Packages []string
	// Users are ordinary accounts, with the same numbers on every machine.
	Users []Account
	// Hooks are shell lines run at the end of the build; $1 is the image's root.
	Hooks []string
	// StaleRelease accepts a suite whose Release file is past its date.
	StaleRelease bool
}

// Account is an ordinary user of an image; group name and number are the same
// as the user's.
type Account struct {
	Name string
	ID   int
}

// Image is a root file system that machines use read-only.
type Image struct {
	// Dir is the root of the file system on the host.
	Dir string
}

// CacheDir returns the folder that images are kept in between runs:
// SPILLWAY_CACHE if set, else the user's cache folder. Images lie in images/
// below it.
func CacheDir() (string, error) {
	if dir := os.Getenv("SPILLWAY_CACHE"); dir != "" {
		return dir, nil
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w (set SPILLWAY_CACHE)", err)
	}
	return filepath.Join(base, "spillway"), nil
}

// Path returns the folder in which the image of this spec lies or will lie.
func (s ImageSpec) Path() (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	// The recipe is the key: an image built by another one is not reused.
	sum := sha256.Sum256([]byte(strings.Join(s.buildArgs(""), "\n")))
	return filepath.Join(cache, "images", s.Name+"-"+hex.EncodeToString(sum[:4])), nil
}

// EnsureImage returns the image of spec, building it first if the cache lacks
// it, which takes one to two minutes. Progress goes to progress, one line a
// step. Processes that ask at the same time build once; a build that is killed
// leaves no image behind.
func EnsureImage(ctx context.Context, spec ImageSpec, progress io.Writer) (Image, error) {
	dir, err := spec.Path()
	if err != nil {
		return Image{}, err
	}
	if isDir(dir) {
		return Image{Dir: dir}, nil
	}
	if os.Geteuid() != 0 {
		return Image{}, ErrNotRoot
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return Image{}, fmt.Errorf("make image cache: %w", err)
	}
	lock, err := lockFile(ctx, dir+".lock")
	if err != nil {
		return Image{}, fmt.Errorf("wait for another build of image %s: %w", spec.Name, err)
	}
	defer lock.Close()
	if isDir(dir) {
		return Image{Dir: dir}, nil
	}
	if err := ensureBuilder(ctx, progress); err != nil {
		return Image{}, err
	}
	if err := spec.build(ctx, dir, lock, progress); err != nil {
		return Image{}, fmt.Errorf("build image %s: %w", spec.Name, err)
	}
	return Image{Dir: dir}, nil
}

// lockFile locks a file. Programs that inherit it hold the lock too, until the
// last of them ends.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(err, file.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		case <-ticker.C:
		}
	}
}

// build makes the image beside its final place and renames it, so that the
// final name only ever holds a whole image.
func (s ImageSpec) build(ctx context.Context, dir string, lock *os.File, progress io.Writer) error {
	tmp := dir + ".part"
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	start := time.Now()
	fmt.Fprintf(progress, "image %s: building from Debian %s (one to two minutes, once)\n", s.Name, s.Suite)
	path, err := lookTool("mmdebstrap")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, s.buildArgs(tmp)...)
	log := &lineWriter{to: progress, prefix: "image " + s.Name + ": "}
	cmd.Stdout, cmd.Stderr = log, log
	// The build mounts /proc, /sys and /dev below its folder. In a mount namespace
	// of its own they go with it, however it ends, and never are in the way of
	// the removal of a broken build.
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Unshareflags: syscall.CLONE_NEWNS,
		Setpgid:      true,
		Pdeathsig:    syscall.SIGTERM, // Sent when the thread that started it ends.
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// While any of its processes lives, no other build of this image starts.
	cmd.ExtraFiles = []*os.File{lock}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	if err := cmd.Run(); err != nil {
		return errors.Join(fmt.Errorf("run mmdebstrap: %w: %s", err, log.last), os.RemoveAll(tmp))
	}
	if err := os.Rename(tmp, dir); err != nil {
		return err
	}
	fmt.Fprintf(progress, "image %s: ready in %s after %.0f s\n", s.Name, dir, time.Since(start).Seconds())
	return nil
}

// buildArgs is the recipe: the arguments of mmdebstrap for this image.
func (s ImageSpec) buildArgs(dir string) []string {
	args := []string{
		"--variant=apt", "--mode=root", "--format=directory",
		"--include=" + strings.Join(s.Packages, ","),
		`--aptopt=APT::Install-Recommends "false"`,
		"--dpkgopt=force-unsafe-io",
		"--dpkgopt=path-exclude=/usr/share/man/*",
		"--dpkgopt=path-exclude=/usr/share/locale/*",
		"--dpkgopt=path-exclude=/usr/share/doc/*",
		"--dpkgopt=path-include=/usr/share/doc/*/copyright",
		// A service that started here would outlive the build.
		`--essential-hook=printf '#!/bin/sh\nexit 101\n' > "$1/usr/sbin/policy-rc.d" && chmod 755 "$1/usr/sbin/policy-rc.d"`,
		// An unreachable name server would stall every look-up of an unknown name.
		`--customize-hook=printf '' > "$1/etc/resolv.conf"`,
		`--customize-hook=rm -f "$1/etc/munge/munge.key" "$1/etc/hostname"`,
	}
	if s.StaleRelease {
		args = append(args, `--aptopt=Acquire::Check-Valid-Until "false"`)
	}
	for _, user := range s.Users {
		args = append(args, fmt.Sprintf(
			`--customize-hook=chroot "$1" useradd --create-home --shell /bin/bash --uid %d --user-group %s`, user.ID, user.Name))
	}
	for _, hook := range s.Hooks {
		args = append(args, "--customize-hook="+hook)
	}
	return append(args, s.Suite, dir)
}

// ensureBuilder installs mmdebstrap where it is missing and can be had.
func ensureBuilder(ctx context.Context, progress io.Writer) error {
	if _, err := lookTool("mmdebstrap"); err == nil {
		return nil
	}
	if _, err := lookTool("apt-get"); err != nil {
		return errors.New("images are built with mmdebstrap, which is missing, and there is no apt-get to install it with: install the package mmdebstrap")
	}
	fmt.Fprintln(progress, "installing package mmdebstrap with apt-get")
	for _, args := range [][]string{
		{"update", "-q"},
		{"install", "-q", "-y", "--no-install-recommends", "mmdebstrap", "debian-archive-keyring"},
	} {
		if _, err := run(ctx, "", "apt-get", args...); err != nil {
			return fmt.Errorf("install mmdebstrap: %w", err)
		}
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// lineWriter passes whole lines on, each with a prefix, and keeps the last.
type lineWriter struct {
	to     io.Writer
	prefix string
	rest   string
	last   string
}

// Write implements io.Writer.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.rest += string(p)
	for {
		line, rest, ok := strings.Cut(w.rest, "\n")
		if !ok {
			return len(p), nil
		}
		w.rest = rest
		// A progress bar redraws its line with carriage returns: only its end is news.
		if i := strings.LastIndexByte(strings.TrimRight(line, "\r"), '\r'); i >= 0 {
			line = line[i+1:]
		}
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		w.last = line
		if _, err := fmt.Fprintf(w.to, "%s%s\n", w.prefix, line); err != nil {
			return 0, err
		}
	}
}
