package bridge

import "time"

// Rates are exchange rates and how old one may be.
type Rates struct {
	List   []Exchange
	MaxAge time.Duration
}

// early is how far in the future the date of a rate may be: a day begins sooner
// in the east.
const early = 24 * time.Hour

// Find returns the newest rate from one currency to another, or why there is
// none to use: it is missing, or too old. Where only the other direction is
// known, its inverse is taken, and says so.
func (r Rates) Find(from, to Currency, now time.Time) (Exchange, Reason) {
	x, ok := r.newest(from, to, now)
	if !ok {
		back, known := r.newest(to, from, now)
		if x, ok = back.inverse(); !known || !ok {
			return Exchange{}, ReasonNoExchange
		}
	}
	if now.Sub(x.Date) > r.MaxAge {
		return x, ReasonOldExchange
	}
	return x, ""
}

func (r Rates) newest(from, to Currency, now time.Time) (Exchange, bool) {
	var best Exchange
	for _, x := range r.List {
		usable := x.From == from && x.To == to && x.Micro > 0 && x.Date.Sub(now) <= early
		if usable && (best.Micro == 0 || x.Date.After(best.Date)) {
			best = x
		}
	}
	return best, best.Micro > 0
}

// inverse is the other direction of a rate, rounded up: a ceiling must hold.
func (x Exchange) inverse() (Exchange, bool) {
	if x.Micro <= 0 {
		return Exchange{}, false
	}
	const one = Micro * Micro
	return Exchange{From: x.To, To: x.From, Micro: (one + x.Micro - 1) / x.Micro, Source: "inverse of " + x.Source, Date: x.Date}, true
}

// In is the offer with its rate in a currency. One that cannot be converted keeps
// its own, and a bar that says why.
func (o *Offer) In(to Currency, rates Rates, now time.Time) Offer {
	out := *o
	if to == "" {
		return out
	}
	if o.Egress.Micro > 0 && o.Egress.Currency != to {
		x, why := rates.Find(o.Egress.Currency, to, now)
		if egress, err := x.ConvertRate(Rate(o.Egress)); why == "" && err == nil {
			out.Egress = Money(egress)
		} // else it keeps its own, and is out of the question where egress counts
	}
	if o.Rate.Currency == to {
		return out
	}
	x, why := rates.Find(o.Rate.Currency, to, now)
	if why != "" {
		out.Bar = why
		return out
	}
	rate, err := x.ConvertRate(o.Rate)
	if err != nil {
		out.Bar = ReasonNoExchange // it has no price that can be counted
		return out
	}
	out.Rate, out.Quoted, out.FX = rate, o.Rate, x.String()
	return out
}

// OwnRate is a cloud's rate in the currency of the rental's money, by the
// exchange rate that was frozen with it; false where that does not convert it, or
// nothing is said.
func (r *Rental) OwnRate(rate Rate) (Rate, bool) {
	if rate.Micro <= 0 {
		return Rate{}, false
	}
	if rate.Currency == r.Hold.Currency {
		return rate, true
	}
	x, err := ParseExchange(r.FX)
	if err != nil || x.To != r.Hold.Currency {
		return Rate{}, false
	}
	own, err := x.ConvertRate(rate)
	return own, err == nil
}

// CloudRate is the rental's ceiling in its cloud's currency. ErrCurrency or
// ErrOverflow if it has none there.
func (r *Rental) CloudRate() (Rate, error) {
	if r.FX == "" {
		return r.MaxRate, nil
	}
	x, err := ParseExchange(r.FX)
	if err != nil {
		return Rate{}, err
	}
	return x.BackRate(r.MaxRate)
}
