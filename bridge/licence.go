package bridge

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// licenceStages are how long before the end of an attribute it is told of; the
// last is past it.
var licenceStages = []struct {
	name string
	left time.Duration
}{{"in a month", SoonBefore}, {"in a week", 7 * 24 * time.Hour}, {"ended", -1}}

// Licences is the news of providers' attributes that end soon or have ended, by
// the names of their clouds: each stage once, and none that a later one has passed.
// One whose end was moved is told of anew.
func Licences(now time.Time, providers map[string]Provider) []Once {
	var out []Once
	for _, cloud := range slices.Sorted(maps.Keys(providers)) {
		for _, a := range providers[cloud].Attributes {
			if once, due := a.told(cloud, now); due {
				out = append(out, once)
			}
		}
	}
	return out
}

func (a *Attribute) told(cloud string, now time.Time) (Once, bool) {
	left := a.Until.Sub(now)
	if a.Validity(now) == Valid {
		return Once{}, false
	}
	name := func(stage int) string {
		return fmt.Sprintf("licence %s of %s until %s: %s", a.Name, cloud, a.Until.UTC().Format(time.RFC3339), licenceStages[stage].name)
	}
	last := 0
	for i, stage := range licenceStages {
		if left <= stage.left {
			last = i
		}
	}
	once := Once{Name: name(last)}
	for passed := range last {
		once.Silences = append(once.Silences, name(passed))
	}
	what, day := a.Name, a.Until.UTC().Format(time.DateOnly)
	if a.Number != "" {
		what += " (" + a.Number + ")"
	}
	text := fmt.Sprintf("%s of cloud %s ends on %s: jobs that need it go elsewhere from then on, unless it is renewed", what, cloud, day)
	if left < 0 {
		text = fmt.Sprintf("%s of cloud %s ended on %s: jobs that need it go elsewhere", what, cloud, day)
	}
	once.News = News{At: now, Kind: NewsWarning, Text: text}
	return once, true
}
