package bridge

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"
)

// Approval is what policy says of the answers to questions.
type Approval struct {
	// TwoAbove is the worst case above which two persons have to say yes; zero:
	// one is enough for any.
	TwoAbove Money `json:"two_above"`
	// Authority is the most that an approver may say yes to, by Unix account, by
	// group with a leading @, or by * for everybody else. Who is not named may
	// say yes to any amount.
	Authority map[string]Money `json:"authority,omitempty"`
	// Escalation are further approvers, asked when a question is about to lapse.
	Escalation []string `json:"escalation,omitempty"`
}

// Yes is one person's agreement to a question.
type Yes struct {
	Who string    `json:"who"` // Unix account
	At  time.Time `json:"at"`
}

// DigestOf is a digest of what a decision about a rental is bound to: who asks
// for what, where, at which ceiling, for how long, and who pays.
func DigestOf(r *Rental) string {
	b, err := json.Marshal(struct {
		Requester, Cluster string
		Account            Account
		Jobs               []JobID
		Pool               Pool
		Shape              Shape
		Count, Gang        int
		MaxRate            Rate
		Hold               Money
		Life               time.Duration
		Extends            RentalID
	}{r.Requester, r.Cluster, r.Account, slices.Concat([]JobID{}, r.Jobs), r.Pool, r.Shape, r.Count, r.Gang, r.MaxRate, r.Hold, r.Life, r.Extends})
	if err != nil {
		return "" // no field of these can fail; an empty digest fits no question
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Agreed reports whether somebody has said yes to the question that is open.
func (r *Rental) Agreed(who string) bool {
	return slices.ContainsFunc(r.Yeses, func(y Yes) bool { return y.Who == who })
}

// RemindAt is when approvers are reminded of a question, half way to its end;
// zero for a question without an end.
func (r *Rental) RemindAt() time.Time { return r.askPart(1, 2) }

// EscalateAt is when the further approvers are asked, with a quarter of the
// time left.
func (r *Rental) EscalateAt() time.Time { return r.askPart(3, 4) }

func (r *Rental) askPart(n, of time.Duration) time.Time {
	if r.AskUntil.IsZero() {
		return time.Time{}
	}
	return r.Since.Add(r.AskUntil.Sub(r.Since) / of * n)
}
