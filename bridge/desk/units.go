package desk

import (
	"math/big"
	"strconv"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

func readMoney(v string) (bridge.Money, error) {
	m := moneyWord.FindStringSubmatch(v)
	switch {
	case strings.HasPrefix(v, "¥"):
		return bridge.Money{}, amiss("%s may be yuan or yen: say 100cny or 100jpy", v)
	case strings.HasPrefix(v, "€"):
		return readMoney(strings.TrimPrefix(v, "€") + "eur")
	case m == nil:
		return bridge.Money{}, amiss("%q is not an amount of money", v)
	case m[1] != "" && m[3] != "" && (m[1] != "$" || m[3] != "usd"):
		return bridge.Money{}, amiss("%s names two currencies", v)
	case m[1] == "" && m[3] == "":
		return bridge.Money{}, amiss("%s of which currency? Say $%s or %scny", v, v, v)
	}
	r, ok := new(big.Rat).SetString(m[2])
	if !ok {
		return bridge.Money{}, amiss("%q is not an amount of money", v)
	}
	r.Mul(r, big.NewRat(bridge.Micro, 1))
	if !r.IsInt() || !r.Num().IsInt64() {
		return bridge.Money{}, amiss("%s does not fit: at most six decimals", v)
	}
	currency := strings.ToUpper(m[1] + m[3])
	if m[1] == "$" {
		currency = "USD"
	}
	return bridge.Money{Micro: r.Num().Int64(), Currency: bridge.Currency(currency)}, nil
}

// amiss is an error of what somebody typed.
func amiss(format string, args ...any) error { return wrong(BadRequest, "", format, args...) }

// readDuration reads 6h, 90m, 1h30m, 1.5h, 2d, and Slurm's D-HH[:MM[:SS]] and
// HH:MM:SS. Two numbers with one colon are refused: Slurm reads minutes and
// seconds there, people mean hours.
func readDuration(w string) (time.Duration, bool) {
	if m := slurmTime.FindStringSubmatch(w); m != nil {
		return clockTime(m[1], m[2], m[3], m[4])
	}
	if m := slurmDays.FindStringSubmatch(w); m != nil {
		return clockTime(m[1], m[2], m[3], "")
	}
	if !unitsWord.MatchString(w) {
		return 0, false
	}
	var sum time.Duration
	for _, m := range unitsPart.FindAllStringSubmatch(w, -1) {
		unit, ok := timeUnits[m[2]]
		n, isNumber := new(big.Rat).SetString(m[1])
		if !ok || !isNumber {
			return 0, false
		}
		n.Mul(n, big.NewRat(int64(unit), 1))
		if !n.IsInt() || !n.Num().IsInt64() || n.Num().Int64() > int64(maxDuration) {
			return 0, false
		}
		sum += time.Duration(n.Num().Int64())
	}
	sum = sum.Round(time.Second)
	return sum, sum > 0 && sum <= maxDuration
}

// maxDuration is more than any rental lasts.
const maxDuration = 366 * 24 * time.Hour

func clockTime(d, h, m, s string) (time.Duration, bool) {
	var sum time.Duration
	for _, part := range []struct {
		s string
		u time.Duration
	}{{d, 24 * time.Hour}, {h, time.Hour}, {m, time.Minute}, {s, time.Second}} {
		if part.s == "" {
			continue
		}
		n, err := strconv.Atoi(part.s)
		if err != nil || n > 100_000 {
			return 0, false
		}
		sum += time.Duration(n) * part.u
	}
	return sum, sum > 0 && sum <= maxDuration
}

var timeUnits = map[string]time.Duration{
	"s": time.Second, "sec": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hrs": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
}

func isUnit(w string) bool {
	_, ok := timeUnits[w]
	return ok
}
