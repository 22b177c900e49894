package policies

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/config/strict"
)

// amountText is deliberately narrow: no signs but minus, no exponents, no
// thousands separators, whose meaning differs between countries.
var amountText = regexp.MustCompile(`^(-?[0-9]{1,30}(?:\.[0-9]+)?)\s+([A-Z]{3})(/h)?$`)

// amount reads "500 USD" or, as a rate, "0.85 USD/h". It returns what is wrong
// with the text, or nothing.
func amount(s string, want bridge.Currency, rate bool) (micro int64, wrong string) {
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return 0, "money needs a currency"
	}
	m := amountText.FindStringSubmatch(s)
	switch {
	case m == nil:
		return 0, "not an amount of money: want a number, a space and a currency of three letters"
	case isoCurrency(m[2]) != "":
		return 0, m[2] + " is no currency of ISO 4217"
	case want != "" && bridge.Currency(m[2]) != want:
		return 0, fmt.Sprintf("another currency: the file counts in %s, and nothing converts it", want)
	case rate && m[3] == "":
		return 0, "a rate is for an hour of one machine"
	case !rate && m[3] != "":
		return 0, "an amount, not a rate: leave out /h"
	}
	d, err := decimal.NewFromString(m[1])
	if err != nil {
		return 0, "not an amount of money"
	}
	d = d.Shift(6)
	switch {
	case d.IsNegative():
		return 0, "money cannot be negative"
	case !d.IsInteger():
		return 0, "finer than a millionth, which is the smallest unit counted"
	case d.GreaterThan(decimal.NewFromInt(maxMicro)):
		return 0, "more money than can be counted: at most 1000000000000"
	}
	return d.IntPart(), ""
}

// maxMicro leaves room for sums of many amounts in 64 bits.
const maxMicro = 1_000_000_000_000 * bridge.Micro

func (r *reader) money(dst *bridge.Money) func(strict.Node) {
	return func(n strict.Node) {
		if micro, ok := r.micro(n, false); ok {
			*dst = bridge.Money{Micro: micro, Currency: r.file.currency}
		}
	}
}

func (r *reader) rate(dst *bridge.Rate) func(strict.Node) {
	return func(n strict.Node) {
		if micro, ok := r.micro(n, true); ok {
			*dst = bridge.Rate{Micro: micro, Currency: r.file.currency}
		}
	}
}

func (r *reader) micro(n strict.Node, rate bool) (int64, bool) {
	s, ok := n.Scalar()
	if !ok {
		n.Fault("want an amount of money")
		return 0, false
	}
	micro, wrong := amount(strings.TrimSpace(s), r.file.currency, rate)
	if wrong != "" {
		n.Fault(wrong)
	}
	return micro, wrong == ""
}

// positive reads money that must be more than nothing.
func (r *reader) positive(dst *bridge.Money, otherwise string) func(strict.Node) {
	return func(n strict.Node) {
		if micro, ok := r.micro(n, false); ok {
			if micro == 0 {
				n.Fault("nothing: " + otherwise)
			}
			*dst = bridge.Money{Micro: micro, Currency: r.file.currency}
		}
	}
}
