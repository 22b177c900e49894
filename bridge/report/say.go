package report

import (
	"strings"

	"spillway.sh/spillway/bridge"
)

// say returns a text with its facts filled in. A text that is not there is a
// mistake of ours; its name is shown then, and a test finds it first.
func (g Lang) say(key string, facts ...string) string {
	table := english
	if g == Chinese {
		table = chinese
	}
	text, ok := table[key]
	if !ok {
		return key
	}
	for i := 0; i+1 < len(facts); i += 2 {
		text = strings.ReplaceAll(text, "{"+facts[i]+"}", facts[i+1])
	}
	return text
}

func (g Lang) facts(key string, facts map[string]string) string {
	list := make([]string, 0, 2*len(facts))
	for k, v := range facts {
		list = append(list, k, v)
	}
	return g.say(key, list...)
}

// Text says a note.
func (n *Note) Text(g Lang) string { return g.facts("note."+string(n.Code), n.Facts) }

// Text says an advice, without its amount and its command.
func (a *Advice) Text(g Lang) string { return g.facts("advice."+string(a.Code), a.Facts) }

// reason says why people are asked.
func (g Lang) reason(why bridge.Reason) string {
	if why == bridge.ReasonOverBudget || why == bridge.ReasonAskAbove {
		return g.say("reason." + string(why))
	}
	return string(why)
}

// Title names the report.
func (r *Report) Title(g Lang) string {
	if r.Account != "" {
		return g.say("title.account", "week", r.Week, "account", string(r.Account))
	}
	return g.say("title", "week", r.Week)
}

// Span says which days it is about, in which zone, and as of when.
func (r *Report) Span(g Lang) string {
	zone, err := zoneOf(r.Zone)
	if err != nil {
		return r.Week
	}
	const day = "2006-01-02"
	key := "span"
	if r.Open {
		key = "span.open"
	}
	return g.say(key, "from", r.From.In(zone).Format(day), "to", r.To.Add(-1).In(zone).Format(day), "zone", r.Zone, "made", r.Made.In(zone).Format(day+" 15:04"))
}

// Sentence is the first one: what was spent, what it saved, what would have been
// cheaper. What is not known is left out.
func (r *Report) Sentence(g Lang) string {
	h := &r.Headline
	if h.Total.Micro == 0 {
		return g.say("headline.none")
	}
	var said []string
	if h.ElasticPM != nil {
		said = append(said, g.say("headline.share", "share", Percent(*h.ElasticPM), "elastic", amount(h.Elastic).String(), "total", amount(h.Total).String()))
	}
	if h.Saved != nil && *h.Saved > 0 {
		said = append(said, g.say("headline.saved", "hours", h.Saved.String()))
	}
	if x := h.Reserve; x != nil {
		said = append(said, g.say("headline.reserve", "best", count(x.Best).Value, "gpu", x.GPU, "now", count(x.Now).Value, "saves", amount(x.Saves).String()))
	}
	return strings.Join(said, g.say("headline.and")) + g.say("headline.end")
}
