package main

import (
	"slices"
	"strings"

	"spillway.sh/spillway/bridge/desk"
)

// How many offers stand beside each other, and how wide a column of them is.
const (
	comparedMost = 3
	labelWidth   = 14
	columnWidth  = 26
	columnGap    = 2
)

// sayCompared shows offers beside each other, line by line as the choice weighs
// them: of each cloud the best, then the next ones.
func sayCompared(p *page, all []desk.Compared) {
	if len(all) == 0 {
		return
	}
	shown := beside(all)
	p.line("")
	for i := range shown[0].Lines {
		cells := [][]string{{shown[0].Lines[i].Name}}
		for _, c := range shown {
			cells = append(cells, folded(plain(c.Lines[i].Says), columnWidth))
		}
		sayCells(p, cells)
	}
}

// beside chooses what is shown, in the order of the choice.
func beside(all []desk.Compared) []*desk.Compared {
	var out []*desk.Compared
	clouds := map[string]bool{}
	for _, more := range []bool{false, true} {
		for i := range all {
			c := &all[i]
			if len(out) < comparedMost && clouds[c.Offer.Pool.Cloud] == more && !slices.Contains(out, c) {
				clouds[c.Offer.Pool.Cloud] = true
				out = append(out, c)
			}
		}
	}
	return out
}

// sayCells writes one row of cells of several lines each.
func sayCells(p *page, cells [][]string) {
	high := 0
	for _, c := range cells {
		high = max(high, len(c))
	}
	for n := range high {
		var line strings.Builder
		for i, c := range cells {
			text, width := "", columnWidth
			if n < len(c) {
				text = c[n]
			}
			if i == 0 {
				width = labelWidth
			}
			line.WriteString(text)
			line.WriteString(strings.Repeat(" ", max(width-wide(text), 0)+columnGap))
		}
		p.line("%s", strings.TrimRight(line.String(), " "))
	}
}

// wide is how many cells of a terminal a text takes: Chinese takes two a sign.
func wide(s string) int {
	n := 0
	for _, r := range s {
		n += cellsOf(r)
	}
	return n
}

func cellsOf(r rune) int {
	if r >= 0x2e80 {
		return 2
	}
	return 1
}

// folded breaks a text into lines of at most so many cells: between words, in
// Chinese anywhere, and within a word that is longer than a line.
func folded(text string, most int) []string {
	var out []string
	line, word := "", ""
	end := func() { out, line = append(out, strings.TrimRight(line, " ")), "" }
	place := func() {
		if line != "" && wide(line)+wide(strings.TrimRight(word, " ")) > most {
			end()
		}
		for wide(strings.TrimRight(word, " ")) > most {
			cut := []rune(word)
			n := 0
			for w := 0; w+cellsOf(cut[n]) <= most; n++ {
				w += cellsOf(cut[n])
			}
			out, word = append(out, string(cut[:n])), string(cut[n:])
		}
		line, word = line+word, ""
	}
	for _, r := range text {
		if cellsOf(r) == 2 {
			place()
		}
		word += string(r)
		if r == ' ' || cellsOf(r) == 2 {
			place()
		}
	}
	place()
	if line != "" || len(out) == 0 {
		end()
	}
	return out
}
