package bridge

import (
	"fmt"
	"math"
	"time"
)

// Billing is how a cloud charges for one machine: started steps whole, no less
// than a minimum, and a part of what is left of the term the machine was taken
// for when it goes back sooner.
type Billing struct {
	Step    time.Duration
	Minimum time.Duration
	Term    time.Duration
	EarlyPM int // per mille of the rest of the term; all of it from 1000 on
}

// Billing is how a machine of the offer is charged.
func (o *Offer) Billing() Billing { return Billing{o.Step, o.Minimum, o.Term, o.EarlyPM} }

// Billing is how the rental's machines are charged.
func (r *Rental) Billing() Billing { return Billing{r.Step, r.Minimum, r.Term, r.EarlyPM} }

// Charged is the time that is paid for a machine that went back after d. A
// longer life never costs less, so the longest a machine may live is the worst
// case. A life that has not begun costs nothing.
func (b Billing) Charged(d time.Duration) time.Duration {
	if d < 0 {
		return 0
	}
	used := b.stepped(d)
	if b.EarlyPM <= 0 || used >= b.Term {
		return used
	}
	return used + share(b.Term-used, min(b.EarlyPM, 1000))
}

// Worst is the most that machines can cost which live no longer than life at no
// more than rate. Each is rounded up by itself, as each is posted by itself.
// ErrOverflow if it does not fit.
func (b Billing) Worst(rate Rate, life time.Duration, machines int) (Money, error) {
	one, err := rate.Cost(b.Charged(life), 1, RoundUp)
	if err != nil || machines <= 0 || one.Micro <= 0 {
		return Money{Currency: rate.Currency}, err
	}
	if one.Micro > math.MaxInt64/int64(machines) {
		return Money{}, fmt.Errorf("worst case of %d machines for %s: %w", machines, life, ErrOverflow)
	}
	return Money{one.Micro * int64(machines), rate.Currency}, nil
}

// Contracted reports whether the rental's machines belong to a contract with an
// end, past which they cannot be had.
func (r *Rental) Contracted() bool { return r.Pool.Market == Reserved && !r.Until.IsZero() }

// Longer is what a later end of a rental's machines adds to its worst case:
// nothing inside a step or a term that is held already. ErrOverflow if it does
// not fit.
func (r *Rental) Longer(until time.Time) (Money, error) {
	life := r.Life
	if !r.Launch.Expires.IsZero() {
		life += r.Expires.Sub(r.Launch.Expires) // earlier extensions
	}
	machines := max(len(r.Live()), 1)
	was, err := r.Billing().Worst(r.MaxRate, life, machines)
	if err != nil {
		return Money{}, fmt.Errorf("worst case of %s: %w", r.ID, err)
	}
	is, err := r.Billing().Worst(r.MaxRate, max(life, life+until.Sub(r.Expires)), machines)
	if err != nil {
		return Money{}, fmt.Errorf("worst case of %s until %s: %w", r.ID, until.UTC().Format(time.RFC3339), err)
	}
	return is.Sub(was)
}

// Paid is how long a machine that lives since d may still live, counted from its
// start, until it costs more than if it went back now.
func (b Billing) Paid(d time.Duration) time.Duration {
	d = max(d, 0)
	used := b.stepped(d)
	if b.EarlyPM < 1000 || used >= b.Term {
		return max(used, d)
	}
	if b.Step > 0 { // the last step that ends inside the term
		return max(used, b.Term/b.Step*b.Step)
	}
	return b.Term
}

// stepped is d in whole steps, no less than the minimum.
func (b Billing) stepped(d time.Duration) time.Duration {
	d = max(d, b.Minimum)
	if b.Step > 0 && d%b.Step != 0 {
		d += b.Step - d%b.Step
	}
	return d
}

// share is so many per mille of d, rounded up.
func share(d time.Duration, perMille int) time.Duration {
	pm := time.Duration(perMille)
	return d/1000*pm + (d%1000*pm+999)/1000
}
