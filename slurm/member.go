package slurm

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"spillway.sh/spillway/bridge"
)

// Member makes the machine it runs on a node of a Slurm cluster, from what
// Enrolment returned: it writes munge's key and Slurm's configuration, and keeps
// slurmd running. It needs root.
type Member struct {
	// Log may be nil.
	Log *slog.Logger
}

const (
	mungeKey = "/etc/munge/munge.key"
	systemd  = "/run/systemd/system"
	// slurmdRecord holds the process id and start of a slurmd that was started
	// without systemd.
	slurmdRecord = "/run/spillway-slurmd"
	slurmdOutput = "/var/log/spillway-slurmd.log"
	slurmdUnit   = "spillway-slurmd"
	// stageSlurmd is the stage of the daemon.
	stageSlurmd = "slurmd"
	// settling is how long a slurmd runs that has its configuration and its key.
	settling = 3 * time.Second
	// restartAfter is the pause before a slurmd that ended is started again: its
	// controller may be away for a moment.
	restartAfter = 5 * time.Second
)

func (m *Member) log() *slog.Logger {
	if m.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return m.Log
}

// Prepare names the host, starts munged with the cluster's key, and writes the
// configuration where the cluster is not configless.
func (m *Member) Prepare(ctx context.Context, node string, fields map[string]string) error {
	if err := nameHost(ctx, node, fields["hosts"]); err != nil {
		return fmt.Errorf("name the host %s: %w", node, err)
	}
	if err := reach(ctx, fields["controllers"]); err != nil {
		return fmt.Errorf("reach the cluster: %w", err)
	}
	if err := startMunge(ctx, fields["munge_key"]); err != nil {
		return fmt.Errorf("start munge: %w", err)
	}
	if err := writeConf(ctx, fields["conf_files"]); err != nil {
		return fmt.Errorf("write Slurm's configuration: %w", err)
	}
	return nil
}

// nameHost gives the host the node's name, and makes names known that the
// machine's own resolver does not know.
func nameHost(ctx context.Context, node, hosts string) error {
	if err := syscall.Sethostname([]byte(node)); err != nil {
		return err
	}
	text, err := os.ReadFile("/etc/hosts")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var add strings.Builder
	if !strings.Contains(string(text), " "+node+"\n") {
		add.WriteString("127.0.1.1 " + node + "\n")
	}
	for pair := range strings.SplitSeq(hosts, ",") {
		_, name, ok := strings.Cut(pair, " ")
		if ok && name != "" && exec.CommandContext(ctx, "getent", "hosts", name).Run() != nil {
			add.WriteString(pair + "\n")
		}
	}
	if add.Len() == 0 {
		return nil
	}
	f, err := os.OpenFile("/etc/hosts", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(add.String())
	return errors.Join(err, f.Chmod(0o644), f.Close())
}

// startMunge writes the key, readable for munge alone, and starts munged. Without
// a key the one that was written before is used.
func startMunge(ctx context.Context, key string) error {
	if err := run(ctx, "install", "-d", "-o", "munge", "-g", "munge", "-m", "700", "/etc/munge"); err != nil {
		return err
	}
	if key != "" {
		if err := writeKey(ctx, key); err != nil {
			return err
		}
	} else if _, err := os.Stat(mungeKey); err != nil {
		return err
	}
	if underSystemd() {
		return run(ctx, "systemctl", "restart", "munge")
	}
	if err := run(ctx, "install", "-d", "-o", "munge", "-g", "munge", "-m", "755", "/run/munge"); err != nil {
		return err
	}
	if run(ctx, "munge", "-n", "-o", "/dev/null") == nil {
		return nil
	}
	return run(ctx, "setpriv", "--reuid=munge", "--regid=munge", "--clear-groups", "munged")
}

func writeKey(ctx context.Context, key string) error {
	data, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		return fmt.Errorf("read the key: %w", err)
	}
	tmp := mungeKey + ".new"
	if err := errors.Join(os.WriteFile(tmp, data, 0o400), os.Chmod(tmp, 0o400)); err != nil {
		return err
	}
	if err := run(ctx, "chown", "munge:munge", tmp); err != nil {
		return err
	}
	return os.Rename(tmp, mungeKey)
}

func writeConf(ctx context.Context, files string) error {
	if files == "" {
		return nil
	}
	data, err := base64.StdEncoding.DecodeString(files)
	if err == nil {
		err = os.MkdirAll("/etc/slurm", 0o755)
	}
	if err != nil {
		return err
	}
	tar := exec.CommandContext(ctx, "tar", "-xz", "--no-same-owner", "-C", "/etc/slurm")
	tar.Stdin = bytes.NewReader(data)
	if out, err := tar.CombinedOutput(); err != nil {
		return fmt.Errorf("unpack: %w: %s", err, bytes.TrimSpace(out))
	}
	return run(ctx, "chmod", "-R", "u=rwX,go=rX", "/etc/slurm")
}

// slurmdArgs are the arguments of slurmd for a dynamic node.
func slurmdArgs(node string, fields map[string]string) []string {
	args := []string{"-D", "-Z", "-N", node, "--conf", fields["slurmd_conf"]}
	if fields["conf_files"] == "" {
		args = append(args, "--conf-server", fields["controllers"])
	}
	return args
}

// reach looks whether one of the controllers, HOST:PORT each, takes a connection.
// Where the way to the cluster is missing, it says so better than slurmd.
func reach(ctx context.Context, controllers string) error {
	if controllers == "" {
		return nil
	}
	var errs []error
	d := net.Dialer{Timeout: 3 * time.Second}
	for at := range strings.SplitSeq(controllers, ",") {
		c, err := d.DialContext(ctx, "tcp", at)
		if err == nil {
			return c.Close()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Run starts slurmd and starts it again when it ends, until ctx ends. It leaves
// it running: jobs outlive the agent. Why slurmd ended is told in its own words.
func (m *Member) Run(ctx context.Context, node string, fields map[string]string, tell func(bridge.Stage)) error {
	for _, dir := range []string{"/var/lib/slurm/slurmd", "/var/spool/slurmd", "/var/log/slurm", "/run/slurm"} {
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755)); err != nil {
			return fmt.Errorf("make slurmd's folders: %w", err)
		}
	}
	if underSystemd() {
		return m.runUnit(ctx, slurmdArgs(node, fields), tell)
	}
	for ctx.Err() == nil {
		if err := m.once(ctx, slurmdArgs(node, fields), tell); err != nil {
			m.log().Warn("slurmd", "err", err)
			tell(bridge.Stage{Name: stageSlurmd, Text: err.Error()})
		}
		wait(ctx, restartAfter)
	}
	return nil
}

// runUnit gives slurmd to systemd. The agent's unit is stopped before slurmd's
// when the machine goes down: the cluster hears of it first.
func (m *Member) runUnit(ctx context.Context, args []string, tell func(bridge.Stage)) error {
	active := func() bool { return run(ctx, "systemctl", "is-active", "--quiet", slurmdUnit) == nil }
	if !active() {
		_ = run(ctx, "systemctl", "disable", "--now", "slurmd") // The image's own may not be there.
		unit := []string{
			"systemd-run", "--unit=" + slurmdUnit, "-p", "Before=spillway-node.service", "-p", "Delegate=yes", "-p", "KillMode=process",
			"-p", "LimitMEMLOCK=infinity", "-p", "Restart=always", "-p", "RestartSec=5", "slurmd",
		}
		if err := run(ctx, append(unit, args...)...); err != nil {
			return fmt.Errorf("start slurmd: %w", err)
		}
	}
	m.log().Info("slurmd runs", "unit", slurmdUnit)
	for was := false; ctx.Err() == nil; wait(ctx, restartAfter) {
		if is := active(); is != was && ctx.Err() == nil {
			was = is
			tell(bridge.Stage{Name: stageSlurmd, OK: is, Text: map[bool]string{false: "unit " + slurmdUnit + " does not run; see its journal"}[is]})
		}
	}
	return nil
}

// once runs slurmd until it ends, or watches the one that an earlier run of the
// agent started.
func (m *Member) once(ctx context.Context, args []string, tell func(bridge.Stage)) error {
	if pid := recorded(); pid > 0 {
		m.log().Info("slurmd runs already", "pid", pid)
		tell(bridge.Stage{Name: stageSlurmd, OK: true})
		for ctx.Err() == nil && recorded() > 0 {
			wait(ctx, time.Second)
		}
		return nil
	}
	// A file, not a pipe: slurmd lives on when the agent ends, and its steps hold
	// what they inherit.
	out, err := os.OpenFile(slurmdOutput, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("start slurmd: %w", err)
	}
	defer out.Close()
	began, err := out.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("start slurmd: %w", err)
	}
	cmd := exec.Command("slurmd", args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = out, out, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	syscall.Umask(0o022)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start slurmd: %w", err)
	}
	m.log().Info("slurmd runs", "pid", cmd.Process.Pid)
	record := fmt.Sprintf("%d %s\n", cmd.Process.Pid, startOf(cmd.Process.Pid))
	if err := os.WriteFile(slurmdRecord, []byte(record), 0o600); err != nil {
		m.log().Warn("record slurmd", "err", err) // A restarted agent would start a second one, which ends at once.
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // How it ended is in its state.
		close(done)
	}()
	settled := time.NewTimer(settling)
	defer settled.Stop()
	for {
		select {
		case <-done:
			return fmt.Errorf("slurmd ended with %s: %s", cmd.ProcessState, lastError(out, began))
		case <-settled.C:
			tell(bridge.Stage{Name: stageSlurmd, OK: true})
		case <-ctx.Done():
			return nil
		}
	}
}

// lastError is what a slurmd wrote last of what was wrong, else its last line.
func lastError(out *os.File, began int64) string {
	text, err := io.ReadAll(io.NewSectionReader(out, began, 1<<20))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range slices.Backward(lines) {
		for _, word := range []string{"fatal: ", "error: "} {
			if _, said, ok := strings.Cut(line, word); ok {
				return strings.TrimSpace(said)
			}
		}
	}
	return lines[len(lines)-1]
}

// recorded is the process id of the slurmd that was started and still runs, or 0.
func recorded() int {
	text, err := os.ReadFile(slurmdRecord)
	if err != nil {
		return 0
	}
	id, start, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	pid, err := strconv.Atoi(id)
	if err != nil || start == "" || startOf(pid) != start {
		return 0
	}
	return pid
}

// startOf is when a process was started, in the kernel's words: it tells it from
// a later one of the same id. Empty: there is none, or it is dead.
func startOf(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}

// Busy reports whether a job has processes here: each has a slurmstepd.
func (m *Member) Busy() bool {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return true
	}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			return false
		}
		name, err := os.ReadFile("/proc/" + e.Name() + "/comm")
		if err != nil || strings.TrimSpace(string(name)) != "slurmstepd" {
			return false
		}
		line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		// "slurmstepd infinity" holds a control group and no job.
		return err == nil && !bytes.Contains(line, []byte("infinity"))
	})
}

func underSystemd() bool {
	info, err := os.Stat(systemd)
	return err == nil && info.IsDir()
}

// run runs a program of the machine and returns what went wrong.
func run(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = "/"
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) { // A daemon it started may hold its output.
		return fmt.Errorf("run %s: %w: %.300s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
