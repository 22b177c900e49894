package checkpoint

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"spillway.sh/spillway/bridge"
)

// The names of what programs write when all else is written, in a folder or,
// with the ending alone, beside a file.
var (
	markers      = []string{"DONE", "done", "COMPLETE", "complete", "COMPLETED", "_SUCCESS", "COMMIT", "committed", ".done", ".complete"}
	manifests    = []string{"manifest.json", "MANIFEST.json", "checkpoint.json"}
	markerEnds   = []string{".done", ".complete", ".ok"}
	manifestEnds = []string{".manifest.json", ".manifest"}
)

// generic is files and folders of any program, complete when a marker or a
// manifest says so; or, by a rule, when they have their own name and size.
var generic = kind{
	name: "generic",
	itself: func(_ string, es []file) bool {
		return slices.ContainsFunc(es, func(f file) bool {
			return !f.dir && (slices.Contains(markers, f.base()) || slices.Contains(manifests, f.base()))
		})
	},
	gather: func(es []file) []candidate {
		cs := pick(es, func(f *file) bool { return !isMark(f) && !strings.HasPrefix(f.base(), ".") })
		for i := range cs {
			cs[i].files = append(cs[i].files, beside(es, cs[i].name)...)
		}
		return cs
	},
	check: func(l *look, c *candidate) error {
		if !c.dir {
			return l.checkMarkedFile(c)
		}
		if err := l.fillIn(c); err != nil {
			return err
		}
		return l.checkMarkedFolder(c)
	},
}

func isMark(f *file) bool {
	return !f.dir && (slices.Contains(markers, f.base()) || slices.Contains(manifests, f.base()) || hasSuffix(f, markerEnds...) || hasSuffix(f, manifestEnds...))
}

// beside finds the marks of a file or folder that lie next to it.
func beside(es []file, name string) []file {
	var out []file
	for i := range es {
		for _, end := range slices.Concat(markerEnds, manifestEnds) {
			if !es[i].dir && !es[i].link && es[i].name == name+end {
				out = append(out, es[i])
			}
		}
	}
	return out
}

func (l *look) checkMarkedFile(c *candidate) error {
	f := &c.files[0]
	if f.size == 0 {
		return &flaw{bridge.FlawEmpty, f.base()}
	}
	for i := range c.files[1:] {
		m := &c.files[i+1]
		if err := writtenLast(m, f); err != nil {
			return err
		}
		if err := l.readMark(m, c, []file{*f}); err != nil {
			return err
		}
	}
	switch {
	case len(c.files) > 1:
		return l.ownFormat(f)
	case l.atomic:
		return l.settled(c)
	}
	return &flaw{bridge.FlawMarker, "no " + f.base() + markerEnds[0] + " beside it"}
}

func (l *look) checkMarkedFolder(c *candidate) error {
	own := slices.DeleteFunc(slices.Clone(c.files), func(f file) bool { return f.dir || isMark(&f) && path.Dir(f.name) == c.name })
	if len(own) == 0 {
		return &flaw{bridge.FlawEmpty, "nothing but marks"}
	}
	marked, err := l.readMarks(c, own)
	if err == nil && !marked {
		err = &flaw{bridge.FlawMarker, "no " + markers[0] + " or " + manifests[0] + " in it"}
		if l.atomic {
			err = l.settled(c)
		}
	}
	for i := range own {
		if err == nil {
			err = l.ownFormat(&own[i])
		}
	}
	return err
}

// readMarks reads the marks in a folder, and reports whether there is one.
func (l *look) readMarks(c *candidate, own []file) (marked bool, err error) {
	for i := range c.files {
		m := &c.files[i]
		if m.link || !isMark(m) || path.Dir(m.name) != c.name {
			continue
		}
		marked = true
		for k := range own {
			if err := writtenLast(m, &own[k]); err != nil {
				return marked, err
			}
		}
		if err := l.readMark(m, c, own); err != nil {
			return marked, err
		}
	}
	return marked, nil
}

// ownFormat checks a file by its format where that is known.
func (l *look) ownFormat(f *file) error {
	err := l.whole(f)
	if x, ok := err.(*flaw); ok && (x.kind == bridge.FlawUnknown || x.kind == bridge.FlawEmpty) { //nolint:errorlint // As whole made it.
		return nil
	}
	return err
}

// manifest is what a mark may say: a step, and files with or without sizes.
type manifest struct {
	Step  *int64          `json:"step"`
	Also  *int64          `json:"global_step"`
	Files json.RawMessage `json:"files"`
}

// readMark takes a mark's step, and checks the files it names. A mark that is
// not JSON has nothing to say.
func (l *look) readMark(m *file, c *candidate, files []file) error {
	isManifest := slices.Contains(manifests, m.base()) || hasSuffix(m, manifestEnds...)
	switch {
	case m.size == 0 && isManifest:
		return &flaw{bridge.FlawEmpty, m.base()}
	case m.size == 0 || m.size > mostText:
		return nil
	}
	text, err := l.read(m.name, mostText)
	if err != nil {
		return err
	}
	var x manifest
	if !isManifest && !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		if n := stepOf(strings.TrimSpace(string(text))); n >= 0 {
			c.step = n
		}
		return nil
	}
	if err := json.Unmarshal(text, &x); err != nil {
		return &flaw{bridge.FlawTruncated, m.base() + ": not whole JSON"}
	}
	for _, s := range []*int64{x.Step, x.Also} {
		if s != nil {
			c.step = *s
		}
	}
	return x.check(m, c, files)
}

func (x *manifest) check(m *file, c *candidate, files []file) error {
	if len(x.Files) == 0 {
		return nil
	}
	sizes, ok := x.sizes()
	if !ok {
		return &flaw{bridge.FlawUnknown, m.base() + ": its files are neither names nor sizes by name"}
	}
	dir := c.name
	if !c.dir {
		dir = path.Dir(c.name)
	}
	for name, size := range sizes {
		f := named(files, path.Join(dir, name))
		switch {
		case f == nil:
			return &flaw{bridge.FlawShard, name}
		case size >= 0 && f.size != size:
			return &flaw{bridge.FlawTruncated, name}
		}
	}
	return nil
}

// sizes reads ["a"], {"a": 12} or [{"name": "a", "size": 12}].
func (x *manifest) sizes() (map[string]int64, bool) {
	out := map[string]int64{}
	if json.Unmarshal(x.Files, &out) == nil {
		return out, true
	}
	var list []json.RawMessage
	if json.Unmarshal(x.Files, &list) != nil {
		return nil, false
	}
	for _, e := range list {
		one := struct {
			Name string `json:"name"`
			Path string `json:"path"`
			Size *int64 `json:"size"`
		}{}
		name := ""
		switch {
		case json.Unmarshal(e, &name) == nil:
		case json.Unmarshal(e, &one) == nil && one.Name+one.Path != "":
			name = one.Name + one.Path
		default:
			return nil, false
		}
		out[name] = -1
		if one.Size != nil {
			out[name] = *one.Size
		}
	}
	return out, true
}
