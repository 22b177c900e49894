package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// ledger is the append-only file of machine starts and stops. Each append is
// on disk before it returns. It knows which machines it has seen so that a
// start or stop is never written twice, however often a restart repairs it.
type ledger struct {
	file *os.File
	seq  int64
	seen map[entryKey]bool
}

// entryKey is what may be in a ledger once.
type entryKey struct {
	machine string
	kind    wire.EntryKind
	expires int64 // of extensions, which may be many
}

func keyOf(e wire.Entry) entryKey {
	key := entryKey{machine: e.Machine, kind: e.Kind}
	if e.Kind == wire.EntryExtend {
		key.expires = e.Expires.UnixNano()
	}
	return key
}

// openLedger opens or makes the file and takes off a last line that a crash
// cut short; the state repairs what that line said.
func openLedger(path string) (*ledger, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644) //nolint:gosec // Written for others, who check Spillway by it.
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	l := &ledger{file: file, seen: map[entryKey]bool{}}
	text, err := io.ReadAll(file)
	if err == nil {
		whole := bytes.LastIndexByte(text, '\n') + 1
		if whole < len(text) {
			err = file.Truncate(int64(whole))
		}
		text = text[:whole]
	}
	var entries []wire.Entry
	if err == nil {
		entries, err = ParseLedger(text)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open ledger %s: %w", path, err), file.Close())
	}
	for _, e := range entries {
		l.note(e)
	}
	return l, nil
}

func (l *ledger) note(e wire.Entry) {
	l.seq = max(l.seq, e.Seq)
	l.seen[keyOf(e)] = true
}

// append writes entries that are not there yet.
func (l *ledger) append(entries ...wire.Entry) error {
	var text bytes.Buffer
	var fresh []wire.Entry
	seq := l.seq
	for _, e := range entries {
		if l.seen[keyOf(e)] {
			continue
		}
		seq++
		e.Seq = seq
		line, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("write ledger: %w", err)
		}
		text.Write(append(line, '\n'))
		fresh = append(fresh, e)
	}
	if len(fresh) == 0 {
		return nil
	}
	if _, err := l.file.Write(text.Bytes()); err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	for _, e := range fresh {
		l.note(e)
	}
	return nil
}

// ReadLedger reads a server's ledger file.
func ReadLedger(path string) ([]wire.Entry, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	return ParseLedger(text)
}

// ParseLedger reads JSON lines. A line that is not whole and known is an
// error: a judge may not overlook anything.
func ParseLedger(text []byte) ([]wire.Entry, error) {
	var entries []wire.Entry
	n := 0
	for line := range bytes.Lines(text) {
		n++
		var e wire.Entry
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&e); err != nil {
			return nil, fmt.Errorf("ledger line %d: %w", n, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}
