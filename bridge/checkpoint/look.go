package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// look is one look at one place.
type look struct {
	ctx    context.Context //nolint:containedctx // A look is one call.
	fsys   fs.FS
	place  *place
	owner  *Owner // nil: whoever owns it
	memory *memory
	now    time.Time
	atomic bool          // a final name is proof, see bridge.CheckpointRule
	settle time.Duration // how long a size must stay the same

	entries int   // that may still be read
	bytes   int64 // that may still be read
}

// file is one entry of a folder. Links are entries that are neither file nor
// folder.
type file struct {
	name string // below the root
	size int64
	at   time.Time // modified
	dir  bool
	link bool
	info fs.FileInfo
}

func (f *file) base() string { return path.Base(f.name) }

func fileOf(name string, info fs.FileInfo) file {
	return file{
		name: name, size: info.Size(), at: info.ModTime().UTC(), dir: info.IsDir(),
		link: !info.IsDir() && !info.Mode().IsRegular(), info: info,
	}
}

// errTooMany is more than one look may read.
var errTooMany = errors.New("more than one look may read")

// batch is how many entries are asked for at a time.
const batch = 256

// list reads a folder. What vanishes meanwhile is left out.
func (l *look) list(dir string) ([]file, error) {
	if err := l.ctx.Err(); err != nil {
		return nil, err
	}
	opened, err := l.fsys.Open(dir)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	folder, ok := opened.(fs.ReadDirFile)
	if !ok {
		return nil, fmt.Errorf("%s is no folder", dir)
	}
	if err := l.checkHandle(opened, 4|1); err != nil {
		return nil, err
	}
	var out []file
	for {
		entries, err := folder.ReadDir(batch)
		l.entries -= len(entries)
		if l.entries < 0 {
			return nil, fmt.Errorf("%s: %w", dir, errTooMany)
		}
		for _, e := range entries {
			info, err := e.Info()
			switch {
			case errors.Is(err, fs.ErrNotExist):
				continue
			case err != nil:
				return nil, err
			}
			out = append(out, fileOf(path.Join(dir, e.Name()), info))
		}
		switch {
		case errors.Is(err, io.EOF), err == nil && len(entries) == 0:
			return out, nil
		case err != nil:
			return nil, err
		}
		if err := l.ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// tree reads a folder and the folders in it, at most deep levels further down.
func (l *look) tree(dir string, deep int) ([]file, error) {
	es, err := l.list(dir)
	if err != nil {
		return nil, err
	}
	out := es
	for i := range es {
		if es[i].dir && deep > 0 {
			below, err := l.tree(es[i].name, deep-1)
			if err != nil {
				return nil, err
			}
			out = append(out, below...)
		}
	}
	return out, nil
}

// errForeign is something that is not the job's own.
var errForeign = errors.New("its owner does not let the job's user in")

// checkHandle looks at what was really opened, so that nothing can be put in
// its place between a check and its use.
func (l *look) checkHandle(f fs.File, bits fs.FileMode) error {
	if l.owner == nil {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !l.owner.may(info, bits) {
		return fmt.Errorf("%s: %w", info.Name(), errForeign)
	}
	return nil
}

// content is an open file that counts what is read of it.
type content struct {
	l      *look
	file   fs.File
	reader io.ReaderAt
	size   int64
}

// ReadAt reads a part.
func (c *content) ReadAt(p []byte, off int64) (int, error) {
	if err := c.l.ctx.Err(); err != nil {
		return 0, err
	}
	if c.l.bytes -= int64(len(p)); c.l.bytes < 0 {
		return 0, fmt.Errorf("contents: %w", errTooMany)
	}
	return c.reader.ReadAt(p, off)
}

func (c *content) close() { _ = c.file.Close() } // only read

// open opens a file to read parts of it. Its size is that of what was opened.
func (l *look) open(name string) (*content, error) {
	f, err := l.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	c := &content{l: l, file: f}
	info, err := f.Stat()
	if err == nil {
		err = l.checkHandle(f, 4)
	}
	if err == nil {
		var ok bool
		c.size = info.Size()
		if c.reader, ok = f.(io.ReaderAt); !ok || !info.Mode().IsRegular() {
			err = fmt.Errorf("%s: cannot be read in parts", name)
		}
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// read returns a small file whole.
func (l *look) read(name string, most int64) ([]byte, error) {
	c, err := l.open(name)
	if err != nil {
		return nil, err
	}
	defer c.close()
	if c.size > most {
		return nil, &flaw{bridge.FlawUnknown, fmt.Sprintf("%s is larger than such a file ever is", path.Base(name))}
	}
	return io.ReadAll(io.NewSectionReader(c, 0, c.size))
}

// match follows the levels of a place from its root, and returns the files and
// folders they lead to. Links are not followed.
func (l *look) match() ([]file, error) {
	at := []file{{name: ".", dir: true}}
	for _, level := range l.place.levels {
		var next []file
		for i := range at {
			if !at[i].dir {
				continue
			}
			found, err := l.step(at[i].name, level)
			if err != nil {
				return nil, err
			}
			next = append(next, found...)
		}
		at = next
	}
	return at, nil
}

// step goes one level down.
func (l *look) step(dir, level string) ([]file, error) {
	if !isPattern(level) {
		name := path.Join(dir, literal(level))
		info, err := fs.Lstat(l.fsys, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, err
		}
		l.entries--
		f := fileOf(name, info)
		switch {
		case f.link:
			return nil, fmt.Errorf("%s is a link: %w", l.place.at(name), errForeign)
		case l.owner != nil && !l.owner.may(info, bitsOf(&f)):
			return nil, fmt.Errorf("%s: %w", l.place.at(name), errForeign)
		}
		return []file{f}, nil
	}
	es, err := l.list(dir)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(es, func(f file) bool {
		ok, err := path.Match(level, f.base())
		// What is not the job's is not its checkpoint; others lie beside it.
		return err != nil || !ok || f.link || l.owner != nil && !l.owner.may(f.info, bitsOf(&f))
	}), nil
}

// bitsOf is what somebody needs on the way through a folder, or to a file.
func bitsOf(f *file) fs.FileMode {
	if f.dir {
		return 1
	}
	return 4
}

// trouble turns an error of a look into its kind.
func (l *look) trouble(err error) error {
	kind := bridge.TroubleStale
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		kind = bridge.TroubleSlow
	case errors.Is(err, errForeign):
		kind = bridge.TroubleOutside
	case errors.Is(err, errTooMany):
		kind = bridge.TroubleTooMany
	case errors.Is(err, fs.ErrPermission):
		kind = bridge.TroubleDenied
	case errors.Is(err, errNoBucket):
		kind = bridge.TroubleUnmounted
	}
	return &bridge.CheckpointError{Kind: kind, Place: l.place.String(), Err: err}
}

// errNoBucket is storage that is not there at all.
var errNoBucket = errors.New("the storage is not there")
