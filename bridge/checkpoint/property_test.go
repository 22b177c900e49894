package checkpoint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"spillway.sh/spillway/bridge/checkpoint"
)

// writer writes one checkpoint of a framework: what it does to files, in the
// order in which the framework does it. The last deed commits.
type writer struct {
	framework string
	deeds     func(step int) []deed
	place     func(step int) string
	inPlace   bool // may be written over an older one of the same name
	marks     bool // what is written last says by its name alone that all else is there
}

// deed appends text to a file, from its beginning if it is the first for it, or
// renames it.
type deed struct{ name, text, to string }

var writers = []writer{
	{
		framework: "pytorch", inPlace: true,
		deeds: func(s int) []deed { return []deed{{name: fmt.Sprintf("step-%d.pt", s), text: saved("", s*40)}} },
		place: func(s int) string { return fmt.Sprintf("step-%d.pt", s) },
	},
	{
		framework: "pytorch",
		deeds: func(s int) []deed {
			tmp := fmt.Sprintf("step-%d.pt.tmp", s)
			return []deed{{name: tmp, text: saved("")}, {name: tmp, to: fmt.Sprintf("step-%d.pt", s)}}
		},
		place: func(s int) string { return fmt.Sprintf("step-%d.pt", s) },
	},
	{
		framework: "pytorch", inPlace: true, // torch.distributed.checkpoint
		deeds: func(s int) []deed {
			dir := fmt.Sprintf("step_%d/", s)
			return []deed{
				{name: dir + "__0_0.distcp", text: "aaaaaaaa"},
				{name: dir + "__1_0.distcp", text: "bbbb"},
				{name: dir + ".metadata.tmp", text: distributed("__0_0.distcp", "__1_0.distcp")},
				{name: dir + ".metadata.tmp", to: dir + ".metadata"},
			}
		},
		place: func(s int) string { return fmt.Sprintf("step_%d", s) },
	},
	{
		framework: "lightning", inPlace: true,
		deeds: func(s int) []deed {
			return []deed{{name: fmt.Sprintf("epoch=0-step=%d.ckpt", s), text: saved("", s*10)}}
		},
		place: func(s int) string { return fmt.Sprintf("epoch=0-step=%d.ckpt", s) },
	},
	{
		framework: "deepspeed", marks: true,
		deeds: func(s int) []deed {
			var out []deed
			for _, f := range zero(fmt.Sprintf("global_step%d", s), 2, 2) {
				out = append(out, deed{name: f.name, text: f.text})
			}
			return append(out, deed{name: "latest", text: fmt.Sprintf("global_step%d", s)})
		},
		place: func(s int) string { return fmt.Sprintf("global_step%d", s) },
	},
	{
		framework: "huggingface", inPlace: true,
		deeds: func(s int) []deed {
			dir := fmt.Sprintf("checkpoint-%d/", s)
			return []deed{
				{name: dir + "model-00001-of-00002.safetensors", text: tensors(30)},
				{name: dir + "model-00002-of-00002.safetensors", text: tensors(20)},
				{name: dir + "model.safetensors.index.json", text: `{"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}`},
				{name: dir + "optimizer.pt", text: saved("")},
				{name: dir + "scheduler.pt", text: saved("")},
				{name: dir + "rng_state.pth", text: saved("")},
				{name: dir + "trainer_state.json", text: state(s)},
			}
		},
		place: func(s int) string { return fmt.Sprintf("checkpoint-%d", s) },
	},
	{
		framework: "tensorflow",
		deeds: func(s int) []deed {
			stem := fmt.Sprintf("ckpt-%d", s)
			return []deed{
				{name: stem + "_temp/part-00000-of-00001.data-00000-of-00001", text: "dddddddd"},
				{name: stem + "_temp/part-00000-of-00001.data-00000-of-00001", to: stem + ".data-00000-of-00001"},
				{name: stem + ".index", text: table()},
			}
		},
		place: func(s int) string { return fmt.Sprintf("ckpt-%d", s) },
	},
	{
		framework: "generic", inPlace: true, marks: true,
		deeds: func(s int) []deed {
			dir := fmt.Sprintf("%d/", s)
			return []deed{{name: dir + "a.state", text: "aaaa"}, {name: dir + "b.state", text: "bbbb"}, {name: dir + "DONE", text: fmt.Sprint("step ", s, "\n")}}
		},
		place: func(s int) string { return fmt.Sprint(s) },
	},
	{
		framework: "generic",
		deeds: func(s int) []deed {
			name := fmt.Sprintf("s%d.state", s)
			return []deed{{name: name, text: "aaaaaaaaaaa"}, {name: name + ".manifest.json", text: fmt.Sprintf(`{"step": %d, "files": {%q: 11}}`, s, name)}}
		},
		place: func(s int) string { return fmt.Sprintf("s%d.state", s) },
	},
}

// disk carries deeds out on real files.
type disk struct {
	t     *rapid.T
	dir   string
	clock time.Time
	begun map[string]bool
}

// do carries out a deed, or the first bytes of it, at a later time than the one
// before.
func (d *disk) do(x deed, bytes int) {
	path := filepath.Join(d.dir, x.name)
	if x.to != "" {
		d.must(os.Rename(path, filepath.Join(d.dir, x.to)))
		return
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if !d.begun[x.name] {
		flags = os.O_CREATE | os.O_WRONLY | os.O_TRUNC
		d.begun[x.name] = true
	}
	d.must(os.MkdirAll(filepath.Dir(path), 0o755))
	f, err := os.OpenFile(path, flags, 0o644)
	d.must(err)
	_, err = f.WriteString(x.text[:bytes])
	d.must(err)
	d.must(f.Close())
	d.clock = d.clock.Add(time.Second)
	d.must(os.Chtimes(path, d.clock, d.clock))
}

func (d *disk) must(err error) {
	if err != nil {
		d.t.Fatal(err)
	}
}

// TestWhateverWasWrittenTheAnswerWasComplete stops a writer after any deed and
// any byte of it. The answer is the checkpoint before, or the new one if all of
// it was written.
func TestWhateverWasWrittenTheAnswerWasComplete(t *testing.T) {
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.SampledFrom(writers).Draw(t, "writer")
		n++
		d := &disk{t: t, dir: filepath.Join(base, fmt.Sprint(n)), clock: day, begun: map[string]bool{}}
		complete := rapid.IntRange(1, 3).Draw(t, "complete ones")
		steps := []int{}
		for i := range complete {
			steps = append(steps, 100*(i+1))
		}
		for _, s := range steps {
			for _, x := range w.deeds(s) {
				d.do(x, len(x.text))
			}
			clear(d.begun)
		}
		next, before := 100*(complete+1), steps[complete-1]
		if w.inPlace && complete > 1 && rapid.Bool().Draw(t, "over the newest") {
			next, before = before, steps[complete-2]
		}
		deeds := w.deeds(next)
		stop := rapid.IntRange(0, len(deeds)).Draw(t, "deeds")
		bytes := 0
		for i, x := range deeds {
			if i == stop {
				if x.to == "" {
					bytes = rapid.IntRange(0, len(x.text)-1).Draw(t, "bytes")
					d.do(x, bytes)
				}
				break
			}
			d.do(x, len(x.text))
		}
		root := filepath.Dir(d.dir)
		got, err := finder(checkpoint.Options{}).Find(t.Context(), rule(w.framework, root), job(filepath.Base(d.dir)))
		if err != nil {
			t.Fatal(err)
		}
		if got.Newest == nil {
			t.Fatalf("%s: none, and %d were complete: %+v", w.framework, complete, got.Passed)
		}
		place := strings.TrimPrefix(got.Newest.Place, d.dir+"/")
		switch {
		case stop == len(deeds) && place != w.place(next):
			t.Fatalf("%s: %s is complete, and %s was found: %+v", w.framework, w.place(next), place, got.Passed)
		case stop < len(deeds) && place == w.place(next) && (!w.marks || stop < len(deeds)-1):
			t.Fatalf("%s: %s was found, of which %d of %d deeds and %d bytes were written", w.framework, place, stop, len(deeds), bytes)
		case stop < len(deeds) && place != w.place(next) && place != w.place(before):
			t.Fatalf("%s: %s was found, and %s is the newest complete one", w.framework, place, w.place(before))
		}
	})
}
