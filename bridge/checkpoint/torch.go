package checkpoint

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"spillway.sh/spillway/bridge"
)

const metadata = ".metadata" // of torch.distributed.checkpoint, renamed into place last

// pyTorch is torch.save into .pt and .pth, and torch.distributed.checkpoint
// into folders.
var pyTorch = kind{
	name:   "pytorch",
	itself: func(_ string, es []file) bool { return isDistributed(es) },
	gather: func(es []file) []candidate {
		return pick(es, func(f *file) bool {
			return f.dir && stepOf(f.base()) >= 0 || !f.dir && hasSuffix(f, ".pt", ".pth")
		})
	},
	check: func(l *look, c *candidate) error {
		if c.dir {
			return l.checkDistributed(c)
		}
		return l.whole(&c.files[0])
	},
}

// lightning is .ckpt files, hpc_ckpt_N among them, and folders of that name for
// sharded strategies.
var lightning = kind{
	name:   "lightning",
	itself: func(base string, _ []file) bool { return strings.HasSuffix(base, ".ckpt") },
	gather: func(es []file) []candidate {
		cs := pick(es, func(f *file) bool { return hasSuffix(f, ".ckpt") })
		for i := range cs {
			if base := path.Base(cs[i].name); !strings.Contains(base, "step") {
				cs[i].step = -1 // hpc_ckpt_3 is the third, not step 3
			}
		}
		return cs
	},
	check: func(l *look, c *candidate) error {
		if !c.dir {
			return l.whole(&c.files[0])
		}
		if err := l.fillIn(c); err != nil {
			return err
		}
		if latest := named(c.files, path.Join(c.name, latestFile)); latest != nil {
			return l.checkLatest(c.files, latest)
		}
		if err := l.distributed(c.name, c.files); err != nil {
			return err
		}
		meta := named(c.files, path.Join(c.name, "meta.pt"))
		if meta == nil {
			return &flaw{bridge.FlawShard, "meta.pt"}
		}
		return l.whole(meta)
	},
}

// fillIn lists a folder's files.
func (l *look) fillIn(c *candidate) error {
	files, err := l.tree(c.name, 3)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return &flaw{bridge.FlawEmpty, "an empty folder"}
	}
	c.files = files
	c.sum()
	return nil
}

func isDistributed(es []file) bool {
	return slices.ContainsFunc(es, func(f file) bool { return f.base() == metadata || hasSuffix(&f, ".distcp") })
}

func (l *look) checkDistributed(c *candidate) error {
	if err := l.fillIn(c); err != nil {
		return err
	}
	if isDistributed(c.files) {
		return l.distributed(c.name, c.files)
	}
	return l.allWhole(c.files, ".pt", ".pth")
}

// allWhole checks every file with one of the endings; there must be one. A
// folder of one file a rank shows no missing rank, unless there is a gap.
func (l *look) allWhole(files []file, suffixes ...string) error {
	var names []string
	for i := range files {
		if f := &files[i]; !f.dir && hasSuffix(f, suffixes...) {
			if err := l.whole(f); err != nil {
				return err
			}
			names = append(names, f.base())
		}
	}
	if len(names) == 0 {
		return &flaw{bridge.FlawUnknown, "nothing in it is known to be a checkpoint"}
	}
	return gap(names)
}

var shardName = regexp.MustCompile(`__\d+_\d+\.distcp`)

// distributed checks folders of torch.distributed.checkpoint: .metadata is
// written when all ranks have, and names every shard.
func (l *look) distributed(dir string, files []file) error {
	m := named(files, path.Join(dir, metadata))
	if m == nil {
		return &flaw{bridge.FlawMarker, "no .metadata"}
	}
	text, err := l.read(m.name, mostDirectory)
	if err != nil {
		return err
	}
	if len(text) == 0 || text[len(text)-1] != '.' { // the end of a pickle
		return &flaw{bridge.FlawTruncated, ".metadata"}
	}
	found := shardName.FindAll(text, -1)
	if len(found) == 0 {
		return &flaw{bridge.FlawTruncated, ".metadata names no shard"}
	}
	for _, name := range found {
		s := named(files, path.Join(dir, string(name)))
		switch {
		case s == nil:
			return &flaw{bridge.FlawShard, string(name)}
		case s.size == 0:
			return &flaw{bridge.FlawEmpty, string(name)}
		}
		if err := writtenLast(m, s); err != nil {
			return err
		}
	}
	return nil
}

// writtenLast checks that nothing was written after what is written last: an
// older checkpoint of the same name may be in the middle of being replaced, or
// an upload in any order in the middle of arriving.
func writtenLast(last, f *file) error {
	if f.at.After(last.at) {
		return &flaw{bridge.FlawMarker, fmt.Sprintf("%s is newer than %s", f.base(), last.base())}
	}
	return nil
}

var ranks = regexp.MustCompile(`\d+`)

// gap finds a rank that is missing among names that differ in numbers only.
func gap(names []string) error {
	seen := map[string][]int64{} // by the name without the number at one place
	for _, name := range names {
		for _, at := range ranks.FindAllStringIndex(name, -1) {
			key := name[:at[0]] + "#" + name[at[1]:]
			seen[key] = append(seen[key], number(strings.TrimLeft(name[at[0]:at[1]-1], "0")+name[at[1]-1:at[1]]))
		}
	}
	for key, numbers := range seen {
		slices.Sort(numbers)
		numbers = slices.Compact(numbers)
		if len(numbers) < 2 || !strings.Contains(key, "rank") && !strings.Contains(key, "shard") {
			continue
		}
		if last := numbers[len(numbers)-1]; numbers[0] > 0 || last != int64(len(numbers)-1) {
			return &flaw{bridge.FlawShard, fmt.Sprintf("%s: %d of %d", strings.Replace(key, "#", "N", 1), len(numbers), last+1)}
		}
	}
	return nil
}

// pickled finds a small whole number under a key in a pickle, without loading
// it; zero: it is not there.
func pickled(pickle []byte, key string) int64 {
	i := bytes.Index(pickle, append([]byte{'X', byte(len(key)), 0, 0, 0}, key...))
	if i < 0 {
		return 0
	}
	rest := pickle[i+5+len(key):]
	switch { // the memo
	case len(rest) > 2 && rest[0] == 'q':
		rest = rest[2:]
	case len(rest) > 5 && rest[0] == 'r':
		rest = rest[5:]
	}
	switch {
	case len(rest) > 1 && rest[0] == 'K':
		return int64(rest[1])
	case len(rest) > 2 && rest[0] == 'M':
		return int64(rest[1]) | int64(rest[2])<<8
	}
	return 0
}
