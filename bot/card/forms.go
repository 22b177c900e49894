package card

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// The forms, by callback id.
const (
	FormRent   = "form-rent"
	FormDeny   = "form-deny"
	FormExtend = "form-extend"
)

// The fields of forms, by action id and block id.
const (
	FieldJob      = "job" // with autocomplete, as are GPU and project
	FieldCount    = "count"
	FieldGPU      = "gpu"
	FieldMachines = "machines"
	FieldFor      = "for"
	FieldMarket   = "market"
	FieldProject  = "project"
	FieldMax      = "max"
	FieldReason   = "reason"
	FieldSuggest  = "suggest"
)

// How long the reason of a no is, in characters.
const (
	leastReason = 10
	mostReason  = 500
)

// RentForm is the form to rent, filled with what was understood already. What
// is wrong or missing stands above it; private comes back with the form.
func (p Pen) RentForm(wish *desk.Wish, wrong, private string) *slack.ModalViewRequest {
	w := p.words()
	var blocks []slack.Block
	if wrong != "" {
		blocks = append(blocks, said("⚠ ", wrong))
	}
	count, machines, length, money := "", "", "", ""
	if wish.GPUs > 0 {
		count = strconv.Itoa(wish.GPUs)
	}
	if wish.Machines > 0 {
		machines = strconv.Itoa(wish.Machines)
	}
	only := desk.Wish{Seconds: wish.Seconds, Until: wish.Until}
	length = strings.TrimPrefix(only.String(), "for ")
	if wish.Max.Micro > 0 {
		only = desk.Wish{Max: wish.Max}
		money = strings.TrimPrefix(only.String(), "max ")
	}
	blocks = append(blocks,
		p.search(FieldJob, w.FieldJob, w.FieldJobHint, string(wish.Job), true),
		p.text(FieldCount, w.FieldCount, "", count, "8", true),
		p.search(FieldGPU, w.FieldGPU, "", wish.GPUType, true),
		p.text(FieldMachines, w.FieldMachines, "", machines, "2", true),
		p.text(FieldFor, w.FieldFor, w.FieldForHint, length, "6h", true),
		p.market(wish.Market),
		p.search(FieldProject, w.FieldProject, "", wish.Project, true),
		p.text(FieldMax, w.FieldMax, w.FieldMaxHint, money, "$120", true),
		reason(FieldReason, w.FieldReason, wish.Reason, 0, true))
	return p.form(FormRent, w.FormRentTitle, w.FormSend, private, blocks)
}

// DenyForm asks for the reason of a no. It carries the question's seal, and
// what a no is said to.
func (p Pen) DenyForm(r *desk.Rental) *slack.ModalViewRequest {
	w := p.words()
	suggest := slack.NewOptionsSelectBlockElement(slack.OptTypeStatic, plain(w.Choose), FieldSuggest)
	for i, s := range p.suggestions() {
		suggest.Options = append(suggest.Options, slack.NewOptionBlockObject(strconv.Itoa(i+1), plain(s), nil))
	}
	usual := slack.NewInputBlock(FieldSuggest, plain(w.FieldSuggest), nil, suggest)
	usual.Optional = true
	blocks := []slack.Block{
		section(put(w.FormDenyWhat, "who", p.who(r.Requester), "what", escape(p.what(r.Count, &r.Shape)), "for", p.span(seconds(r.Life)), "most", r.Hold.String())),
		usual,
		reason(FieldReason, w.FieldDeny, "", leastReason, true),
	}
	return p.form(FormDeny, put(w.FormDenyTitle, "rental", string(r.ID)), w.FormDenyB, Seal(p.Key, string(r.ID), r.Revision, Deny), blocks)
}

func (p Pen) suggestions() []string {
	w := p.words()
	return []string{w.Suggest1, w.Suggest2, w.Suggest3}
}

// DenyReason reads the reason out of a sent form: what was written, else the
// usual reason that was chosen. When it is too short or too long, wrong says
// so, to stand at FieldReason.
func (p Pen) DenyReason(state map[string]string) (text, wrong string) {
	text = tame(state[FieldReason])
	if text == "" {
		usual := p.suggestions()
		if i, err := strconv.Atoi(state[FieldSuggest]); err == nil && i >= 1 && i <= len(usual) {
			return usual[i-1], ""
		}
	}
	if n := utf8.RuneCountInString(text); n < leastReason || n > mostReason {
		return "", p.words().DenyShort
	}
	return text, ""
}

// ExtendForm asks how much longer a rental is to live.
func (p Pen) ExtendForm(r *desk.Rental, wrong string) *slack.ModalViewRequest {
	w := p.words()
	rate := bridge.Money(r.MaxRate)
	if hour, err := r.MaxRate.Cost(seconds(3600), r.Count, bridge.RoundUp); err == nil {
		rate = hour
	}
	var blocks []slack.Block
	if wrong != "" {
		blocks = append(blocks, said("⚠ ", wrong))
	}
	length := p.text(FieldFor, w.FieldExtend, "", "", "2h", false)
	blocks = append(blocks, section(put(w.FormExtendWhat, "at", p.when(r.Expires), "rate", amount(rate))), length)
	return p.form(FormExtend, put(w.FormExtendTitle, "rental", string(r.ID)), w.FormExtendB, Seal(p.Key, string(r.ID), r.Version, Extend), blocks)
}

func (p Pen) form(callback, title, submit, private string, blocks []slack.Block) *slack.ModalViewRequest {
	w := p.words()
	return &slack.ModalViewRequest{
		Type: slack.VTModal, CallbackID: callback, PrivateMetadata: private,
		Title: plain(clip(title, maxTitle)), Submit: plain(clip(submit, maxTitle)), Close: plain(clip(w.FormClose, maxTitle)),
		Blocks: slack.Blocks{BlockSet: FitView(talk.Message{Blocks: blocks}).Blocks},
	}
}

func (p Pen) text(id, label, hint, value, example string, optional bool) slack.Block {
	e := slack.NewPlainTextInputBlockElement(plain(example), id)
	e.InitialValue, e.MaxLength = clip(tame(value), 200), 200
	return input(id, label, hint, e, optional)
}

func reason(id, label, value string, least int, optional bool) slack.Block {
	e := slack.NewPlainTextInputBlockElement(nil, id)
	e.Multiline, e.MinLength, e.MaxLength, e.InitialValue = true, least, mostReason, clip(tame(value), mostReason)
	return input(id, label, "", e, optional)
}

// search is a choice with autocomplete.
func (p Pen) search(id, label, hint, value string, optional bool) slack.Block {
	e := slack.NewOptionsSelectBlockElement(slack.OptTypeExternal, plain(p.words().Choose), id)
	e.MinQueryLength = new(int)
	if value = clip(tame(value), maxOption); value != "" {
		e.InitialOption = slack.NewOptionBlockObject(value, plain(value), nil)
	}
	return input(id, label, hint, e, optional)
}

func (p Pen) market(m bridge.Market) slack.Block {
	w := p.words()
	e := slack.NewOptionsSelectBlockElement(slack.OptTypeStatic, plain(w.Choose), FieldMarket)
	for _, o := range []struct {
		market bridge.Market
		text   string
	}{{"any", w.MarketAny}, {bridge.Spot, w.MarketSpot}, {bridge.OnDemand, w.MarketOnDemand}} {
		option := slack.NewOptionBlockObject(string(o.market), plain(o.text), nil)
		e.Options = append(e.Options, option)
		if o.market == m || m == "" && o.market == "any" {
			e.InitialOption = option
		}
	}
	return input(FieldMarket, w.FieldMarket, "", e, true)
}

func input(id, label, hint string, e slack.BlockElement, optional bool) slack.Block {
	b := slack.NewInputBlock(id, plain(label), nil, e)
	if hint != "" {
		b.Hint = plain(hint)
	}
	b.Optional = optional
	return b
}
