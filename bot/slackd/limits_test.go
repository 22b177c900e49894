package slackd

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"testing"

	"github.com/slack-go/slack"
)

// many is n copies of a thing made by f.
func many(n int, f func(i int) any) []any {
	out := []any{}
	for i := range n {
		out = append(out, f(i))
	}
	return out
}

// chars is a text of n characters that are more than one byte each.
func chars(n int) string { return strings.Repeat("价", n) }

func words(kind string, n int) object { return object{"type": kind, "text": chars(n)} }

func plainText(n int) object { return words("plain_text", n) }

func divider(int) any { return object{"type": "divider"} }

func button(over object) object {
	b := object{"type": "button", "action_id": "a", "text": plainText(5)}
	maps.Copy(b, over)
	return b
}

func actions(elements ...any) object { return object{"type": "actions", "elements": elements} }

func option(i, text, value int) any {
	v := fmt.Sprint(i)
	return object{"text": plainText(text), "value": v + chars(value-len(v))}
}

func options(n int) []any { return many(n, func(i int) any { return option(i, 3, 4) }) }

func input(element object) object {
	return object{"type": "input", "label": plainText(3), "element": element}
}

func confirm(title, text, ok, deny int) object {
	return object{"title": plainText(title), "text": plainText(text), "confirm": plainText(ok), "deny": plainText(deny)}
}

func chartOf(series, points, label int) object {
	name := func(i int) string { s := fmt.Sprintf("%02d", i); return s + chars(label-2) }
	data := many(points, func(i int) any { return object{"label": name(i), "value": 1} })
	return object{"type": "data_visualization", "title": "t", "chart": object{
		"type": "bar", "axis_config": object{"categories": many(points, func(i int) any { return name(i) })},
		"series": many(series, func(i int) any { return object{"name": name(i), "data": data} }),
	}}
}

func tableOf(rows, columns int) object {
	cell := func(int) any { return object{"type": "raw_text", "text": "x"} }
	return object{"type": "table", "rows": many(rows, func(int) any { return many(columns, cell) })}
}

// limitRows are all limits on blocks: what is built with n is taken at the
// limit and refused one above it.
var limitRows = map[string]struct {
	limit int
	build func(n int) []any
}{
	"blocks of a message": {50, func(n int) []any { return many(n, divider) }},
	"block_id":            {255, func(n int) []any { return []any{object{"type": "divider", "block_id": chars(n)}} }},
	"section text":        {3000, func(n int) []any { return []any{object{"type": "section", "text": words("mrkdwn", n)}} }},
	"section fields": {10, func(n int) []any {
		return []any{object{"type": "section", "fields": many(n, func(int) any { return plainText(1) })}}
	}},
	"section field": {2000, func(n int) []any { return []any{object{"type": "section", "fields": []any{plainText(n)}}} }},
	"header":        {150, func(n int) []any { return []any{object{"type": "header", "text": plainText(n)}} }},
	"context elements": {10, func(n int) []any {
		return []any{object{"type": "context", "elements": many(n, func(int) any { return plainText(1) })}}
	}},
	"actions elements": {25, func(n int) []any {
		return []any{actions(many(n, func(i int) any { return button(object{"action_id": fmt.Sprint(i)}) })...)}
	}},
	"action_id":           {255, func(n int) []any { return []any{actions(button(object{"action_id": chars(n)}))} }},
	"button text":         {75, func(n int) []any { return []any{actions(button(object{"text": plainText(n)}))} }},
	"button value":        {2000, func(n int) []any { return []any{actions(button(object{"value": chars(n)}))} }},
	"button url":          {3000, func(n int) []any { return []any{actions(button(object{"url": chars(n)}))} }},
	"accessibility_label": {75, func(n int) []any { return []any{actions(button(object{"accessibility_label": chars(n)}))} }},
	"confirm title":       {100, func(n int) []any { return []any{actions(button(object{"confirm": confirm(n, 1, 1, 1)}))} }},
	"confirm text":        {300, func(n int) []any { return []any{actions(button(object{"confirm": confirm(1, n, 1, 1)}))} }},
	"confirm yes":         {30, func(n int) []any { return []any{actions(button(object{"confirm": confirm(1, 1, n, 1)}))} }},
	"confirm no":          {30, func(n int) []any { return []any{actions(button(object{"confirm": confirm(1, 1, 1, n)}))} }},
	"option text": {75, func(n int) []any {
		return []any{actions(object{"type": "static_select", "options": []any{option(1, n, 4)}})}
	}},
	"option value": {75, func(n int) []any {
		return []any{actions(object{"type": "static_select", "options": []any{option(1, 3, n)}})}
	}},
	"select options": {100, func(n int) []any { return []any{actions(object{"type": "static_select", "options": options(n)})} }},
	"option groups": {100, func(n int) []any {
		return []any{actions(object{"type": "static_select", "option_groups": many(n, func(int) any { return object{"label": plainText(3), "options": options(1)} })})}
	}},
	"group label": {75, func(n int) []any {
		return []any{actions(object{"type": "static_select", "option_groups": []any{object{"label": plainText(n), "options": options(1)}}})}
	}},
	"overflow options": {5, func(n int) []any { return []any{actions(object{"type": "overflow", "options": options(n)})} }},
	"radio buttons":    {10, func(n int) []any { return []any{actions(object{"type": "radio_buttons", "options": options(n)})} }},
	"checkboxes":       {10, func(n int) []any { return []any{actions(object{"type": "checkboxes", "options": options(n)})} }},
	"placeholder": {150, func(n int) []any {
		return []any{input(object{"type": "plain_text_input", "placeholder": plainText(n)})}
	}},
	"max_length": {3000, func(n int) []any { return []any{input(object{"type": "plain_text_input", "max_length": n})} }},
	"input label": {2000, func(n int) []any {
		return []any{object{"type": "input", "label": plainText(n), "element": object{"type": "plain_text_input"}}}
	}},
	"image url": {3000, func(n int) []any {
		return []any{object{"type": "image", "alt_text": "a", "image_url": "https://" + chars(n-8)}}
	}},
	"image alt_text": {2000, func(n int) []any {
		return []any{object{"type": "image", "alt_text": chars(n), "image_url": "https://x"}}
	}},
	"markdown":      {12000, func(n int) []any { return []any{object{"type": "markdown", "text": chars(n)}} }},
	"table rows":    {100, func(n int) []any { return []any{tableOf(n, 1)} }},
	"table columns": {20, func(n int) []any { return []any{tableOf(1, n)} }},
	"tables":        {1, func(n int) []any { return many(n, func(int) any { return tableOf(1, 1) }) }},
	"charts":        {2, func(n int) []any { return many(n, func(int) any { return chartOf(1, 1, 3) }) }},
	"chart title":   {50, func(n int) []any { c := chartOf(1, 1, 3); c["title"] = chars(n); return []any{c} }},
	"chart series":  {6, func(n int) []any { return []any{chartOf(n, 2, 3)} }},
	"chart points":  {20, func(n int) []any { return []any{chartOf(1, n, 3)} }},
	"chart labels":  {20, func(n int) []any { return []any{chartOf(1, 1, n)} }},
	"pie segments": {6, func(n int) []any {
		return []any{object{"type": "data_visualization", "title": "t", "chart": object{"type": "pie", "segments": many(n, func(int) any { return object{"label": "a", "value": 1} })}}}
	}},
	"blocks of a container": {10, func(n int) []any {
		return []any{object{"type": "container", "title": plainText(3), "child_blocks": many(n, divider)}}
	}},
}

func judged(t *testing.T, blocks []any) ([]flaw, bool) {
	t.Helper()
	raw, err := json.Marshal(blocks)
	if err != nil {
		t.Fatal(err)
	}
	return judgeMessage(raw)
}

func TestEveryLimitOfBlocksIsTakenAndOneMoreIsNot(t *testing.T) {
	for name, row := range limitRows {
		t.Run(name, func(t *testing.T) {
			if flaws, _ := judged(t, row.build(row.limit)); len(flaws) > 0 {
				t.Errorf("at %d: %v", row.limit, flaws)
			}
			if flaws, _ := judged(t, row.build(row.limit+1)); len(flaws) == 0 {
				t.Errorf("%d are taken", row.limit+1)
			}
		})
	}
}

func viewOf(over object) rawJSON {
	v := object{"type": "modal", "title": plainText(3), "blocks": []any{}}
	maps.Copy(v, over)
	raw, _ := json.Marshal(v)
	return raw
}

func TestEveryLimitOfFormsIsTakenAndOneMoreIsNot(t *testing.T) {
	for name, row := range map[string]struct {
		limit int
		build func(n int) object
	}{
		"title":            {24, func(n int) object { return object{"title": plainText(n)} }},
		"submit":           {24, func(n int) object { return object{"submit": plainText(n)} }},
		"close":            {24, func(n int) object { return object{"close": plainText(n)} }},
		"blocks":           {100, func(n int) object { return object{"blocks": many(n, divider)} }},
		"private_metadata": {3000, func(n int) object { return object{"private_metadata": chars(n)} }},
		"callback_id":      {255, func(n int) object { return object{"callback_id": chars(n)} }},
		"external_id":      {255, func(n int) object { return object{"external_id": chars(n)} }},
		"alert":            {200, func(n int) object { return object{"blocks": []any{object{"type": "alert", "text": plainText(n)}}} }},
	} {
		t.Run(name, func(t *testing.T) {
			if _, flaws := judgeView(viewOf(row.build(row.limit))); len(flaws) > 0 {
				t.Errorf("at %d: %v", row.limit, flaws)
			}
			if _, flaws := judgeView(viewOf(row.build(row.limit + 1))); len(flaws) == 0 {
				t.Errorf("%d are taken", row.limit+1)
			}
		})
	}
}

func TestBlocksThatSlackRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		blocks []any
		at     string
	}{
		"an empty text":                     {[]any{object{"type": "section", "text": plainText(0)}}, "/blocks/0/text/text"},
		"a section without text":            {[]any{object{"type": "section"}}, "/blocks/0/text"},
		"a header of mrkdwn":                {[]any{object{"type": "header", "text": words("mrkdwn", 3)}}, "/blocks/0/text/type"},
		"a block nobody knows":              {[]any{object{"type": "fancy"}}, "/blocks/0/type"},
		"an alert in a message":             {[]any{object{"type": "alert", "text": plainText(3)}}, "/blocks/0/type"},
		"a card, which is for streams":      {[]any{object{"type": "card"}}, "/blocks/0/type"},
		"the same block_id twice":           {[]any{object{"type": "divider", "block_id": "x"}, object{"type": "divider", "block_id": "x"}}, "/blocks/1/block_id"},
		"the same action_id twice":          {[]any{actions(button(nil), button(nil))}, "/blocks/0/elements/1/action_id"},
		"a style nobody knows":              {[]any{actions(button(object{"style": "default"}))}, "/blocks/0/elements/0/style"},
		"a menu without options":            {[]any{actions(object{"type": "static_select", "options": []any{}})}, "/blocks/0/elements/0/options"},
		"a first choice that is no option":  {[]any{actions(object{"type": "static_select", "options": options(2), "initial_option": option(7, 3, 4)})}, "/blocks/0/elements/0/initial_option"},
		"a button in an input":              {[]any{input(button(nil))}, "/blocks/0/element/type"},
		"a text input outside an input":     {[]any{actions(object{"type": "plain_text_input"})}, "/blocks/0/elements/0/type"},
		"a number input without its kind":   {[]any{input(object{"type": "number_input"})}, "/blocks/0/element/is_decimal_allowed"},
		"a slice of nothing":                {[]any{object{"type": "data_visualization", "title": "t", "chart": object{"type": "pie", "segments": []any{object{"label": "a", "value": 0}}}}}, "/blocks/0/chart/segments/0/value"},
		"a picture without words":           {[]any{object{"type": "image", "image_url": "https://x"}}, "/blocks/0/alt_text"},
		"emoji beside mrkdwn":               {[]any{object{"type": "section", "text": object{"type": "mrkdwn", "text": "x", "emoji": true}}}, "/blocks/0/text/emoji"},
		"actions without elements":          {[]any{actions()}, "/blocks/0/elements"},
		"an element that is no object":      {[]any{actions("x")}, "/blocks/0/elements/0"},
		"rows of different lengths":         {[]any{object{"type": "data_table", "rows": []any{many(2, func(int) any { return object{"type": "raw_text", "text": "h"} }), []any{object{"type": "raw_number", "value": 1}}}}}, "/blocks/0/rows/1"},
		"a header cell that is a number":    {[]any{object{"type": "data_table", "rows": []any{[]any{object{"type": "raw_number", "value": 1}}}}}, "/blocks/0/rows/0/0/type"},
		"a point outside of the categories": {[]any{object{"type": "data_visualization", "title": "t", "chart": object{"type": "line", "axis_config": object{"categories": []any{"mon"}}, "series": []any{object{"name": "s", "data": []any{object{"label": "tue", "value": 1}}}}}}}, "/blocks/0/chart/series/0/data/0/label"},
	} {
		t.Run(name, func(t *testing.T) {
			flaws, _ := judged(t, c.blocks)
			if len(flaws) == 0 || flaws[0].Pointer != c.at {
				t.Errorf("want a flaw at %s, got %v", c.at, flaws)
			}
		})
	}
}

func TestAFormWithInputsNeedsAButton(t *testing.T) {
	fields := []any{input(object{"type": "plain_text_input"})}
	if _, flaws := judgeView(viewOf(object{"blocks": fields})); len(flaws) == 0 {
		t.Error("inputs without submit are taken")
	}
	if _, flaws := judgeView(viewOf(object{"blocks": fields, "submit": plainText(4)})); len(flaws) > 0 {
		t.Errorf("%v", flaws)
	}
}

func TestTooMuchTextAltogetherIsAnErrorOfItsOwn(t *testing.T) {
	r := start(t, Options{})
	build := func(n int) string {
		blocks := many(n, func(int) any { return object{"type": "section", "text": plainText(maxMessageText / 5)} })
		raw, _ := json.Marshal(blocks)
		return string(raw)
	}
	if got, _ := r.raw("chat.postMessage", url.Values{"channel": {burst}, "blocks": {build(5)}}); got["ok"] != true {
		t.Errorf("at the limit: %v", got)
	}
	r.refuses("msg_blocks_too_long", "chat.postMessage", url.Values{"channel": {burst}, "blocks": {build(6)}})
}

// A workspace that Slack has not brought charts to yet refuses a message with
// one, wherever it is shown, and takes the same message without.
func TestAWorkspaceWithoutABlockRefusesIt(t *testing.T) {
	r := start(t, Options{})
	raw, _ := json.Marshal([]any{divider(0), chartOf(1, 1, 3)})
	form := url.Values{"channel": {burst}, "text": {"x"}, "blocks": {string(raw)}}
	ts := r.post(burst, slack.MsgOptionText("x", false))
	if err := r.Without(t.Context(), "data_visualization"); err != nil {
		t.Fatal(err)
	}
	r.refuses("invalid_blocks", "blocks.validate", url.Values{"blocks": {string(raw)}})
	r.refuses("invalid_blocks", "chat.update", url.Values{"channel": {burst}, "ts": {ts}, "text": {"x"}, "blocks": {string(raw)}})
	got := r.refuses("invalid_blocks", "chat.postMessage", form)
	if text := fmt.Sprint(got["errors"]); !strings.Contains(text, "/blocks/1/type") {
		t.Errorf("got %v", got)
	}
	form.Set("blocks", `[{"type":"divider"}]`)
	if got, _ := r.raw("chat.postMessage", form); got["ok"] != true {
		t.Errorf("without the chart: %v", got)
	}
	if err := r.Without(t.Context(), "no_such_block"); err == nil {
		t.Error("a block that nobody knows is not drawn")
	}
	if err := r.Without(t.Context()); err != nil {
		t.Fatal(err)
	}
	form.Set("blocks", string(raw))
	if got, _ := r.raw("chat.postMessage", form); got["ok"] != true {
		t.Errorf("drawn again: %v", got)
	}
}

func TestInvalidBlocksSayWhere(t *testing.T) {
	r := start(t, Options{})
	got := r.refuses("invalid_blocks", "chat.postMessage", url.Values{"channel": {burst}, "text": {"x"}, "blocks": {`[{"type":"section"}]`}})
	if text := fmt.Sprint(got["errors"], got["response_metadata"]); !strings.Contains(text, "[json-pointer:/blocks/0/text]") || !strings.Contains(text, "[ERROR]") {
		t.Errorf("got %v", got)
	}
	for name, c := range map[string]struct {
		form    url.Values
		want    string
		pointer string
	}{
		"blocks":    {url.Values{"blocks": {`[{"type":"section"}]`}}, "invalid_blocks", "/0/text"},
		"a message": {url.Values{"message": {`{"blocks":[{"type":"section"}]}`}}, "invalid_message", "/blocks/0/text"},
		"a view":    {url.Values{"view": {`{"type":"modal","blocks":[]}`}}, "invalid_view", "/view/title"},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.refuses(c.want, "blocks.validate", c.form)
			errs, _ := got["errors"].([]any)
			if len(errs) == 0 || errs[0].(object)["pointer"] != c.pointer || errs[0].(object)["code"] == nil {
				t.Errorf("got %v", got)
			}
		})
	}
	r.refuses("invalid_arguments", "blocks.validate", url.Values{"blocks": {"[]"}, "view": {"{}"}})
	if got, _ := r.raw("blocks.validate", url.Values{"blocks": {`[{"type":"divider"}]`}}); got["ok"] != true {
		t.Errorf("good blocks: %v", got)
	}
}
