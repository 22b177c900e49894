package strict

import (
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"
)

// inside finds line and column of the offset-th character of a text value in
// the file. YAML folds lines and takes quotes and escapes away, so the value
// is laid along the source: equal characters advance both, spaces match any
// run of spaces, and whatever else the source has is skipped.
func (n Node) inside(offset int) (line, column int) {
	value, ok := n.Scalar()
	if !ok || n.node == nil {
		return n.Line(), 1
	}
	p := position(n.node)
	lines := strings.SplitAfter(strings.ReplaceAll(n.doc.source, "\r\n", "\n"), "\n")
	line, column = p.Line, p.Column
	if _, block := n.node.(*ast.LiteralNode); block {
		line, column = line+1, 1
	}
	if line > len(lines) {
		return p.Line, p.Column
	}
	src := []rune(strings.Join(lines[line-1:], ""))
	src = src[min(column-1, len(src)):]
	at := along([]rune(value), src, offset)
	for _, r := range src[:at] {
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
	}
	return line, column
}

// along returns the index in src of the offset-th character of value.
func along(value, src []rune, offset int) int {
	i := 0
	for k := range value {
		if unicode.IsSpace(value[k]) {
			if k >= offset {
				break
			}
			continue
		}
		for i < len(src) && src[i] != value[k] {
			i++
		}
		if k >= offset {
			return min(i, len(src))
		}
		i++
	}
	return min(i, len(src))
}
