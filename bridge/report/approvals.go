package report

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// approvals is part 8. Answers are counted in the week they came in, and so are
// questions.
func (l *looked) approvals() Approvals {
	a := Approvals{OverBudget: l.money(0)}
	asked := map[bridge.RentalID]*bridge.News{}
	for _, n := range l.questions(l.Earlier, bridge.NewsAsked) {
		asked[n.Rental] = n
	}
	answered := map[bridge.RentalID]bool{}
	reasons := map[bridge.Reason]int{}
	var took []time.Duration
	over := int64(0)
	for _, n := range l.questions(l.News, bridge.NewsAsked, bridge.NewsApproved, bridge.NewsDenied, bridge.NewsLapsed, bridge.NewsWithdrawn) {
		if n.Kind == bridge.NewsAsked {
			a.Asked++
			asked[n.Rental] = n
			reasons[n.Why]++
			continue
		}
		a.count(n.Kind)
		answered[n.Rental] = true
		q := asked[n.Rental]
		if q == nil || n.Kind != bridge.NewsApproved && n.Kind != bridge.NewsDenied {
			continue
		}
		took = append(took, n.At.Sub(q.At))
		if n.Kind == bridge.NewsApproved && q.Why == bridge.ReasonOverBudget && n.Cost.Currency == l.Currency {
			over = plus(over, n.Cost.Micro)
		}
	}
	a.Waiting = l.unanswered(asked, answered)
	a.OverBudget = l.money(up(over))
	a.Median = median(took)
	a.Reason, a.ReasonCount = mostFrequent(reasons)
	if a.Asked == 0 && len(took) == 0 {
		l.note(PartApprovals, NoteNobodyAsked)
	}
	return a
}

// unanswered is how many of the week's questions have no answer.
func (l *looked) unanswered(asked map[bridge.RentalID]*bridge.News, answered map[bridge.RentalID]bool) int {
	n := 0
	for id, q := range asked {
		if !answered[id] && !q.At.Before(l.Week.From) {
			n++
		}
	}
	return n
}

// median is the middle of how long answers took; nil if none was given.
func median(took []time.Duration) *Span {
	if len(took) == 0 {
		return nil
	}
	slices.SortFunc(took, cmp.Compare)
	m := SpanOf(nearestRank(took, 500))
	return &m
}

// mostFrequent is the reason given most often; of equals the first by name.
func mostFrequent(reasons map[bridge.Reason]int) (most bridge.Reason, n int) {
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		if why != "" && reasons[why] > n {
			most, n = why, reasons[why]
		}
	}
	return most, n
}

// count adds an answer.
func (a *Approvals) count(k bridge.NewsKind) {
	switch k {
	case bridge.NewsApproved:
		a.Approved++
	case bridge.NewsDenied:
		a.Denied++
	case bridge.NewsLapsed:
		a.Expired++
	case bridge.NewsWithdrawn:
		a.Withdrawn++
	default:
	}
}

// questions are news of some kinds, of the report's account.
func (l *looked) questions(news []bridge.News, kinds ...bridge.NewsKind) []*bridge.News {
	var out []*bridge.News
	for i := range news {
		if n := &news[i]; slices.Contains(kinds, n.Kind) && (l.Account == "" || l.mine[n.Rental]) {
			out = append(out, n)
		}
	}
	return out
}
