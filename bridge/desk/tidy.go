package desk

import (
	"slices"
	"strings"
	"unicode"

	"github.com/agext/levenshtein"
)

// tidy makes what phones and keyboards of other scripts type plain: full-width
// forms, dashes of all lengths before a flag, times signs, invisible marks.
// It returns the words in it; their case is kept.
func tidy(s string) []string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 0xFF01 && r <= 0xFF5E:
			return r - 0xFEE0
		case r == '×' || r == '✕':
			return 'x'
		case r == 0x2010, r == 0x2011, r == 0x2012, r == 0x2212, r == 0xFE63:
			return '-'
		case unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
	words := strings.Fields(s)
	for i, w := range words {
		if rest := strings.TrimLeft(w, "-–—―﹘"); rest != w && rest != "" && !strings.EqualFold(w, "-a") {
			words[i] = "--" + rest
		} else {
			words[i] = strings.NewReplacer("–", "-", "—", "-").Replace(w)
		}
	}
	return words
}

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
