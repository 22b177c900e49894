package node

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"spillway.sh/spillway/bridge"
)

// withMount runs a test on a thread with mounts of its own, which go with it.
func withMount(t *testing.T, options string, flags uintptr, test func(dir string)) {
	t.Helper()
	dir := t.TempDir()
	done := make(chan error)
	go func() {
		defer close(done)
		runtime.LockOSThread() // Never unlocked: the thread ends with its mounts.
		if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS); err != nil {
			done <- err
			return
		}
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			done <- err
			return
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", flags, options); err != nil {
			done <- err
			return
		}
		test(dir)
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestDisks(t *testing.T) {
	t.Run("fine", func(t *testing.T) {
		if f := lookAtDisks([]string{t.TempDir(), "/not/there"}, 0); !f.ok {
			t.Errorf("%+v", f)
		}
	})
	t.Run("read-only", func(t *testing.T) {
		withMount(t, "size=1g", unix.MS_RDONLY, func(dir string) {
			if f := lookAtDisks([]string{t.TempDir(), dir}, 0); f.ok || !f.final || f.got != dir+": open: read-only file system" {
				t.Errorf("%+v", f)
			}
		})
	})
	t.Run("full", func(t *testing.T) {
		withMount(t, "size=64k", 0, func(dir string) {
			if f := lookAtDisks([]string{dir}, 0); f.ok || f.got != dir+": 0 MiB free" {
				t.Errorf("%+v", f)
			}
			if err := os.WriteFile(filepath.Join(dir, "fill"), make([]byte, 64<<10), 0o600); err != nil {
				t.Error(err)
			}
			if err := tryWrite(dir); err == nil || plainError(err) != "write: no space left on device" {
				t.Errorf("a write to a full disk: %v", err)
			}
		})
	})
	t.Run("too small", func(t *testing.T) {
		withMount(t, "size=300m", 0, func(dir string) {
			f := lookAtDisks([]string{dir}, 500)
			if want := (finding{got: "300 MiB free", want: "500 MiB free, and writable", final: true}); f != want {
				t.Errorf("%+v", f)
			}
		})
	})
}

func TestStorageIsTimedAndLeftClean(t *testing.T) {
	dir := t.TempDir()
	f := lookAtStorage(t.Context(), &bridge.Wants{Storage: []string{dir}})
	if !f.ok || !strings.HasPrefix(f.got, dir+": first block in ") || !strings.Contains(f.got, " MB/s read") {
		t.Errorf("%+v", f)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	for name, w := range map[string]bridge.Wants{
		"too slow": {MinRate: 1 << 50}, "too late": {MaxWait: 1},
	} {
		w.Storage = []string{dir}
		if f := lookAtStorage(t.Context(), &w); f.ok || f.final {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// A checkpoint place that is full or read-only never takes a checkpoint.
func TestStorageThatTakesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		options string
		flags   uintptr
		want    string
	}{
		"full":      {"size=64k", 0, "write: no space left on device"},
		"read-only": {"size=1g", unix.MS_RDONLY, "open: read-only file system"},
	} {
		t.Run(name, func(t *testing.T) {
			withMount(t, tc.options, tc.flags, func(dir string) {
				f := lookAtStorage(t.Context(), &bridge.Wants{Storage: []string{dir}})
				if f.ok || !f.final || f.got != dir+": "+tc.want {
					t.Errorf("%+v", f)
				}
			})
		})
	}
	gone := filepath.Join(t.TempDir(), "gone")
	if f := lookAtStorage(t.Context(), &bridge.Wants{Storage: []string{gone}}); f.ok || f.final {
		t.Errorf("what may still be mounted: %+v", f)
	}
}

// An exported file system may take root for nobody: then the owner writes.
func TestStorageOfTheOwnerAlone(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir), filepath.Dir(filepath.Dir(dir))} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(dir, 4001, 4002); err != nil {
		t.Fatal(err)
	}
	if _, err := timeAs(t.Context(), dir, 4001, 4002); err != nil {
		t.Errorf("the owner: %v", err)
	}
	if _, err := timeAs(t.Context(), dir, 4003, 4003); !os.IsPermission(err) {
		t.Errorf("somebody else: %v", err)
	}
	found := make(chan finding)
	go func() {
		runtime.LockOSThread() // Never unlocked: the thread has lost root's rights, as on such a file system.
		if err := unix.Setfsuid(4003); err != nil {
			found <- finding{got: err.Error()}
			return
		}
		found <- lookAtStorage(t.Context(), &bridge.Wants{Storage: []string{dir}, Owner: &bridge.Owner{Name: "o", UID: 4001, GID: 4002}})
	}()
	if f := <-found; !f.ok {
		t.Errorf("where root may not write, the owner does not either: %+v", f)
	}
	if _, err := timeFile(t.Context(), dir); err != nil {
		t.Errorf("the agent's other threads have lost their rights: %v", err)
	}
}

func TestACheckThatHangsIsLeftBehind(t *testing.T) {
	block := make(chan struct{})
	defer close(block)
	c := check{"mounts", 20 * time.Millisecond, func(context.Context) finding { <-block; return finding{ok: true} }}
	began := time.Now()
	seen, final := lookAll(t.Context(), BootClock, []check{c})
	if seen[0].OK || final || seen[0].Got != "no answer within 20ms" || time.Since(began) > 10*time.Second {
		t.Errorf("%+v, final %t, after %s", seen, final, time.Since(began))
	}
}

func TestMountPoints(t *testing.T) {
	info := "1 0 8:1 / / rw - ext4 /dev/sda rw\n2 1 0:40 / /home rw shared:1 - nfs4 h:/home rw\n3 1 0:41 / /data\\040sets rw - lustre x rw\nshort\n"
	for path, want := range map[string]string{
		"/home": "/home", "/home/alice": "/home", "/homes": "/", "/data sets/a": "/data sets", "/etc": "/",
	} {
		if got := mountOf(info, path); got != want {
			t.Errorf("%s lies on %s, want %s", path, got, want)
		}
	}
}

func TestOwners(t *testing.T) {
	for name, tc := range map[string]struct {
		owner     bridge.Owner
		ok, final bool
		got       string
	}{
		"as the cluster knows it": {bridge.Owner{Name: "daemon", UID: 1, GID: 1}, true, false, "uid 1, gid 1"},
		"another number":          {bridge.Owner{Name: "daemon", UID: 5001, GID: 1}, false, true, "uid 1, gid 1"},
		"another group":           {bridge.Owner{Name: "daemon", UID: 1, GID: 5001}, false, true, "uid 1, gid 1"},
		"unknown":                 {bridge.Owner{Name: "no-such-person", UID: 1, GID: 1}, false, false, "no-such-person is unknown here"},
	} {
		f := lookAtOwner(t.Context(), &tc.owner)
		if f.ok != tc.ok || f.final != tc.final || f.got != tc.got {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestXids(t *testing.T) {
	for name, tc := range map[string]struct{ log, got string }{
		"none":                     {"6,1,1,-;nvidia: loading\n", "none"},
		"an application's own":     {"4,1,1,-;NVRM: Xid (PCI:0000:65:00): 31, pid=1, Ch 1\n4,1,1,-;NVRM: Xid (PCI:0000:65:00): 13, x\n", "none"},
		"fallen off the bus":       {"4,1,1,-;NVRM: Xid (PCI:0000:65:00): 79, pid=1, GPU has fallen off the bus.\n", "Xid 79 on PCI:0000:65:00"},
		"two, one of them twice":   {"NVRM: Xid (PCI:1): 48, x\nNVRM: Xid (PCI:0): 95, x\nNVRM: Xid (PCI:1): 48, x\n", "Xid 48 on PCI:1, Xid 95 on PCI:0"},
		"a job that prints of one": {"4,1,1,-;somebody said Xid (PCI:1): 79\n", "none"},
	} {
		path := filepath.Join(t.TempDir(), "kmsg")
		if err := os.WriteFile(path, []byte(tc.log), 0o600); err != nil {
			t.Fatal(err)
		}
		if f := lookForXids(path); f.got != tc.got || f.ok != (tc.got == "none") {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if f := lookForXids("/not/there"); !f.ok {
		t.Errorf("a machine that shows no log: %+v", f)
	}
}

// fakeSMI puts a program in the place of the driver's tool.
func fakeSMI(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, smi), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestGPUsAsTheDriverShowsThem(t *testing.T) {
	two := "echo 'NVIDIA A100-SXM4-80GB, 550.54.15, 37'\necho 'NVIDIA A100-SXM4-80GB, 550.54.15, 63'\n"
	dev := t.TempDir()
	for _, n := range []string{"nvidia0", "nvidia1", "nvidiactl"} {
		if err := unix.Mknod(filepath.Join(dev, n), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		script    string
		wants     bridge.Wants
		ok, final bool
		got       string
	}{
		"as paid for":            {two, bridge.Wants{GPUs: 2, GPUType: "a100"}, true, false, "2 x NVIDIA A100-SXM4-80GB"},
		"more than paid for":     {two, bridge.Wants{GPUs: 1}, true, false, "2 x NVIDIA A100-SXM4-80GB"},
		"too few":                {two, bridge.Wants{GPUs: 8}, false, true, "2 x NVIDIA A100-SXM4-80GB"},
		"another type":           {two, bridge.Wants{GPUs: 2, GPUType: "h100"}, false, true, "2 x NVIDIA A100-SXM4-80GB"},
		"a type of the site":     {two, bridge.Wants{GPUs: 2, GPUType: "big"}, true, false, "2 x NVIDIA A100-SXM4-80GB"},
		"a type with its memory": {two, bridge.Wants{GPUs: 2, GPUType: "a100_80gb"}, true, false, "2 x NVIDIA A100-SXM4-80GB"},
		"no driver yet":          {"echo 'NVIDIA-SMI has failed' >&2; exit 9", bridge.Wants{GPUs: 2}, false, false, "run nvidia-smi: exit status 9"},
		"none yet":               {"true", bridge.Wants{GPUs: 2}, false, false, "none"},
		"words of another kind":  {"echo what", bridge.Wants{GPUs: 2}, false, false, `read nvidia-smi: "what\n"`},
		"nodes are missing":      {two + two, bridge.Wants{GPUs: 4}, false, false, "4 x NVIDIA A100-SXM4-80GB, but 2 device nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			fakeSMI(t, tc.script)
			f := lookAtGPUs(t.Context(), dev, &tc.wants)
			if f.ok != tc.ok || f.final != tc.final || f.got != tc.got {
				t.Errorf("%+v", f)
			}
		})
	}
	fakeSMI(t, two)
	gpus, err := askDriver(t.Context())
	want := []gpu{{"NVIDIA A100-SXM4-80GB", "550.54.15", 370}, {"NVIDIA A100-SXM4-80GB", "550.54.15", 630}}
	if diff := cmp.Diff(want, gpus, cmp.AllowUnexported(gpu{})); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	for least, ok := range map[string]bool{"535": true, "550": true, "550.54.15": true, "550.54.15.1": false, "550.90": false, "560": false} {
		if f := lookAtDriver(t.Context(), least); f.ok != ok {
			t.Errorf("driver 550.54.15 against %s: %+v", least, f)
		}
	}
}

func TestStages(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	put("10-pull", "#!/bin/sh\necho pulling\necho $SPILLWAY_NODE has its image\n")
	put("20-cache", "#!/bin/sh\n# spillway-limit: 300ms\necho 3 of 9 shards\nsleep 60\n")
	put("30-never", "#!/bin/sh\ntouch "+filepath.Join(dir, "ran")+"\n")
	put(".swp", "#!/bin/sh\nexit 1\n")
	if err := os.WriteFile(filepath.Join(dir, "README"), []byte("words"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := New(Options{Site: Site{Stages: dir}, Clock: BootClock, Now: time.Now, Member: nobody{}})
	a.grant.Node = "sw-1-0"
	began := time.Now()
	failed := a.runStages(t.Context())
	if failed != "20-cache: 3 of 9 shards: not done within 300ms" || time.Since(began) > 20*time.Second {
		t.Errorf("%q after %s", failed, time.Since(began))
	}
	got := a.status.report().Stages
	for i := range got {
		if got[i].Took <= 0 {
			t.Errorf("stage %s was not timed", got[i].Name)
		}
		got[i].Took = 0
	}
	want := []bridge.Stage{
		{Name: "10-pull", OK: true, Text: "sw-1-0 has its image"},
		{Name: "20-cache", Text: "3 of 9 shards: not done within 300ms"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("a stage after one that failed was run")
	}
}

// nobody is a Member of no scheduler.
type nobody struct{}

func (nobody) Prepare(context.Context, string, map[string]string) error { return nil }
func (nobody) Run(context.Context, string, map[string]string, func(bridge.Stage)) error {
	return nil
}
func (nobody) Busy() bool { return false }
