package desk

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// Lang is the language of texts: "en", or "zh" for simplified Chinese.
type Lang string

// The languages.
const (
	English Lang = "en"
	Chinese Lang = "zh"
)

func (l Lang) of(w bridge.Reason) wording {
	table := english
	if l == Chinese {
		table = chinese
	}
	if t, ok := table[w]; ok {
		return t
	}
	return wording{Short: string(w), Why: string(w)}
}

// Short says a reason in a few words, for a table.
func (l Lang) Short(w bridge.Reason) string { return l.of(w).Short }

// Why says a verdict in one sentence.
func (l Lang) Why(v *bridge.Verdict) string { return fill(l.of(v.Why).Why, l.facts(v)) }

// Change says what would make a verdict different.
func (l Lang) Change(v *bridge.Verdict) string { return fill(l.of(v.Why).Change, l.facts(v)) }

// notAllowed says that policy rules out a cloud, region or market.
func (l Lang) notAllowed() string {
	if l == Chinese {
		return "策略不允许此云、区域或市场"
	}
	return "policy does not allow this cloud, region or market"
}

func (l Lang) facts(v *bridge.Verdict) map[string]string {
	f := map[string]string{
		"rule": v.Rule, "rental": string(v.Rental), "limit": string(v.Limit), "detail": v.Detail,
		"job": string(v.Job), "until": Clock(v.Until),
	}
	if v.Scope != nil {
		f["limit"] = l.Scope(*v.Scope)
	}
	if v.Pool != nil {
		f["pool"] = Place(*v.Pool)
	}
	if v.Cost.Currency != "" {
		f["cost"] = v.Cost.String()
	}
	if v.Left.Currency != "" {
		f["left"] = v.Left.Floor()
	}
	return f
}

var optional, slot = regexp.MustCompile(`\[[^\]]*\]`), regexp.MustCompile(`\{(\w+)\}`)

// fill puts facts into a wording and drops the bracketed parts whose facts are
// missing.
func fill(text string, facts map[string]string) string {
	put := func(s string) string {
		return slot.ReplaceAllStringFunc(s, func(m string) string { return facts[m[1:len(m)-1]] })
	}
	text = optional.ReplaceAllStringFunc(text, func(part string) string {
		for _, m := range slot.FindAllStringSubmatch(part, -1) {
			if facts[m[1]] == "" {
				return ""
			}
		}
		return put(part[1 : len(part)-1])
	})
	return strings.TrimSpace(put(text))
}

// Place says a pool for people: what and where, cheapest words first.
func Place(p bridge.Pool) string {
	where := p.Cloud
	if p.Zone != "" {
		where += " " + p.Zone
	} else if p.Region != "" {
		where += " " + p.Region
	}
	return fmt.Sprintf("%s %s in %s", p.Type, p.Market, where)
}

// Span says a duration with its two largest units: "45 s", "12 min",
// "2 h 14 min", "3 d 4 h". Nothing is "0 s".
func Span(d time.Duration) string {
	if d < 0 {
		return "-" + Span(-max(d, -math.MaxInt64)) // the least has no opposite
	}
	d = d.Round(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 10*time.Minute:
		return two(d, time.Minute, "min", time.Second, "s")
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return two(d, time.Hour, "h", time.Minute, "min")
	}
	return two(d, 24*time.Hour, "d", time.Hour, "h")
}

func two(d, big time.Duration, b string, small time.Duration, s string) string {
	if rest := d % big / small; rest > 0 {
		return fmt.Sprintf("%d %s %d %s", d/big, b, rest, s)
	}
	return fmt.Sprintf("%d %s", d/big, b)
}

// Clock says an instant in UTC, or nothing for the zero time.
func Clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(clockForm)
}

const clockForm = "2006-01-02 15:04 UTC"

// Count says a number of things: "1 machine", "3 machines".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
