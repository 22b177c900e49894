package bridge

import (
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"strconv"
	"time"
)

// Exchange is the price of one unit of a currency in another, with where it
// is from. A missing one is never 1:1; what it was needed for must stop.
type Exchange struct {
	From   Currency  `json:"from"`
	To     Currency  `json:"to"`
	Micro  int64     `json:"micro"` // micro-units of To for one unit of From
	Source string    `json:"source"`
	Date   time.Time `json:"date"`
}

// Convert returns an amount of From in To.
// ErrCurrency if m is of another currency, ErrOverflow if it does not fit.
func (x Exchange) Convert(m Money, round Rounding) (Money, error) {
	if m.Currency != x.From {
		return Money{}, fmt.Errorf("convert %s by a rate of %s: %w", m.Currency, x.From, ErrCurrency)
	}
	micro, err := muldiv(m.Micro, x.Micro, Micro, round)
	if err != nil {
		return Money{}, fmt.Errorf("convert %d %s to %s: %w", m.Micro, m.Currency, x.To, err)
	}
	return Money{micro, x.To}, nil
}

// ConvertRate is Convert of a rate. Rates round up: a ceiling must hold.
func (x Exchange) ConvertRate(r Rate) (Rate, error) {
	m, err := x.Convert(Money(r), RoundUp)
	return Rate(m), err
}

// String prints 1 CNY = 0.139512 USD (ecb, 2026-11-30).
func (x Exchange) String() string {
	return fmt.Sprintf("1 %s = %d.%06d %s (%s, %s)", x.From, x.Micro/Micro, x.Micro%Micro, x.To, x.Source, x.Date.UTC().Format(time.DateOnly))
}

// exchangeText is what String prints; a source may hold anything but a line end.
var exchangeText = regexp.MustCompile(`^1 ([A-Z]{3}) = ([0-9]{1,12})\.([0-9]{6}) ([A-Z]{3}) \((.*), (\d{4}-\d{2}-\d{2})\)$`)

// ParseExchange reads what String prints, as it is kept with what was bought.
func ParseExchange(s string) (Exchange, error) {
	m := exchangeText.FindStringSubmatch(s)
	if m == nil {
		return Exchange{}, fmt.Errorf("exchange rate %q: want 1 CNY = 0.139512 USD (source, 2026-11-28)", s)
	}
	micro, err := strconv.ParseInt(m[2]+m[3], 10, 64)
	if err != nil {
		return Exchange{}, fmt.Errorf("exchange rate %q: %w", s, err)
	}
	date, err := time.Parse(time.DateOnly, m[6])
	if err != nil {
		return Exchange{}, fmt.Errorf("exchange rate %q: %w", s, err)
	}
	return Exchange{From: Currency(m[1]), To: Currency(m[4]), Micro: micro, Source: m[5], Date: date}, nil
}

// BackRate is the highest rate of From that is no more than r once converted, so
// that a ceiling keeps its meaning in the cloud's own currency.
// ErrCurrency if r is not of To, ErrOverflow if it does not fit.
func (x Exchange) BackRate(r Rate) (Rate, error) {
	if r.Currency != x.To || x.Micro <= 0 {
		return Rate{}, fmt.Errorf("convert %s back by a rate to %s: %w", r.Currency, x.To, ErrCurrency)
	}
	high, low := bits.Mul64(uint64(max(r.Micro, 0)), Micro)
	if high >= uint64(x.Micro) {
		return Rate{}, fmt.Errorf("convert %d %s back to %s: %w", r.Micro, r.Currency, x.From, ErrOverflow)
	}
	q, _ := bits.Div64(high, low, uint64(x.Micro))
	if q > math.MaxInt64 {
		return Rate{}, fmt.Errorf("convert %d %s back to %s: %w", r.Micro, r.Currency, x.From, ErrOverflow)
	}
	return Rate{int64(q), x.From}, nil
}

// muldiv is m × by ÷ per, computed in 128 bits. Rounded up means away from
// nothing for what is paid and towards nothing for what comes back.
func muldiv(m, by, per int64, round Rounding) (int64, error) {
	if by < 0 || per <= 0 {
		return 0, ErrOverflow
	}
	abs := uint64(m)
	if m < 0 {
		abs = -uint64(m)
	}
	high, low := bits.Mul64(abs, uint64(by))
	if high >= uint64(per) {
		return 0, ErrOverflow
	}
	q, rem := bits.Div64(high, low, uint64(per))
	twice, carry := bits.Add64(rem, rem, 0)
	half := carry > 0 || twice > uint64(per) || twice == uint64(per) && q%2 == 1
	if rem > 0 && (round == RoundUp && m > 0 || round == RoundHalfEven && half) {
		q++
	}
	if q > math.MaxInt64 {
		return 0, ErrOverflow
	}
	if m < 0 {
		return -int64(q), nil
	}
	return int64(q), nil
}
