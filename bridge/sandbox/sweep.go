package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Swept counts what Sweep removed.
type Swept struct {
	Machines, Links int
}

// Sweep removes all that is left of the rig in dir: its machines, bridges,
// cables and dir itself. It asks the kernel, not the records, so it also finds
// what a killed process had no time to write down. Sweeping an empty or missing
// rig is no error.
func Sweep(ctx context.Context, dir string) (Swept, error) {
	var swept Swept
	if os.Geteuid() != 0 {
		return swept, ErrNotRoot
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return swept, fmt.Errorf("sweep: %w", err)
	}
	if dir == "/" {
		return swept, errors.New("sweep /: not a rig")
	}
	var failures []error
	for _, p := range machineProcesses(dir) {
		if err := p.kill(killLimit); err != nil {
			failures = append(failures, err)
			continue
		}
		swept.Machines++
	}
	for name := range ownedLinks(dir) {
		if err := deleteLink(ctx, name); err != nil {
			failures = append(failures, err)
			continue
		}
		swept.Links++
	}
	failures = append(failures, sweepFilters(ctx, dir), os.RemoveAll(dir))
	if err := errors.Join(failures...); err != nil {
		return swept, fmt.Errorf("sweep %s: %w", dir, err)
	}
	return swept, nil
}

// machineProcesses returns the processes 1 of all machines whose folder lies in dir.
func machineProcesses(dir string) []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var found []process
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || !isInit(pid) {
			continue
		}
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			continue // It ended meanwhile.
		}
		for variable := range bytes.SplitSeq(environ, []byte{0}) {
			machine, ok := strings.CutPrefix(string(variable), machineVariable+"=")
			if !ok || !inside(machine, dir) {
				continue
			}
			if p, err := processOf(pid); err == nil {
				found = append(found, p)
			}
		}
	}
	return found
}

// isInit says whether the process is number 1 in a process namespace of its own.
func isInit(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	for line := range strings.SplitSeq(string(status), "\n") {
		if numbers, ok := strings.CutPrefix(line, "NSpid:"); ok {
			fields := strings.Fields(numbers)
			return len(fields) > 1 && fields[len(fields)-1] == "1"
		}
	}
	return false
}

// ownedLinks returns the host's links that carry a path in dir as alias, with
// that path; an empty dir stands for any.
func ownedLinks(dir string) map[string]string {
	links, err := net.Interfaces()
	if err != nil {
		return nil
	}
	owned := map[string]string{}
	for _, link := range links {
		alias, err := os.ReadFile("/sys/class/net/" + link.Name + "/ifalias")
		if err != nil {
			continue // It went meanwhile.
		}
		path, ok := strings.CutPrefix(strings.TrimSpace(string(alias)), aliasPrefix)
		if ok && inside(path, dir) {
			owned[link.Name] = path
		}
	}
	return owned
}

// sweepFilters removes the packet filter rules of networks recorded in dir.
func sweepFilters(ctx context.Context, dir string) error {
	records, err := filepath.Glob(filepath.Join(dir, "net", "network.json"))
	if err != nil {
		return err
	}
	for _, path := range records {
		n, err := OpenNetwork(filepath.Dir(path))
		if err != nil {
			return err
		}
		if n.Filtered {
			if _, err := run(ctx, "", "iptables", n.filterRule("-D")...); err != nil {
				return err
			}
		}
	}
	return nil
}

// inside says whether path is dir or lies in it.
func inside(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+"/")
}
