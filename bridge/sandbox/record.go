package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	recordFile  = "machine.json"
	consoleFile = "console.log"
)

// record is what a machine leaves on disk for a later process.
type record struct {
	Name       string     `json:"name"`
	Address    netip.Addr `json:"address"`
	Cable      string     `json:"cable"`
	NetworkDir string     `json:"networkDir"`
	Process    process    `json:"process"`
}

// process names one process for good: numbers are used again, start times
// within one boot are not.
type process struct {
	ID     int    `json:"pid"`
	Start  uint64 `json:"start"` // In clock ticks since boot.
	BootID string `json:"bootId"`
}

// processOf reads the identity of a live process.
func processOf(pid int) (process, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, err
	}
	// The command name may hold spaces and parentheses; the fields follow the last one.
	text := string(stat)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const state, startTime = 0, 19
	if len(fields) <= startTime {
		return process{}, fmt.Errorf("read /proc/%d/stat: %d fields", pid, len(fields))
	}
	if fields[state] == "Z" || fields[state] == "X" {
		return process{}, os.ErrProcessDone
	}
	start, err := strconv.ParseUint(fields[startTime], 10, 64)
	if err != nil {
		return process{}, fmt.Errorf("read /proc/%d/stat: %w", pid, err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return process{}, err
	}
	return process{ID: pid, Start: start, BootID: strings.TrimSpace(string(boot))}, nil
}

// alive says whether this very process still runs.
func (p process) alive() bool {
	now, err := processOf(p.ID)
	return err == nil && now == p
}

// kill ends the process at once and waits until it, and with it all of its
// machine, is gone. A process that is gone already is no error.
func (p process) kill(limit time.Duration) error {
	if p.ID <= 1 {
		return nil
	}
	fd, err := unix.PidfdOpen(p.ID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open process %d: %w", p.ID, err)
	}
	defer unix.Close(fd)
	// The descriptor is bound to a process; only now is its identity worth checking.
	if !p.alive() {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process %d: %w", p.ID, err)
	}
	deadline := time.Now().Add(limit)
	for {
		wait := time.Until(deadline)
		if wait <= 0 {
			return fmt.Errorf("kill process %d: still there after %s", p.ID, limit)
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(wait.Milliseconds())+1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for process %d: %w", p.ID, err)
		}
		if n > 0 {
			return nil
		}
	}
}

// Open returns the machine recorded in dir, alive or not.
func Open(dir string) (*Machine, error) {
	text, err := os.ReadFile(filepath.Join(dir, recordFile))
	if err != nil {
		return nil, fmt.Errorf("open machine: %w", err)
	}
	m := &Machine{dir: dir}
	if err := json.Unmarshal(text, &m.record); err != nil {
		return nil, fmt.Errorf("open machine %s: %w", dir, err)
	}
	return m, nil
}

// Find returns the machines recorded below dir, which is the Dir of their
// Specs. A folder whose machine never came up is left to Sweep.
func Find(dir string) ([]*Machine, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find machines: %w", err)
	}
	var machines []*Machine
	for _, entry := range entries {
		m, err := Open(filepath.Join(dir, entry.Name()))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		machines = append(machines, m)
	}
	return machines, nil
}

// writeFileAtomic replaces path as a whole or not at all.
func writeFileAtomic(path string, data []byte, mode os.FileMode) error {
	tmp := path + ".part"
	if err := os.WriteFile(tmp, data, mode); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
