package card

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// Pen draws for one reader, or for all readers of a channel.
type Pen struct {
	Lang desk.Lang
	Key  []byte         // seals buttons; without it there are none
	Zone *time.Location // of the reader, for clients that draw no time of their own; nil: UTC
	// Name is how an account is written, as a mention where it has a Slack id;
	// nil, or an empty answer: the account itself.
	Name func(account string) string
}

func (p Pen) words() *words {
	if p.Lang == desk.Chinese {
		return &chinese
	}
	return &english
}

// who writes an account in mrkdwn.
func (p Pen) who(account string) string {
	if account == "" {
		return "–"
	}
	if p.Name != nil && !strings.HasPrefix(account, "@") {
		if s := p.Name(account); s != "" {
			return s
		}
	}
	return escape(account)
}

func (p Pen) everyone(accounts []string) string {
	if len(accounts) == 0 {
		return p.words().Nobody
	}
	out := make([]string, 0, len(accounts))
	for _, a := range accounts {
		out = append(out, p.who(a))
	}
	return strings.Join(out, ", ")
}

// when writes an instant in mrkdwn, which Slack shows in the zone of each
// reader.
func (p Pen) when(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return fmt.Sprintf("<!date^%d^{date_short_pretty} {time}|%s>", t.Unix(), p.clock(t))
}

// clock writes an instant for clients that draw no time of their own.
func (p Pen) clock(t time.Time) string {
	if p.Zone == nil {
		return desk.Clock(t)
	}
	return t.In(p.Zone).Format("2006-01-02 15:04 MST")
}

// span writes a duration.
func (p Pen) span(d time.Duration) string {
	s := desk.Span(d)
	if p.Lang != desk.Chinese {
		return s
	}
	return strings.NewReplacer(" min", " 分钟", " h", " 小时", " d", " 天", " s", " 秒").Replace(s)
}

// seconds is a number of seconds as a duration.
func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

// amount writes a cost, rounded up; nothing is a dash.
func amount(m bridge.Money) string {
	if m.Currency == "" {
		return "–"
	}
	return m.String()
}

// what says what a rental is of: "16 × h100 (2 machines)".
func (p Pen) what(count int, s *bridge.Shape) string {
	w := p.words()
	if s.GPUs == 0 {
		return put(w.Machines, "n", strconv.Itoa(count), "each", s.String())
	}
	gpu := s.GPUType
	if gpu == "" {
		gpu = "GPU"
	}
	all := fmt.Sprintf("%d × %s", count*s.GPUs, gpu)
	if count == 1 {
		return all
	}
	return put(w.OnMachines, "what", all, "n", strconv.Itoa(count))
}

// place says what of a cloud, and where.
func (p Pen) place(pool bridge.Pool) string {
	if p.Lang != desk.Chinese {
		return desk.Place(pool)
	}
	where, market := pool.Cloud, "按需"
	if at := cmp.Or(pool.Zone, pool.Region); at != "" {
		where += " " + at
	}
	if pool.Market == bridge.Spot {
		market = "竞价"
	}
	return where + " 的 " + pool.Type + "（" + market + "）"
}

// put fills the {slots} of a text.
func put(text string, pairs ...string) string {
	old := make([]string, len(pairs))
	copy(old, pairs)
	for i := 0; i < len(old); i += 2 {
		old[i] = "{" + old[i] + "}"
	}
	return strings.NewReplacer(old...).Replace(text)
}

// escape makes a text stand for itself in mrkdwn: no mention, link, date or
// form can be made of it.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(tame(s))
}

// tame takes out of a person's text what could make it look like ours: marks
// that turn the direction of writing, invisible ones, and control characters.
func tame(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t' || r == '\r' || r == '\u2028' || r == '\u2029':
			return ' '
		case r == '\u200d' || unicode.Is(unicode.Variation_Selector, r):
			return r // joins emoji
		case unicode.Is(unicode.Cf, r), unicode.IsControl(r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "")))
}

func plain(s string) *slack.TextBlockObject {
	return slack.NewTextBlockObject(slack.PlainTextType, tame(s), false, false)
}

func mrkdwn(s string) *slack.TextBlockObject {
	return slack.NewTextBlockObject(slack.MarkdownType, s, false, true)
}

func header(s string) slack.Block { return slack.NewHeaderBlock(plain(s)) }

func section(s string) slack.Block { return slack.NewSectionBlock(mrkdwn(s), nil, nil) }

// said shows a person's text: never as mrkdwn.
func said(label, s string) slack.Block {
	return slack.NewSectionBlock(plain(label+s), nil, nil)
}

func small(lines ...string) slack.Block {
	out := make([]slack.MixedElement, 0, len(lines))
	for _, s := range lines {
		out = append(out, mrkdwn(s))
	}
	return slack.NewContextBlock("", out...)
}

// fields is a section of labelled facts; those without a fact are left out.
func fields(pairs ...string) slack.Block {
	var out []*slack.TextBlockObject
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out = append(out, mrkdwn("*"+pairs[i]+"*\n"+pairs[i+1]))
		}
	}
	return slack.NewSectionBlock(nil, out, nil)
}

// button is a button of a verb; its action id is the verb.
func (p Pen) button(v Verb, id string, revision int64, text string, style slack.Style) *slack.ButtonBlockElement {
	b := slack.NewButtonBlockElement(string(v), Seal(p.Key, id, revision, v), plain(text))
	b.Style = style
	return b
}

func confirm(b *slack.ButtonBlockElement, w *words, title, text, yes string) *slack.ButtonBlockElement {
	b.Confirm = slack.NewConfirmationBlockObject(plain(title), plain(text), plain(yes), plain(w.Back))
	return b
}

// actions is a row of buttons. Its id is new with each revision, so that Slack
// never shows a pressed state of the one before.
func (p Pen) actions(id string, revision int64, buttons ...*slack.ButtonBlockElement) []slack.Block {
	if len(p.Key) == 0 || len(buttons) == 0 {
		return nil
	}
	elements := make([]slack.BlockElement, 0, len(buttons))
	for _, b := range buttons {
		elements = append(elements, b)
	}
	return []slack.Block{slack.NewActionBlock(blockID(id, revision), elements...)}
}

func blockID(id string, revision int64) string {
	return "req:" + id + ":r" + strconv.FormatInt(revision, 10)
}

// line is a section with a button at its side, where there is a key.
func (p Pen) line(id, text string, b *slack.ButtonBlockElement) slack.Block {
	if len(p.Key) == 0 || b == nil {
		return slack.NewSectionBlock(mrkdwn(text), nil, nil)
	}
	return slack.NewSectionBlock(mrkdwn(text), nil, slack.NewAccessory(b), slack.SectionBlockOptionBlockID(id))
}

// Say is a message of one text of ours, which may hold mrkdwn.
func Say(text string) talk.Message {
	return talk.Message{Text: text, Blocks: []slack.Block{section(text)}}
}

// Quote is a message whose text comes from outside: it stands for itself.
func Quote(text string) talk.Message {
	return talk.Message{Text: escape(text), Blocks: []slack.Block{said("", text)}}
}
