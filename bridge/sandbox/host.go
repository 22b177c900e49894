package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// ErrNotRoot reports that machines were asked for without the rights to make them.
var ErrNotRoot = errors.New("machines made of namespaces need root: run this with sudo")

// hostTools are the programs of the host that machines are made with; each is
// in Debian's and Ubuntu's base system.
var hostTools = []struct{ name, pkg string }{
	{"ip", "iproute2"},
	{"nsenter", "util-linux"},
}

// searchPath is used instead of the caller's PATH, which under sudo or in a
// service may lack the sbin folders.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// CheckHost says whether this host can run machines: it needs root and a few
// programs of the base system. The error names everything that is missing.
func CheckHost() error {
	if os.Geteuid() != 0 {
		return ErrNotRoot
	}
	var missing []string
	for _, tool := range hostTools {
		if _, err := lookTool(tool.name); err != nil {
			missing = append(missing, fmt.Sprintf("%s (package %s)", tool.name, tool.pkg))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("machines made of namespaces need %s: install with apt-get", strings.Join(missing, ", "))
	}
	return nil
}

// lookTool finds a program in the system's folders.
func lookTool(name string) (string, error) {
	for dir := range strings.SplitSeq(searchPath, ":") {
		path := dir + "/" + name
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 && !info.IsDir() {
			return path, nil
		}
	}
	return "", fmt.Errorf("find %s in %s: %w", name, searchPath, exec.ErrNotFound)
}

// run executes a program of the host and returns what it printed. A failure
// carries the last line of its standard error.
func run(ctx context.Context, stdin string, name string, args ...string) (string, error) {
	path, err := lookTool(name)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"PATH=" + searchPath, "LC_ALL=C"}
	cmd.Stdin = strings.NewReader(stdin)
	var out, msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &msg
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("run %s %s: %w: %s", name, strings.Join(args, " "), err, lastLine(msg.String()))
	}
	return out.String(), nil
}

// lastLine is what a program said last, without the line number that ip adds
// when it works off a batch.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if n := len(lines); n > 1 && strings.HasPrefix(lines[n-1], "Command failed ") {
		lines = lines[:n-1]
	}
	return strings.TrimSpace(lines[len(lines)-1])
}
