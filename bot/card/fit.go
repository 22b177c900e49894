package card

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/talk"
)

// Fit makes a message small enough for Slack, which refuses a larger one whole
// and tells nobody: long texts end in "… (n more)", lists lose their ends. Rows
// of buttons are never lost. It changes the blocks it is given.
func Fit(m talk.Message) talk.Message { return fit(m, maxBlocks) }

// FitView is Fit for a form or a home tab, which may have more blocks.
func FitView(m talk.Message) talk.Message { return fit(m, maxViewBlocks) }

func fit(m talk.Message, blocks int) talk.Message {
	m.Text = clip(m.Text, maxText)
	m.Blocks = dropTables(m.Blocks)
	for _, b := range m.Blocks {
		fitBlock(b)
	}
	m.Blocks = drop(m.Blocks, len(m.Blocks)-blocks)
	// The longest text gives way first, so that a long reason costs a decision
	// neither its buttons nor its figures.
	const least = 200
	for over := textOf(m.Blocks) - maxAllText; over > 0; over = textOf(m.Blocks) - maxAllText {
		t := longest(m.Blocks)
		if t == nil || length(t.Text) <= least {
			before := len(m.Blocks)
			if m.Blocks = drop(m.Blocks, 1); len(m.Blocks) == before {
				break
			}
			continue
		}
		t.Text = clip(t.Text, max(least, length(t.Text)-over-len("… (12345 more)")))
	}
	return m
}

func length(s string) int { return utf8.RuneCountInString(s) }

// clip cuts a text to a number of characters, never inside one, and says how
// many are missing where there is room for that.
func clip(s string, most int) string {
	n := length(s)
	if n <= most {
		return s
	}
	before := 0 // characters that were cut off earlier
	if m := wasCut.FindStringSubmatch(s); m != nil {
		before, _ = strconv.Atoi(m[1]) // digits that do not fit count for nothing
		s = strings.TrimSuffix(s, m[0])
	}
	n = length(s)
	runes := []rune(s)
	for keep := min(n, most) - 1; keep >= most-20 && keep >= 0; keep-- {
		if end := "… (" + strconv.Itoa(n-keep+before) + " more)"; keep+length(end) <= most {
			return whole(runes[:keep]) + end
		}
	}
	return whole(runes[:max(0, min(n, most)-1)]) + "…"
}

var wasCut = regexp.MustCompile(`… \((\d{1,9}) more\)$`)

// whole drops a mark of ours that was cut in the middle, such as "<!date^17…",
// and half an entity.
func whole(r []rune) string {
	const longest = 120
	for i := len(r) - 1; i >= max(0, len(r)-longest); i-- {
		if r[i] == '>' || r[i] == ';' {
			break
		}
		if r[i] == '<' || r[i] == '&' && len(r)-i < len("&amp;") {
			return string(r[:i])
		}
	}
	return string(r)
}

// drop takes blocks off the end, but never buttons, inputs or the first block.
func drop(blocks []slack.Block, n int) []slack.Block {
	for i := len(blocks) - 1; i > 0 && n > 0; i-- {
		switch blocks[i].(type) {
		case *slack.ActionBlock, *slack.InputBlock:
			continue
		}
		blocks = append(blocks[:i:i], blocks[i+1:]...)
		n--
	}
	return blocks
}

func dropTables(blocks []slack.Block) []slack.Block {
	seen := 0
	out := make([]slack.Block, 0, len(blocks))
	for _, b := range blocks {
		if _, ok := b.(*slack.TableBlock); ok {
			if seen++; seen > maxTables {
				continue
			}
		}
		out = append(out, b)
	}
	return out
}

func fitBlock(b slack.Block) {
	switch b := b.(type) {
	case *slack.HeaderBlock:
		b.Text.Text = clip(b.Text.Text, maxHeader)
	case *slack.SectionBlock:
		if b.Text != nil {
			b.Text.Text = clip(b.Text.Text, maxSection)
		}
		b.Fields = b.Fields[:min(len(b.Fields), maxFields)]
		for _, f := range b.Fields {
			f.Text = clip(f.Text, maxField)
		}
		if b.Accessory != nil && b.Accessory.ButtonElement != nil {
			fitButton(b.Accessory.ButtonElement)
		}
	case *slack.ContextBlock:
		e := b.ContextElements.Elements
		b.ContextElements.Elements = e[:min(len(e), maxContext)]
		for _, x := range b.ContextElements.Elements {
			if t, ok := x.(*slack.TextBlockObject); ok {
				t.Text = clip(t.Text, maxContextText)
			}
		}
	case *slack.ActionBlock:
		e := b.Elements.ElementSet
		b.Elements.ElementSet = e[:min(len(e), maxActions)]
		for _, x := range b.Elements.ElementSet {
			if button, ok := x.(*slack.ButtonBlockElement); ok {
				fitButton(button)
			}
		}
	case *slack.TableBlock:
		fitTable(b)
	}
}

func fitButton(b *slack.ButtonBlockElement) {
	b.Text.Text = clip(b.Text.Text, maxButton)
	if c := b.Confirm; c != nil {
		c.Title.Text, c.Text.Text = clip(c.Title.Text, maxConfirmTitle), clip(c.Text.Text, maxConfirmText)
		c.Confirm.Text, c.Deny.Text = clip(c.Confirm.Text, maxConfirmWord), clip(c.Deny.Text, maxConfirmWord)
	}
}

// fitTable leaves out rows, and says how many; in a message a table's text
// counts with all the rest.
func fitTable(t *slack.TableBlock) {
	rows := len(t.Rows)
	for len(t.Rows) > maxRows || len(t.Rows) > 2 && tableText(t) > maxAllText*2/3 {
		t.Rows = t.Rows[:len(t.Rows)-1]
	}
	if n := rows - len(t.Rows); n > 0 {
		last := cells(make([]string, len(t.Rows[0]))...)
		last[0] = slack.NewTableRawTextCell("… (" + strconv.Itoa(n+1) + " more)")
		t.Rows[len(t.Rows)-1] = last
	}
}

func tableText(t *slack.TableBlock) int {
	n := 0
	for _, row := range t.Rows {
		for _, c := range row {
			if raw, ok := c.(*slack.TableRawTextCell); ok {
				n += length(raw.Text)
			}
		}
	}
	return n
}

// texts are all texts of a message that Slack counts, but tables.
func texts(blocks []slack.Block) []*slack.TextBlockObject {
	var out []*slack.TextBlockObject
	for _, b := range blocks {
		switch b := b.(type) {
		case *slack.HeaderBlock:
			out = append(out, b.Text)
		case *slack.SectionBlock:
			if b.Text != nil {
				out = append(out, b.Text)
			}
			out = append(out, b.Fields...)
			if b.Accessory != nil && b.Accessory.ButtonElement != nil {
				out = append(out, b.Accessory.ButtonElement.Text)
			}
		case *slack.ContextBlock:
			for _, x := range b.ContextElements.Elements {
				if t, ok := x.(*slack.TextBlockObject); ok {
					out = append(out, t)
				}
			}
		case *slack.ActionBlock:
			for _, x := range b.Elements.ElementSet {
				if button, ok := x.(*slack.ButtonBlockElement); ok {
					out = append(out, button.Text)
				}
			}
		}
	}
	return out
}

func textOf(blocks []slack.Block) int {
	n := 0
	for _, t := range texts(blocks) {
		n += length(t.Text)
	}
	for _, b := range blocks {
		if t, ok := b.(*slack.TableBlock); ok {
			n += tableText(t)
		}
	}
	return n
}

func longest(blocks []slack.Block) *slack.TextBlockObject {
	var out *slack.TextBlockObject
	for _, t := range texts(blocks) {
		if out == nil || length(t.Text) > length(out.Text) {
			out = t
		}
	}
	return out
}
