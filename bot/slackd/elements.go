package slackd

import (
	"fmt"
	"unicode/utf8"
)

// place is the kind of block an element is in.
type place int

const (
	inSection place = 1 << iota
	inActions
	inInput
)

// part judges one type of element; where says in which blocks it may be.
type part struct {
	judge func(*judge, object, string)
	where place
}

var parts map[string]part

func init() {
	choice := part{(*judge).choices, inSection | inActions | inInput}
	picker := part{(*judge).picker, inSection | inActions | inInput}
	parts = map[string]part{
		"button":          {(*judge).button, inSection | inActions},
		"overflow":        {(*judge).overflow, inSection | inActions},
		"image":           {(*judge).picture, inSection},
		"radio_buttons":   choice,
		"checkboxes":      choice,
		"datepicker":      picker,
		"timepicker":      picker,
		"datetimepicker":  {(*judge).picker, inActions | inInput},
		"static_select":   {(*judge).staticSelect, inSection | inActions | inInput},
		"external_select": {(*judge).externalSelect, inSection | inActions | inInput},
		"users_select":    picker, "conversations_select": picker, "channels_select": picker,
		"multi_static_select":   {(*judge).staticSelect, inSection | inActions | inInput},
		"multi_external_select": {(*judge).externalSelect, inSection | inActions | inInput},
		"multi_users_select":    picker, "multi_conversations_select": picker, "multi_channels_select": picker,
		"plain_text_input": {(*judge).textInput, inInput},
		"number_input":     {(*judge).numberInput, inInput},
		"email_text_input": {(*judge).picker, inInput},
		"url_text_input":   {(*judge).picker, inInput},
		"rich_text_input":  {(*judge).picker, inInput | inActions},
	}
}

func (j *judge) element(e object, at string, in place) {
	kind, _ := e["type"].(string)
	p, known := parts[kind]
	if !known {
		j.refuse(at+"/type", "unsupported_type", "unsupported type: %s", kind)
		return
	}
	if p.where&in == 0 {
		j.refuse(at+"/type", "unsupported_type", "%s is not allowed here", kind)
		return
	}
	j.word(e, at, "action_id", maxID)
	if e["focus_on_load"] == true {
		if j.focus++; j.focus > 1 {
			j.refuse(at+"/focus_on_load", "failed_constraint", "only one element may have focus_on_load")
		}
	}
	j.confirm(e, at)
	p.judge(j, e, at)
}

func (j *judge) confirm(e object, at string) {
	c := j.thing(e, at, "confirm")
	if c == nil {
		return
	}
	at += "/confirm"
	j.textAt(c, at, "title", maxConfirmTitle, true, true)
	j.textAt(c, at, "text", maxConfirmText, false, true)
	j.textAt(c, at, "confirm", maxConfirmButton, true, true)
	j.textAt(c, at, "deny", maxConfirmButton, true, true)
	j.style(c, at)
}

func (j *judge) style(o object, at string) {
	if s := j.word(o, at, "style", maxID); o["style"] != nil {
		j.oneOf(at+"/style", s, "primary", "danger")
	}
}

func (j *judge) button(e object, at string) {
	j.textAt(e, at, "text", maxButtonText, true, true)
	j.word(e, at, "value", maxButtonValue)
	j.word(e, at, "url", maxURL)
	j.word(e, at, "accessibility_label", maxAccessibility)
	j.style(e, at)
}

func (j *judge) overflow(e object, at string) {
	j.options(j.list(e, at, "options", minOverflow, maxOverflow), at+"/options", true)
}

func (j *judge) choices(e object, at string) {
	j.options(j.list(e, at, "options", 1, maxChoices), at+"/options", false)
}

func (j *judge) picker(e object, at string) {
	j.textAt(e, at, "placeholder", maxPlaceholder, true, false)
}

func (j *judge) staticSelect(e object, at string) {
	j.picker(e, at)
	groups, options := e["option_groups"] != nil, e["options"] != nil
	if groups == options {
		j.refuse(at, "failed_constraint", "exactly one of options and option_groups is needed")
		return
	}
	if options {
		j.options(j.list(e, at, "options", 1, maxOptions), at+"/options", true)
	} else {
		j.optionGroups(j.list(e, at, "option_groups", 1, maxOptionGroups), at+"/option_groups")
	}
	j.initial(e, at)
}

// initial refuses a first choice that is not among the options: Slack then
// refuses the whole view.
func (j *judge) initial(e object, at string) {
	o, ok := e["initial_option"].(object)
	if !ok {
		return
	}
	if _, found := findOption(e, o["value"]); !found {
		j.refuse(at+"/initial_option", "failed_constraint", "initial_option must match one of the options")
	}
}

func (j *judge) externalSelect(e object, at string) {
	j.picker(e, at)
	if o := j.thing(e, at, "initial_option"); o != nil {
		j.options([]any{o}, at+"/initial_option", true)
	}
}

func (j *judge) optionGroups(list []any, at string) {
	for i, v := range list {
		here := fmt.Sprintf("%s/%d", at, i)
		g := j.asObject(v, here)
		if g == nil {
			continue
		}
		j.textAt(g, here, "label", maxGroupLabel, true, true)
		j.options(j.list(g, here, "options", 1, maxOptions), here+"/options", true)
	}
}

func (j *judge) options(list []any, at string, plain bool) {
	seen := map[string]bool{}
	for i, v := range list {
		here := fmt.Sprintf("%s/%d", at, i)
		o := j.asObject(v, here)
		if o == nil {
			continue
		}
		j.textAt(o, here, "text", maxOptionText, plain, true)
		j.textAt(o, here, "description", maxOptionHint, plain, false)
		value := j.need(o, here, "value", maxOptionValue)
		if value != "" && seen[value] {
			j.refuse(here+"/value", "failed_constraint", "option value %q is used twice", value)
		}
		seen[value] = true
		j.word(o, here, "url", maxURL)
	}
}

func (j *judge) textInput(e object, at string) {
	j.picker(e, at)
	least, most := j.whole(e, at, "min_length", 0), j.whole(e, at, "max_length", maxInputLength)
	if least > most {
		j.refuse(at+"/min_length", "failed_constraint", "min_length is above max_length")
	}
	initial := j.word(e, at, "initial_value", maxInputLength)
	if e["initial_value"] != nil && utf8.RuneCountInString(initial) > most {
		j.refuse(at+"/initial_value", "failed_constraint", "initial_value is longer than max_length")
	}
}

// whole reads an optional number from 0 to what an input may hold.
func (j *judge) whole(e object, at, key string, without int) int {
	v, there := e[key]
	if !there {
		return without
	}
	f, ok := v.(float64)
	if !ok || f != float64(int(f)) {
		j.refuse(at+"/"+key, "invalid_type", "must be a whole number")
		return without
	}
	least := 0
	if key == "max_length" {
		least = 1
	}
	j.between(at+"/"+key, int(f), least, maxInputLength, "")
	return int(f)
}

func (j *judge) numberInput(e object, at string) {
	j.picker(e, at)
	if _, ok := e["is_decimal_allowed"].(bool); !ok {
		j.refuse(at+"/is_decimal_allowed", "missing_field", "missing required field: is_decimal_allowed")
	}
}

// findOption looks an option up by its value, in options and groups.
func findOption(e object, value any) (object, bool) {
	look := func(list any) (object, bool) {
		options, _ := list.([]any)
		for _, v := range options {
			if o, ok := v.(object); ok && o["value"] == value {
				return o, true
			}
		}
		return nil, false
	}
	if o, ok := look(e["options"]); ok {
		return o, true
	}
	groups, _ := e["option_groups"].([]any)
	for _, v := range groups {
		if g, ok := v.(object); ok {
			if o, found := look(g["options"]); found {
				return o, true
			}
		}
	}
	return nil, false
}
