package desk

import (
	"slices"
	"strings"
	"unicode"

	"github.com/agext/levenshtein"
	"golang.org/x/text/unicode/norm"
)

// tidy makes what phones and keyboards of other scripts type plain: full-width
// forms, dashes of all lengths before a flag, times signs, invisible marks and
// marks that turn the direction of writing. It returns the words in it; their
// case is kept. What stands in quotes is one word, with its first quote.
func tidy(s string) []string {
	s = strings.Map(plainRune, compatible(s))
	var out []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		if s[0] == quote {
			text, rest, _ := strings.Cut(s[1:], `"`)
			out, s = append(out, `"`+strings.Join(strings.Fields(text), " ")), rest
			continue
		}
		end := strings.IndexFunc(s, unicode.IsSpace)
		if end < 0 {
			end = len(s)
		}
		out, s = append(out, undash(s[:end])), s[end:]
	}
	return out
}

// quote begins a quoted word.
const quote = '"'

// compatible brings text to the form NFKC. Signs that would only there become
// digits, as raised ones do, stay as they are: 6² must not be read as 62.
func compatible(s string) string {
	var b strings.Builder
	rest := 0
	for i, r := range s {
		if r < 0x80 || !raised(r) {
			continue
		}
		b.WriteString(norm.NFKC.String(s[rest:i]))
		b.WriteRune(r)
		rest = i + len(string(r))
	}
	b.WriteString(norm.NFKC.String(s[rest:]))
	return b.String()
}

// raised reports whether a sign is not a digit by itself and would be read as
// one: raised, lowered and circled digits, fractions.
func raised(r rune) bool {
	return unicode.Is(unicode.No, r) && strings.ContainsAny(norm.NFKC.String(string(r)), "0123456789")
}

func plainRune(r rune) rune {
	switch {
	case r == '×' || r == '✕':
		return 'x'
	case r == 0x2010, r == 0x2011, r == 0x2012, r == 0x2212:
		return '-'
	case r == '“', r == '”', r == '„', r == '‟':
		return quote
	case r == unicode.ReplacementChar, unicode.Is(unicode.Cf, r), unicode.IsControl(r) && !unicode.IsSpace(r):
		return -1
	}
	return r
}

// undash makes a word that begins with dashes of any length a flag.
func undash(w string) string {
	rest := strings.TrimLeft(w, "-–—―﹘")
	if rest == w || rest == "" || strings.EqualFold(w, "-a") {
		return strings.NewReplacer("–", "-", "—", "-").Replace(w)
	}
	return "--" + rest
}

// Words are the words of a line as it is read: plain, in lower case but for
// reasons and what is quoted, which begins with its quote.
func Words(s string) []string {
	words := tidy(s)
	for i, w := range words {
		if w[0] == quote {
			continue
		}
		words[i] = strings.ToLower(w)
		if bare := strings.TrimLeft(words[i], "-"); bare == "because" || bare == "reason" {
			break // what follows is kept as it was written
		}
	}
	return words
}

// Line makes one line of words, so that it is read as they were.
func Line(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if out[i] = w; strings.HasPrefix(w, `"`) {
			out[i] = w + `"`
		}
	}
	return strings.Join(out, " ")
}

// Tidy is a line as it is read, one space between its words, in lower case but
// for what is quoted. Equal lines ask for the same.
func Tidy(s string) string {
	return Line(Words(s))
}

// Nearest returns the name that a mistyped word is nearest to; empty when none
// is near.
func Nearest(w string, names []string) string { return nearest(w, names) }

func listed(names []string) string {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if len(names) == 0 {
		return "none yet"
	}
	if len(names) > 12 {
		return strings.Join(names[:12], ", ") + " and more"
	}
	return strings.Join(names, ", ")
}

// nearest returns the name at most two edits away, the closest first; empty
// when there is none.
func nearest(w string, names []string) string {
	best, at := "", 3
	for _, n := range names {
		if d := levenshtein.Distance(w, n, nil); d < at && d < len(n) {
			best, at = n, d
		}
	}
	return best
}
