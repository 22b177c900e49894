package bill

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"
	"golang.org/x/text/currency"

	"spillway.sh/spillway/bridge"
)

// The kinds of lines of a bill.
const (
	KindUsage  = "usage"
	KindCredit = "credit"
	KindRefund = "refund"
	KindTax    = "tax"
	KindOther  = "other" // bought in advance, support and the like
)

// kinds are the words for kinds of charges: those of FOCUS, and those of plain
// exports in English and Chinese.
var kinds = map[string]string{
	"usage": KindUsage, "credit": KindCredit, "tax": KindTax, "purchase": KindOther, "adjustment": KindRefund,
	"refund": KindRefund, "discount": KindCredit, "other": KindOther, "support": KindOther,
	"payasyougobill": KindUsage, "payasyougo": KindUsage, "pay-as-you-go": KindUsage, "subscriptionorder": KindOther, "on-demand": KindUsage, "spot": KindUsage,
	"消费": KindUsage, "扣费": KindUsage, "按量付费": KindUsage, "按量计费": KindUsage, "后付费": KindUsage, "按需": KindUsage, "竞价": KindUsage, "抢占式": KindUsage,
	"包年包月": KindOther, "预付费": KindOther,
	"退款": KindRefund, "退费": KindRefund, "调账": KindRefund, "代金券": KindCredit, "优惠": KindCredit, "折扣": KindCredit, "税": KindTax, "税费": KindTax,
}

func knownKinds() string { return strings.Join(slices.Sorted(maps.Keys(kinds)), ", ") }

// currencies are words for a currency that are no codes of ISO 4217, and mean
// one for certain.
var currencies = map[string]bridge.Currency{"RMB": "CNY", "人民币": "CNY", "CNH": "CNY", "美元": "USD"}

func readCurrency(s string) (bridge.Currency, bool) {
	if c, ok := currencies[s]; ok {
		return c, true
	}
	if _, err := currency.ParseISO(s); err != nil || s != strings.ToUpper(s) {
		return "", false
	}
	return bridge.Currency(s), true
}

// mostUnits is more than any line of a bill is.
var mostUnits = decimal.New(1, 9)

// ParseAmount reads a plain decimal, or one with an exponent, and rounds it half
// to even to micro-units; false where it is none.
func ParseAmount(s string) (int64, bool) {
	const digits = 64
	if len(s) == 0 || len(s) > digits {
		return 0, false
	}
	d, err := decimal.NewFromString(s)
	if err != nil || d.Exponent() > 9 || d.Exponent() < -40 || d.Abs().GreaterThan(mostUnits) {
		return 0, false
	}
	const micro = 6
	return d.Shift(micro).RoundBank(0).IntPart(), true
}

// layouts are how exports write times; those without a zone are in the zone
// that is given.
var layouts = []string{
	time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 UTC", "2006-01-02T15:04:05", "2006-01-02 15:04:05",
	"2006-01-02 15:04", "2006/01/02 15:04:05", "2006/1/2 15:04:05", "2006/1/2 15:04", "20060102150405", time.DateOnly, "2006/01/02", "20060102",
}

const wantTime = "2026-11-30T08:00:00Z or 2026-11-30 08:00:00"

func readTime(s string, zone *time.Location) (time.Time, bool) {
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil && t.Year() > 2000 && t.Year() < 2200 {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// readMonth reads a month of a bill and returns its first instant and that of
// the next one.
func readMonth(s string, zone *time.Location) (from, to time.Time, ok bool) {
	for _, layout := range []string{"2006-01", "200601", "2006/01", "2006年1月", "2006年01月"} {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil && t.Year() > 2000 && t.Year() < 2200 {
			return t.UTC(), t.AddDate(0, 1, 0).UTC(), true
		}
	}
	return from, to, false
}

// readTags reads tags as JSON, or as key:value or key=value, separated by
// semicolons, with or without the words key and value before each.
func readTags(s string) (map[string]string, error) {
	tags := map[string]string{}
	if s == "" || s == "-" || strings.EqualFold(s, "null") {
		return tags, nil
	}
	if strings.HasPrefix(s, "{") {
		var values map[string]any
		if err := json.Unmarshal([]byte(s), &values); err != nil {
			return nil, fmt.Errorf("read tags: %w", err)
		}
		for k, v := range values {
			if text, ok := v.(string); ok {
				tags[tagName(k)] = text
			}
		}
		return tags, nil
	}
	for part := range strings.SplitSeq(strings.NewReplacer("；", ";", "|", ";").Replace(s), ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		part = strings.TrimPrefix(part, "key:")
		cut := strings.IndexAny(part, ":=")
		if value := strings.Index(part, " value:"); value >= 0 {
			tags[tagName(part[:value])] = strings.TrimSpace(part[value+len(" value:"):])
			continue
		}
		if cut > 0 {
			tags[tagName(part[:cut])] = strings.TrimSpace(part[cut+1:])
		}
	}
	return tags, nil
}

// tagName undoes what exports do to the names of tags: a user: before them, and
// underscores for dashes.
func tagName(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	s = strings.TrimPrefix(strings.TrimPrefix(s, "user:"), "user_")
	return strings.ReplaceAll(s, "_", "-")
}

// identity is the key of a line that is given none: a digest of what it is
// known by.
func identity(cells []string, at []int) string {
	h := sha256.New()
	for _, i := range at {
		_, _ = fmt.Fprintf(h, "%d:%s", len(cells[i]), cells[i]) // never fails
	}
	const length = 26 // 130 bits
	return strings.ToLower(base32.StdEncoding.EncodeToString(h.Sum(nil))[:length])
}
