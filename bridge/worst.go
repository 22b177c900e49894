package bridge

import "time"

// SpotHeadroomPM is the ceiling of a spot machine in per mille of today's rate,
// where policy sets no ceiling of its own: moving prices may rise by a quarter
// before the machine is no longer wanted, and the hold covers that.
const SpotHeadroomPM = 1250

// LifeMargin is what a rental lives longer than boot and the job's own limit:
// the job starts a little after admission and ends a little after its limit.
const LifeMargin = 10 * time.Minute

// LongestLife holds where policy sets none.
const LongestLife = 24 * time.Hour

// ceiling is the rate the hold is computed with: what the machine costs today
// on demand, the most it may come to cost on the spot market.
func ceiling(o *Offer, t *Terms) Rate {
	if o.Pool.Market != Spot {
		return o.Rate
	}
	if t.MaxRate.Micro > 0 {
		return t.MaxRate
	}
	hour, err := Rate{o.Rate.Micro, o.Rate.Currency}.Cost(SpotHeadroomPM*time.Hour/1000, 1, RoundUp)
	if err != nil {
		return o.Rate
	}
	return Rate(hour)
}

// needOf is how long a job may run: its limit, at most policy's longest life.
func needOf(t *Terms, limit time.Duration) time.Duration {
	longest := t.Life
	if longest <= 0 {
		longest = LongestLife
	}
	if limit <= 0 {
		return longest
	}
	return min(limit, longest)
}

// lifeOn is how long a machine of an offer lives at most for a job; false if the
// contract that it belongs to, or what policy asks of its provider, ends before
// the job would.
func (l *look) lifeOn(b *batch, t *Terms, i int) (time.Duration, bool) {
	o := l.catalog.offers[i]
	left := min(l.catalog.state[i].left, b.view.lastsOn(i))
	life := lifeOf(t, b.limit, o.Boot)
	return min(life, left), left >= needOf(t, b.limit)+o.Boot
}

// lifeOf is how long a machine lives at most for a job: it boots, and the job
// starts a little after that and ends a little after its limit.
func lifeOf(t *Terms, limit, boot time.Duration) time.Duration {
	longest, need := needOf(t, 0), needOf(t, limit)
	return min(longest, need+boot+LifeMargin)
}
