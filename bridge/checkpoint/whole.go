package checkpoint

import (
	"archive/zip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"spillway.sh/spillway/bridge"
)

// flaw is why a checkpoint does not count.
type flaw struct {
	kind   bridge.CheckpointFlaw
	detail string
}

// Error says the flaw.
func (f *flaw) Error() string { return string(f.kind) + ": " + f.detail }

// The most that is read of one file to see whether it is whole.
const (
	mostDirectory = 64 << 20
	mostRecords   = 1 << 20
	mostText      = 16 << 20
)

// whole checks that a file is complete by its own format; one whose format does
// not show its end is unknown.
func (l *look) whole(f *file) error {
	if f.size == 0 {
		return &flaw{bridge.FlawEmpty, f.base()}
	}
	switch strings.ToLower(path.Ext(f.name)) {
	case ".pt", ".pth", ".ckpt", ".bin", ".keras", ".npz":
		return l.wholeZip(f)
	case ".safetensors":
		return l.wholeTensors(f)
	case ".json":
		var text json.RawMessage
		return l.readJSON(f, &text)
	}
	return &flaw{bridge.FlawUnknown, f.base() + ": nothing in it shows its end"}
}

// The records at the end of a zip, as in APPNOTE.TXT 4.3.14 to 4.3.16.
const (
	endSize     = 22
	endSign     = 0x06054b50
	locatorSize = 20
	locatorSign = 0x07064b50
	end64Size   = 56
	end64Sign   = 0x06064b50
)

// directory is where a zip's list of records lies.
type directory struct{ records, size, at, end int64 }

// wholeZip checks a file in the format of torch.save: a zip whose directory is
// written last. The file must end with it, and the directory must lie where its
// end says, counted from the file's first byte: a zip within a cut-off zip does
// not pass. Nothing of the tensors is read.
func (l *look) wholeZip(f *file) error {
	c, err := l.open(f.name)
	if err != nil {
		return err
	}
	defer c.close()
	_, err = openZip(c, f.base())
	return err
}

func openZip(c *content, name string) (*zip.Reader, error) {
	cut := &flaw{bridge.FlawTruncated, name + ": no directory at the end of the zip"}
	d, ok, err := directoryOf(c)
	switch {
	case err != nil:
		return nil, err
	case !ok && !startsAsZip(c):
		return nil, &flaw{bridge.FlawUnknown, name + ": not the zip that torch.save writes, so nothing shows its end"}
	case !ok, d.at < 0 || d.size < 0 || d.at+d.size != d.end || d.records < 1:
		return nil, cut
	case d.size > mostDirectory || d.records > mostRecords:
		return nil, fmt.Errorf("%s: its directory: %w", name, errTooMany)
	}
	z, err := zip.NewReader(c, c.size)
	if err != nil {
		if c.l.bytes < 0 {
			return nil, fmt.Errorf("%s: %w", name, errTooMany)
		}
		return nil, cut
	}
	var sum uint64
	for _, r := range z.File {
		sum += r.CompressedSize64
	}
	if sum > uint64(d.at) {
		return nil, cut
	}
	return z, nil
}

func startsAsZip(c *content) bool {
	var sign [4]byte
	_, err := c.ReadAt(sign[:], 0)
	return err == nil && string(sign[:]) == "PK\x03\x04"
}

// directoryOf reads the end of a zip without a comment, which is how torch
// writes it; false: there is none.
func directoryOf(c *content) (d directory, ok bool, err error) {
	var end [endSize]byte
	if c.size < endSize {
		return d, false, nil
	}
	if _, err := c.ReadAt(end[:], c.size-endSize); err != nil {
		return d, false, err
	}
	le := binary.LittleEndian
	if le.Uint32(end[:]) != endSign || le.Uint16(end[20:]) != 0 {
		return d, false, nil
	}
	d = directory{int64(le.Uint16(end[10:])), int64(le.Uint32(end[12:])), int64(le.Uint32(end[16:])), c.size - endSize}
	if d.records != 0xffff && d.size != 0xffffffff && d.at != 0xffffffff && !hasLocator(c) {
		return d, true, nil
	}
	return directory64(c)
}

func hasLocator(c *content) bool {
	var sign [4]byte
	if c.size < endSize+locatorSize {
		return false
	}
	_, err := c.ReadAt(sign[:], c.size-endSize-locatorSize)
	return err == nil && binary.LittleEndian.Uint32(sign[:]) == locatorSign
}

// directory64 reads the end of a zip that is larger than 32 bits can say.
func directory64(c *content) (d directory, ok bool, err error) {
	at := c.size - endSize - locatorSize - end64Size
	if at < 0 || !hasLocator(c) {
		return d, false, nil
	}
	var end [end64Size]byte
	if _, err := c.ReadAt(end[:], at); err != nil {
		return d, false, err
	}
	le := binary.LittleEndian
	if le.Uint32(end[:]) != end64Sign {
		return d, false, nil
	}
	return directory{int64(le.Uint64(end[32:])), int64(le.Uint64(end[40:])), int64(le.Uint64(end[48:])), at}, true, nil
}

// wholeTensors checks a safetensors file: the header at its start says how long
// it is.
func (l *look) wholeTensors(f *file) error {
	c, err := l.open(f.name)
	if err != nil {
		return err
	}
	defer c.close()
	var length [8]byte
	cut := &flaw{bridge.FlawTruncated, f.base() + ": shorter than its header says"}
	if c.size < int64(len(length)) {
		return cut
	}
	if _, err := c.ReadAt(length[:], 0); err != nil {
		return err
	}
	n := binary.LittleEndian.Uint64(length[:])
	switch {
	case n > uint64(c.size-8):
		return cut
	case n > mostDirectory:
		return fmt.Errorf("%s: its header: %w", f.base(), errTooMany)
	}
	var tensors map[string]json.RawMessage
	if err := json.NewDecoder(io.NewSectionReader(c, 8, int64(n))).Decode(&tensors); err != nil {
		if c.l.ctx.Err() != nil || c.l.bytes < 0 {
			return fmt.Errorf("%s: its header: %w", f.base(), errTooMany)
		}
		return &flaw{bridge.FlawTruncated, f.base() + ": its header cannot be read"}
	}
	var end int64
	for name, text := range tensors {
		var t struct {
			Offsets [2]int64 `json:"data_offsets"`
		}
		if name == "__metadata__" {
			continue
		}
		if err := json.Unmarshal(text, &t); err != nil {
			return &flaw{bridge.FlawTruncated, f.base() + ": its header cannot be read"}
		}
		end = max(end, t.Offsets[1])
	}
	if c.size != 8+int64(n)+end {
		return cut
	}
	return nil
}

// readJSON reads a small file of JSON.
func (l *look) readJSON(f *file, into any) error {
	text, err := l.read(f.name, mostText)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return &flaw{bridge.FlawTruncated, f.base() + ": not whole JSON"}
	}
	return nil
}

// shards checks that all files that an index of Hugging Face names are among
// files, and whole.
func (l *look) shards(index *file, files []file) error {
	var x struct {
		Weights map[string]string `json:"weight_map"`
	}
	if err := l.readJSON(index, &x); err != nil {
		return err
	}
	if len(x.Weights) == 0 {
		return &flaw{bridge.FlawTruncated, index.base() + ": names no shard"}
	}
	var names []string
	for _, s := range x.Weights {
		names = append(names, s)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		f := named(files, path.Join(path.Dir(index.name), name))
		if f == nil {
			return &flaw{bridge.FlawShard, name}
		}
		if err := l.whole(f); err != nil {
			return err
		}
	}
	return nil
}

// named finds a file by its full name; nil: it is not there.
func named(files []file, name string) *file {
	for i := range files {
		if files[i].name == name && !files[i].dir && !files[i].link {
			return &files[i]
		}
	}
	return nil
}
