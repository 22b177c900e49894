package strict

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/goccy/go-yaml/ast"
)

// Node is a value in a file, with the path that leads to it.
type Node struct {
	doc     *Document
	node    ast.Node
	path    string
	example string
	key     ast.Node // of the mapping entry it is the value of
}

// Field is one key a mapping may have.
type Field struct {
	key, example string
	must         bool
	read         func(Node)
}

// Need is a key that must be there.
func Need(key, example string, read func(Node)) Field { return Field{key, example, true, read} }

// May is a key that may be left out.
func May(key, example string, read func(Node)) Field { return Field{key, example, false, read} }

// Path is how people name the value, for example budgets[0].limit.
func (n Node) Path() string { return n.path }

// Given reports whether the node is a value of a file at all.
func (n Node) Given() bool { return n.node != nil }

// Line is the line the value begins on, from 1.
func (n Node) Line() int { return position(n.node).Line }

// Object reads a mapping: each key at most once, none but the given ones. It
// reports whether the node is a mapping at all.
func (n Node) Object(fields ...Field) bool {
	m, ok := n.node.(*ast.MappingNode)
	if !ok {
		if n.node != nil {
			n.Fault("want a mapping of " + keysOf(fields))
		}
		return false
	}
	seen := make(map[string]bool, len(m.Values))
	for _, entry := range m.Values {
		key, text := entry.Key.(ast.Node), keyText(entry.Key)
		i := slices.IndexFunc(fields, func(f Field) bool { return f.key == text })
		child := n.child(entry.Value, key, text)
		switch {
		case i < 0:
			child.unknown(text, fields)
		case seen[text]:
			child.example = fields[i].example
			child.faultAt(position(key).Line, position(key).Column, "", "given twice: keep one")
		default:
			child.example = fields[i].example
			fields[i].read(child)
		}
		seen[text] = true
	}
	for _, f := range fields {
		if f.must && !seen[f.key] {
			c := n.child(n.node, nil, f.key)
			c.example = f.example
			p := position(n.node)
			c.faultAt(p.Line, p.Column, "", "missing")
		}
	}
	return true
}

// Get returns the value of a key of a mapping, to speak of it after reading.
func (n Node) Get(key string) (Node, bool) {
	if m, ok := n.node.(*ast.MappingNode); ok {
		for _, entry := range m.Values {
			if keyText(entry.Key) == key {
				return n.child(entry.Value, entry.Key.(ast.Node), key), true
			}
		}
	}
	return n, false
}

// With returns the node with another example for its faults.
func (n Node) With(example string) Node {
	n.example = example
	return n
}

// Each calls read for every element of a list. One value alone is not a list.
func Each(read func(Node)) func(Node) {
	return func(n Node) {
		s, ok := n.node.(*ast.SequenceNode)
		if !ok {
			n.Fault("want a list")
			return
		}
		for i, v := range s.Values {
			read(Node{doc: n.doc, node: v, path: fmt.Sprintf("%s[%d]", n.path, i), example: n.example})
		}
	}
}

// IsList reports whether the value is a list.
func (n Node) IsList() bool {
	_, ok := n.node.(*ast.SequenceNode)
	return ok
}

// Len is the number of elements of a list, zero for anything else.
func (n Node) Len() int {
	if s, ok := n.node.(*ast.SequenceNode); ok {
		return len(s.Values)
	}
	return 0
}

// Scalar returns the text of a single value as written, and whether it is one.
func (n Node) Scalar() (string, bool) {
	switch v := n.node.(type) {
	case *ast.StringNode:
		return v.Value, true
	case *ast.LiteralNode:
		return v.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return v.GetToken().Value, true
	}
	return "", false
}

// Fault reports that the value is wrong.
func (n Node) Fault(wrong string) {
	p := position(n.node)
	n.faultAt(p.Line, p.Column, n.understood(), wrong)
}

// Later is the fault that Fault would report, for what turns out to be wrong
// only when another file has been read.
func (n Node) Later(wrong string) *Fault {
	p := position(n.node)
	return &Fault{File: n.doc.file, Line: p.Line, Column: p.Column, Path: n.path, Got: n.understood(), Wrong: wrong, Example: n.example}
}

// Refuse reports that a mapping or list as a whole cannot stand, for what it
// says and not for its kind.
func (n Node) Refuse(wrong string) {
	p := position(n.node)
	n.faultAt(p.Line, p.Column, "", wrong)
}

// Sound runs read and reports whether it found no fault.
func (n Node) Sound(read func(Node)) bool {
	before := len(n.doc.faults)
	read(n)
	return len(n.doc.faults) == before
}

// FaultKey reports that the key itself should not be there.
func (n Node) FaultKey(wrong string) {
	if n.key == nil {
		n.Fault(wrong)
		return
	}
	p := position(n.key)
	n.faultAt(p.Line, p.Column, "", wrong)
}

// FaultIn reports what is wrong at a place inside a text value, offset in
// characters from its beginning.
func (n Node) FaultIn(offset int, wrong string) {
	line, column := n.inside(offset)
	n.faultAt(line, column, "", wrong)
}

func (n Node) faultAt(line, column int, got, wrong string) {
	n.doc.faults = append(n.doc.faults, &Fault{
		File: n.doc.file, Line: line, Column: column, Path: n.path, Got: got, Wrong: wrong, Example: n.example,
	})
}

func (n Node) child(v, key ast.Node, name string) Node {
	path := name
	if n.path != "" {
		path = n.path + "." + name
	}
	return Node{doc: n.doc, node: v, path: path, key: key}
}

func (n Node) unknown(name string, fields []Field) {
	wrong := "unknown key; known here: " + keysOf(fields)
	n.example = fields[0].example
	if near, ok := nearest(name, fields); ok {
		wrong, n.example = "unknown key; did you mean "+near.key+"?", near.example
	}
	n.FaultKey(wrong)
}

// understood says what a value was read as.
func (n Node) understood() string {
	switch v := n.node.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case *ast.MappingNode:
		return "a mapping"
	case *ast.SequenceNode:
		return fmt.Sprintf("a list of %d", len(v.Values))
	}
	s, ok := n.Scalar()
	if !ok {
		return "something odd"
	}
	if r := []rune(s); len(r) > 60 {
		s = string(r[:57]) + "..."
	}
	return strconv.Quote(s)
}

func keyText(k ast.MapKeyNode) string {
	if s, ok := k.(*ast.StringNode); ok {
		return s.Value
	}
	return strings.TrimSpace(k.String())
}

func keysOf(fields []Field) string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.key
	}
	return strings.Join(out, ", ")
}

// nearest finds the field whose name is at most two strokes away.
func nearest(name string, fields []Field) (Field, bool) {
	best, at := 3, -1
	for i, f := range fields {
		if d := levenshtein.Distance(strings.ReplaceAll(name, "-", "_"), f.key, nil); d < best && d < len(f.key) {
			best, at = d, i
		}
	}
	if at < 0 {
		return Field{}, false
	}
	return fields[at], true
}

// Near returns the word of a list that somebody who wrote s meant, if one is
// at most two strokes away.
func Near(s string, words []string) (string, bool) {
	fields := make([]Field, len(words))
	for i, w := range words {
		fields[i] = Field{key: w}
	}
	f, ok := nearest(s, fields)
	return f.key, ok
}
