package ordeal

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// call is one system call of a trace. Begun and ended are lines of the trace,
// which are in the order of time whatever thread they are of.
type call struct {
	name         string
	file         string // path or socket of its first argument
	data         []byte // the first text among its arguments
	result       string
	begun, ended int
}

// succeeded reports whether the call returned no error.
func (c *call) succeeded() bool {
	return c.result != "" && c.result != "?" && !strings.HasPrefix(c.result, "-")
}

// sent reports whether it wrote to a network connection.
func (c *call) sent() bool {
	return (c.name == "write" || c.name == "sendto") && strings.HasPrefix(c.file, "TCP")
}

var (
	lineForm   = regexp.MustCompile(`^(\d+) +\d+\.\d+ (.*)$`)
	callForm   = regexp.MustCompile(`^([a-z0-9_]+)\((.*)$`)
	resumeForm = regexp.MustCompile(`^<\.\.\. ([a-z0-9_]+) resumed>(.*)$`)
	resultForm = regexp.MustCompile(`^(?s)(.*)\) += (\?|-?\w+)( .*)?$`)
	netlink    = regexp.MustCompile(`^\d+<NETLINK:`)
	fileForm   = regexp.MustCompile(`^\d+<(.*?)>(?:,|\)|$)`)
)

const unfinished = " <unfinished ...>"

// readTrace reads what strace -f -yy -ttt wrote. What says nothing of a system
// call is passed over; a line that ought to be one and is not understood is an
// error.
func readTrace(r io.Reader) ([]*call, error) {
	var out []*call
	open := map[string]*openCall{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		m := lineForm.FindStringSubmatch(lines.Text())
		if m == nil {
			return nil, fmt.Errorf("line %d is no line of a trace: %.80q", n, lines.Text())
		}
		thread, text := m[1], m[2]
		switch {
		case strings.HasPrefix(text, "+++"), strings.HasPrefix(text, "---"), strings.HasPrefix(text, "???"):
			continue
		case strings.HasPrefix(text, "<..."):
			m, before := resumeForm.FindStringSubmatch(text), open[thread]
			if m == nil || before == nil || before.call.name != m[1] {
				return nil, fmt.Errorf("line %d resumes what was not begun: %.80q", n, text)
			}
			delete(open, thread)
			if err := before.call.finish(before.text+m[2], n); err != nil {
				return nil, err
			}
			continue
		}
		m = callForm.FindStringSubmatch(text)
		if m == nil {
			return nil, fmt.Errorf("line %d is no call: %.80q", n, text)
		}
		c := &call{name: m[1], begun: n}
		out = append(out, c)
		if begun, cut := strings.CutSuffix(m[2], unfinished); cut {
			if err := c.take(begun, n); err != nil { // it may never end
				return nil, err
			}
			open[thread] = &openCall{c, begun}
			continue
		}
		if err := c.finish(m[2], n); err != nil {
			return nil, err
		}
	}
	return out, lines.Err()
}

// openCall is a call that has begun, with what was written of it.
type openCall struct {
	call *call
	text string
}

// finish takes arguments and result.
func (c *call) finish(text string, line int) error {
	m := resultForm.FindStringSubmatch(text)
	switch {
	case netlink.MatchString(text):
		return nil // a question to the kernel: neither kept nor sent
	case m == nil:
		return fmt.Errorf("line %d: call of %s has no result: %.80q", line, c.name, text)
	}
	c.result, c.ended = m[2], line
	return c.take(m[1], line)
}

// take takes arguments.
func (c *call) take(text string, line int) error {
	if m := fileForm.FindStringSubmatch(text); m != nil {
		c.file = m[1]
		text = text[len(m[0]):]
	}
	begin := strings.IndexByte(text, '"')
	if begin < 0 {
		return nil
	}
	var err error
	if c.data, err = unescape(text[begin+1:]); err != nil {
		return fmt.Errorf("line %d: %w", line, err)
	}
	return nil
}

// escapes are those of one letter.
var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'v': '\v', 'f': '\f', 'a': '\a', 'b': '\b', '"': '"', '\\': '\\'}

// unescape reads a text in strace's notation up to its closing quote.
func unescape(s string) ([]byte, error) {
	var out []byte
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return out, nil
		case s[i] != '\\':
			out = append(out, s[i])
			continue
		case i+1 == len(s):
			return nil, fmt.Errorf("text ends in an escape: %.40q", s)
		}
		i++
		if b, ok := escapes[s[i]]; ok {
			out = append(out, b)
			continue
		}
		digits, base := "01234567", 8
		if s[i] == 'x' {
			digits, base = "0123456789abcdef", 16
			i++
		}
		end := i // of up to three digits
		for end < min(i+3, len(s)) && strings.IndexByte(digits, s[end]) >= 0 {
			end++
		}
		if base == 16 {
			end = min(end, i+2)
		}
		n, err := strconv.ParseUint(s[i:end], base, 8)
		if err != nil {
			return nil, fmt.Errorf("escape in %.40q: %w", s[i-1:], err)
		}
		out = append(out, byte(n))
		i = end - 1
	}
	return nil, fmt.Errorf("text has no end: %.40q", s)
}
