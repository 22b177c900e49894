package checkpoint_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/checkpoint"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// saved is a file as torch.save writes it: a zip of stored records, the pickle
// first. more is put into the pickle.
func saved(more string, tensors ...int) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	add := func(name string, data []byte) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			panic(err)
		}
	}
	add("archive/data.pkl", []byte("\x80\x02}q\x00("+more+"u."))
	for i, n := range append(tensors, 64) {
		add(fmt.Sprintf("archive/data/%d", i), bytes.Repeat([]byte{byte(i + 1)}, n))
	}
	add("archive/version", []byte("3\n"))
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

// world is the pickle of a number under a key, as torch.save writes it.
func world(key string, n byte) string {
	return "X" + string([]byte{byte(len(key)), 0, 0, 0}) + key + "q\x05K" + string([]byte{n})
}

// tensors is a safetensors file.
func tensors(size int) string {
	head := fmt.Sprintf(`{"__metadata__":{"format":"pt"},"w":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}`, size, size)
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(head)))) + head + strings.Repeat("w", size)
}

// table ends like an index of TensorFlow.
func table() string {
	return strings.Repeat("k", 100) + string(binary.LittleEndian.AppendUint64(nil, 0xdb4775248b80fb57))
}

// distributed is the .metadata of torch.distributed.checkpoint.
func distributed(shards ...string) string {
	return "\x80\x04}\x94(\x8c\x0c" + strings.Join(shards, "\x94\x8c\x0c") + "\x94u."
}

func state(step int) string {
	text, err := json.Marshal(map[string]any{"global_step": step, "epoch": 1.5})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// day is when the files of a fixture are from; the order of a list is the order
// of writing, a minute apart.
var day = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)

// written is one file of a fixture: name, or "name -> target" for a link, and
// contents. A name that ends in / is an empty folder.
type written struct{ name, text string }

func write(t *testing.T, root string, files ...written) {
	t.Helper()
	for i, f := range files {
		name, target, link := strings.Cut(f.name, " -> ")
		path := filepath.Join(root, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		switch {
		case link:
			must(t, os.Symlink(target, path))
			continue
		case strings.HasSuffix(name, "/"):
			must(t, os.MkdirAll(path, 0o755))
		default:
			must(t, os.WriteFile(path, []byte(f.text), 0o644))
		}
		at := day.Add(time.Duration(i) * time.Minute)
		must(t, os.Chtimes(path, at, at))
		if dir := filepath.Dir(path); dir != root {
			must(t, os.Chtimes(dir, at, at))
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// finder looks at noon of the fixtures' day.
func finder(o checkpoint.Options) *checkpoint.Finder {
	if o.Clock == nil {
		o.Clock = func() time.Time { return day.Add(4 * time.Hour) }
	}
	return checkpoint.New(o)
}

// rule is one for a folder of the job's own below a root.
func rule(framework, root string) *bridge.CheckpointRule {
	return &bridge.CheckpointRule{Name: "runs", Framework: framework, Path: root + "/%{ckpt}", Roots: []string{root}}
}

func job(at string) bridge.CheckpointJob {
	return bridge.CheckpointJob{Cluster: "main", Job: "7", User: "ana", Name: "train", Comment: "spillway:checkpoint ckpt=" + at}
}

// said is a look on a few lines: the newest, then what was passed over.
func said(root string, l bridge.CheckpointLook) string {
	var b strings.Builder
	place := func(p string) string { return strings.TrimPrefix(strings.TrimPrefix(p, root), "/") }
	if n := l.Newest; n != nil {
		fmt.Fprintf(&b, "%s %s step=%d at=%s\n", n.Framework, place(n.Place), n.Step, n.At.Format("15:04"))
	} else {
		b.WriteString("none\n")
	}
	for _, p := range l.Passed {
		fmt.Fprintf(&b, "passed %s step=%d %s\n", place(p.Place), p.Step, p.Flaw)
	}
	return b.String()
}
