package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"spillway.sh/spillway/bridge"
)

// smi is the driver's own tool.
const smi = "nvidia-smi"

// gpu is one GPU as the driver shows it.
type gpu struct {
	name   string
	driver string
	use    int // per mille; negative: unknown
}

// askDriver lists the GPUs; nil and no error: the machine has no nvidia-smi.
func askDriver(ctx context.Context) ([]gpu, error) {
	path, err := exec.LookPath(smi)
	if err != nil {
		return nil, nil
	}
	out, err := output(ctx, path, "--query-gpu=name,driver_version,utilization.gpu", "--format=csv,noheader,nounits")
	if err != nil {
		return nil, err
	}
	gpus := []gpu{}
	for line := range strings.Lines(out) {
		parts := strings.Split(strings.TrimSpace(line), ", ")
		if len(parts) != 3 {
			return nil, fmt.Errorf("read %s: %.80q", smi, line)
		}
		g := gpu{name: parts[0], driver: parts[1], use: -1}
		if n, err := strconv.Atoi(parts[2]); err == nil && n >= 0 && n <= 100 {
			g.use = n * 10
		}
		gpus = append(gpus, g)
	}
	return gpus, nil
}

var gpuNode = regexp.MustCompile(`^nvidia[0-9]+$`)

// gpuNodes counts the GPUs' device nodes.
func gpuNodes(dev string) int {
	entries, err := os.ReadDir(dev)
	if err != nil {
		return 0
	}
	n := 0
	for _, e := range entries {
		if gpuNode.MatchString(e.Name()) && e.Type()&os.ModeCharDevice != 0 {
			n++
		}
	}
	return n
}

// lookAtGPUs counts the GPUs: those the driver shows, and their device nodes.
// None at all may still come, with the driver; a wrong number will not change.
func lookAtGPUs(ctx context.Context, dev string, w *bridge.Wants) finding {
	f := finding{want: fmt.Sprintf("%d", w.GPUs)}
	if w.GPUType != "" {
		f.want += " x " + w.GPUType
	}
	nodes := gpuNodes(dev)
	gpus, err := askDriver(ctx)
	switch {
	case err != nil:
		f.got = err.Error()
		return f
	case gpus == nil:
		f.got, f.ok = fmt.Sprintf("%d, by their device nodes", nodes), nodes >= w.GPUs
		f.final = !f.ok && nodes > 0
		return f
	}
	if len(gpus) == 0 {
		f.got = "none"
		return f
	}
	f.got = fmt.Sprintf("%d x %s", len(gpus), gpus[0].name)
	if nodes < len(gpus) {
		f.got += fmt.Sprintf(", but %d device nodes", nodes)
		return f
	}
	f.ok = len(gpus) >= w.GPUs && !slices.ContainsFunc(gpus, func(g gpu) bool { return otherModel(w.GPUType, g.name) })
	f.final = !f.ok
	return f
}

var (
	model     = regexp.MustCompile(`^(rtx)?[a-z]{1,2}[0-9]{1,4}[a-z]*$`)
	separator = regexp.MustCompile(`[^a-z0-9]+`)
)

// otherModel reports whether a GPU is surely not of the type that the scheduler
// names: only types that are a model's name can be compared.
func otherModel(kind, name string) bool {
	words := separator.Split(strings.ToLower(name), -1)
	for _, part := range separator.Split(strings.ToLower(kind), -1) {
		if model.MatchString(part) && !slices.ContainsFunc(words, func(w string) bool { return w == part }) {
			return true
		}
	}
	return false
}

// lookAtDriver compares the driver's version.
func lookAtDriver(ctx context.Context, least string) finding {
	f := finding{want: least + " or newer"}
	gpus, err := askDriver(ctx)
	switch {
	case err != nil:
		f.got = err.Error()
	case len(gpus) == 0:
		f.got = "no driver"
	default:
		f.got, f.ok = gpus[0].driver, !older(gpus[0].driver, least)
		f.final = !f.ok
	}
	return f
}

// older compares dotted versions number by number.
func older(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range y {
		if i >= len(x) {
			return true
		}
		m, err1 := strconv.Atoi(x[i])
		n, err2 := strconv.Atoi(y[i])
		if err1 != nil || err2 != nil {
			return x[i] < y[i]
		}
		if m != n {
			return m < n
		}
	}
	return false
}

var xid = regexp.MustCompile(`NVRM: Xid \(([^)]*)\): ([0-9]+)`)

// appXids are errors that an application makes, not the hardware.
var appXids = []string{"13", "31", "43", "45", "68", "69"}

// lookForXids looks for the driver's error reports in the kernel's log. A
// machine that has just booted has none.
func lookForXids(kmsg string) finding {
	f, err := os.OpenFile(kmsg, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return fine("the kernel's log is not shown here")
	}
	if err != nil {
		return finding{got: err.Error()}
	}
	defer f.Close()
	var found []string
	for _, m := range xid.FindAllStringSubmatch(readLog(f), -1) {
		if !slices.Contains(appXids, m[2]) {
			found = append(found, "Xid "+m[2]+" on "+m[1])
		}
	}
	if len(found) > 0 {
		slices.Sort(found)
		return finding{got: strings.Join(slices.Compact(found), ", "), want: "none", final: true}
	}
	return fine("none")
}

// readLog reads what the log holds now. Each read of the kernel's gives one
// record, and tells when records were lost.
func readLog(f *os.File) string {
	var all strings.Builder
	buf := make([]byte, 16<<10)
	for all.Len() < 8<<20 {
		n, err := unix.Read(int(f.Fd()), buf)
		if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			break
		}
		all.Write(buf[:n])
	}
	return all.String()
}

const (
	gpuEvery = 15 * time.Second
	gpuLimit = 10 * time.Second
)

// watchGPUs keeps the use of the GPUs, where there is a driver to ask.
func (a *Agent) watchGPUs(ctx context.Context) {
	for {
		use := -1
		ask, cancel := context.WithTimeout(ctx, gpuLimit)
		gpus, err := askDriver(ask)
		cancel()
		if err == nil && gpus == nil {
			return
		}
		if n := len(gpus); err == nil && n > 0 && !slices.ContainsFunc(gpus, func(g gpu) bool { return g.use < 0 }) {
			sum := 0
			for _, g := range gpus {
				sum += g.use
			}
			use = sum / n
		}
		a.status.mu.Lock()
		a.status.gpuPM = use // Told with the next report: use is no news.
		a.status.mu.Unlock()
		if !sleep(ctx, gpuEvery) {
			return
		}
	}
}

// isProgram reports whether a path is something that can be run.
func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 && filepath.IsAbs(path)
}
