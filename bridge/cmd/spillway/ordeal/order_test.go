package ordeal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What can be wrong with an order of calls.
var (
	errNotWritten = errors.New("it is not in the write-ahead log before it is sent")
	errNotSynced  = errors.New("the write-ahead log is not on the disk before it is sent")
	errNotSent    = errors.New("it is never sent")
)

// holds reports whether a write has a mark in it. A long value may lie across
// the end of a page: half of it is enough.
func (c *call) holds(mark string) bool {
	half := len(mark) / 2
	return bytes.Contains(c.data, []byte(mark[:half])) || bytes.Contains(c.data, []byte(mark[half:]))
}

// durable proves that what a mark stands for was on the disk before a message
// was sent: the first write of the log that holds the mark, then a sync of the
// log that succeeded, and only then the first byte.
func durable(calls []*call, mark string, message func(*call) bool) error {
	var send, write *call
	for _, c := range calls {
		if c.sent() && message(c) {
			send = c
			break
		}
	}
	if send == nil {
		return fmt.Errorf("%s: %w", mark, errNotSent)
	}
	for _, c := range calls {
		if c.name == "pwrite64" && strings.HasSuffix(c.file, "-wal") && c.holds(mark) && c.succeeded() {
			write = c
			break
		}
	}
	if write == nil || write.ended >= send.begun {
		return fmt.Errorf("%s: %w", mark, errNotWritten)
	}
	for _, c := range calls {
		if (c.name == "fdatasync" || c.name == "fsync") && c.file == write.file && c.result == "0" && c.begun > write.ended && c.ended < send.begun {
			return nil
		}
	}
	return fmt.Errorf("%s: %w", mark, errNotSynced)
}

// create is the request that rents machines by a token.
func create(token string) func(*call) bool {
	return func(c *call) bool {
		return bytes.HasPrefix(c.data, []byte("POST /")) && bytes.Contains(c.data, []byte(token))
	}
}

// ack is the frame that acknowledges an envelope. What a client sends on a
// websocket is masked.
func ack(envelope string) func(*call) bool {
	return func(c *call) bool { return bytes.Contains(unmask(c.data), []byte(envelope)) }
}

// unmask returns the text of a client's frame; nil when it is none.
func unmask(b []byte) []byte {
	if len(b) < 2 || b[0] != 0x81 || b[1]&0x80 == 0 {
		return nil
	}
	head := 2
	switch b[1] & 0x7f {
	case 126:
		head += 2
	case 127:
		head += 8
	}
	if len(b) < head+4 {
		return nil
	}
	key, text := b[head:head+4], bytes.Clone(b[head+4:])
	for i := range text {
		text[i] ^= key[i%4]
	}
	return text
}

// readFile reads a recorded trace.
func readFile(t *testing.T, path string) []*call {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer func() { _ = f.Close() }() // only read from
	calls, err := readTrace(f)
	must(t, err)
	if len(calls) == 0 {
		t.Fatalf("%s holds no calls", filepath.Base(path))
	}
	return calls
}
