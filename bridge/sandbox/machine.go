package sandbox

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

//go:embed init.sh
var initScript string

const (
	// bootLimit is how long the kernel may take to set a machine up.
	bootLimit = 20 * time.Second
	// killLimit is how long it may take to tear one down.
	killLimit = 20 * time.Second
	// machineVariable marks process 1 of each machine with the machine's folder.
	machineVariable = "SPILLWAY_MACHINE"
)

// Machine is one running or dead machine.
type Machine struct {
	dir    string
	record record
	// lifeline's closing ends a machine that is not detached.
	lifeline *os.File
	// reaped is closed once the starter has collected process 1; nil in other processes.
	reaped chan struct{}
}

// Start makes a machine and returns once its root and network are there and
// its init script has been started; it does not wait for that script. The
// caller owns the machine and must Stop it.
func Start(ctx context.Context, spec Spec) (*Machine, error) {
	if err := CheckHost(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(spec.Dir)
	if err != nil {
		return nil, fmt.Errorf("start machine %s: %w", spec.Name, err)
	}
	spec.Dir = dir
	if err := spec.check(); err != nil {
		return nil, fmt.Errorf("start machine %s: %w", spec.Name, err)
	}
	m, err := prepare(spec)
	if err != nil {
		return nil, fmt.Errorf("start machine %s: %w", spec.Name, err)
	}
	if err := m.boot(ctx, spec); err != nil {
		return nil, errors.Join(fmt.Errorf("start machine %s: %w", spec.Name, err), m.Stop(context.WithoutCancel(ctx)))
	}
	return m, nil
}

// prepare makes the machine's folder, address and files.
func prepare(spec Spec) (*Machine, error) {
	m := &Machine{dir: filepath.Join(spec.Dir, spec.Name)}
	if err := os.MkdirAll(spec.Dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.Mkdir(m.dir, 0o755); err != nil {
		return nil, err
	}
	address := spec.Address
	var err error
	if address.IsValid() {
		err = spec.Network.reserve(address, spec.Name)
	} else {
		address, err = spec.Network.Allocate(spec.Name)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(m.dir))
	}
	m.record = record{
		Name: spec.Name, Address: address,
		Cable: spec.Network.cable(address), NetworkDir: spec.Network.Dir,
	}
	if err := m.layOut(spec); err != nil {
		return nil, errors.Join(err, spec.Network.Free(address), os.RemoveAll(m.dir))
	}
	return m, nil
}

func (m *Machine) layOut(spec Spec) error {
	for _, name := range []string{"upper", "work", "root"} {
		if err := os.Mkdir(filepath.Join(m.dir, name), 0o755); err != nil {
			return err
		}
	}
	for _, file := range spec.files(m.record.Address) {
		if err := file.place(spec.Image.Dir, filepath.Join(m.dir, "upper")); err != nil {
			return err
		}
	}
	return nil
}

// boot sets the machine up and waits until process 1 says that it is there.
func (m *Machine) boot(ctx context.Context, spec Spec) error {
	ctx, cancel := context.WithTimeout(ctx, bootLimit)
	defer cancel()
	status, err := m.spawn(ctx, spec)
	if err != nil {
		return err
	}
	defer status.Close()
	stop := context.AfterFunc(ctx, func() {
		_ = status.SetReadDeadline(time.Unix(1, 0)) // It fails only when the pipe is closed, and nobody reads then.
	})
	defer stop()
	if m.record.Process, err = processOf(m.record.Process.ID); err != nil {
		return m.lastWords(err)
	}
	if err := m.save(); err != nil {
		return err
	}
	said, err := io.ReadAll(status)
	if string(said) == "ready\n" {
		if spec.Detached {
			return m.lifeline.Close()
		}
		return nil
	}
	return m.lastWords(errors.New("it ended before all was up"), err, ctx.Err())
}

// lastWords adds to errors what process 1 said before it ended.
func (m *Machine) lastWords(errs ...error) error {
	console, err := os.ReadFile(m.Console())
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	return fmt.Errorf("run process 1: %w: %s", errors.Join(errs...), lastLine(string(console)))
}

// spawn starts process 1 and returns the pipe on which it reports.
func (m *Machine) spawn(ctx context.Context, spec Spec) (*os.File, error) {
	console, err := os.OpenFile(m.Console(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer console.Close()
	lifelineEnd, lifeline, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer lifelineEnd.Close()
	status, statusEnd, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, lifeline.Close())
	}
	defer statusEnd.Close()
	cmd := exec.Command("/bin/sh", "-c", initScript) // The image's shell.
	cmd.Env = []string{
		"PATH=" + searchPath, "LC_ALL=C", machineVariable + "=" + m.dir,
		"SW_DETACHED=" + map[bool]string{true: "yes", false: "no"}[spec.Detached],
	}
	cmd.Stdout, cmd.Stderr = console, console
	cmd.ExtraFiles = []*os.File{lifelineEnd, statusEnd}
	if err := m.start(ctx, spec, cmd); err != nil {
		return nil, errors.Join(err, lifeline.Close(), status.Close())
	}
	m.lifeline, m.record.Process.ID = lifeline, cmd.Process.Pid
	m.reaped = make(chan struct{})
	go func() {
		defer close(m.reaped)
		// How process 1 ended is no news: it is killed, or somebody called poweroff.
		_ = cmd.Wait()
	}()
	return status, nil
}

// start runs setUp on a thread of its own and, in between, plugs the cable in
// from a thread that is still on the host's network.
func (m *Machine) start(ctx context.Context, spec Spec, cmd *exec.Cmd) error {
	tid, plugged, done := make(chan int), make(chan error), make(chan error, 1)
	go func() {
		done <- onOwnThread(func() error {
			return m.setUp(ctx, spec, cmd, func(id int) error {
				tid <- id
				return <-plugged
			})
		})
	}()
	select {
	case id := <-tid:
		plugged <- m.plug(ctx, spec.Network, id)
		return <-done
	case err := <-done:
		return err
	}
}

// plug connects eth0 of the network namespace of thread tid with the bridge.
func (m *Machine) plug(ctx context.Context, n *Network, tid int) error {
	batch := strings.Join([]string{
		fmt.Sprintf("link add %s type veth peer name eth0 netns %d", m.record.Cable, tid),
		fmt.Sprintf("link set %s alias %s%s", m.record.Cable, aliasPrefix, m.dir),
		fmt.Sprintf("link set %s master %s up", m.record.Cable, n.Bridge),
	}, "\n")
	// The kernel takes down the network of a machine that is gone in its own time,
	// and the cable of the address's last owner with it.
	ctx, cancel := context.WithTimeout(ctx, cableLimit)
	defer cancel()
	for {
		_, err := run(ctx, batch, "ip", "-batch", "-")
		if err == nil {
			return nil
		}
		if !strings.Contains(err.Error(), "File exists") {
			return fmt.Errorf("plug the cable in: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("plug the cable in: %w", err)
		case <-time.After(cablePause):
		}
	}
}

// How long, and how often, a new machine asks for a cable that is still in use.
const (
	cableLimit = 10 * time.Second
	cablePause = 50 * time.Millisecond
)

func (m *Machine) save() error {
	text, err := json.MarshalIndent(m.record, "", "  ")
	if err != nil {
		return err
	}
	return writeFileAtomic(filepath.Join(m.dir, recordFile), text, 0o644)
}

// Name returns the host name.
func (m *Machine) Name() string { return m.record.Name }

// Address returns the address on the network.
func (m *Machine) Address() netip.Addr { return m.record.Address }

// Dir returns the machine's folder on the host.
func (m *Machine) Dir() string { return m.dir }

// PID returns the host's number of process 1.
func (m *Machine) PID() int { return m.record.Process.ID }

// Console returns the host's path of the file that holds what init printed.
// It goes with the machine's folder at Stop.
func (m *Machine) Console() string { return filepath.Join(m.dir, consoleFile) }

// Path returns the host's path of a file in the live machine. Absolute
// symbolic links below it would be followed on the host, so it is for files
// whose place is known.
func (m *Machine) Path(inside string) string {
	return filepath.Join("/proc", strconv.Itoa(m.PID()), "root", inside)
}

// Alive says whether the machine is switched on.
func (m *Machine) Alive() bool { return m.record.Process.alive() }

// Cut takes the machine off the network, as a pulled cable does.
func (m *Machine) Cut(ctx context.Context) error { return m.setCable(ctx, "down") }

// Mend puts the cable back in.
func (m *Machine) Mend(ctx context.Context) error { return m.setCable(ctx, "up") }

func (m *Machine) setCable(ctx context.Context, state string) error {
	if _, err := run(ctx, "", "ip", "link", "set", m.record.Cable, state); err != nil {
		return fmt.Errorf("set cable of machine %s %s: %w", m.record.Name, state, err)
	}
	return nil
}

// Kill switches the machine off at once and leaves its folder, for a look at
// what it left behind.
func (m *Machine) Kill() error {
	if err := m.record.Process.kill(killLimit); err != nil {
		return fmt.Errorf("kill machine %s: %w", m.record.Name, err)
	}
	if m.lifeline != nil {
		m.lifeline.Close() // A detached machine's is closed already.
	}
	if m.reaped != nil {
		<-m.reaped
	}
	return nil
}

// Stop switches the machine off, gives its address back and removes its
// folder. Stopping a machine that is gone already is no error.
func (m *Machine) Stop(ctx context.Context) error {
	if err := m.Kill(); err != nil {
		return err
	}
	network := Network{Dir: m.record.NetworkDir}
	err := errors.Join(
		deleteLink(ctx, m.record.Cable),
		network.Free(m.record.Address),
		os.RemoveAll(m.dir),
	)
	if err != nil {
		return fmt.Errorf("stop machine %s: %w", m.record.Name, err)
	}
	return nil
}
