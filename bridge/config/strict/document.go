package strict

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// The bounds of a file. They are far above what a site writes and far below
// what makes the YAML library slow: it is quadratic in depth and in keys.
const (
	maxBytes  = 256 << 10
	maxTokens = 30_000
	maxDepth  = 32
)

// Document is one file being read, with the faults found in it.
type Document struct {
	file   string
	source string
	root   ast.Node
	faults Faults
}

// Parse reads the YAML of a file. It never fails: what is wrong is in Err, and
// the root of an unreadable file reads as nothing.
func Parse(file string, data []byte) *Document {
	d := &Document{file: file}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(data) > maxBytes {
		d.fault(1, 1, fmt.Sprintf("the file has %d bytes; at most %d are read", len(data), maxBytes), "")
		return d
	}
	if line, column, ok := firstInvalid(data); ok {
		d.fault(line, column, "not UTF-8 text", "")
		return d
	}
	d.source = string(data)
	d.parse()
	return d
}

// parse fills the root. The YAML library has panicked on odd input in the
// past; a file must never be able to end the bridge.
func (d *Document) parse() {
	defer func() {
		if p := recover(); p != nil {
			d.root = nil
			d.fault(1, 1, fmt.Sprintf("cannot be read as YAML (%v)", p), "")
		}
	}()
	tokens := lexer.Tokenize(d.source)
	if !d.bounded(tokens) {
		return
	}
	f, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.syntax(err)
		return
	}
	for _, doc := range f.Docs {
		switch {
		case doc.Body == nil:
		case d.root != nil:
			p := position(doc.Body)
			d.fault(p.Line, p.Column, "a second document in one file: keep one", "")
			d.root = nil
			return
		default:
			d.root = doc.Body
		}
	}
	if d.root == nil {
		d.fault(1, 1, "the file is empty", "version: 1")
	}
}

// bounded refuses what is too large or not used here, before it is built.
func (d *Document) bounded(tokens token.Tokens) bool {
	if len(tokens) > maxTokens {
		p := tokens[maxTokens].Position
		d.fault(p.Line, p.Column, fmt.Sprintf("the file has more than %d words", maxTokens), "")
		return false
	}
	flow, line, marks := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, marks = t.Position.Line, 0
		}
		switch t.Type {
		case token.InvalidType:
			d.broken(t.Error, t)
			return false
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType:
			marks++
		default: // no level begins or ends
		}
		if text, example := unused(t); text != "" {
			d.fault(t.Position.Line, t.Position.Column, text, example)
			return false
		}
		inFlow := flow > 0
		if flow > maxDepth || t.Position.IndentNum > 4*maxDepth || marks > maxDepth && !inFlow {
			d.fault(t.Position.Line, t.Position.Column, fmt.Sprintf("nested deeper than %d levels", maxDepth), "")
			return false
		}
	}
	return true
}

// unused says what a token has that is not used here, with an example of what
// is; empty for what is fine.
func unused(t *token.Token) (text, example string) {
	switch t.Type {
	case token.SingleQuoteType, token.DoubleQuoteType:
		if strings.Contains(strings.TrimSpace(t.Origin), "\n") {
			return "a quote that is not closed on its line", `name: "value"`
		}
	case token.AnchorType, token.AliasType, token.MergeKeyType:
		return "anchors, aliases and merge keys are not used here: write the value where it is needed", "name: value"
	case token.TagType:
		return "tags are not used here: write the plain value", "name: value"
	default: // words, and what lays them out
	}
	return "", ""
}

func (d *Document) syntax(err error) {
	if ye, ok := errors.AsType[yaml.Error](err); ok {
		d.broken(ye.GetMessage(), ye.GetToken())
		return
	}
	d.fault(1, 1, "not YAML: "+err.Error(), "")
}

// broken reports what is not YAML, with advice for what people get wrong most.
func (d *Document) broken(text string, at *token.Token) {
	line, column := 1, 1
	if at != nil && at.Position != nil {
		line, column = at.Position.Line, at.Position.Column
	}
	switch {
	case strings.Contains(text, "mapping value is not allowed"):
		text += `: put a value that contains ": " or begins with a quote into quotes, and keys of one mapping below each other`
	case strings.Contains(text, "\t"), strings.Contains(text, "tab character"):
		text = "a tab; indent with spaces"
	}
	d.fault(line, column, "not YAML: "+text, "name: value")
}

func (d *Document) fault(line, column int, wrong, example string) {
	d.faults = append(d.faults, &Fault{File: d.file, Line: line, Column: column, Wrong: wrong, Example: example})
}

// Root is the file's own mapping.
func (d *Document) Root() Node { return Node{doc: d, node: d.root} }

func firstInvalid(data []byte) (line, column int, found bool) {
	line, column = 1, 1
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		if r == utf8.RuneError && n == 1 || r == 0 {
			return line, column, true
		}
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
		data = data[n:]
	}
	return 0, 0, false
}

// position is where people see a node begin: a mapping at its first key, not
// at its first colon. What is in no file begins where the file does.
func position(n ast.Node) token.Position {
	if n == nil {
		return token.Position{Line: 1, Column: 1}
	}
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && !m.IsFlowStyle {
		n = m.Values[0].Key
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return *t.Position
	}
	return token.Position{Line: 1, Column: 1}
}
