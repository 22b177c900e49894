package bridge

import (
	"errors"
	"fmt"
	"math/bits"
	"time"
)

// Currency is an ISO 4217 code such as USD or CNY.
type Currency string

// Micro is the number of micro-units in one unit of a currency.
const Micro = 1_000_000

// Errors of money arithmetic. Neither is ever ignored: a sum that does not fit
// or mixes currencies must stop the purchase it was computed for.
var (
	ErrOverflow = errors.New("money does not fit in 64 bits")
	ErrCurrency = errors.New("two currencies in one sum")
)

// Money is an amount in micro-units of one currency. The zero value is "no
// money in no currency" and may be added to any amount.
type Money struct {
	Micro    int64    `json:"micro"`
	Currency Currency `json:"currency"`
}

// IsZero reports whether the amount is nothing.
func (m Money) IsZero() bool { return m.Micro == 0 }

// Add returns m + o, or ErrCurrency or ErrOverflow.
func (m Money) Add(o Money) (Money, error) {
	c, err := common(m, o)
	if err != nil {
		return Money{}, err
	}
	s := m.Micro + o.Micro
	if (s > m.Micro) != (o.Micro > 0) && o.Micro != 0 {
		return Money{}, fmt.Errorf("add %d and %d: %w", m.Micro, o.Micro, ErrOverflow)
	}
	return Money{s, c}, nil
}

// Sub returns m - o, or ErrCurrency or ErrOverflow.
func (m Money) Sub(o Money) (Money, error) {
	c, err := common(m, o)
	if err != nil {
		return Money{}, err
	}
	d := m.Micro - o.Micro
	if (d < m.Micro) != (o.Micro > 0) && o.Micro != 0 {
		return Money{}, fmt.Errorf("subtract %d from %d: %w", o.Micro, m.Micro, ErrOverflow)
	}
	return Money{d, c}, nil
}

// Cmp compares two amounts of one currency: -1, 0 or +1.
func (m Money) Cmp(o Money) (int, error) {
	if _, err := common(m, o); err != nil {
		return 0, err
	}
	switch {
	case m.Micro < o.Micro:
		return -1, nil
	case m.Micro > o.Micro:
		return 1, nil
	}
	return 0, nil
}

func common(a, b Money) (Currency, error) {
	switch {
	case a.Currency == b.Currency, b.Currency == "" && b.Micro == 0:
		return a.Currency, nil
	case a.Currency == "" && a.Micro == 0:
		return b.Currency, nil
	}
	return "", fmt.Errorf("%s and %s: %w", a.Currency, b.Currency, ErrCurrency)
}

// Rounding says which way a fraction of a micro-unit goes.
type Rounding int

// Holds are rounded up so that they always cover; posts half to even so that
// many small ones do not drift.
const (
	RoundUp Rounding = iota
	RoundHalfEven
)

// Rate is a price in micro-units per machine-hour.
type Rate struct {
	Micro    int64    `json:"micro_per_hour"`
	Currency Currency `json:"currency"`
}

// Cost returns the price of machines running for d, in micro-units. A
// negative duration, count or rate is a programming error and costs nothing.
// The product is computed in 192 bits; ErrOverflow if the result does not fit.
func (r Rate) Cost(d time.Duration, machines int, round Rounding) (Money, error) {
	if d <= 0 || machines <= 0 || r.Micro <= 0 {
		return Money{Currency: r.Currency}, nil
	}
	high, low := bits.Mul64(uint64(r.Micro), uint64(machines))
	mid, lo := bits.Mul64(low, uint64(d))
	top, more := bits.Mul64(high, uint64(d))
	mid, carry := bits.Add64(mid, more, 0)
	if top+carry != 0 || mid >= uint64(time.Hour) {
		return Money{}, fmt.Errorf("cost of %d machines for %s: %w", machines, d, ErrOverflow)
	}
	q, rem := bits.Div64(mid, lo, uint64(time.Hour))
	half := uint64(time.Hour) / 2
	if rem > 0 && (round == RoundUp || rem > half || rem == half && q%2 == 1) {
		q++
	}
	if q > 1<<63-1 {
		return Money{}, fmt.Errorf("cost of %d machines for %s: %w", machines, d, ErrOverflow)
	}
	return Money{int64(q), r.Currency}, nil
}

// String prints the amount rounded up to the cent, as costs are shown.
func (m Money) String() string { return m.format(m.Micro > 0) }

// Floor prints the amount rounded down to the cent, as what is left is shown.
func (m Money) Floor() string { return m.format(m.Micro < 0) }

func (m Money) format(away bool) string {
	const cent = Micro / 100
	sign, abs := "", uint64(m.Micro)
	if m.Micro < 0 {
		sign, abs = "-", -uint64(m.Micro)
	}
	cents := abs / cent
	if away && abs%cent != 0 {
		cents++
	}
	return fmt.Sprintf("%s%d.%02d %s", sign, cents/100, cents%100, m.Currency)
}
