package desk

import (
	"fmt"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// anyLife is the life of billing that is told whatever a machine's life is.
const anyLife = -1

// worthSaying is from where on a step or a minimum is told: what is shorter
// costs cents.
const worthSaying = time.Minute

// billing says what a cloud charges for beyond the time a machine lives: started
// steps, a minimum, what is left of a term. Empty when there is nothing of it.
func (l Lang) billing(b bridge.Billing, life time.Duration) string {
	step, minimum, term := "started steps of %s are paid whole", "at least %s are paid", "taken for %s: %s %% of what is left of it is paid when it goes back sooner"
	comma := "; "
	if l == Chinese {
		step, minimum, term = "按 %s 计费，不足按整计", "至少计费 %s", "约定使用 %s：提前归还须付剩余时间的 %s%%"
		comma = "；"
	}
	var out []string
	most := max(life, b.Minimum)
	if b.Step > worthSaying && (life == anyLife || (most+b.Step-1)/b.Step*b.Step-most >= worthSaying) {
		out = append(out, fmt.Sprintf(step, Span(b.Step)))
	}
	if b.Minimum > worthSaying && (life == anyLife || b.Minimum > life) {
		out = append(out, fmt.Sprintf(minimum, Span(b.Minimum)))
	}
	if b.Term > 0 && b.EarlyPM > 0 && (life == anyLife || b.Term > life) {
		out = append(out, fmt.Sprintf(term, Span(b.Term), perCent(b.EarlyPM)))
	}
	return strings.Join(out, comma)
}

// perCent prints per mille as per cent.
func perCent(perMille int) string {
	if perMille%10 == 0 {
		return fmt.Sprint(perMille / 10)
	}
	return fmt.Sprintf("%d.%d", perMille/10, perMille%10)
}

// billingOf says it of what a verdict speaks of: its order, or the offer that is
// nearest.
func (l Lang) billingOf(v *bridge.Verdict, s *bridge.Snapshot, p *bridge.Plan) string {
	switch {
	case v == nil || v.Pool == nil:
		return ""
	case v.Order > 0 && v.Order <= len(p.Rent):
		o := &p.Rent[v.Order-1]
		return l.billing(o.Offer.Billing(), o.Life)
	}
	for i := range s.Offers {
		if o := &s.Offers[i]; o.Pool == *v.Pool {
			return l.billing(o.Billing(), anyLife)
		}
	}
	return ""
}
