package say

import (
	"slices"
	"testing"

	"spillway.sh/spillway/bot/card"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge/desk"
)

// fieldsOfRent are all that the form to rent has.
var fieldsOfRent = []string{
	card.FieldJob, card.FieldMachines, card.FieldCount, card.FieldGPU, card.FieldProject, card.FieldMarket, card.FieldMax, card.FieldFor, card.FieldReason,
}

// FuzzForm holds that a form that was filled in with anything is answered: either
// one of its fields is named and nothing is rented, or at most one rental comes
// of it, by who sent it. What is said fits Slack's limits (check, in hear).
func FuzzForm(f *testing.F) {
	for _, s := range [][4]string{
		{"2", "l40s", "3h", "why"}, {"8", "h100", "until 18:00", "the \"big\" <!channel>"}, {"many", "h100", "90", ""}, {"９９９９９９９９９９９", "", "0h", "\x00"},
		{"-1", "l40s", "1e9h", "`rm`"}, {"2 2", "l40s max 1 USD", "for for 3h", "\""}, {"", "", "tomorrow", ""}, {"2", "l40s", "3h\nspot", "x"}, {"1", "h100 job 5", "25:61", "\u202e"},
	} {
		f.Add(s[0], s[1], s[2], s[3], uint8(7))
	}
	f.Fuzz(func(t *testing.T, count, gpu, length, reason string, which uint8) {
		w := newWorld(t)
		before := w.rentals()
		state := talk.Fields{card.FieldCount: count, card.FieldGPU: gpu, card.FieldFor: length, card.FieldReason: reason}
		more := fieldsOfRent[int(which)%len(fieldsOfRent)]
		if state[more] == "" {
			state[more] = reason
		}
		for _, lang := range []desk.Lang{desk.English, desk.Chinese} {
			out := w.hear("ana", lang, talk.Interaction{Kind: talk.Submission, Callback: card.FormRent, Private: "C7", State: state})
			if len(out) == 0 {
				t.Fatalf("%v is not answered", state)
			}
			for name, text := range out[0].Errors {
				if !slices.Contains(fieldsOfRent, name) || text == "" {
					t.Errorf("%v is wrong at %q: %q", state, name, text)
				}
			}
			made := w.rentals() - before
			before += made
			switch {
			case len(out[0].Errors) > 0 && made != 0, made > 1:
				t.Errorf("%v: %d rentals and the words %v", state, made, out[0].Errors)
			case made == 1 && w.latest().Requester != "ana":
				t.Errorf("%v rents for %s", state, w.latest().Requester)
			}
		}
	})
}
