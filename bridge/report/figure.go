package report

import (
	"fmt"
	"strconv"
	"time"
)

// Hours is an amount of time of GPUs, machines or jobs, in tenths of an hour.
// JSON has it in hours, as 12.3.
type Hours int64

// HoursOf rounds seconds to the nearest tenth of an hour.
func HoursOf(seconds int64) Hours {
	const tenth = 360
	if seconds < 0 {
		return -HoursOf(-seconds)
	}
	return Hours((seconds + tenth/2) / tenth)
}

// String prints 12.3.
func (h Hours) String() string {
	sign := ""
	if h < 0 {
		sign, h = "-", -h
	}
	return fmt.Sprintf("%s%d.%d", sign, h/10, h%10)
}

// MarshalJSON writes hours with one decimal.
func (h Hours) MarshalJSON() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalJSON reads hours with at most one decimal.
func (h *Hours) UnmarshalJSON(text []byte) error {
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return fmt.Errorf("read hours %q: %w", text, err)
	}
	if f < 0 {
		*h = -Hours(-f*10 + 0.5)
		return nil
	}
	*h = Hours(f*10 + 0.5)
	return nil
}

// Span is a length of time in whole seconds, in JSON as well.
type Span int64

// SpanOf cuts a duration to whole seconds.
func SpanOf(d time.Duration) Span { return Span(d / time.Second) }

// Duration is the span as the standard library has it.
func (s Span) Duration() time.Duration { return time.Duration(s) * time.Second }

// Percent prints a number per mille as a percentage without its sign: 23.4.
func Percent(pm int) string { return Hours(pm).String() }
