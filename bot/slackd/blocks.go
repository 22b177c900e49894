package slackd

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// surface is where blocks are to be shown.
type surface string

const (
	onMessage surface = "message"
	onModal   surface = "modal"
	onHome    surface = "home"
)

// flaw is one mistake in blocks, as blocks.validate tells it.
type flaw struct {
	Pointer    string      `json:"pointer"`
	Code       string      `json:"code"`
	Message    string      `json:"message"`
	Constraint *constraint `json:"constraint,omitempty"`
}

type constraint struct {
	Type     string   `json:"type"`
	Expected []string `json:"expected,omitempty"`
	Got      string   `json:"got,omitempty"`
}

// line is the flaw as the other methods tell it.
func (f flaw) line() string { return f.Message + " [json-pointer:" + f.Pointer + "]" }

// object is a JSON object.
type object = map[string]any

// judge reads blocks and notes what Slack would refuse.
type judge struct {
	on     surface
	flaws  []flaw
	text   int // characters of all texts
	blocks map[string]bool
	tables int
	charts int
	focus  int
	inputs int
}

func (j *judge) refuse(at, code, format string, args ...any) {
	j.flaws = append(j.flaws, flaw{Pointer: at, Code: code, Message: fmt.Sprintf(format, args...)})
}

// oneOf refuses a word that is not in the list.
func (j *judge) oneOf(at, got string, list ...string) bool {
	if slices.Contains(list, got) {
		return true
	}
	j.flaws = append(j.flaws, flaw{
		Pointer: at, Code: "failed_constraint", Message: "unsupported " + at[strings.LastIndexByte(at, '/')+1:] + ": " + got,
		Constraint: &constraint{Type: "enum", Expected: list, Got: got},
	})
	return false
}

// between refuses a count of characters or things outside its bounds.
func (j *judge) between(at string, n, least, most int, what string) {
	switch {
	case n < least:
		j.refuse(at, "failed_constraint", "must be more than %d %s", least-1, what)
	case n > most:
		j.refuse(at, "failed_constraint", "must be less than %d %s", most+1, what)
	}
}

// word reads an optional string of the object and holds it to a length.
func (j *judge) word(o object, at, key string, most int) string {
	v, there := o[key]
	if !there || v == nil {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		j.refuse(at+"/"+key, "invalid_type", "must be a string")
		return ""
	}
	j.between(at+"/"+key, utf8.RuneCountInString(s), 0, most, "characters")
	return s
}

// need is a word that must be there and not empty.
func (j *judge) need(o object, at, key string, most int) string {
	s := j.word(o, at, key, most)
	if s == "" {
		j.refuse(at+"/"+key, "missing_field", "missing required field: %s", key)
	}
	return s
}

// list reads an array of the object.
func (j *judge) list(o object, at, key string, least, most int) []any {
	v, there := o[key]
	if !there || v == nil {
		if least > 0 {
			j.refuse(at+"/"+key, "missing_field", "missing required field: %s", key)
		}
		return nil
	}
	l, ok := v.([]any)
	if !ok {
		j.refuse(at+"/"+key, "invalid_type", "must be an array")
		return nil
	}
	j.between(at+"/"+key, len(l), least, most, "items")
	return l
}

// thing reads an object of the object; nil when it is not there.
func (j *judge) thing(o object, at, key string) object {
	v, there := o[key]
	if !there || v == nil {
		return nil
	}
	return j.asObject(v, at+"/"+key)
}

func (j *judge) asObject(v any, at string) object {
	o, ok := v.(object)
	if !ok {
		j.refuse(at, "invalid_type", "must be an object")
		return nil
	}
	return o
}

// textOf judges a text object; plain refuses mrkdwn.
func (j *judge) textOf(o object, at string, most int, plain bool) {
	if o == nil {
		return
	}
	kind, _ := o["type"].(string)
	types := []string{"plain_text", "mrkdwn"}
	if plain {
		types = types[:1]
	}
	if !j.oneOf(at+"/type", kind, types...) {
		return
	}
	s, ok := o["text"].(string)
	if !ok {
		j.refuse(at+"/text", "missing_field", "missing required field: text")
		return
	}
	n := utf8.RuneCountInString(s)
	j.text += n
	j.between(at+"/text", n, 1, most, "characters")
	if _, there := o["emoji"]; there && kind == "mrkdwn" {
		j.refuse(at+"/emoji", "failed_constraint", "invalid additional property: emoji")
	}
	if _, there := o["verbatim"]; there && kind == "plain_text" {
		j.refuse(at+"/verbatim", "failed_constraint", "invalid additional property: verbatim")
	}
}

// textAt judges the text object under a key.
func (j *judge) textAt(o object, at, key string, most int, plain, needed bool) {
	t := j.thing(o, at, key)
	if t == nil {
		if needed && o[key] == nil {
			j.refuse(at+"/"+key, "missing_field", "missing required field: %s", key)
		}
		return
	}
	j.textOf(t, at+"/"+key, most, plain)
}

// blocksOf judges a list of blocks.
func (j *judge) blocksOf(list []any, at string, most int) {
	if len(list) > most {
		j.refuse(at, "failed_constraint", "no more than %d items allowed", most)
		return
	}
	for i, v := range list {
		here := fmt.Sprintf("%s/%d", at, i)
		if b := j.asObject(v, here); b != nil {
			j.block(b, here)
		}
	}
}

// shape judges one type of block; where says on which surfaces it may be.
type shape struct {
	judge func(*judge, object, string)
	where []surface
}

var (
	everywhere  = []surface{onMessage, onModal, onHome}
	messageOnly = []surface{onMessage}
)

// shapes are the blocks that Slack documents for messages, forms and Home;
// what it has for streams only is not among them.
var shapes map[string]shape

func init() {
	shapes = map[string]shape{
		"section":            {(*judge).section, everywhere},
		"divider":            {func(*judge, object, string) {}, everywhere},
		"header":             {(*judge).header, everywhere},
		"context":            {(*judge).context, everywhere},
		"actions":            {(*judge).actions, everywhere},
		"input":              {(*judge).input, everywhere},
		"image":              {(*judge).image, everywhere},
		"rich_text":          {(*judge).richText, everywhere},
		"markdown":           {(*judge).markdown, messageOnly},
		"table":              {(*judge).table, messageOnly},
		"data_table":         {(*judge).dataTable, messageOnly},
		"data_visualization": {(*judge).chart, messageOnly},
		"alert":              {(*judge).alert, []surface{onModal}},
		"container":          {(*judge).container, everywhere},
	}
}

func (j *judge) block(b object, at string) {
	kind, _ := b["type"].(string)
	s, known := shapes[kind]
	if !known {
		j.refuse(at+"/type", "unsupported_type", "unsupported type: %s", kind)
		return
	}
	if !slices.Contains(s.where, j.on) {
		j.refuse(at+"/type", "unsupported_type", "block type %s is not supported in a %s", kind, j.on)
		return
	}
	if id := j.word(b, at, "block_id", maxID); id != "" {
		if j.blocks[id] {
			j.refuse(at+"/block_id", "duplicate_block_id", "block_id %q already exists", id)
		}
		j.blocks[id] = true
	}
	s.judge(j, b, at)
}

func (j *judge) header(b object, at string) { j.textAt(b, at, "text", maxHeader, true, true) }
func (j *judge) alert(b object, at string)  { j.textAt(b, at, "text", maxAlert, false, true) }

func (j *judge) section(b object, at string) {
	fields := j.list(b, at, "fields", 0, maxFields)
	j.textAt(b, at, "text", maxSection, false, len(fields) == 0)
	for i, f := range fields {
		here := fmt.Sprintf("%s/fields/%d", at, i)
		j.textOf(j.asObject(f, here), here, maxField, false)
	}
	if a := j.thing(b, at, "accessory"); a != nil {
		j.element(a, at+"/accessory", inSection)
	}
}

func (j *judge) context(b object, at string) {
	for i, v := range j.list(b, at, "elements", 1, maxContext) {
		here := fmt.Sprintf("%s/elements/%d", at, i)
		e := j.asObject(v, here)
		if e == nil {
			continue
		}
		if e["type"] == "image" {
			j.picture(e, here)
			continue
		}
		j.textOf(e, here, maxSection, false)
	}
}

func (j *judge) actions(b object, at string) {
	seen := map[string]bool{}
	for i, v := range j.list(b, at, "elements", 1, maxActions) {
		here := fmt.Sprintf("%s/elements/%d", at, i)
		e := j.asObject(v, here)
		if e == nil {
			continue
		}
		j.element(e, here, inActions)
		if id, _ := e["action_id"].(string); id != "" {
			if seen[id] {
				j.refuse(here+"/action_id", "duplicate_action_id", "action_id %q already exists in this block", id)
			}
			seen[id] = true
		}
	}
}

func (j *judge) input(b object, at string) {
	j.inputs++
	j.textAt(b, at, "label", maxLabel, true, true)
	j.textAt(b, at, "hint", maxHint, true, false)
	e := j.thing(b, at, "element")
	if e == nil {
		j.refuse(at+"/element", "missing_field", "missing required field: element")
		return
	}
	j.element(e, at+"/element", inInput)
}

func (j *judge) image(b object, at string) {
	j.picture(b, at)
	j.textAt(b, at, "title", maxTitle, true, false)
}

func (j *judge) picture(b object, at string) {
	j.need(b, at, "alt_text", maxAlt)
	if j.thing(b, at, "slack_file") == nil {
		if url := j.need(b, at, "image_url", maxImageURL); url != "" && !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
			j.refuse(at+"/image_url", "failed_constraint", "invalid url")
		}
	}
}

func (j *judge) markdown(b object, at string) {
	j.text += utf8.RuneCountInString(j.need(b, at, "text", maxMarkdown))
}

func (j *judge) container(b object, at string) {
	j.textAt(b, at, "title", maxHeader, true, b["rich_text_title"] == nil)
	j.textAt(b, at, "subtitle", maxHeader, false, false)
	j.blocksOf(j.list(b, at, "child_blocks", 1, maxContainer), at+"/child_blocks", maxContainer)
}

// richText counts what is shown; the inner elements are free.
func (j *judge) richText(b object, at string) {
	for i, v := range j.list(b, at, "elements", 1, 1000) {
		here := fmt.Sprintf("%s/elements/%d", at, i)
		e := j.asObject(v, here)
		if e == nil {
			continue
		}
		kind, _ := e["type"].(string)
		j.oneOf(here+"/type", kind, "rich_text_section", "rich_text_list", "rich_text_preformatted", "rich_text_quote")
		j.text += shownText(e)
	}
}

func shownText(v any) int {
	n := 0
	switch v := v.(type) {
	case object:
		if s, ok := v["text"].(string); ok {
			n += utf8.RuneCountInString(s)
		}
		n += shownText(v["elements"])
	case []any:
		for _, e := range v {
			n += shownText(e)
		}
	}
	return n
}

// judgeMessage reads the blocks of a message. tooLong is the sum of all texts
// being more than Slack takes.
func judgeMessage(raw json.RawMessage) (flaws []flaw, tooLong bool) {
	j := &judge{on: onMessage, blocks: map[string]bool{}}
	var list []any
	if err := json.Unmarshal(raw, &list); err != nil {
		j.refuse("/blocks", "invalid_type", "must be an array of blocks")
		return j.flaws, false
	}
	j.blocksOf(list, "/blocks", maxMessageBlocks)
	return j.flaws, j.text > maxMessageText
}
