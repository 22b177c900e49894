package slackd

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// initialValue is the state of an element before anybody touched it; buttons
// and overflow menus have none.
func initialValue(e object) (value object, stateful bool) {
	kind, _ := e["type"].(string)
	out := object{"type": kind}
	switch kind {
	case "plain_text_input", "number_input", "email_text_input", "url_text_input":
		out["value"] = e["initial_value"]
	case "static_select", "external_select", "radio_buttons":
		out["selected_option"] = e["initial_option"]
	case "multi_static_select", "multi_external_select", "checkboxes":
		out["selected_options"] = listOr(e["initial_options"])
	case "datepicker":
		out["selected_date"] = e["initial_date"]
	case "timepicker":
		out["selected_time"] = e["initial_time"]
	case "datetimepicker":
		out["selected_date_time"] = e["initial_date_time"]
	case "users_select":
		out["selected_user"] = e["initial_user"]
	case "channels_select":
		out["selected_channel"] = e["initial_channel"]
	case "conversations_select":
		out["selected_conversation"] = e["initial_conversation"]
	case "multi_users_select":
		out["selected_users"] = listOr(e["initial_users"])
	case "multi_channels_select":
		out["selected_channels"] = listOr(e["initial_channels"])
	case "multi_conversations_select":
		out["selected_conversations"] = listOr(e["initial_conversations"])
	case "rich_text_input":
		out["rich_text_value"] = e["initial_value"]
	default:
		return nil, false
	}
	return out, true
}

func listOr(v any) any {
	if v == nil {
		return []any{}
	}
	return v
}

// choose is the state of an element after a person put in a value, as the
// control interface writes values. offered are options that a suggestion
// brought.
func choose(e object, given any, offered []object) (object, error) {
	out, _ := initialValue(e)
	kind, _ := e["type"].(string)
	empty := given == nil || given == ""
	switch kind {
	case "plain_text_input", "email_text_input", "url_text_input", "number_input":
		return typed(e, out, given)
	case "static_select", "external_select", "radio_buttons":
		out["selected_option"] = nil
		if empty {
			return out, nil
		}
		o, err := pick(e, given, offered)
		out["selected_option"] = o
		return out, err
	case "multi_static_select", "multi_external_select", "checkboxes":
		return pickAll(e, out, given, offered)
	case "datetimepicker":
		n, err := strconv.Atoi(fmt.Sprint(given))
		out["selected_date_time"] = n
		if err != nil {
			return nil, fmt.Errorf("a datetimepicker takes seconds since 1970: %w", err)
		}
		return out, nil
	}
	for key := range out {
		if key == "type" {
			continue
		}
		if empty {
			given = nil
		}
		if _, many := out[key].([]any); many && given == nil {
			given = []any{}
		}
		out[key] = given
	}
	return out, nil
}

// typed holds a text to what its input takes, as Slack's own client does.
func typed(e, out object, given any) (object, error) {
	text, ok := given.(string)
	if n, isNumber := given.(float64); isNumber {
		text, ok = strconv.FormatFloat(n, 'f', -1, 64), true
	}
	switch {
	case given == nil || ok && text == "":
		out["value"] = nil
		return out, nil
	case !ok:
		return nil, fmt.Errorf("a %s takes a string", e["type"])
	}
	if most, limited := e["max_length"].(float64); limited && runes(text) > int(most) {
		return nil, fmt.Errorf("at most %d characters", int(most))
	}
	if least, limited := e["min_length"].(float64); limited && runes(text) < int(least) {
		return nil, fmt.Errorf("at least %d characters", int(least))
	}
	if runes(text) > maxInputLength {
		return nil, fmt.Errorf("at most %d characters", maxInputLength)
	}
	if e["type"] == "number_input" {
		if _, err := strconv.ParseFloat(text, 64); err != nil || e["is_decimal_allowed"] == false && strings.Contains(text, ".") {
			return nil, fmt.Errorf("%q is not a number this field takes", text)
		}
	}
	out["value"] = text
	return out, nil
}

func pickAll(e, out object, given any, offered []object) (object, error) {
	list, ok := given.([]any)
	if !ok && given != nil && given != "" {
		list = []any{given}
	}
	chosen := []any{}
	for _, v := range list {
		o, err := pick(e, v, offered)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, o)
	}
	out["selected_options"] = chosen
	return out, nil
}

// pick finds the option a person chose, by its value or as a whole. Only what
// was offered can be chosen.
func pick(e object, given any, offered []object) (object, error) {
	value := given
	if o, ok := given.(object); ok {
		value = o["value"]
	}
	if o, found := findOption(e, value); found {
		return o, nil
	}
	if o, ok := e["initial_option"].(object); ok && o["value"] == value {
		return o, nil
	}
	for _, o := range offered {
		if o["value"] == value {
			return o, nil
		}
	}
	return nil, fmt.Errorf("there is no option with the value %q", fmt.Sprint(value))
}

// blank reports whether a required field is empty.
func blank(state any) bool {
	o, ok := state.(object)
	if !ok {
		return true
	}
	for key, v := range o {
		if key == "type" {
			continue
		}
		switch v := v.(type) {
		case nil:
			return true
		case string:
			return v == ""
		case []any:
			return len(v) == 0
		}
	}
	return false
}

// plain turns a value into what JSON decoding gives, so that states compare
// and copy the same wherever they came from.
func plain(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	var out any
	_ = json.Unmarshal(text, &out) // just written
	return out
}
