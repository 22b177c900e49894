package novatest

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"spillway.sh/spillway/bridge/sandbox"
)

//go:embed rig
var rig embed.FS

// Hosts of the cloud, by what they are. Each GPU host takes three machines of
// flavor GPUFlavor; what is put on the broken one fails.
const (
	gpuHosts   = "gpu1 gpu2"
	plainHosts = "plain1 broken1"
)

// The two zones and what can be rented in them.
const (
	GPUZone   = "gpu"
	PlainZone = "plain"
	// GPUFlavor has GPUStock machines in GPUZone and none in PlainZone.
	GPUFlavor = "g8.a100"
	GPUStock  = 6
	// PlainFlavor has more than can be used in both. In PlainZone every other
	// machine of one create fails.
	PlainFlavor = "c4"
	// PageSize is how many servers a page of a list has.
	PageSize = 4
	// Region, Image and Network are what the cloud calls them.
	Region  = "RegionOne"
	Image   = "node"
	Network = "batch"
)

const (
	startLimit = 10 * time.Minute
	pollEvery  = 200 * time.Millisecond
	logFolder  = "/var/log/cloud"
)

// Cloud is a running OpenStack.
type Cloud struct {
	dir     string
	network *sandbox.Network
	machine *sandbox.Machine
	admin   *admin
}

// Start builds the image if need be, starts the cloud and returns once machines
// can be rented. The caller must Close it.
func Start(ctx context.Context, progress io.Writer) (*Cloud, error) {
	if err := sandbox.CheckHost(); err != nil {
		return nil, fmt.Errorf("start OpenStack: %w", err)
	}
	if _, err := sandbox.SweepAbandoned(ctx); err != nil {
		return nil, fmt.Errorf("start OpenStack: %w", err)
	}
	image, err := sandbox.EnsureImage(ctx, ImageSpec(), progress)
	if err != nil {
		return nil, fmt.Errorf("start OpenStack: %w", err)
	}
	c := &Cloud{}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := c.boot(ctx, image); err != nil {
		err = fmt.Errorf("start OpenStack: %w%s", err, c.lastWords())
		return nil, errors.Join(err, c.Close(context.WithoutCancel(ctx)))
	}
	return c, nil
}

func (c *Cloud) boot(ctx context.Context, image sandbox.Image) error {
	var err error
	if c.dir, err = os.MkdirTemp("", "novatest-"); err != nil {
		return err
	}
	if err := sandbox.Claim(c.dir); err != nil {
		return err
	}
	if c.network, err = sandbox.CreateNetwork(ctx, filepath.Join(c.dir, "net")); err != nil {
		return err
	}
	files, err := files()
	if err != nil {
		return err
	}
	start, err := fs.ReadFile(rig, "rig/start.sh")
	if err != nil {
		return err
	}
	c.machine, err = sandbox.Start(ctx, sandbox.Spec{
		Dir: filepath.Join(c.dir, "machines"), Name: "cloud", Image: image, Network: c.network, Files: files,
		Init: []byte(strings.Replace(string(start), "HOSTS", gpuHosts+" "+plainHosts, 1)),
	})
	if err != nil {
		return err
	}
	return c.furnish(ctx)
}

// files are what the servers read, each in its place.
func files() ([]sandbox.File, error) {
	const login = `auth_url = http://127.0.0.1:5000/v3
auth_type = password
username = admin
password = admin
project_name = admin
user_domain_name = Default
project_domain_name = Default
valid_interfaces = internal
`
	const token = "[keystone_authtoken]\nwww_authenticate_uri = http://127.0.0.1:5000/v3\n" + login
	var out []sandbox.File
	for name, path := range map[string]string{
		"keystone.conf": "/etc/keystone/keystone.conf", "placement.conf": "/etc/placement/placement.conf",
		"glance-api.conf": "/etc/glance/glance-api.conf", "nova.conf": "/etc/nova/nova.conf",
		"provider.yaml": "/etc/nova/provider/gpu.yaml", "wsgi.py": "/usr/local/lib/cloud/wsgi.py", "network.py": "/usr/local/lib/cloud/network.py",
	} {
		text, err := fs.ReadFile(rig, "rig/"+name)
		if err != nil {
			return nil, err
		}
		whole := strings.NewReplacer("LOGIN\n", login, "AUTH\n", token).Replace(string(text))
		out = append(out, sandbox.File{Path: path, Data: []byte(whole)})
	}
	return out, nil
}

// URL is the identity service's, as the host reaches it.
func (c *Cloud) URL() string { return fmt.Sprintf("http://%s:5000/v3", c.machine.Address()) }

// Machine is the one that the cloud's servers run in.
func (c *Cloud) Machine() *sandbox.Machine { return c.machine }

// Close ends the cloud and all that is in it.
func (c *Cloud) Close(ctx context.Context) error {
	var err error
	if c.machine != nil {
		err = c.machine.Stop(ctx)
	}
	if c.network != nil {
		err = errors.Join(err, c.network.Close(ctx))
	}
	if c.dir != "" {
		_, swept := sandbox.Sweep(ctx, c.dir)
		err = errors.Join(err, swept)
	}
	if err != nil {
		return fmt.Errorf("close OpenStack: %w", err)
	}
	return nil
}

// lastWords is the end of what each server wrote.
func (c *Cloud) lastWords() string {
	if c.machine == nil {
		return ""
	}
	var text strings.Builder
	logs, _ := filepath.Glob(filepath.Join(c.machine.Dir(), "upper", logFolder, "*"))
	for _, path := range append(logs, c.machine.Console()) {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		fmt.Fprintf(&text, "\n%s:", filepath.Base(path))
		for _, line := range lines[max(0, len(lines)-4):] {
			fmt.Fprintf(&text, "\n  %.300s", line)
		}
	}
	return text.String()
}

// TB is what New needs of *testing.T.
type TB interface {
	Helper()
	Context() context.Context
	Cleanup(f func())
	Failed() bool
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// New starts a cloud for a test and closes it with the test.
func New(t TB) *Cloud {
	t.Helper()
	c, err := Start(t.Context(), os.Stderr) // A first run builds the image: minutes without a word look like a hang.
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("last words of the cloud:%s", c.lastWords())
		}
		if err := c.Close(context.Background()); err != nil {
			t.Fatalf("%v", err)
		}
	})
	return c
}
