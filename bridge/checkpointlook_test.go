package bridge

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBestInterval(t *testing.T) {
	for name, c := range map[string]struct{ save, between, want time.Duration }{
		"a minute to write, ten hours between":   {time.Minute, 10 * time.Hour, 34*time.Minute + 38*time.Second},
		"ten seconds, half an hour":              {10 * time.Second, 30 * time.Minute, 3*time.Minute + 10*time.Second},
		"so long to write that all would be it":  {2 * time.Hour, time.Hour, time.Hour},
		"not known how long it takes":            {0, time.Hour, 0},
		"never taken as far as anybody has seen": {time.Minute, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := BestInterval(c.save, c.between); got != c.want {
				t.Errorf("have %s, want %s", got, c.want)
			}
		})
	}
}

// TestBestIntervalLosesLeast holds it against the loss itself: the share of time
// that goes into saving, and half an interval for each reclaim.
func TestBestIntervalLosesLeast(t *testing.T) {
	loss := func(every, save, between time.Duration) float64 {
		return save.Seconds()/every.Seconds() + every.Seconds()/(2*between.Seconds())
	}
	rapid.Check(t, func(t *rapid.T) {
		save := time.Duration(rapid.IntRange(5, 600).Draw(t, "save")) * time.Second
		between := time.Duration(rapid.IntRange(10, 6000).Draw(t, "between")) * time.Minute
		best := BestInterval(save, between)
		if save >= 2*between {
			return // the formula does not hold
		}
		for _, other := range []time.Duration{best / 2, best * 9 / 10, best * 11 / 10, best * 2} {
			if loss(other, save, between) < loss(best, save, between)-1e-9 {
				t.Fatalf("every %s loses less than every %s", other, best)
			}
		}
	})
}

// TestRuleBarsAsTheMarketDoes holds that what people are told is what decides.
func TestRuleBarsAsTheMarketDoes(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	fresh := &Checkpoint{At: now.Add(-10 * time.Minute), Every: 20 * time.Minute}
	for name, c := range map[string]struct {
		rule CheckpointRule
		d    Demand
		ck   *Checkpoint
		want Reason
	}{
		"nothing asked for":                {CheckpointRule{}, Demand{}, nil, ""},
		"required and none":                {CheckpointRule{Required: true}, Demand{}, nil, ReasonNoCheckpoint},
		"required and there":               {CheckpointRule{Required: true}, Demand{}, fresh, ""},
		"ran, and none":                    {CheckpointRule{MaxAge: time.Hour}, Demand{Restarts: 1}, nil, ReasonNoCheckpoint},
		"often enough":                     {CheckpointRule{MaxAge: 30 * time.Minute}, Demand{}, fresh, ""},
		"too seldom":                       {CheckpointRule{MaxAge: 15 * time.Minute}, Demand{}, fresh, ReasonOldCheckpoint},
		"often enough, and old when taken": {CheckpointRule{MaxAge: 30 * time.Minute}, Demand{Restarts: 1, Eligible: now.Add(time.Hour)}, fresh, ReasonOldCheckpoint},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.rule.Bars(&c.d, c.ck); got != c.want {
				t.Errorf("have %q, want %q", got, c.want)
			}
		})
	}
}
