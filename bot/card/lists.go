package card

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// mostLines bounds lists of blocks; tables hold more.
const mostLines = 20

// Quotes lists what a wish would cost. The Rent button of a line carries id
// and the line's number as revision; without an id there are no buttons.
func (p Pen) Quotes(id string, a *desk.QuoteAnswer, good time.Duration) talk.Message {
	w := p.words()
	title := put(w.QuoteTitle, "id", id, "what", escape(a.Understood))
	m := talk.Message{Text: title, Blocks: []slack.Block{section("*" + title + "*")}}
	if len(a.Offers) == 0 {
		m.Blocks = append(m.Blocks, said("", orElse(a.Why, w.QuoteNone)))
		return Fit(m)
	}
	for i := range a.Offers[:min(len(a.Offers), mostLines)] {
		m.Blocks = append(m.Blocks, p.quoted(id, i, &a.Offers[i]))
	}
	if n := len(a.Offers) - mostLines; n > 0 {
		m.Blocks = append(m.Blocks, small(put(w.More, "n", strconv.Itoa(n))))
	}
	m.Blocks = append(m.Blocks, p.local(a.Local, a.At)...)
	if n := len(a.Budgets); n > 0 {
		b := &a.Budgets[n-1]
		m.Blocks = append(m.Blocks, small(put(w.QuoteGood, "for", p.span(good), "account", escape(p.scope(b.Scope())), "left", b.Left.Floor(), "limit", b.Limit.Floor())))
	}
	return Fit(m)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func (p Pen) quoted(id string, i int, o *desk.Quoted) slack.Block {
	w := p.words()
	what, place, boot := p.what(o.Machines, &o.Shape), p.place(o.Pool), ""
	if o.Boot > 0 {
		boot = put(w.QuoteBoot, "for", p.span(seconds(o.Boot)))
	}
	text := put(w.QuoteLine, "place", escape(place), "what", escape(what), "rate", bridge.Money(o.Rate).String(),
		"expected", o.Expected.String(), "most", o.AtMost.String(), "boot", boot)
	body := w.RentBody
	switch o.Outcome {
	case desk.AskOne:
		body = w.RentAsk
		if o.Over.Micro > 0 {
			text += "\n_" + put(w.AsksFirst, "over", o.Over.String()) + "_"
		} else {
			text += "\n_" + w.AsksPolicy + "_"
		}
	case desk.Refused:
		return section(text + "\n_" + escape(o.Text) + "_")
	case desk.AtOnce:
	}
	if id == "" {
		return section(text)
	}
	b := confirm(p.button(Rent, id, int64(i), w.RentB, ""), w, w.RentTitle, put(body, "what", what, "place", place, "most", o.AtMost.String()), w.RentB)
	return p.line(blockID(id, int64(i)), text, b)
}

// Rentals lists rentals as a table, with a Release button for each that can be
// given back; the first lines only have buttons when there are many.
func (p Pen) Rentals(rs []desk.Rental, now time.Time) talk.Message {
	w := p.words()
	if len(rs) == 0 {
		return Say(w.RentalsNone)
	}
	t := slack.NewTableBlock("")
	t.AddRow(cells(w.ColID, w.ColWhat, w.ColState, w.ColAge, w.ColEnds, w.ColCost, w.ColMost, w.ColUse)...)
	held, running, waiting := bridge.Money{}, 0, 0
	for i := range rs {
		r := &rs[i]
		t.AddRow(cells(string(r.ID), p.what(r.Count, &r.Shape), w.States[r.State], p.span(max(0, now.Sub(r.Created))), p.ends(r, now), amount(r.Cost), amount(r.Hold), used(r))...)
		switch {
		case r.State == bridge.StateWaiting:
			waiting++
		case r.State.Held():
			running++
			if sum, err := held.Add(r.Hold); err == nil {
				held = sum
			}
		}
	}
	foot := put(w.RentalsFoot, "running", strconv.Itoa(running), "waiting", strconv.Itoa(waiting), "held", amount(held))
	if held.IsZero() {
		foot = put(w.RentalsNothing, "running", strconv.Itoa(running), "waiting", strconv.Itoa(waiting))
	}
	for i := range rs {
		if r := &rs[i]; r.IdleSecs > 0 && r.State == bridge.StateAdmitted {
			foot += p.gap() + put(w.RentalsIdle, "rental", string(r.ID), "for", p.span(seconds(r.IdleSecs)))
		}
	}
	m := talk.Message{Text: foot, Blocks: []slack.Block{t, small(foot)}}
	buttons := 0
	for i := range rs {
		r := &rs[i]
		if givesBack(r.State) && buttons < mostLines && len(p.Key) > 0 {
			buttons++
			m.Blocks = append(m.Blocks, p.line(blockID(string(r.ID), r.Version), "*"+string(r.ID)+"* · "+escape(p.what(r.Count, &r.Shape)), p.release(r)))
		}
	}
	return Fit(m)
}

// used is how busy a rental's GPUs are; a dash where nobody knows.
func used(r *desk.Rental) string {
	use, known := r.Use()
	if !known || r.State != bridge.StateAdmitted {
		return ""
	}
	return strconv.Itoa((use+5)/10) + " %"
}

// gap stands between two sentences.
func (p Pen) gap() string {
	if p.Lang == desk.Chinese {
		return ""
	}
	return " "
}

func givesBack(s bridge.State) bool {
	return s == bridge.StateLaunching || s == bridge.StateJoining || s == bridge.StateAdmitted || s == bridge.StateDraining
}

// ends says in how long a rental ends; one that waits for a yes has no end yet.
func (p Pen) ends(r *desk.Rental, now time.Time) string {
	if r.State == bridge.StateWaiting || r.State.Ended() || r.Expires.IsZero() {
		return "–"
	}
	return p.span(max(0, r.Expires.Sub(now)))
}

// happened names a kind of news.
func (p Pen) happened(k bridge.NewsKind) string { return orElse(p.words().Happened[k], string(k)) }

func cells(texts ...string) []slack.TableCell {
	out := make([]slack.TableCell, 0, len(texts))
	for _, s := range texts {
		if s = tame(s); s == "" {
			s = "–" // Slack refuses an empty cell
		}
		out = append(out, slack.NewTableRawTextCell(s))
	}
	return out
}

// Rental shows one rental with what happened to it, newest last.
func (p Pen) Rental(a *desk.RentalAnswer, now time.Time) talk.Message {
	m := p.Grant(&a.Rental, now)
	if a.Rental.State == bridge.StateWaiting {
		m = p.Request(&desk.Question{Rental: a.Rental}, now)
	}
	m.Blocks = append(m.Blocks, p.machines(&a.Rental)...)
	var lines []string
	for i := max(0, len(a.News)-mostLines); i < len(a.News); i++ {
		n := &a.News[i]
		facts := []string{p.when(n.At) + " " + escape(p.happened(n.Kind))}
		for _, s := range []string{n.Node, string(n.Job), n.Who} {
			if s != "" {
				facts = append(facts, escape(s))
			}
		}
		lines = append(lines, strings.Join(facts, " · "))
	}
	if len(lines) > 0 {
		m.Blocks = append(m.Blocks, section("*"+p.words().HistoryTitle+"*\n"+strings.Join(lines, "\n")))
	}
	return Fit(m)
}

// Spend shows budgets, with Slack's own chart where the workspace draws it.
func (p Pen) Spend(a *desk.SpendAnswer, chart bool) talk.Message {
	w := p.words()
	if len(a.Accounts) == 0 {
		return Say(w.SpendNone)
	}
	m := talk.Message{Text: w.SpendTitle, Blocks: []slack.Block{header(w.SpendTitle)}}
	for i := range a.Accounts {
		m.Blocks = append(m.Blocks, section(p.budget(&a.Accounts[i])+"\n"+bar(&a.Accounts[i])))
	}
	last := &a.Accounts[len(a.Accounts)-1]
	m.Text = p.budget(last)
	if chart {
		if c := p.chart(a.Accounts); c != nil {
			m.Blocks = append(m.Blocks, c)
		}
	}
	return Fit(m)
}

func (p Pen) budget(b *desk.Balance) string {
	w := p.words()
	text, hard, over := w.SpendLine, "", b.Left
	if b.Left.Micro < 0 {
		text, over.Micro = w.SpendOver, -b.Left.Micro
	}
	if b.Hard {
		hard = w.SpendHard
	}
	return put(text, "account", escape(p.scope(b.Scope())), "period", escape(b.Period), "hard", hard, "posted", amount(b.Posted), "held", amount(b.Held),
		"left", b.Left.Floor(), "limit", b.Limit.Floor(), "over", amount(over), "percent", strconv.FormatInt(perMille(b, b.Posted.Micro+b.Held.Micro)/10, 10))
}

// perMille is the part of a budget's limit, rounded up.
func perMille(b *desk.Balance, micro int64) int64 {
	if b.Limit.Micro <= 0 {
		return 1000
	}
	return (micro/b.Limit.Micro)*1000 + (micro%b.Limit.Micro*1000+b.Limit.Micro-1)/b.Limit.Micro
}

// bar draws a budget: posted, held, left.
func bar(b *desk.Balance) string {
	const width = 20
	posted := min(width, (perMille(b, b.Posted.Micro)*width+999)/1000)
	used := min(width, (perMille(b, b.Posted.Micro+b.Held.Micro)*width+999)/1000)
	return strings.Repeat("█", int(posted)) + strings.Repeat("▒", int(max(0, used-posted))) + strings.Repeat("░", int(width-max(used, posted)))
}

// chart is a bar for each account, of one currency; at most six series and
// twenty points are drawn.
func (p Pen) chart(bs []desk.Balance) slack.Block {
	w := p.words()
	currency := bs[0].Limit.Currency
	var names []string
	var posted, held, left []slack.DataVisualizationDataPoint
	units := func(micro int64) float64 { return float64(max(0, micro)/10_000) / 100 }
	for i := range bs {
		b := &bs[i]
		if b.Limit.Currency != currency || len(names) == maxPoints {
			continue
		}
		name := clip(fmt.Sprintf("%d %s", i+1, p.Lang.Scope(bridge.Scope{Account: bridge.Account(lastLevel(b.Account)), Cloud: b.Cloud, GPU: b.GPU})), maxChartLabel)
		names = append(names, name)
		posted = append(posted, slack.NewDataVisualizationDataPoint(name, units(b.Posted.Micro)))
		held = append(held, slack.NewDataVisualizationDataPoint(name, units(b.Held.Micro)))
		left = append(left, slack.NewDataVisualizationDataPoint(name, units(b.Left.Micro)))
	}
	return slack.NewDataVisualizationBlock(clip(put(w.ChartTitle, "currency", string(currency)), maxChartTitle),
		slack.NewDataVisualizationBarChart(slack.NewDataVisualizationAxisConfig(names...).WithYLabel(string(currency)),
			slack.NewDataVisualizationDataSeries(w.ChartPosted, posted...), slack.NewDataVisualizationDataSeries(w.ChartHeld, held...), slack.NewDataVisualizationDataSeries(w.ChartLeft, left...)))
}

func lastLevel(a bridge.Account) string {
	return string(a[strings.LastIndex(string(a), "/")+1:])
}

// Help is the help on a topic: money, words, all that can be asked for, or the
// five lines to begin with.
func (p Pen) Help(topic string) talk.Message {
	w := p.words()
	example := string(bridge.NewRentalID(1))
	switch topic {
	case "money":
		return Say(w.HelpMoney)
	case "words":
		return Say(w.HelpWords)
	case "all":
		return Say(put(w.HelpAll, "rental", example))
	}
	m := talk.Message{Text: w.HelpTitle, Blocks: []slack.Block{header(w.HelpTitle), section(put(w.HelpMain, "rental", example)), small(w.HelpMore)}}
	return Fit(m)
}
