package node_test

import (
	"context"
	"net"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/node"
)

// mock builds AWS's own amazon-ec2-metadata-mock once; go.tools.mod has its
// version.
var mock = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "tool", "-modfile", filepath.Join("..", "..", "go.tools.mod"), "-n", "ec2-metadata-mock").CombinedOutput()
	if err != nil {
		return string(out), err
	}
	return string(out[:len(out)-1]), nil
})

// startMock starts the mock on a free port.
func startMock(t *testing.T, args ...string) string {
	t.Helper()
	path, err := mock()
	if err != nil {
		t.Fatalf("build amazon-ec2-metadata-mock: %v: %s", err, path)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	cmd := exec.Command(path, append(args, "--hostname", "127.0.0.1", "--port", port)...)
	cmd.Env, cmd.Dir = []string{"HOME=" + t.TempDir()}, t.TempDir()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return "http://127.0.0.1:" + port
}

// eventually asks until the answer is yes, at most ten seconds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited for %s in vain", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestEC2AgainstAmazonsOwnMock(t *testing.T) {
	at := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	for name, tc := range map[string]struct {
		args  []string
		first *bridge.Warning
		then  *bridge.Warning
	}{
		"a notice, with tokens": {
			[]string{"spot", "--imdsv2", "--time", at.Format(time.RFC3339), "--rebalance-delay-sec", "3600"},
			&bridge.Warning{Source: "spot/instance-action", At: at}, &bridge.Warning{Source: "spot/instance-action", At: at},
		},
		"an advice first, then the notice": {
			[]string{"spot", "--imdsv2", "--mock-delay-sec", "2", "--time", at.Format(time.RFC3339), "--action", "stop"},
			&bridge.Warning{Source: "events/recommendations/rebalance", Advice: true}, &bridge.Warning{Source: "spot/instance-action", At: at},
		},
		"nothing yet": {[]string{"spot", "--mock-delay-sec", "3600", "--rebalance-delay-sec", "3600"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := node.NewEC2(startMock(t, tc.args...))
			id := ""
			eventually(t, "the mock to answer", func() (ok bool) {
				var err error
				id, err = c.Identify(t.Context())
				return err == nil
			})
			if id != "i-1234567890abcdef0" {
				t.Errorf("id %q, which is not the mock's", id)
			}
			if diff := cmp.Diff(tc.first, look(t, c)); diff != "" {
				t.Errorf("at first, -want +got:\n%s", diff)
			}
			eventually(t, "what follows", func() bool { return cmp.Equal(tc.then, look(t, c)) })
		})
	}
}
