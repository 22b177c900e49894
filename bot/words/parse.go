package words

import (
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agext/levenshtein"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// The commands.
const (
	RentCommand    = "/rent"
	ReleaseCommand = "/release"
)

// mostText is more than anybody types; the rest of a longer line is no request.
const mostText = 4000

// Parse reads the text of a command. Its errors are *desk.Error of the kind
// desk.BadRequest, and the request has what was understood before them.
func Parse(command, text string, k *Known) (Request, error) {
	if utf8.RuneCountInString(text) > mostText {
		return Request{Verb: verbOf(command)}, desk.Wrong(desk.BadRequest, "", "the line is longer than %d characters", mostText)
	}
	text = html.UnescapeString(strings.ToValidUTF8(text, "")) // Slack escapes three signs
	p := parser{k: k, words: desk.Words(text)}
	p.r.Verb, p.r.Read = verbOf(command), readings(text)
	p.r.Normal = strings.TrimSpace(command + " " + desk.Line(p.words))
	p.flags()
	var err error
	if command == ReleaseCommand {
		err = p.release()
	} else {
		err = p.rent()
	}
	return p.r, err
}

func verbOf(command string) Verb {
	if command == ReleaseCommand {
		return Release
	}
	return Rent
}

type parser struct {
	k     *Known
	r     Request
	words []string
}

// flags takes the flags that are of no single verb.
func (p *parser) flags() {
	p.words = slices.DeleteFunc(p.words, func(w string) bool {
		switch w {
		case "--yes", "--y":
			p.r.Yes = true
		case "--dry-run", "--dryrun":
			p.r.Verb = Quote
		case "--again":
			p.r.Twice = true
		default:
			return false
		}
		return true
	})
}

// readings are the words whose dashes were read as the two of a flag.
func readings(text string) []Reading {
	var out []Reading
	for w := range strings.FieldsSeq(text) {
		first, _ := utf8.DecodeRuneInString(w)
		if first == '-' || first < 0x80 {
			continue
		}
		if as := desk.Words(w); len(as) == 1 && strings.HasPrefix(as[0], "--") {
			out = append(out, Reading{w, as[0]})
		}
	}
	return out
}

// verb takes the verb of the line: its first word, or quote anywhere that it
// is no name.
func (p *parser) verb() {
	if len(p.words) == 0 {
		return
	}
	if v, ok := verbs[p.words[0]]; ok {
		p.r.Verb, p.words = v, p.words[1:]
		return
	}
	i := slices.Index(p.words, "quote")
	if i > 0 && !slices.Contains(naming, p.words[i-1]) && !slices.Contains(p.words[:i], "because") {
		p.r.Verb, p.words = Quote, slices.Delete(slices.Clone(p.words), i, i+1)
	}
}

// naming are words that are followed by a name, whatever it is.
var naming = []string{"project", "--project", "account", "cluster", "job", "type", "in", "on", "place", "region", "because", "--reason", "reason"}

func (p *parser) rent() error {
	p.verb()
	switch p.r.Verb {
	case Rent, Quote:
		return p.wish()
	case Status, Approve, Cancel, Again:
		return p.ids()
	case Extend, Snooze, Keep:
		return p.idAndWords()
	case Deny:
		return p.deny()
	case Freeze, Thaw:
		p.r.Text = plain(p.words)
		return nil
	case Prices, Clouds:
		return p.prices()
	case Spend, Budget, Report, Help:
		p.r.Words = p.words
		return nil
	case List, WhoAmI:
		if len(p.words) > 0 && !slices.Equal(p.words, []string{"all"}) {
			return p.bad("/rent "+string(p.r.Verb), "%s takes no more words, and %q means nothing here", p.r.Verb, desk.Line(p.words))
		}
		p.r.All = len(p.words) > 0
	case Release:
	}
	return nil
}

// wish reads what to rent, or the id of a quote.
func (p *parser) wish() error {
	if len(p.words) > 0 && desk.IsQuote(p.words[0]) {
		return p.quoted()
	}
	if len(p.words) > 0 && (p.words[0] == "release" || p.words[0] == "drain") {
		return p.bad("/release "+desk.Line(p.words[1:]), "giving machines back has a command of its own")
	}
	w, err := desk.ReadWords([]string{desk.Line(p.words)}, &p.k.Known)
	p.r.Wish = w
	if err == nil {
		return nil
	}
	e := desk.AsError(err)
	if len(p.words) == 0 {
		return e
	}
	if _, err := bridge.ParseRentalID(p.words[0]); err == nil && strings.HasPrefix(p.words[0], "r-") {
		return p.bad("/rent status "+p.words[0], "what about %s? A verb is missing", p.words[0])
	}
	if near := desk.Nearest(p.words[0], sortedVerbs()); near != "" && len(p.words[0]) > 3 && desk.Nearest(p.words[0], p.k.GPUs) == "" {
		return p.bad("/rent "+near+" "+desk.Line(p.words[1:]), "the word %q means nothing here; did you mean %s?", p.words[0], near)
	}
	return e
}

func sortedVerbs() []string {
	out := make([]string, 0, len(verbs))
	for v := range verbs {
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}

// quoted reads the id of a quote, and which of its offers.
func (p *parser) quoted() error {
	id, err := desk.ParseQuoteID(p.words[0])
	if err != nil {
		return err
	}
	p.r.Verb, p.r.Quote = Rent, id
	for _, w := range p.words[1:] {
		if text, ok := strings.CutPrefix(w, `"`); ok {
			p.r.Wish.Reason = text
			continue
		}
		n, err := strconv.Atoi(strings.TrimPrefix(w, "#"))
		if err != nil || n < 1 || n > 100 {
			return p.bad("/rent "+id, "%q means nothing behind a quote; only the number of an offer may follow it", w)
		}
		p.r.Offer = n
	}
	return nil
}

// ids reads rentals, and nothing else.
func (p *parser) ids() error {
	words := commaed(p.words)
	if p.r.Verb == Status && len(words) == 2 && strings.TrimPrefix(words[0], "--") == "job" {
		p.r.Job = bridge.JobID(words[1])
		return nil
	}
	for _, w := range words {
		if err := p.id(w); err != nil {
			return err
		}
	}
	return nil
}

// id reads one rental. A mistyped one is suggested, never guessed.
func (p *parser) id(w string) error {
	id, err := bridge.ParseRentalID(w)
	if err == nil {
		p.r.Rentals = append(p.r.Rentals, string(id))
		return nil
	}
	if near := p.near(w); near != "" {
		return p.bad(p.line(near), "%q is no rental; did you mean %s?", w, near)
	}
	example := "r-0013"
	if len(p.k.Rentals) > 0 {
		example = p.k.Rentals[0]
	}
	return p.bad(p.line(example), "%q is no rental; its id is like %s", w, example)
}

// near is the rental that a mistyped id is nearest to: O is 0, I and L are 1,
// and one sign may be wrong or missing.
func (p *parser) near(w string) string {
	w = strings.NewReplacer("o", "0", "i", "1", "l", "1").Replace(strings.ToLower(w))
	if _, rest, ok := strings.Cut(w, "-"); ok {
		w = rest
	}
	for _, id := range p.k.Rentals {
		if levenshtein.Distance(w, strings.TrimPrefix(id, "r-"), nil) <= 1 {
			return id
		}
	}
	return ""
}

// line is a corrected line of the verb for a rental.
func (p *parser) line(id string) string {
	if p.r.Verb == Release {
		return "/release " + id
	}
	if p.r.Verb == Extend || p.r.Verb == Snooze {
		return "/rent " + string(p.r.Verb) + " " + id + " 2h"
	}
	if p.r.Verb == Keep {
		return "/rent keep " + id + " 1h"
	}
	return "/rent " + string(p.r.Verb) + " " + id
}

// idAndWords reads one rental, wherever it is, and leaves the rest.
func (p *parser) idAndWords() error {
	for _, w := range p.words {
		if id, err := bridge.ParseRentalID(w); err == nil && strings.HasPrefix(w, "r-") {
			p.r.Rentals = append(p.r.Rentals, string(id))
			continue
		}
		if strings.HasPrefix(w, "r-") || len(w) > 1 && w[1] == '-' && w[0] >= 'a' {
			return p.id(w)
		}
		p.r.Words = append(p.r.Words, w)
	}
	if len(p.r.Rentals) > 1 {
		return p.bad(p.line(p.r.Rentals[0]), "one rental at a time, and these are %d", len(p.r.Rentals))
	}
	return nil
}

// deny reads rentals and why.
func (p *parser) deny() error {
	i := slices.IndexFunc(p.words, func(w string) bool {
		return w == "because" || w == "--because" || w == "reason" || w == "--reason" || w[0] == '"'
	})
	if i >= 0 {
		text := p.words[i:]
		if text[0][0] != '"' {
			text = text[1:]
		}
		p.r.Text, p.words = plain(text), p.words[:i]
	}
	return p.ids()
}

// prices reads a GPU and a place, for prices and for clouds.
func (p *parser) prices() error {
	w, err := desk.ReadWords([]string{desk.Line(p.words)}, &p.k.Known)
	p.r.GPU, p.r.Place = w.GPUType, w.Place
	only := w
	only.GPUType, only.Place, only.GPUs, only.Market = "", "", 0, ""
	if err == nil && only.String() != "" {
		return p.bad("/rent "+string(p.r.Verb)+" "+w.GPUType, "prices are of a GPU or a place, and %q is more than that", only.String())
	}
	if err != nil {
		e := desk.AsError(err)
		e.Try = "/rent " + string(p.r.Verb)
		if near := desk.Nearest(strings.Join(p.words, " "), p.k.GPUs); near != "" {
			e.Try += " " + near
		}
		return e
	}
	return nil
}

// release reads /release.
func (p *parser) release() error {
	words := commaed(p.words)
	for i := 0; i < len(words); i++ {
		w := strings.TrimPrefix(words[i], "--")
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch {
		case w == "all":
			p.r.All = true
		case w == "job" || w == "node":
			if next == "" {
				return p.bad("/release", "which %s? Its name is missing", w)
			}
			if w == "job" {
				p.r.Job = bridge.JobID(next)
			} else {
				p.r.Node = next
			}
			i++
		case w == "now" || w == "drain":
			p.r.Words = append(p.r.Words, w)
		case w == "at":
			p.r.Words = append(p.r.Words, words[i:]...)
			i = len(words)
		case w == "keep" && next == "disk":
			return p.bad("/release "+desk.Line(words[:i]), "disks go back with their machines; nothing of them can be kept")
		default:
			if err := p.whatToRelease(words[i]); err != nil {
				return err
			}
		}
	}
	return p.oneTarget()
}

// whatToRelease reads a word that is no word of the grammar: an id.
func (p *parser) whatToRelease(w string) error {
	if near := desk.Nearest(w, []string{"all", "job", "node", "now", "drain"}); near != "" && !strings.Contains(w, "-") && len(w) > 2 {
		if _, err := bridge.ParseRentalID(w); err != nil {
			return p.bad(strings.Replace(p.r.Normal, w, near, 1), "the word %q means nothing here; did you mean %s?", w, near)
		}
	}
	return p.id(w)
}

// oneTarget refuses a line that could mean two things.
func (p *parser) oneTarget() error {
	given := 0
	for _, is := range []bool{len(p.r.Rentals) > 0, p.r.All, p.r.Job != "", p.r.Node != ""} {
		if is {
			given++
		}
	}
	if given > 1 {
		return p.bad("/release all", "say one of: rentals, a job, a node, or all")
	}
	return nil
}

func (p *parser) bad(try, format string, args ...any) error {
	return desk.Wrong(desk.BadRequest, strings.TrimSpace(try), format, args...)
}

// commaed splits words at commas.
func commaed(words []string) []string {
	var out []string
	for _, w := range words {
		if strings.HasPrefix(w, `"`) {
			out = append(out, w)
			continue
		}
		out = append(out, slices.DeleteFunc(strings.FieldsFunc(w, func(r rune) bool { return r == ',' || r == '、' }), func(s string) bool { return s == "" })...)
	}
	return out
}

// plain is words as a text, without the marks of quoted ones.
func plain(words []string) string {
	return strings.ReplaceAll(strings.Join(words, " "), `"`, "")
}
