package strict

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// Text reads text that must not be empty. Each check returns what is wrong
// with it, or nothing.
func Text[T ~string](dst *T, checks ...func(string) string) func(Node) {
	return func(n Node) {
		s, ok := n.text()
		if !ok {
			return
		}
		if strings.TrimSpace(s) == "" {
			n.Fault("empty text")
			return
		}
		for _, check := range checks {
			if wrong := check(s); wrong != "" {
				n.Fault(wrong)
				return
			}
		}
		*dst = T(s)
	}
}

// Texts reads a list of texts, each of them at most once.
func Texts[T ~string](dst *[]T, checks ...func(string) string) func(Node) {
	return func(n Node) {
		seen := map[T]bool{}
		Each(func(e Node) {
			var v T
			Text(&v, checks...)(e)
			switch {
			case v == "":
			case seen[v]:
				e.Fault("given twice: keep one")
			default:
				seen[v] = true
				*dst = append(*dst, v)
			}
		})(n)
	}
}

// Choice reads one of a few words.
func Choice[T ~string](dst *T, words ...T) func(Node) {
	check := OneOf(words...)
	return func(n Node) {
		s, _ := n.Scalar()
		if wrong := check(s); wrong != "" {
			n.Fault(wrong)
			return
		}
		*dst = T(s)
	}
}

// OneOf is the check that a text is one of a few words.
func OneOf[T ~string](words ...T) func(string) string {
	return func(s string) string {
		all := make([]string, len(words))
		for i, w := range words {
			if s == string(w) {
				return ""
			}
			all[i] = string(w)
		}
		return "want " + orList(all)
	}
}

// Flag reads true or false.
func Flag(dst *bool) func(Node) {
	return func(n Node) {
		b, ok := n.node.(*ast.BoolNode)
		if !ok {
			n.Fault("want true or false")
			return
		}
		*dst = b.Value
	}
}

// Whole reads a whole number between least and most.
func Whole(dst *int, least, most int) func(Node) {
	return func(n Node) {
		s, _ := n.Scalar()
		v, err := strconv.Atoi(s)
		_, number := n.node.(*ast.IntegerNode)
		switch {
		case !number && err == nil:
			n.Fault("want a whole number, without quotes")
		case !number || err != nil:
			n.Fault("want a whole number")
		case least == most && v != least:
			n.Fault(fmt.Sprintf("want %d", least))
		case v < least || v > most:
			n.Fault(fmt.Sprintf("want %d to %d", least, most))
		default:
			*dst = v
		}
	}
}

// Span reads a duration between least and most.
func Span(dst *time.Duration, least, most time.Duration) func(Node) {
	return func(n Node) {
		s, ok := n.Scalar()
		if !ok {
			n.Fault("want a duration")
			return
		}
		d, wrong := ParseSpan(s)
		switch {
		case wrong != "":
			n.Fault(wrong)
		case d < least || d > most:
			n.Fault(fmt.Sprintf("want %s to %s", FormatSpan(least), FormatSpan(most)))
		default:
			*dst = d
		}
	}
}

// maxDays keeps a duration in days inside 64 bits of nanoseconds.
const maxDays = 36_500

// ParseSpan reads a duration as people write it, with days: "15m", "1d12h",
// "90s". It returns what is wrong with the text, or nothing.
func ParseSpan(s string) (d time.Duration, wrong string) {
	if strings.HasPrefix(s, "-") {
		return 0, "a duration cannot be negative"
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return 0, "a duration needs a unit: s, m, h or d"
	}
	rest := s
	if days, after, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil || n > maxDays {
			return 0, "not a duration"
		}
		d, rest = time.Duration(n)*24*time.Hour, after
	}
	if rest == "" && rest != s {
		return d, ""
	}
	v, err := time.ParseDuration(rest)
	if err != nil || strings.ContainsAny(rest, ".-+ ") || d+v < d {
		return 0, "not a duration (units are s, m, h and d)"
	}
	return d + v, ""
}

// FormatSpan prints a duration as ParseSpan reads it.
func FormatSpan(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	var b strings.Builder
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "us"}, {1, "ns"}} {
		if n := d / u.unit; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			d -= n * u.unit
		}
	}
	return b.String()
}

// text returns a value that is text in YAML too; a number must be quoted, so
// that 007 stays 007.
func (n Node) text() (string, bool) {
	switch n.node.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		return n.Scalar()
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		n.Fault("want text: put it in quotes")
	default:
		n.Fault("want text")
	}
	return "", false
}

func orList(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
