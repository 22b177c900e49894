package checkpoint_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/checkpoint"
)

// troubleOf is the kind of an error, which must be one of a look.
func troubleOf(t *testing.T, err error) bridge.CheckpointTrouble {
	t.Helper()
	if err == nil {
		return ""
	}
	ce, ok := errors.AsType[*bridge.CheckpointError](err)
	if !ok {
		t.Fatalf("%T is no error of a look: %v", err, err)
	}
	return ce.Kind
}

type noCloser struct{}

func (noCloser) Close() error { return nil }

// What a job says of itself leads nowhere but below the roots of policy.
func TestJobsLeadNowhereElse(t *testing.T) {
	tree := fstest.MapFS{}
	for _, name := range []string{"run7/step-1.pt", "ana/run7/step-1.pt", "ana/train/step-1.pt", "ana/7/step-1.pt", "ana/*/step-1.pt", "ana/x/y/step-1.pt"} {
		tree[name] = &fstest.MapFile{Data: []byte(saved("")), ModTime: day, Mode: 0o644}
	}
	for name, c := range map[string]struct {
		path  string
		roots []string
		job   bridge.CheckpointJob
		want  string // root opened, and place found; or the trouble
	}{
		"user and key":                   {"/scratch/%u/%{ckpt}", nil, job("run7"), "/scratch: /scratch/ana/run7/step-1.pt"},
		"name":                           {"/scratch/%u/%x", nil, job(""), "/scratch: /scratch/ana/train/step-1.pt"},
		"job id":                         {"/scratch/%u/%j", nil, job(""), "/scratch: /scratch/ana/7/step-1.pt"},
		"root of the user":               {"/scratch/%u/%{ckpt}", []string{"/home/%u", "/scratch/%u"}, job("x/y"), "/scratch/ana: /scratch/ana/x/y/step-1.pt"},
		"whole path by key":              {"%{ckpt}", []string{"/scratch/%u"}, job("/scratch/ana/run7"), "/scratch/ana: /scratch/ana/run7/step-1.pt"},
		"a star means itself":            {"/scratch/%u/%{ckpt}", nil, job("*"), "/scratch: /scratch/ana/*/step-1.pt"},
		"by annotation":                  {"/scratch/%u/%{ckpt}", nil, bridge.CheckpointJob{User: "ana", Annotations: map[string]string{"ckpt": "run7"}}, "/scratch: /scratch/ana/run7/step-1.pt"},
		"nothing said":                   {"/scratch/%u/%{ckpt}", nil, bridge.CheckpointJob{User: "ana", Comment: "ckpts=run7"}, "unsaid"},
		"no name":                        {"/scratch/%u/%x", nil, bridge.CheckpointJob{User: "ana"}, "unsaid"},
		"another user's":                 {"%{ckpt}", []string{"/scratch/%u"}, job("/scratch/ben/run7"), "outside"},
		"upwards":                        {"/scratch/%u/%{ckpt}", nil, job("../ben/run7"), "outside"},
		"upwards in the middle":          {"%{ckpt}", []string{"/scratch/%u"}, job("/scratch/ana/../ben"), "outside"},
		"secrets of the host":            {"%{ckpt}", []string{"/scratch/%u"}, job("/etc"), "outside"},
		"a root's name as a beginning":   {"%{ckpt}", []string{"/scratch/%u"}, job("/scratch/anabel"), "outside"},
		"a name of several folders":      {"/scratch/%u/%x", nil, bridge.CheckpointJob{User: "ana", Name: "../../etc"}, "outside"},
		"a user of several folders":      {"/scratch/%u/x", nil, bridge.CheckpointJob{User: "../etc"}, "outside"},
		"relative":                       {"%{ckpt}", []string{"/scratch/%u"}, job("run7"), "outside"},
		"control characters":             {"/scratch/%u/%x", nil, bridge.CheckpointJob{User: "ana", Name: "a\x00b"}, "outside"},
		"a bucket where there is none":   {"%{ckpt}", []string{"/scratch/%u"}, job("s3://ckpt/x"), "outside"},
		"storage that is not configured": {"s3://ckpt/%u/%{ckpt}", nil, job("x"), "no-storage"},
	} {
		t.Run(name, func(t *testing.T) {
			opened := ""
			f := finder(checkpoint.Options{Open: func(root string) (fs.FS, io.Closer, error) {
				opened = root
				sub := fs.FS(tree)
				if root == "/scratch/ana" {
					sub, _ = fs.Sub(tree, "ana")
				}
				return sub, noCloser{}, nil
			}})
			got, err := f.Find(t.Context(), &bridge.CheckpointRule{Path: c.path, Roots: c.roots}, c.job)
			have := string(troubleOf(t, err))
			if err == nil {
				have = opened + ": none"
				if got.Newest != nil {
					have = opened + ": " + got.Newest.Place
				}
			}
			if have != c.want {
				t.Errorf("have %s (%v), want %s", have, err, c.want)
			}
		})
	}
}

func TestLinksAreNotFollowed(t *testing.T) {
	other := t.TempDir()
	write(t, other, written{"run/step-9.pt", saved("")})
	for name, c := range map[string]struct {
		files []written
		want  string
	}{
		"a folder on the way":  {[]written{{"run -> " + other + "/run", ""}}, "outside"},
		"a checkpoint":         {[]written{{"run/step-1.pt", saved("")}, {"run/step-9.pt -> " + other + "/run/step-9.pt", ""}}, "step-1.pt"},
		"a checkpoint's shard": {[]written{{"run/10/__0_0.distcp -> " + other + "/run/step-9.pt", ""}, {"run/10/.metadata", distributed("__0_0.distcp")}}, "none"},
		"inside of the root":   {[]written{{"real/step-1.pt", saved("")}, {"run -> real", ""}}, "outside"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, c.files...)
			got, err := finder(checkpoint.Options{}).Find(t.Context(), rule("pytorch", root), job("run"))
			have := string(troubleOf(t, err))
			switch {
			case err == nil && got.Newest == nil:
				have = "none"
			case err == nil:
				have = filepath.Base(got.Newest.Place)
			}
			if have != c.want {
				t.Errorf("have %s, want %s: %+v", have, c.want, got.Passed)
			}
		})
	}
}

// The daemon may read everything; what the job's own user could not read does
// not count.
func TestOnlyWhatTheJobsUserCouldReadCounts(t *testing.T) {
	me, mine := uint32(os.Getuid()), uint32(os.Getgid())
	stranger := checkpoint.Owner{UID: me + 4711, GIDs: []uint32{mine + 4711}}
	for name, c := range map[string]struct {
		owner  checkpoint.Owner
		way    fs.FileMode // of the folder above
		folder fs.FileMode
		file   fs.FileMode
		want   string
	}{
		"the owner's own":                       {checkpoint.Owner{UID: me + 1, GIDs: []uint32{mine}}, 0o755, 0o750, 0o640, "step-1.pt"},
		"open to everybody":                     {stranger, 0o755, 0o755, 0o644, "step-1.pt"},
		"somebody else's file":                  {stranger, 0o755, 0o755, 0o600, "none foreign"},
		"readable by a group he is not in":      {stranger, 0o755, 0o755, 0o640, "none foreign"},
		"a folder nobody else may go through":   {stranger, 0o755, 0o700, 0o644, "outside"},
		"a folder nobody else may list":         {stranger, 0o755, 0o711, 0o644, "outside"},
		"a way nobody else may go":              {stranger, 0o744, 0o755, 0o644, "outside"},
		"a file of the group, and not for it":   {checkpoint.Owner{UID: me + 1, GIDs: []uint32{mine}}, 0o755, 0o755, 0o604, "none foreign"},
		"a folder of the group, and not for it": {checkpoint.Owner{UID: me + 1, GIDs: []uint32{mine}}, 0o755, 0o705, 0o644, "outside"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.owner.UID == 0 {
				c.owner.UID = 1
			}
			root := t.TempDir()
			write(t, root, written{"team/run/step-1.pt", saved("")})
			must(t, os.Chmod(root, 0o755))
			must(t, os.Chmod(filepath.Join(root, "team/run/step-1.pt"), c.file))
			must(t, os.Chmod(filepath.Join(root, "team/run"), c.folder))
			must(t, os.Chmod(filepath.Join(root, "team"), c.way))
			f := finder(checkpoint.Options{Owner: func(_ context.Context, user string) (checkpoint.Owner, error) {
				if user != "ana" {
					t.Errorf("asked who %q is", user)
				}
				return c.owner, nil
			}})
			got, err := f.Find(t.Context(), rule("pytorch", root), job("team/run"))
			have := string(troubleOf(t, err))
			if err == nil {
				have = "none"
				if got.Newest != nil {
					have = filepath.Base(got.Newest.Place)
				}
				for _, p := range got.Passed {
					have += " " + string(p.Flaw)
				}
			}
			if have != c.want {
				t.Errorf("have %s, want %s (%v)", have, c.want, err)
			}
		})
	}
}

// faulty is a file system that fails at some names.
type faulty struct {
	fs.FS
	at map[string]error
}

func (f faulty) Open(name string) (fs.File, error) {
	if err := f.at[name]; err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return f.FS.Open(name)
}

func (f faulty) Lstat(name string) (fs.FileInfo, error) {
	if err := f.at["lstat "+name]; err != nil {
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	return fs.Lstat(f.FS, name)
}

func (f faulty) ReadLink(name string) (string, error) { return fs.ReadLink(f.FS, name) }

// A file system in trouble is never "there are none".
func TestErrorsAreNeverNone(t *testing.T) {
	old := &fstest.MapFile{Data: []byte(saved("")), ModTime: day, Mode: 0o644}
	young := &fstest.MapFile{Data: []byte(saved("")), ModTime: day.Add(time.Hour), Mode: 0o644}
	for name, c := range map[string]struct {
		files fstest.MapFS
		at    map[string]error
		want  string
	}{
		"folder denied":           {fstest.MapFS{"run/step-1.pt": old}, map[string]error{"run": syscall.EACCES}, "denied"},
		"handle stale":            {fstest.MapFS{"run/step-1.pt": old}, map[string]error{"run": syscall.ESTALE}, "stale"},
		"handle stale on the way": {fstest.MapFS{"run/step-1.pt": old}, map[string]error{"lstat run": syscall.ESTALE}, "stale"},
		"disk error":              {fstest.MapFS{"run/step-1.pt": old}, map[string]error{"run": syscall.EIO}, "stale"},
		"the only one denied":     {fstest.MapFS{"run/step-1.pt": old}, map[string]error{"run/step-1.pt": syscall.EACCES}, "denied"},
		"the only one stale":      {fstest.MapFS{"run/step-1.pt": old}, map[string]error{"run/step-1.pt": syscall.ESTALE}, "stale"},
		"the newer one stale":     {fstest.MapFS{"run/step-1.pt": old, "run/step-2.pt": young}, map[string]error{"run/step-2.pt": syscall.ESTALE}, "step 1 after unreadable"},
		"the newer one removed":   {fstest.MapFS{"run/step-1.pt": old, "run/step-2.pt": young}, map[string]error{"run/step-2.pt": syscall.ENOENT}, "step 1 after shard"},
		"the root is gone":        {fstest.MapFS{}, map[string]error{"root": fs.ErrNotExist}, "unmounted"},
		"the root is empty":       {fstest.MapFS{}, nil, "unmounted"},
		"the root denied":         {fstest.MapFS{}, map[string]error{"root": syscall.EACCES}, "denied"},
	} {
		t.Run(name, func(t *testing.T) {
			f := finder(checkpoint.Options{Open: func(string) (fs.FS, io.Closer, error) { return faulty{c.files, c.at}, noCloser{}, c.at["root"] }})
			got, err := f.Find(t.Context(), rule("pytorch", "/data"), job("run"))
			have := string(troubleOf(t, err))
			if err == nil && got.Newest != nil {
				have = "step " + strings.TrimSuffix(strings.TrimPrefix(filepath.Base(got.Newest.Place), "step-"), ".pt")
				for _, p := range got.Passed {
					have += " after " + string(p.Flaw)
				}
			}
			if have != c.want {
				t.Errorf("have %q, want %q (%v)", have, c.want, err)
			}
		})
	}
}

// hanging is a file system that does not answer until it is let go.
type hanging struct {
	fs.FS
	until chan struct{}
}

func (h hanging) Open(name string) (fs.File, error) {
	<-h.until
	return h.FS.Open(name)
}

func TestStorageThatHangsHoldsAFewWorkersOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := make(chan struct{})
		opened := make(chan struct{}, 100)
		f := checkpoint.New(checkpoint.Options{Clock: time.Now, Workers: 2, Time: time.Second, Open: func(string) (fs.FS, io.Closer, error) {
			opened <- struct{}{}
			return hanging{fstest.MapFS{"run/x": &fstest.MapFile{}}, until}, noCloser{}, nil
		}})
		for range 5 {
			begun := time.Now()
			_, err := f.Find(t.Context(), rule("pytorch", "/data"), job("run"))
			if troubleOf(t, err) != bridge.TroubleSlow || time.Since(begun) > 2*time.Second {
				t.Errorf("after %s: %v", time.Since(begun), err)
			}
		}
		if n := len(opened); n != 2 {
			t.Errorf("%d workers hang in it", n)
		}
		brief, cancel := context.WithTimeout(t.Context(), time.Second)
		if f.Close(brief) == nil {
			t.Error("nothing was under way")
		}
		cancel()
		close(until)
		if err := f.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestLooksAreBounded(t *testing.T) {
	root := t.TempDir()
	huge := make([]byte, 200)
	le := binary.LittleEndian
	copy(huge, "PK\x03\x04")
	at := len(huge) - 22 - 20 - 56 // a zip64 of a trillion records
	le.PutUint32(huge[at:], 0x06064b50)
	le.PutUint64(huge[at+32:], 1<<40)
	le.PutUint64(huge[at+40:], uint64(at))
	le.PutUint32(huge[at+56:], 0x07064b50)
	le.PutUint32(huge[at+76:], 0x06054b50)
	write(t, root, written{"a/step-1.pt", saved("")}, written{"a/step-2.pt", saved("")}, written{"a/step-3.pt", saved("")}, written{"zip/step-1.pt", string(huge)})
	for name, c := range map[string]struct {
		o    checkpoint.Options
		at   string
		want bridge.CheckpointTrouble
	}{
		"entries":           {checkpoint.Options{Entries: 2}, "a", bridge.TroubleTooMany},
		"enough entries":    {checkpoint.Options{Entries: 9}, "a", ""},
		"bytes":             {checkpoint.Options{Bytes: 60}, "a", bridge.TroubleTooMany},
		"records of a zip":  {checkpoint.Options{}, "zip", bridge.TroubleTooMany},
		"folder of folders": {checkpoint.Options{Entries: 1}, "zip", bridge.TroubleTooMany},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := finder(c.o).Find(t.Context(), rule("pytorch", root), job(c.at))
			if got := troubleOf(t, err); got != c.want {
				t.Errorf("have %q, want %q (%v)", got, c.want, err)
			}
		})
	}
}

// A file without an end of its own counts when two looks saw the same of it.
func TestSizeSettles(t *testing.T) {
	root := t.TempDir()
	now := day.Add(4 * time.Hour)
	f := finder(checkpoint.Options{Clock: func() time.Time { return now }, Settle: 10 * time.Second})
	r := rule("generic", root)
	r.Atomic = true
	var story []string
	look := func() {
		got, err := f.Find(t.Context(), r, job("run"))
		must(t, err)
		story = append(story, strings.TrimSpace(strings.ReplaceAll(said(root, got), "\n", "; ")))
	}
	write(t, root, written{"run/100.state", "aaa"})
	look()
	now = now.Add(9 * time.Second)
	look()
	now = now.Add(2 * time.Second)
	look()
	write(t, root, written{"run/100.state", "aaaa"})
	look()
	now = now.Add(11 * time.Second)
	look()
	want := []string{
		"none; passed run/100.state step=100 unsettled;", "none; passed run/100.state step=100 unsettled;", "generic run/100.state step=100 at=08:00;",
		"none; passed run/100.state step=100 unsettled;", "generic run/100.state step=100 at=08:00;",
	}
	if diff := cmp.Diff(want, story); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// One name that is written over again and again: looks measure it.
func TestLooksMeasureOneThatIsWrittenOver(t *testing.T) {
	root := t.TempDir()
	now := day
	f := finder(checkpoint.Options{Clock: func() time.Time { return now }})
	at := filepath.Join(root, "run/last.ckpt")
	save := func(text string) *bridge.Checkpoint {
		write(t, root, written{"run/last.ckpt", text})
		must(t, os.Chtimes(at, now, now))
		got, err := f.Find(t.Context(), rule("lightning", root), job("run"))
		must(t, err)
		return got.Newest
	}
	save(saved(""))
	now = now.Add(20 * time.Minute)
	if save(saved("")[:100]) != nil {
		t.Fatal("half of it was complete")
	}
	now = now.Add(40 * time.Second)
	if n := save(saved("")); n == nil || n.Every != 20*time.Minute+40*time.Second || n.Save != 40*time.Second {
		t.Errorf("have %+v", n)
	}
}
