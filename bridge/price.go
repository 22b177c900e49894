package bridge

import (
	"fmt"
	"time"
)

// Price is what machines of an offer cost over a life.
type Price struct {
	Ceiling Rate  // the dearest a machine-hour may come to be
	Most    Money // at the ceiling: what is held
	Likely  Money // at today's rate
}

// PriceOf returns the price of machines of an offer that live for life, as a
// decision computes it. ErrOverflow if it does not fit.
func PriceOf(o *Offer, t *Terms, life time.Duration, machines int) (Price, error) {
	p := Price{Ceiling: ceiling(o, t)}
	paid := o.Billing().Charged(life)
	var err error
	if p.Most, err = o.Billing().Worst(p.Ceiling, life, machines); err != nil {
		return Price{}, fmt.Errorf("price of %s: %w", o.Pool, err)
	}
	if p.Likely, err = o.Rate.Cost(paid, machines, RoundUp); err != nil {
		return Price{}, fmt.Errorf("price of %s: %w", o.Pool, err)
	}
	return p, nil
}
