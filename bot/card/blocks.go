package card

import (
	"errors"
	"fmt"
	"slices"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/talk"
)

// Validate says everything that Slack would refuse in a message. Fit makes
// what it says impossible for what this package draws.
func Validate(m talk.Message) error {
	c := &check{}
	c.most("message text", m.Text, maxText)
	c.blocks(m.Blocks, maxBlocks)
	if n := textOf(m.Blocks); n > maxAllText {
		c.no("all texts together have %d characters, of at most %d", n, maxAllText)
	}
	return errors.Join(c.wrong...)
}

// ValidateHome is Validate for a home tab.
func ValidateHome(m talk.Message) error {
	c := &check{view: true}
	c.blocks(m.Blocks, maxViewBlocks)
	return errors.Join(c.wrong...)
}

// ValidateForm says everything that Slack would refuse in a form.
func ValidateForm(v *slack.ModalViewRequest) error {
	c := &check{view: true, form: true}
	for what, t := range map[string]*slack.TextBlockObject{"title": v.Title, "submit": v.Submit, "close": v.Close} {
		c.text(what, t, maxTitle, true)
	}
	c.most("private metadata", v.PrivateMetadata, maxPrivate)
	c.some("callback id", v.CallbackID, maxID)
	c.blocks(v.Blocks.BlockSet, maxViewBlocks)
	return errors.Join(c.wrong...)
}

type check struct {
	wrong      []error
	view, form bool
	ids        map[string]bool
	tables     int
	charts     int
}

func (c *check) no(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Errorf(format, args...))
}

func (c *check) most(what, s string, most int) {
	if n := length(s); n > most {
		c.no("%s has %d characters, of at most %d", what, n, most)
	}
}

// some is a text that must be there.
func (c *check) some(what, s string, most int) {
	if s == "" {
		c.no("%s is empty", what)
	}
	c.most(what, s, most)
}

func (c *check) count(what string, n, least, most int) {
	if n < least || n > most {
		c.no("%s: %d, of %d to %d", what, n, least, most)
	}
}

// text checks a text object; only plain ones may stand in buttons, titles and
// headers.
func (c *check) text(what string, t *slack.TextBlockObject, most int, plainOnly bool) {
	if t == nil {
		c.no("%s is missing", what)
		return
	}
	c.some(what, t.Text, most)
	switch {
	case t.Type != slack.PlainTextType && t.Type != slack.MarkdownType:
		c.no("%s is of the type %q", what, t.Type)
	case plainOnly && t.Type != slack.PlainTextType:
		c.no("%s must be plain text", what)
	case t.Type == slack.MarkdownType && t.Emoji != nil:
		c.no("%s: emoji is for plain text", what)
	case t.Type == slack.PlainTextType && t.Verbatim:
		c.no("%s: verbatim is for mrkdwn", what)
	}
}

func (c *check) blocks(bs []slack.Block, most int) {
	c.count("blocks", len(bs), 1, most)
	c.ids = map[string]bool{}
	for i, b := range bs {
		if b == nil {
			c.no("block %d is nil", i)
			continue
		}
		at := fmt.Sprintf("block %d (%s)", i, b.BlockType())
		if id := b.ID(); id != "" {
			c.most(at+" id", id, maxID)
			if c.ids[id] {
				c.no("%s: a second block has the id %q", at, id)
			}
			c.ids[id] = true
		}
		c.block(at, b)
	}
	c.count("tables", c.tables, 0, maxTables)
	c.count("charts", c.charts, 0, maxCharts)
}

func (c *check) block(at string, b slack.Block) {
	switch b := b.(type) {
	case *slack.HeaderBlock:
		c.text(at, b.Text, maxHeader, true)
	case *slack.SectionBlock:
		c.section(at, b)
	case *slack.ContextBlock:
		c.count(at+" elements", len(b.ContextElements.Elements), 1, maxContext)
		for _, x := range b.ContextElements.Elements {
			if t, ok := x.(*slack.TextBlockObject); ok {
				c.text(at, t, maxContextText, false)
			} else {
				c.no("%s: an element that is no text", at)
			}
		}
	case *slack.ActionBlock:
		c.actions(at, b)
	case *slack.InputBlock:
		c.input(at, b)
	case *slack.TableBlock:
		c.table(at, b)
	case *slack.DataVisualizationBlock:
		c.charts++
		if err := b.Validate(); err != nil {
			c.no("%s: %w", at, err)
		}
		if c.view {
			c.no("%s: only messages have charts", at)
		}
	case *slack.DividerBlock:
	default:
		c.no("%s: not a block we draw", at)
	}
}

func (c *check) section(at string, b *slack.SectionBlock) {
	if b.Text == nil && len(b.Fields) == 0 {
		c.no("%s: neither text nor fields", at)
	}
	if b.Text != nil {
		c.text(at, b.Text, maxSection, false)
	}
	c.count(at+" fields", len(b.Fields), 0, maxFields)
	for _, f := range b.Fields {
		c.text(at+" field", f, maxField, false)
	}
	if a := b.Accessory; a != nil {
		if a.ButtonElement == nil {
			c.no("%s: an accessory that is no button", at)
		} else {
			c.button(at, a.ButtonElement)
		}
	}
}

func (c *check) actions(at string, b *slack.ActionBlock) {
	if c.form {
		c.no("%s: a form has inputs, no buttons", at)
	}
	c.count(at+" elements", len(b.Elements.ElementSet), 1, maxActions)
	seen := map[string]bool{}
	for _, e := range b.Elements.ElementSet {
		button, ok := e.(*slack.ButtonBlockElement)
		if !ok {
			c.no("%s: an element that is no button", at)
			continue
		}
		c.button(at, button)
		if seen[button.ActionID] {
			c.no("%s: two buttons have the action id %q", at, button.ActionID)
		}
		seen[button.ActionID] = true
	}
}

func (c *check) button(at string, b *slack.ButtonBlockElement) {
	at += " button"
	c.text(at, b.Text, maxButton, true)
	c.some(at+" action id", b.ActionID, maxID)
	c.some(at+" value", b.Value, maxValue)
	c.most(at+" url", b.URL, maxURL)
	c.most(at+" label", b.AccessibilityLabel, maxLabel)
	if b.Style != "" && b.Style != slack.StylePrimary && b.Style != slack.StyleDanger {
		c.no("%s: style %q", at, b.Style)
	}
	if b.URL != "" {
		c.no("%s: links are not ours to make", at)
	}
	if f := b.Confirm; f != nil {
		c.text(at+" confirm title", f.Title, maxConfirmTitle, true)
		c.text(at+" confirm text", f.Text, maxConfirmText, false)
		c.text(at+" confirm", f.Confirm, maxConfirmWord, true)
		c.text(at+" confirm deny", f.Deny, maxConfirmWord, true)
	}
}

func (c *check) input(at string, b *slack.InputBlock) {
	if !c.form {
		c.no("%s: only forms have inputs", at)
	}
	c.text(at+" label", b.Label, maxInputLabel, true)
	if b.Hint != nil {
		c.text(at+" hint", b.Hint, maxInputLabel, true)
	}
	switch e := b.Element.(type) {
	case *slack.PlainTextInputBlockElement:
		c.some(at+" action id", e.ActionID, maxID)
		c.count(at+" longest", e.MaxLength, 1, maxInput)
		c.count(at+" shortest", e.MinLength, 0, e.MaxLength)
		c.most(at+" value", e.InitialValue, e.MaxLength)
		if e.Placeholder != nil {
			c.text(at+" placeholder", e.Placeholder, maxPlaceholder, true)
		}
	case *slack.SelectBlockElement:
		c.choice(at, e)
	default:
		c.no("%s: not an input we draw", at)
	}
}

func (c *check) choice(at string, e *slack.SelectBlockElement) {
	c.some(at+" action id", e.ActionID, maxID)
	c.text(at+" placeholder", e.Placeholder, maxPlaceholder, true)
	if e.Type == slack.OptTypeStatic {
		c.count(at+" options", len(e.Options), 1, maxOptions)
	}
	options := e.Options
	if e.InitialOption != nil {
		options = append(slices.Clip(options), e.InitialOption)
	}
	for _, o := range options {
		c.text(at+" option", o.Text, maxOption, true)
		c.some(at+" option value", o.Value, maxOption)
	}
}

func (c *check) table(at string, t *slack.TableBlock) {
	if c.view {
		c.no("%s: only messages have tables", at)
	}
	c.tables++
	c.count(at+" rows", len(t.Rows), 1, maxRows)
	for _, row := range t.Rows {
		c.count(at+" cells", len(row), 1, maxCells)
		if len(row) != len(t.Rows[0]) {
			c.no("%s: a row of %d cells among rows of %d", at, len(row), len(t.Rows[0]))
		}
		for _, x := range row {
			raw, ok := x.(*slack.TableRawTextCell)
			if !ok || raw.Text == "" {
				c.no("%s: an empty cell, or one that is no text", at)
			}
		}
	}
}
