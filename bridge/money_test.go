package bridge

import (
	"errors"
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"
)

func drawMicro(t *rapid.T, label string) int64 {
	return rapid.OneOf(rapid.Int64(), rapid.Int64Range(-1000, 1000), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, 0, 1, -1})).Draw(t, label)
}

// TestSumsAreExact compares sums and differences with big integers: exact, or
// refused where they do not fit.
func TestSumsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := Money{drawMicro(t, "a"), "USD"}, Money{drawMicro(t, "b"), "USD"}
		check := func(name string, got Money, err error, want *big.Int) {
			switch {
			case want.IsInt64() && (err != nil || got.Micro != want.Int64() || got.Currency != "USD"):
				t.Fatalf("%d %s %d = %d, %v; want %s", a.Micro, name, b.Micro, got.Micro, err, want)
			case !want.IsInt64() && !errors.Is(err, ErrOverflow):
				t.Fatalf("%d %s %d = %d, %v; want an overflow", a.Micro, name, b.Micro, got.Micro, err)
			}
		}
		x, y := big.NewInt(a.Micro), big.NewInt(b.Micro)
		sum, err := a.Add(b)
		check("+", sum, err, new(big.Int).Add(x, y))
		diff, err := a.Sub(b)
		check("-", diff, err, new(big.Int).Sub(x, y))
		if c, err := a.Cmp(b); err != nil || c != x.Cmp(y) {
			t.Fatalf("%d cmp %d = %d, %v", a.Micro, b.Micro, c, err)
		}
	})
}

// TestCostIsExact compares costs with decimals: rounded up for holds, half to
// even for posts, refused where they do not fit.
func TestCostIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.OneOf(rapid.Int64Range(0, 1e9), rapid.Int64Range(0, math.MaxInt64)).Draw(t, "rate")
		span := time.Duration(rapid.OneOf(rapid.Int64Range(0, int64(100*time.Hour)), rapid.Int64Range(0, math.MaxInt64)).Draw(t, "span"))
		machines := rapid.IntRange(0, 10_000).Draw(t, "machines")
		exact := decimal.NewFromInt(rate).Mul(decimal.NewFromInt(int64(machines))).Mul(decimal.NewFromInt(int64(span)))
		hour := decimal.NewFromInt(int64(time.Hour))
		whole, rest := exact.QuoRem(hour, 0)
		for round, want := range map[Rounding]decimal.Decimal{RoundUp: whole, RoundHalfEven: whole} {
			twice := rest.Mul(decimal.NewFromInt(2)).Cmp(hour)
			odd := !whole.Mod(decimal.NewFromInt(2)).IsZero()
			if !rest.IsZero() && (round == RoundUp || twice > 0 || twice == 0 && odd) {
				want = want.Add(decimal.NewFromInt(1))
			}
			got, err := Rate{rate, "USD"}.Cost(span, machines, round)
			if want.Cmp(decimal.NewFromInt(math.MaxInt64)) > 0 {
				if !errors.Is(err, ErrOverflow) {
					t.Fatalf("%d x %s x %d = %d, %v; want an overflow of %s", rate, span, machines, got.Micro, err, want)
				}
				continue
			}
			if err != nil || !decimal.NewFromInt(got.Micro).Equal(want) || got.Currency != "USD" {
				t.Fatalf("%d x %s x %d = %d, %v; want %s", rate, span, machines, got.Micro, err, want)
			}
		}
	})
}

// TestMoneyKeepsCurrenciesApart holds that two currencies never meet in a sum,
// and that nothing at all goes with any.
func TestMoneyKeepsCurrenciesApart(t *testing.T) {
	usd, cny, nothing := Money{5, "USD"}, Money{5, "CNY"}, Money{}
	if _, err := usd.Add(cny); !errors.Is(err, ErrCurrency) {
		t.Errorf("5 USD + 5 CNY: %v", err)
	}
	if _, err := usd.Sub(cny); !errors.Is(err, ErrCurrency) {
		t.Errorf("5 USD - 5 CNY: %v", err)
	}
	if _, err := usd.Cmp(cny); !errors.Is(err, ErrCurrency) {
		t.Errorf("5 USD against 5 CNY: %v", err)
	}
	for _, pair := range [][2]Money{{usd, nothing}, {nothing, usd}} {
		if got, err := pair[0].Add(pair[1]); err != nil || got != usd {
			t.Errorf("%v + %v = %v, %v", pair[0], pair[1], got, err)
		}
	}
	if _, err := (Money{0, "USD"}).Add(cny); !errors.Is(err, ErrCurrency) {
		t.Errorf("0 USD + 5 CNY: %v", err)
	}
}

// TestMoneyInWords holds that costs are shown rounded up and what is left
// rounded down.
func TestMoneyInWords(t *testing.T) {
	for _, tc := range []struct {
		micro       int64
		cost, floor string
	}{
		{0, "0.00 USD", "0.00 USD"},
		{1, "0.01 USD", "0.00 USD"},
		{10_000, "0.01 USD", "0.01 USD"},
		{1_234_567, "1.24 USD", "1.23 USD"},
		{-1, "-0.00 USD", "-0.01 USD"},
		{-1_234_567, "-1.23 USD", "-1.24 USD"},
		{math.MaxInt64, "9223372036854.78 USD", "9223372036854.77 USD"},
		{math.MinInt64, "-9223372036854.77 USD", "-9223372036854.78 USD"},
	} {
		m := Money{tc.micro, "USD"}
		if m.String() != tc.cost || m.Floor() != tc.floor {
			t.Errorf("%d: %s and %s, want %s and %s", tc.micro, m, m.Floor(), tc.cost, tc.floor)
		}
	}
}
