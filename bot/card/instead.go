package card

import (
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// Instead is the button with which the requester of what was denied asks for
// less of it. Its value says of which, how much less, and what it was shown to
// cost at most: the desk asks for no more than that.
func (p Pen) Instead(r *desk.Rental, s *desk.Smaller) []slack.Block {
	w, o := p.words(), &s.Offer
	what, most := p.what(o.Machines, &o.Shape), o.AtMost.String()
	id := strings.Join([]string{string(r.ID), strconv.Itoa(s.Size), string(o.AtMost.Currency)}, " ")
	b := p.button(Instead, id, o.AtMost.Micro, put(w.InsteadB, "what", what, "most", most), slack.StylePrimary)
	confirm(b, w, w.RentTitle, put(w.RentBody, "what", what, "place", p.place(o.Pool), "most", most), w.RentB)
	return p.actions(string(r.ID), int64(s.Size), b)
}

// Less reads back what such a button is about.
func (v Value) Less() (rental string, size int, most bridge.Money, ok bool) {
	parts := strings.Fields(v.ID)
	if v.Verb != Instead || len(parts) != 3 {
		return "", 0, bridge.Money{}, false
	}
	size, err := strconv.Atoi(parts[1])
	return parts[0], size, bridge.Money{Micro: v.Revision, Currency: bridge.Currency(parts[2])}, err == nil && size > 0 && v.Revision > 0
}
