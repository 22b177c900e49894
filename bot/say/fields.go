package say

import (
	"regexp"
	"strings"

	"spillway.sh/spillway/bot/card"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge/desk"
)

// atTime is the end of a field that says until when, not for how long.
var atTime = regexp.MustCompile(`(^|\s)(\d{1,2}:\d{2}|\d{1,2}(:\d{2})?(am|pm)|eod)$`)

func timeOfDay(s string) bool { return atTime.MatchString(s) && !strings.Contains(s, "until") }

// typedIn is the line that a form to rent stands for.
func typedIn(state talk.Fields) string {
	var line []string
	for _, f := range []struct{ field, before, after string }{
		{card.FieldJob, "job ", ""},
		{card.FieldMachines, "", " machines"},
		{card.FieldCount, "", " gpus"},
		{card.FieldGPU, "gpu ", ""},
		{card.FieldProject, "project ", ""},
		{card.FieldMarket, "", ""},
		{card.FieldMax, "max ", ""},
		{card.FieldFor, "for ", ""},
		{card.FieldReason, `"`, `"`},
	} {
		v := desk.Tidy(state[f.field])
		switch {
		case v == "" || f.field == card.FieldMarket && v == "any":
			continue
		case f.field == card.FieldReason:
			v = plainly(state[f.field])
		case f.field == card.FieldFor && timeOfDay(v):
			f.before = "until "
		}
		line = append(line, f.before+v+f.after)
	}
	return strings.Join(line, " ")
}

// plainly is a text that can stand in quotes.
func plainly(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, `"`, "'")), " ")
}

// field is where in the form a mistake stands: the field whose text it quotes,
// else the first.
func field(e *desk.Error, state talk.Fields) string {
	for _, f := range []string{card.FieldFor, card.FieldMax, card.FieldMachines, card.FieldCount, card.FieldGPU, card.FieldProject, card.FieldJob} {
		if v := desk.Tidy(state[f]); v != "" && strings.Contains(e.Wrong, v) {
			return f
		}
	}
	return card.FieldCount
}
