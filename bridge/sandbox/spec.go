package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// hostNameMax is the longest name of a machine.
const hostNameMax = 63

var hostName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// Spec says what machine to start.
type Spec struct {
	// Dir is the folder that holds the machine's folder; it lies in the rig's.
	Dir string
	// Name is the host name and the name of the folder: a DNS label.
	Name string
	// Image is the root file system.
	Image Image
	// Network is the network to plug into.
	Network *Network
	// Address is the machine's address on it; the zero value takes a free one.
	Address netip.Addr
	// Hosts are names for /etc/hosts beside the machine's own.
	Hosts map[string]netip.Addr
	// GPUs is the number of character devices /dev/nvidia0 and up; they hold
	// no hardware.
	GPUs int
	// Binds are folders and files of the host that the machine shares.
	Binds []Bind
	// Files are written before boot. /run, /tmp and /dev start empty and
	// cannot hold any.
	Files []File
	// Init is the script that boots the machine, run by /bin/sh as root, for
	// instance a cloud's user-data. A first line with another interpreter is
	// honoured. Its output goes to the console. The machine lives on after it
	// has ended, until Stop, or until `poweroff` is called inside.
	Init []byte
	// Detached lets the machine outlive this process. Without it the machine
	// dies when this process does, however it does.
	Detached bool
}

// Bind is a folder, or one file, of the host that a machine sees.
type Bind struct {
	// From is the folder or file on the host.
	From string
	// To is the absolute path in the machine.
	To string
	// ReadOnly keeps the machine from writing.
	ReadOnly bool
}

// File is a file placed into a machine before it boots.
type File struct {
	// Path is absolute in the machine; no folder on it may be a symbolic link.
	Path string
	// Data is the content.
	Data []byte
	// Mode holds the permissions; zero means 0644.
	Mode os.FileMode
	// UID and GID own the file.
	UID, GID int
}

func (s Spec) check() error {
	if !hostName.MatchString(s.Name) {
		return fmt.Errorf("name %q is no DNS label (a-z, 0-9, -)", s.Name)
	}
	if s.Network == nil {
		return errors.New("no network given")
	}
	if !isDir(filepath.Join(s.Image.Dir, "bin")) {
		return fmt.Errorf("image folder %q holds no root file system", s.Image.Dir)
	}
	for _, path := range []string{s.Dir, s.Image.Dir} {
		if strings.ContainsAny(path, ",:\\\n\t") {
			return fmt.Errorf("path %q holds a character that overlay mounts cannot take", path)
		}
	}
	for _, b := range s.Binds {
		if !filepath.IsAbs(b.From) || !filepath.IsAbs(b.To) || strings.ContainsAny(b.From+b.To, "\n\t") {
			return fmt.Errorf("bind %q to %q: both must be absolute paths", b.From, b.To)
		}
		if _, err := os.Stat(b.From); err != nil {
			return fmt.Errorf("bind %q: %w", b.From, err)
		}
	}
	return nil
}

// files returns all files to place: the spec's and those every machine has.
func (s Spec) files(address netip.Addr) []File {
	var hosts strings.Builder
	fmt.Fprintf(&hosts, "127.0.0.1 localhost\n%s %s\n", address, s.Name)
	for _, name := range slices.Sorted(maps.Keys(s.Hosts)) {
		fmt.Fprintf(&hosts, "%s %s\n", s.Hosts[name], name)
	}
	script := File{Path: "/var/lib/spillway/init", Data: s.Init, Mode: 0o700}
	if !strings.HasPrefix(string(s.Init), "#!") {
		script.Data = append([]byte("#!/bin/sh\n"), s.Init...)
	}
	poweroff := []byte("#!/bin/sh\nkill -TERM 1\n")
	return append([]File{
		{Path: "/etc/hosts", Data: []byte(hosts.String())},
		{Path: "/etc/hostname", Data: []byte(s.Name + "\n")},
		{Path: "/etc/resolv.conf"},
		{Path: "/usr/sbin/poweroff", Data: poweroff, Mode: 0o755},
		script,
	}, s.Files...)
}

// place writes f into the upper layer. Folders it makes there hide the
// image's, so they copy owner and permissions from it.
func (f File) place(image, upper string) error {
	if !filepath.IsAbs(f.Path) || filepath.Clean(f.Path) != f.Path {
		return fmt.Errorf("place file %q: not a clean absolute path", f.Path)
	}
	for _, hidden := range []string{"/run/", "/tmp/", "/dev/", "/proc/", "/sys/"} {
		if strings.HasPrefix(f.Path, hidden) {
			return fmt.Errorf("place file %s: %s starts empty on every machine", f.Path, hidden)
		}
	}
	if err := copyFolders(filepath.Dir(f.Path), image, upper); err != nil {
		return fmt.Errorf("place file %s: %w", f.Path, err)
	}
	mode := f.Mode
	if mode == 0 {
		mode = 0o644
	}
	path := filepath.Join(upper, f.Path)
	if err := os.WriteFile(path, f.Data, mode); err != nil {
		return fmt.Errorf("place file %s: %w", f.Path, err)
	}
	return errors.Join(os.Chown(path, f.UID, f.GID), os.Chmod(path, mode))
}

// copyFolders makes dir and the folders above it in upper, like the image's.
func copyFolders(dir, image, upper string) error {
	if dir == "/" {
		return nil
	}
	if err := copyFolders(filepath.Dir(dir), image, upper); err != nil {
		return err
	}
	target := filepath.Join(upper, dir)
	if err := os.Mkdir(target, 0o755); errors.Is(err, os.ErrExist) {
		return nil
	} else if err != nil {
		return err
	}
	info, err := os.Lstat(filepath.Join(image, dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder in the image", dir)
	}
	uid, gid := owner(info)
	return errors.Join(os.Chown(target, uid, gid), os.Chmod(target, info.Mode()))
}
