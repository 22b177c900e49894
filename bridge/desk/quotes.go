package desk

import (
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
)

// A quote can be rented by its id for this long, and this many of one person
// are kept. They are lost when the daemon ends: their prices would be old.
const (
	quoteGood  = 10 * time.Minute
	mostQuotes = 50
)

// keptQuote is what somebody was told and may ask for by an id.
type keptQuote struct {
	who    string
	wish   Wish // as understood
	pools  []bridge.Pool
	atMost []bridge.Money
	until  time.Time
}

// keptQuotes are the quotes that are still good, by id.
type keptQuotes struct {
	mu   sync.Mutex
	byID map[string]keptQuote
	ids  []string // oldest first
}

// keep remembers a quote and returns its id.
func (k *keptQuotes) keep(q keptQuote, now time.Time) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byID == nil {
		k.byID = map[string]keptQuote{}
	}
	k.tidy(q.who, now)
	id := ""
	for id == "" || k.byID[id].who != "" {
		id = "q-" + strings.TrimPrefix(string(bridge.NewRentalID(1+rand.Int64N(31*31*31*31))), "r-") //nolint:gosec // No secret: an id is good for its owner only.
	}
	k.byID[id] = q
	k.ids = append(k.ids, id)
	return id
}

// tidy forgets what is no longer good, and the oldest of somebody who has many.
func (k *keptQuotes) tidy(who string, now time.Time) {
	theirs := 0
	for _, q := range k.byID {
		if q.who == who {
			theirs++
		}
	}
	kept := k.ids[:0]
	for _, id := range k.ids {
		q := k.byID[id]
		if !now.Before(q.until) || q.who == who && theirs >= mostQuotes {
			delete(k.byID, id)
			theirs--
			continue
		}
		kept = append(kept, id)
	}
	k.ids = kept
}

func (k *keptQuotes) get(id string) keptQuote {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.byID[id]
}

// IsQuote reports whether a word looks like the id of a quote.
func IsQuote(w string) bool { return strings.HasPrefix(strings.ToLower(w), "q-") }

// ParseQuoteID reads the id of a quote as people type it.
func ParseQuoteID(s string) (string, error) {
	id, err := bridge.ParseRentalID(strings.TrimPrefix(strings.ToLower(strings.TrimSpace(s)), "q-"))
	if err != nil {
		return "", wrong(BadRequest, "spillway quote 8xh100 for 2h", "%q is no id of a quote", s)
	}
	return "q-" + strings.TrimPrefix(string(id), "r-"), nil
}

// keepQuote gives an answer an id under which its offers can be rented.
func (d *Desk) keepQuote(p Person, r *request, a *QuoteAnswer) {
	k := keptQuote{who: p.Name, wish: r.wish, until: d.Now().Add(quoteGood)}
	if !k.wish.Until.IsZero() {
		k.wish.Seconds = 0
	}
	for i := range a.Offers {
		o := &a.Offers[i]
		if o.Outcome == Refused {
			break // they come last
		}
		k.pools, k.atMost = append(k.pools, o.Pool), append(k.atMost, o.AtMost)
	}
	if len(k.pools) == 0 || d.Writer == nil {
		return
	}
	a.ID, a.Good = d.kept.keep(k, d.Now()), k.until
}

// recall makes a request by a quote's id one for what was quoted.
func (d *Desk) recall(p Person, q *RentRequest) (*bridge.Pool, error) {
	id, err := ParseQuoteID(q.Quote)
	if err != nil {
		return nil, err
	}
	k := d.kept.get(id)
	n := max(q.Offer, 1)
	switch {
	case k.who == "":
		return nil, wrong(NotFound, "spillway quote 8xh100 for 2h", "no quote %s is open; quotes are good for %s", id, Span(quoteGood))
	case k.who != p.Name:
		return nil, wrong(Forbidden, "spillway quote "+k.wish.String(), "quote %s was given to somebody else", id)
	case !d.Now().Before(k.until):
		return nil, wrong(Conflict, "spillway quote "+k.wish.String(), "quote %s was good until %s; ask for the prices of now", id, Clock(k.until))
	case n > len(k.pools):
		return nil, wrong(NotFound, "spillway rent "+id, "quote %s has %d offers", id, len(k.pools))
	}
	reason := q.Wish.Reason
	q.Wish, q.AtMost = k.wish, k.atMost[n-1]
	if reason != "" {
		q.Wish.Reason = reason
	}
	return &k.pools[n-1], nil
}
