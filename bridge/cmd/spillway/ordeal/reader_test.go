package ordeal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What was recorded of a daemon: the commit of an intent and its create call,
// the commit of a command from Slack and its acknowledgement.
const (
	recordedToken    = "aynw2dx66q7tjqhn5xuyw4tdzq25bgboa4s5vuy3"
	recordedMark     = "r-mark1796082910569476230"
	recordedEnvelope = "bd0fffacdbe6d39ef3f6e66a5d9c284e"
)

// edit is a change of a recording.
type edit func(lines []string) []string

func none(lines []string) []string { return lines }

// without leaves lines out that have a text.
func without(text string) edit {
	return func(lines []string) []string {
		return slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, text) })
	}
}

// instead replaces a text everywhere.
func instead(old, with string) edit {
	return func(lines []string) []string {
		for i := range lines {
			lines[i] = strings.ReplaceAll(lines[i], old, with)
		}
		return lines
	}
}

// last moves lines with a text to the end.
func last(text string) edit {
	return func(lines []string) []string {
		var moved []string
		for _, l := range lines {
			if strings.Contains(l, text) {
				moved = append(moved, l)
			}
		}
		return append(without(text)(lines), moved...)
	}
}

// ahead puts a line before all others.
func ahead(line string) edit {
	return func(lines []string) []string { return append([]string{line}, lines...) }
}

// A proof that cannot fail proves nothing: each order that would lose something
// is refused.
func TestOrderIsReadRight(t *testing.T) {
	for name, c := range map[string]struct {
		edit edit
		want error
	}{
		"as it was recorded":           {none, nil},
		"nothing is synced":            {without(" fsync("), errNotSynced},
		"the sync fails":               {instead("spillway.db-wal>) = 0", "spillway.db-wal>) = -1 EIO (Input/output error)"), errNotSynced},
		"the database is synced":       {instead("fsync(9</var/lib/spillway/spillway.db-wal>)", "fsync(8</var/lib/spillway/spillway.db>)"), errNotSynced},
		"it is synced too late":        {last(" fsync("), errNotSynced},
		"it is sent before it is over": {instead("spillway.db-wal>) = 0", "spillway.db-wal> <unfinished ...>"), errNotSynced},
		"the daemon dies in the sync":  {instead("spillway.db-wal>) = 0", "spillway.db-wal>) = ?"), errNotSynced},
		"the resolver asks the kernel": {ahead(`7 1796082910.5 sendto(3<NETLINK:[1]>, [{nlmsg_len=20, nlmsg_type=0x16 /* NLMSG_??? */, "\x00`), nil},
		"fdatasync will do":            {instead(" fsync(", " fdatasync("), nil},
		"nothing is written":           {without(" pwrite64("), errNotWritten},
		"the write fails":              {instead(") = 4096", ") = -1 ENOSPC (No space left on device)"), errNotWritten},
		"nothing is sent":              {without("<TCP:"), errNotSent},
	} {
		t.Run(name, func(t *testing.T) {
			for file, proof := range map[string]func([]*call) error{
				"intent.txt": func(calls []*call) error { return durable(calls, recordedToken, create(recordedToken)) },
				"ack.txt":    func(calls []*call) error { return durable(calls, recordedMark, ack(recordedEnvelope)) },
			} {
				text, err := os.ReadFile(filepath.Join("testdata", file))
				must(t, err)
				lines := c.edit(strings.Split(strings.TrimSpace(string(text)), "\n"))
				calls, err := readTrace(strings.NewReader(strings.Join(lines, "\n")))
				must(t, err)
				if err := proof(calls); !errors.Is(err, c.want) {
					t.Errorf("%s: %v, want %v", file, err, c.want)
				}
			}
		})
	}
}

func TestTraceIsReadRight(t *testing.T) {
	const trace = `7 1.000001 write(3<TCP:[10.0.0.1:1->10.0.0.2:2]>, "a\"b\\\n\0\1771\x7f", 9 <unfinished ...>
8 1.000002 fdatasync(4</var/lib/a, b/x>) = -1 EIO (Input/output error) (INJECTED)
8 1.000003 --- SIGURG {si_signo=SIGURG} ---
7 1.000004 <... write resumed>) = 9
9 1.000005 fsync(4</var/x> <unfinished ...>
9 1.000006 +++ killed by SIGKILL +++
`
	calls, err := readTrace(strings.NewReader(trace))
	must(t, err)
	if len(calls) != 3 {
		t.Fatalf("%d calls are read", len(calls))
	}
	w, failed, open := calls[0], calls[1], calls[2]
	if !w.sent() || !w.succeeded() || w.begun != 1 || w.ended != 4 || !bytes.Equal(w.data, []byte("a\"b\\\n\x00\x7f1\x7f")) {
		t.Errorf("the write is read as %+v", w)
	}
	if failed.succeeded() || failed.name != "fdatasync" || failed.file != "/var/lib/a, b/x" || failed.sent() {
		t.Errorf("the sync is read as %+v", failed)
	}
	if open.succeeded() || open.ended != 0 {
		t.Errorf("a call that never ended is read as %+v", open)
	}
	for name, text := range map[string]string{
		"no trace":            "hello",
		"resumed from naught": `7 1.000001 <... write resumed>) = 9`,
		"cut short":           `7 1.000001 write(3</x>, "abc`,
		"no such escape":      `7 1.000001 write(3</x>, "a\q", 2) = 2`,
	} {
		if _, err := readTrace(strings.NewReader(text)); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}
