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
	answered := map[bridge.RentalID]bool{}
	for _, n := range l.questions(l.Earlier) {
		if n.Kind == bridge.NewsAsked {
			asked[n.Rental] = n
		}
	}
	reasons := map[bridge.Reason]int{}
	var took []time.Duration
	over := int64(0)
	for _, n := range l.questions(l.News) {
		q := asked[n.Rental]
		switch n.Kind {
		case bridge.NewsAsked:
			a.Asked++
			asked[n.Rental] = n
			if n.Why != "" {
				reasons[n.Why]++
			}
			continue
		case bridge.NewsApproved:
			a.Approved++
			if q != nil && q.Why == bridge.ReasonOverBudget && n.Cost.Currency == l.Currency {
				over = plus(over, n.Cost.Micro)
			}
		case bridge.NewsDenied:
			a.Denied++
		case bridge.NewsLapsed:
			a.Expired++
		case bridge.NewsWithdrawn:
			a.Withdrawn++
		default:
			continue
		}
		answered[n.Rental] = true
		if q != nil && (n.Kind == bridge.NewsApproved || n.Kind == bridge.NewsDenied) {
			took = append(took, n.At.Sub(q.At))
		}
	}
	for id, q := range asked {
		if !answered[id] && !q.At.Before(l.Week.From) {
			a.Waiting++
		}
	}
	a.OverBudget = l.money(up(over))
	if len(took) > 0 {
		slices.SortFunc(took, cmp.Compare)
		m := SpanOf(nearestRank(took, 500))
		a.Median = &m
	}
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		if reasons[why] > a.ReasonCount {
			a.Reason, a.ReasonCount = why, reasons[why]
		}
	}
	if a.Asked == 0 && len(took) == 0 {
		l.note(PartApprovals, NoteNobodyAsked)
	}
	return a
}

// questions are news of questions and answers, of the report's account.
func (l *looked) questions(news []bridge.News) []*bridge.News {
	var out []*bridge.News
	for i := range news {
		n := &news[i]
		switch n.Kind {
		case bridge.NewsAsked, bridge.NewsApproved, bridge.NewsDenied, bridge.NewsLapsed, bridge.NewsWithdrawn:
			if l.Account == "" || l.mine[n.Rental] {
				out = append(out, n)
			}
		default:
		}
	}
	return out
}
