package invariant

import (
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// endings are the news that close a question.
var endings = []bridge.NewsKind{bridge.NewsApproved, bridge.NewsDenied, bridge.NewsLapsed, bridge.NewsWithdrawn}

// oneDecisionPerQuestion is I19: a question ends once, and nobody's yes counts
// twice. What is answered later is told, and changes nothing.
func (c *Checker) oneDecisionPerQuestion(s *Sight) {
	for i := range s.News {
		n := &s.News[i]
		if n.Rental == "" {
			continue
		}
		l := c.past.life(n.Rental)
		switch {
		case slices.Contains(endings, n.Kind):
			if len(l.ends) > 0 {
				c.report(s, "I19", "%s was %s, and then %s", n.Rental, l.ends[len(l.ends)-1], n.Kind)
			}
			l.ends = append(l.ends, n.Kind)
		case n.Kind == bridge.NewsAgreed && len(l.ends) > 0:
			c.report(s, "I19", "%s was %s, and then somebody agreed", n.Rental, l.ends[0])
		}
		if n.Kind != bridge.NewsAgreed && n.Kind != bridge.NewsApproved {
			continue
		}
		key := n.Who + " " + n.Digest
		if slices.Contains(l.yeses, key) {
			c.report(s, "I19", "%s counts twice for %s", n.Who, n.Rental)
		}
		l.yeses = append(l.yeses, key)
	}
}

// onlyWhoMayDecides is I20: whoever answers is named, may answer for that money,
// and did not ask.
func (c *Checker) onlyWhoMayDecides(s *Sight) {
	for i := range s.News {
		n := &s.News[i]
		if !slices.Contains([]bridge.NewsKind{bridge.NewsApproved, bridge.NewsDenied, bridge.NewsAgreed}, n.Kind) {
			continue
		}
		r := s.rental(n.Rental)
		if was, ok := c.past.was(n.Rental); r == nil && ok {
			r = &was
		}
		switch {
		case r == nil:
			c.report(s, "I20", "%s was %s, and is no rental", n.Rental, n.Kind)
		case n.Who == "":
			c.report(s, "I20", "%s was %s by nobody", n.Rental, n.Kind)
		case n.Who == r.Requester:
			c.report(s, "I20", "%s was %s by %s, who asked for it", n.Rental, n.Kind, n.Who)
		case c.rules.MayDecide != nil && !c.rules.MayDecide(n.Who, r, n.Kind != bridge.NewsDenied):
			c.report(s, "I20", "%s was %s by %s, who may not", n.Rental, n.Kind, n.Who)
		}
	}
}

// expiredIsNeverApproved is I21: a question that was not answered in time
// cannot be answered with yes any more.
func (c *Checker) expiredIsNeverApproved(s *Sight) {
	for i := range s.News {
		n := &s.News[i]
		if n.Kind != bridge.NewsApproved && n.Kind != bridge.NewsAgreed {
			continue
		}
		if until := c.past.life(n.Rental).until; !until.IsZero() && !n.At.Before(until) {
			c.report(s, "I21", "%s was open until %s, and was %s at %s", n.Rental, until.UTC().Format(time.RFC3339), n.Kind, n.At.UTC().Format(time.RFC3339))
		}
	}
	for i := range s.Rentals {
		r := &s.Rentals[i]
		if was, ok := c.past.was(r.ID); ok && was.State == bridge.StateClosed && r.State != bridge.StateClosed {
			c.report(s, "I21", "%s was closed, and is %s", r.ID, r.State)
		}
	}
}

// told are the news one of which must be there when a rental is in a state.
var told = map[bridge.State][]bridge.NewsKind{
	bridge.StateWaiting:   {bridge.NewsAsked},
	bridge.StateLaunching: {bridge.NewsReserved, bridge.NewsApproved, bridge.NewsOrphan},
	bridge.StateAdmitted:  {bridge.NewsAdmitted, bridge.NewsOrphan, bridge.NewsAdopted},
	bridge.StateDraining:  {bridge.NewsDraining, bridge.NewsOrphan, bridge.NewsAdopted},
	bridge.StateReleasing: {bridge.NewsReleasing, bridge.NewsRefused, bridge.NewsOrphan, bridge.NewsAdopted},
	bridge.StateSettled:   {bridge.NewsSettled},
	bridge.StateClosed:    {bridge.NewsDenied, bridge.NewsLapsed, bridge.NewsWithdrawn, bridge.NewsApproved},
}

// peopleAreToldWithTheChange is I22: a state that people wait for is never in
// the store without the news of it.
func (c *Checker) peopleAreToldWithTheChange(s *Sight) {
	for i := range s.Rentals {
		r := &s.Rentals[i]
		kinds := told[r.State]
		if was, ok := c.past.was(r.ID); len(kinds) == 0 || ok && was.State == r.State {
			continue
		}
		news := c.past.life(r.ID).news
		if !slices.ContainsFunc(kinds, func(k bridge.NewsKind) bool { _, ok := news[k]; return ok }) {
			c.report(s, "I22", "%s is %s, and there is no news of it", r.ID, r.State)
		}
	}
}
