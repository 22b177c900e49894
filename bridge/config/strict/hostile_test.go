package strict

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// hostile are files made to be slow or deep. The YAML library alone needs
// tens of seconds for some of them.
var hostile = map[string]string{
	"brackets":             "a: " + strings.Repeat("[", 100_000),
	"closed brackets":      "a: " + strings.Repeat("[", 50_000) + strings.Repeat("]", 50_000),
	"braces":               "a: " + strings.Repeat("{a: ", 60_000),
	"dashes":               strings.Repeat("- ", 100_000) + "a",
	"questions":            strings.Repeat("? ", 100_000) + "a",
	"colons":               strings.Repeat("a: ", 80_000),
	"colons in brackets":   "a: [" + strings.Repeat("b: ", 80_000) + "]",
	"dashes in brackets":   "a: [" + strings.Repeat("- ", 100_000) + "]",
	"questions in braces":  "a: {" + strings.Repeat("? ", 100_000) + "}",
	"anchors":              "a: " + strings.Repeat("&a ", 80_000),
	"tags":                 "a: " + strings.Repeat("!a ", 80_000),
	"keys":                 numbered(20_000, "k%d: v\n"),
	"keys in braces":       "a: {" + numbered(20_000, "k%d: v, ") + "}",
	"same key":             strings.Repeat("a:\n", 80_000),
	"list":                 "a:\n" + strings.Repeat("- b\n", 60_000),
	"list in brackets":     "a: [" + strings.Repeat("b,", 100_000) + "]",
	"staircase":            staircase(600, "a:\n"),
	"staircase of dashes":  staircase(600, "-\n"),
	"comments":             "a: b\n" + strings.Repeat("# c\n", 60_000),
	"documents":            strings.Repeat("---\na: b\n", 30_000),
	"long text":            "a: " + strings.Repeat("x", 250_000),
	"long quote":           "a: \"" + strings.Repeat("\\n", 120_000) + "\"",
	"long block":           "a: |\n" + strings.Repeat(" xxxx\n", 40_000),
	"continued text":       "a: b\n" + strings.Repeat("  c\n", 60_000),
	"ten megabytes":        strings.Repeat("a: b\n", 2_000_000),
	"nothing but newlines": strings.Repeat("\n", 250_000),
	"bombs":                "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n",
	"a zero byte":          "a: b\x00\n",
	"half a letter":        "a: \xc3\n",
}

func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func staircase(n int, step string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + step)
	}
	return b.String()
}

// TestHostileFiles holds that no file ends the process or keeps it long: each
// is read or refused within a second of a free core (five are allowed, for
// cores that are not free).
func TestHostileFiles(t *testing.T) {
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			doc := Parse("hostile.yaml", []byte(text))
			doc.Root().Object(May("b", "b: c", Each(func(Node) {})))
			if doc.Err() == nil {
				t.Error("nothing wrong was found")
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}
