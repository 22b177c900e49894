package bridge

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// teller is a store that tells each name once.
type teller struct {
	names map[string]bool
	told  []Alert
	texts []string
}

func (t *teller) tell(once []Once) (n int) {
	if t.names == nil {
		t.names = map[string]bool{}
	}
	for _, o := range once {
		if t.names[o.Name] {
			continue
		}
		n++
		t.names[o.Name] = true
		for _, s := range o.Silences {
			t.names[s] = true
		}
		t.told, t.texts = append(t.told, *o.News.Alert), append(t.texts, o.News.Text)
	}
	return n
}

// month is a budget of models with what is posted and held, in whole units.
type moment struct {
	limit, posted, held, likely int64
	period                      string
	says                        string // measure and percent of what is told, in order
}

func TestS_F18_AnAlertIsToldOnce(t *testing.T) {
	for name, c := range map[string][]moment{
		"each threshold once, however often it is looked at": {
			{limit: 100, posted: 49},
			{limit: 100, posted: 50, says: "posted 50"},
			{limit: 100, posted: 50},
			{limit: 100, posted: 79},
			{limit: 100, posted: 80, says: "posted 80"},
			{limit: 100, posted: 99},
			{limit: 100, posted: 100, says: "posted 100"},
			{limit: 100, posted: 500},
		},
		"a jump tells the highest and silences the lower": {
			{limit: 100, posted: 40}, {limit: 100, posted: 110, says: "posted 100"}, {limit: 100, posted: 60}, {limit: 100, posted: 85},
		},
		"what is spent is not told again as held or forecast": {
			{limit: 100, posted: 80, held: 5, likely: 90, says: "posted 80"}, {limit: 100, posted: 81, held: 10, likely: 99},
		},
		"held says more than posted": {
			{limit: 100, posted: 40, held: 40, says: "held 80"}, {limit: 100, posted: 50, held: 30, says: "posted 50"}, {limit: 100, posted: 80, says: "posted 80"},
		},
		"each of three measures": {
			{limit: 100, posted: 50, held: 30, likely: 100, says: "posted 50, held 80, forecast 100"},
		},
		"a forecast that changes its mind is told once": {
			{limit: 100, likely: 120, says: "forecast 100"}, {limit: 100, likely: 20}, {limit: 100, likely: 120}, {limit: 100, likely: 60},
		},
		"a new period begins anew": {
			{limit: 100, posted: 80, period: "2026-11", says: "posted 80"},
			{limit: 100, posted: 0, period: "2026-12"},
			{limit: 100, posted: 50, period: "2026-12", says: "posted 50"},
			{limit: 100, posted: 80, period: "2026-12", says: "posted 80"},
		},
		"a raised limit is silent about what was reached": {
			{limit: 100, posted: 85, says: "posted 80"}, {limit: 110, posted: 90}, {limit: 110, posted: 109}, {limit: 110, posted: 110, says: "posted 100"},
		},
		"and tells of what comes after": {
			{limit: 100, posted: 85, says: "posted 80"},
			{limit: 200, posted: 90},
			{limit: 200, posted: 100, says: "posted 50"},
			{limit: 200, posted: 160, says: "posted 80"},
			{limit: 200, posted: 200, says: "posted 100"},
		},
		"a limit raised when it was used up": {
			{limit: 100, posted: 100, says: "posted 100"}, {limit: 150, posted: 100}, {limit: 150, posted: 120, says: "posted 80"}, {limit: 150, posted: 150, says: "posted 100"},
		},
		"raised twice": {
			{limit: 100, posted: 50, says: "posted 50"}, {limit: 120, posted: 60}, {limit: 140, posted: 70}, {limit: 140, posted: 112, says: "posted 80"},
		},
		"raised under what is held": {
			{limit: 100, posted: 10, held: 75, says: "held 80"},
			{limit: 110, posted: 10, held: 80},
			{limit: 110, posted: 10, held: 100, says: "held 100"},
			{limit: 110, posted: 60, held: 50, says: "posted 50"},
		},
		"a lowered limit tells what it makes true": {
			{limit: 100, posted: 55, says: "posted 50"}, {limit: 60, posted: 55, says: "posted 80"}, {limit: 50, posted: 55, says: "posted 100"},
		},
		"back to the limit it had": {
			{limit: 100, posted: 85, says: "posted 80"}, {limit: 400, posted: 85}, {limit: 100, posted: 85}, {limit: 100, posted: 100, says: "posted 100"},
		},
		"a limit of nothing": {
			{limit: 0, posted: 0}, {limit: 0, posted: 1, says: "posted 100"}, {limit: 0, posted: 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var s teller
			for i, m := range c {
				of := func(units int64) Money { return Money{units * Micro, "USD"} }
				b := Budget{Account: "acme/models", Every: Month, Limit: of(m.limit)}
				bal := Balance{Account: b.Account, Period: m.period, Limit: b.Limit, Posted: of(m.posted), Held: of(m.held)}
				var likely *Money
				if m.likely > 0 {
					l := of(m.likely)
					likely = &l
				}
				before := len(s.told)
				s.tell(Alerts(noon, &b, &bal, likely, s.told))
				var says []string
				for _, a := range s.told[before:] {
					says = append(says, string(a.Measure)+" "+map[int]string{50: "50", 80: "80", 100: "100"}[a.Percent])
				}
				if got := strings.Join(says, ", "); got != m.says {
					t.Errorf("at %d (limit %d, posted %d, held %d, likely %d): told %q, want %q", i, m.limit, m.posted, m.held, m.likely, got, m.says)
				}
			}
		})
	}
}

// Five hundred looks a threshold, with the amount wavering around it, tell once.
func TestS_F18_FiveHundredLooksTellOnce(t *testing.T) {
	var s teller
	b := Budget{Account: "acme", Every: Day, Limit: Money{100 * Micro, "USD"}}
	for i := range int64(500) {
		bal := Balance{Account: "acme", Period: "2026-11-30", Limit: b.Limit, Posted: Money{(80 + i%3) * Micro, "USD"}, Held: Money{i % 7 * Micro, "USD"}}
		s.tell(Alerts(noon, &b, &bal, nil, s.told))
	}
	if len(s.told) != 1 {
		t.Errorf("told %d times: %q", len(s.told), s.texts)
	}
}

// What two budgets have in common is not what they are told by.
func TestEveryScopeHasItsOwnAlerts(t *testing.T) {
	var s teller
	limit := Money{100 * Micro, "USD"}
	for _, b := range []Budget{
		{Account: "acme", Every: Month, Limit: limit},
		{Account: "acme", Every: Week, Limit: limit},
		{Account: "acme", Every: Month, Cloud: "north", Limit: limit},
		{Account: "acme", Every: Month, GPU: "north", Limit: limit},
		{Account: "acme/models", Every: Month, Limit: limit},
	} {
		bal := Balance{Period: "2026-11", Limit: limit, Posted: Money{60 * Micro, "USD"}, Held: Money{0, "USD"}}
		if n := s.tell(Alerts(noon, &b, &bal, nil, s.told)); n != 1 {
			t.Errorf("%s every %s: %d alerts", b.Scope(), b.Every, n)
		}
	}
}

func TestWhatAnAlertSays(t *testing.T) {
	of := func(cents int64) Money { return Money{cents * Micro / 100, "USD"} }
	for want, a := range map[string]Alert{
		"acme: 412.50 USD of 500.00 USD (82 %) is spent in 2026-11":                                                     {Measure: OfPosted, Percent: 80, Amount: of(41250)},
		"acme: fully used: 500.00 USD of 500.00 USD is spent in 2026-11":                                                {Measure: OfPosted, Percent: 100, Amount: of(50000)},
		"acme: over by 0.01 USD: 500.01 USD of 500.00 USD is spent or held in 2026-11":                                  {Measure: OfHeld, Percent: 100, Amount: of(50001)},
		"acme: over by 100.00 USD: 600.00 USD of 500.00 USD is likely to be spent by the end of 2026-11":                {Measure: OfForecast, Percent: 100, Amount: of(60000), Hard: true},
		"acme: fully used: 500.00 USD of 500.00 USD is spent in 2026-11; the limit is hard, and nothing more is rented": {Measure: OfPosted, Percent: 100, Amount: of(50000), Hard: true},
	} {
		a.Scope, a.Period, a.Limit = Scope{Account: "acme"}, "2026-11", of(50000)
		if got := a.String(); got != want {
			t.Errorf("says %q,\nwant %q", got, want)
		}
	}
}

func TestAPeriodEnds(t *testing.T) {
	b := Budget{Account: "acme", GPU: "h100", Every: Week, Limit: Money{100 * Micro, "USD"}}
	bal := Balance{Period: "2026-W48", Limit: b.Limit, Posted: Money{120 * Micro, "USD"}, Held: Money{0, "USD"}}
	once := PeriodEnded(noon, &b, &bal, []Rental{{ID: NewRentalID(2)}, {ID: NewRentalID(1)}})
	want := "spent by acme h100 in 2026-W48, of 100.00 USD, over by 20.00 USD; not final, still open: " + string(NewRentalID(1)) + ", " + string(NewRentalID(2))
	if once == nil || once.News.Text != want || once.News.Cost != bal.Posted || once.News.Alert.Percent != 100 {
		t.Errorf("told %+v,\nwant %q", once, want)
	}
	bal.Posted.Micro = 0
	if again := PeriodEnded(noon, &b, &bal, nil); again != nil {
		t.Errorf("told of a period in which nothing happened: %q", again.News.Text)
	}
}

func TestWhoAnswersForMoney(t *testing.T) {
	budgets := []Budget{{Account: "acme", Approvers: []string{"boss"}}, {Account: "acme/ai/nlp", Approvers: []string{"mei", "@leads"}}, {Account: "acme/ai"}}
	for account, want := range map[Account][]string{
		"acme/ai/nlp/ana": {"mei", "@leads"}, "acme/ai/vision/bob": {"boss"}, "other/x": {"root"},
	} {
		if got := OwnersOf(budgets, Scope{Account: account}, []string{"root"}); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", account, got, want)
		}
	}
}

// Whatever is spent, held and foreseen under one limit: what is reached was told, by
// itself or by what says more; nothing was told that was not reached; and no
// period has more than nine messages.
func TestS_F18_WhatIsReachedWasTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s teller
		of := func(units int64) Money { return Money{units * Micro, "USD"} }
		b := Budget{Account: "acme", Every: Month, Limit: of(rapid.Int64Range(1, 300).Draw(t, "limit"))}
		posted := int64(0)
		for range rapid.IntRange(1, 30).Draw(t, "looks") {
			posted += rapid.Int64Range(0, 40).Draw(t, "more")
			bal := Balance{Account: b.Account, Period: "2026-11", Limit: b.Limit, Posted: of(posted), Held: of(rapid.Int64Range(0, 200).Draw(t, "held"))}
			likely := of(posted + rapid.Int64Range(0, 300).Draw(t, "rest"))
			before := len(s.told)
			s.tell(Alerts(noon, &b, &bal, &likely, s.told))
			for i := range s.told[before:] {
				if a := &s.told[before+i]; a.Amount.Micro*100 < a.Limit.Micro*int64(a.Percent) {
					t.Fatalf("told of %s at %d %%", a.Amount, a.Percent)
				}
			}
			for m, amount := range map[Measure]Money{OfPosted: bal.Posted, OfHeld: of(posted + bal.Held.Micro/Micro), OfForecast: likely} {
				now := Alert{Measure: m, Amount: amount, Limit: b.Limit}
				if percent := now.reached(); percent > 0 && !slices.ContainsFunc(s.told, func(a Alert) bool { return a.says(m) && a.Percent >= percent }) {
					t.Fatalf("%s of %s (%s): nobody was told", amount, b.Limit, m)
				}
			}
		}
		if len(s.told) > 9 {
			t.Fatalf("%d messages: %q", len(s.told), s.texts)
		}
	})
}
