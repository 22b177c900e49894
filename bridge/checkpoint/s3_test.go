package checkpoint_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/checkpoint"
	"spillway.sh/spillway/bridge/sandbox"
)

// serverBinary builds the object storage once and keeps it beside the images,
// by the sums of everything in it.
var serverBinary = sync.OnceValues(func() (string, error) {
	const module = "testdata/s3server"
	var sum []byte
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			return "", err
		}
		s := sha256.Sum256(append(sum, text...))
		sum = s[:]
	}
	cache, err := sandbox.CacheDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(cache, "tools", "versitygw-"+hex.EncodeToString(sum[:4]))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	lock := flock.New(path + ".lock")
	if err := lock.Lock(); err != nil {
		return "", err
	}
	defer lock.Close()
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	build := exec.Command("go", "build", "-o", path+".new", "github.com/versity/versitygw/cmd/versitygw")
	build.Dir = module
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build versitygw: %w\n%s", err, out)
	}
	return path, os.Rename(path+".new", path)
})

// objects is a running object storage with one bucket, ckpt, whose objects are
// the files of a folder.
type objects struct {
	endpoint string
	bucket   string // the folder
	keys     string // a file of access keys
}

const accessKey, secretKey = "spillway", "a-secret-of-the-tests"

func startObjects(t *testing.T) *objects {
	t.Helper()
	binary, err := serverBinary()
	must(t, err)
	dir := t.TempDir()
	o := &objects{bucket: filepath.Join(dir, "ckpt"), keys: filepath.Join(t.TempDir(), "keys")}
	must(t, os.Mkdir(o.bucket, 0o755))
	must(t, os.WriteFile(o.keys, fmt.Appendf(nil, "[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n\n[wrong]\naws_access_key_id = %[1]s\naws_secret_access_key = no\n", accessKey, secretKey), 0o600))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	at := l.Addr().String()
	must(t, l.Close())
	o.endpoint = "http://" + at
	ctx, cancel := context.WithCancel(context.Background())
	var log bytes.Buffer
	server := exec.CommandContext(ctx, binary, "--access", accessKey, "--secret", secretKey, "--port", at, "--quiet", "posix", "--sidecar", t.TempDir(), dir)
	server.Stdout, server.Stderr = &log, &log
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(t, server.Start())
	t.Cleanup(func() {
		cancel()
		_ = server.Wait() // killed
		if t.Failed() {
			t.Logf("versitygw:\n%s", &log)
		}
	})
	for deadline := time.Now().Add(20 * time.Second); ; {
		c, err := net.DialTimeout("tcp", at, time.Second)
		if err == nil {
			must(t, c.Close())
			return o
		}
		if time.Now().After(deadline) {
			t.Fatalf("versitygw does not listen: %v\n%s", err, &log)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (o *objects) finder(t *testing.T, change func(*checkpoint.Access)) *checkpoint.Finder {
	t.Helper()
	a := checkpoint.Access{Endpoint: o.endpoint, Region: "us-east-1", KeyFile: o.keys}
	if change != nil {
		change(&a)
	}
	s, err := checkpoint.NewStorage(a)
	must(t, err)
	return finder(checkpoint.Options{Storage: s, Time: 30 * time.Second})
}

func TestObjectStorage(t *testing.T) {
	o := startObjects(t)
	f := o.finder(t, nil)
	n := 0
	for name, s := range shapes {
		if slices.ContainsFunc(s.files, func(f written) bool { return strings.Contains(f.name, " -> ") }) {
			continue // objects have no links
		}
		n++
		prefix := fmt.Sprintf("p%02d", n)
		t.Run(name, func(t *testing.T) {
			write(t, filepath.Join(o.bucket, prefix), s.files...)
			root := "s3://ckpt/" + prefix
			got, err := f.Find(t.Context(), rule(s.framework, root), job("run"))
			must(t, err)
			if diff := cmp.Diff(s.want, said(root, got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestObjectsByTheirOwnClient puts objects as a job does, in parts too.
func TestObjectsByTheirOwnClient(t *testing.T) {
	o := startObjects(t)
	c, err := minio.New(strings.TrimPrefix(o.endpoint, "http://"), &minio.Options{Creds: credentials.NewStaticV4(accessKey, secretKey, ""), Region: "us-east-1"})
	must(t, err)
	put := func(key, text string, part uint64) {
		t.Helper()
		_, err := c.PutObject(t.Context(), "ckpt", key, strings.NewReader(text), int64(len(text)), minio.PutObjectOptions{PartSize: part})
		must(t, err)
	}
	large := saved("", 12<<20)
	put("ana/run7/step-10.pt", large, 5<<20)
	put("ana/run7/step-20.pt", saved("")[:120], 0)
	r := &bridge.CheckpointRule{Path: "s3://ckpt/%u/%{ckpt}"}
	got, err := o.finder(t, nil).Find(t.Context(), r, job("run7"))
	must(t, err)
	if n := got.Newest; n == nil || n.Step != 10 || n.Bytes != int64(len(large)) || time.Since(n.At) > time.Hour {
		t.Errorf("found %+v", n)
	}
}

func TestObjectStorageInTroubleIsNeverNone(t *testing.T) {
	o := startObjects(t)
	write(t, o.bucket, written{"run/step-1.pt", saved("")})
	for name, c := range map[string]struct {
		change func(*checkpoint.Access)
		bucket string
		want   bridge.CheckpointTrouble
	}{
		"well":           {nil, "ckpt", ""},
		"wrong key":      {func(a *checkpoint.Access) { a.Profile = "wrong" }, "ckpt", bridge.TroubleDenied},
		"no such bucket": {nil, "other", bridge.TroubleUnmounted},
		"nobody answers": {func(a *checkpoint.Access) { a.Endpoint = "http://127.0.0.1:1" }, "ckpt", bridge.TroubleStale},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := o.finder(t, c.change).Find(t.Context(), &bridge.CheckpointRule{Path: "s3://" + c.bucket + "/%{ckpt}"}, job("run"))
			if kind := troubleOf(t, err); kind != c.want || err == nil && got.Newest == nil {
				t.Errorf("have %q, want %q (%v)", kind, c.want, err)
			}
		})
	}
}
