package bill

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

// Encoding is how the bytes of a file are text.
type Encoding string

// The encodings. Auto takes a mark at the beginning at its word, and text that
// is not UTF-8 for GB18030, as spreadsheets and clouds in China write it.
const (
	Auto    Encoding = "auto"
	UTF8    Encoding = "utf-8"
	GB18030 Encoding = "gb18030"
	UTF16   Encoding = "utf-16"
)

const (
	// mostBytes is how much of a file is read, unpacked.
	mostBytes = 256 << 20
	// peekBytes is what the encoding is told by.
	peekBytes = 256 << 10
)

// text reads a file, packed with gzip or not, as UTF-8. It returns the encoding
// that was found.
func text(r io.Reader, want Encoding) (io.Reader, Encoding, error) {
	in := bufio.NewReaderSize(r, peekBytes)
	if head, _ := in.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return nil, want, fmt.Errorf("unpack bill: %w", err)
		}
		in = bufio.NewReaderSize(unpacked, peekBytes)
	}
	in = bufio.NewReaderSize(&limited{in, mostBytes}, peekBytes)
	head, err := in.Peek(peekBytes)
	if err != nil && err != io.EOF {
		return nil, want, fmt.Errorf("read bill: %w", err)
	}
	found := want
	if found == "" || found == Auto {
		found = guess(head, err == io.EOF)
	}
	switch found {
	case UTF8:
		if bytes.HasPrefix(head, []byte("\uFEFF")) {
			_, _ = in.Discard(3) // they were seen
		}
		return in, found, nil
	case GB18030:
		return simplifiedchinese.GB18030.NewDecoder().Reader(in), found, nil
	case UTF16:
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Reader(in), found, nil
	case Auto:
	}
	return nil, want, fmt.Errorf("read bill: no encoding is called %q", want)
}

func guess(head []byte, whole bool) Encoding {
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return UTF16
	case bytes.HasPrefix(head, []byte("\uFEFF")):
		return UTF8
	}
	if !whole { // the last character may be cut
		for i := 0; i < utf8.UTFMax && len(head) > 0 && !utf8.Valid(head); i++ {
			head = head[:len(head)-1]
		}
	}
	if utf8.Valid(head) {
		return UTF8
	}
	return GB18030
}

// limited fails, instead of ending, where a file is longer than is read.
type limited struct {
	r    io.Reader
	left int64
}

// Read reads what is left.
func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLong
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err //nolint:wrapcheck // A reader returns what it read from, io.EOF too.
}

// garbled reports whether text has characters that its bytes did not mean.
func garbled(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsRune(s, utf8.RuneError) || strings.ContainsRune(s, 0)
}
