package checkpoint

import (
	"encoding/binary"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"spillway.sh/spillway/bridge"
)

const (
	tfIndex      = ".index"
	tfTable      = 0xdb4775248b80fb57 // the end of TensorFlow's table format
	tfShardsMost = 100_000
)

var (
	tfShard = regexp.MustCompile(`^(.*)\.data-(\d{5})-of-(\d{5})$`)
	tfStep  = regexp.MustCompile(`-(\d+)$`)
	tfNamed = regexp.MustCompile(`(?m)^model_checkpoint_path:\s*"([^"]*)"`)
)

// tensorFlow is an index and its shards under one name, and the file checkpoint
// that names the newest.
var tensorFlow = kind{
	name:   "tensorflow",
	itself: func(string, []file) bool { return false },
	gather: func(es []file) []candidate {
		var out []candidate
		for i := range es {
			if f := &es[i]; !f.dir && hasSuffix(f, tfIndex) && !isTemporary(f.base()) {
				out = append(out, stemOf(f, es))
			}
		}
		return out
	},
	order: func(l *look, dir string, es []file, cs []candidate) error {
		f := named(es, path.Join(dir, "checkpoint"))
		if f == nil {
			return nil
		}
		text, err := l.read(f.name, mostText)
		if err != nil {
			return err
		}
		m := tfNamed.FindSubmatch(text)
		if m == nil {
			return nil
		}
		name := path.Base(string(m[1]))
		if i := slices.IndexFunc(cs, func(c candidate) bool { return path.Base(c.name) == name }); i > 0 {
			cs[i].at = cs[0].at // a job resumes from this one
			at := cs[i]
			copy(cs[1:i+1], cs[:i])
			cs[0] = at
		}
		return nil
	},
	check: func(l *look, c *candidate) error {
		if err := l.wholeTable(&c.files[0]); err != nil {
			return err
		}
		c.sum()
		for i := range c.files {
			if err := writtenLast(&c.files[0], &c.files[i]); err != nil {
				return err
			}
		}
		return wholeShards(c)
	},
}

// stemOf gathers the files of one checkpoint.
func stemOf(index *file, es []file) candidate {
	stem := strings.TrimSuffix(index.name, tfIndex)
	c := fromFile(index)
	c.name, c.step = stem, -1
	if m := tfStep.FindStringSubmatch(stem); m != nil {
		c.step = number(m[1])
	}
	for i := range es {
		if m := tfShard.FindStringSubmatch(es[i].name); m != nil && m[1] == stem {
			c.files = append(c.files, es[i])
		}
	}
	return c
}

// wholeTable checks the last bytes of an index.
func (l *look) wholeTable(f *file) error {
	cut := &flaw{bridge.FlawTruncated, f.base()}
	switch {
	case f.size == 0:
		return &flaw{bridge.FlawEmpty, f.base()}
	case f.size < 48:
		return cut
	}
	c, err := l.open(f.name)
	if err != nil {
		return err
	}
	defer c.close()
	var magic [8]byte
	if c.size < 48 {
		return cut
	}
	if _, err := c.ReadAt(magic[:], c.size-8); err != nil {
		return err
	}
	if binary.LittleEndian.Uint64(magic[:]) != tfTable {
		return cut
	}
	return nil
}

// wholeShards checks that all shards are there: each name says of how many.
func wholeShards(c *candidate) error {
	want, have := int64(0), map[int64]bool{}
	for i := range c.files {
		f := &c.files[i]
		m := tfShard.FindStringSubmatch(f.name)
		if m == nil {
			continue
		}
		if f.size == 0 {
			return &flaw{bridge.FlawEmpty, f.base()}
		}
		have[number(m[2])] = true
		want = max(want, number(m[3]))
	}
	if want == 0 || want > tfShardsMost {
		return &flaw{bridge.FlawShard, "no data"}
	}
	for i := range want {
		if !have[i] {
			return &flaw{bridge.FlawShard, fmt.Sprintf("data-%05d-of-%05d", i, want)}
		}
	}
	return nil
}
