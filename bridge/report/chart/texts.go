package chart

import (
	"strings"

	"spillway.sh/spillway/bridge/report"
)

// texts are all words of the charts; {slots} are filled with facts. Both
// languages have every one of them.
type texts struct {
	Kept, OnDemand, Spot string
	Stop, Gap            string // between sentences of a description, and between items

	Spend, SpendSub, SpendSubAll string
	SpendDay                     string
	Weekdays                     [7]string // from Sunday

	Demand, DemandAxis                         string
	DemandClass, DemandClassOnly               string
	Reserve, Rent, Wanted, Best, Have, Further string
	DemandAlt, DemandAltBest                   string

	Month, MonthSub, MonthForecast, MonthLimit, MonthAlt string
	SoFar, Expected, Band, Limit                         string

	Top, TopSub, TopLine, Others, NoProject string
}

var english = texts{
	Kept: "owned and reserved", OnDemand: "on demand", Spot: "spot",
	Stop: ". ", Gap: ", ",

	Spend: "Spend per day, {currency}", SpendSub: "{week}: {total} in all, of it {elastic} elastic ({share} %)",
	SpendSubAll: "{week}: {total} in all, of it {elastic} elastic",
	SpendDay:    "{day}: owned and reserved {kept}, on demand {demand}, spot {spot}",
	Weekdays:    [7]string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"},

	Demand: "GPUs wanted, busiest hours first", DemandAxis: "% of hours with at least so many",
	DemandClass: "{gpu}: best {best}, now {have}", DemandClassOnly: "{gpu}: now {have}",
	Reserve: "reserved, at the best number", Rent: "rented above it", Wanted: "wanted", Best: "K*, the best number to reserve", Have: "owned and reserved now",
	Further:   "{n} more in the tables",
	DemandAlt: "{gpu}: at most {peak} wanted, half of the time {median} or more, owned and reserved now {have}", DemandAltBest: ", best {best}",

	Month: "Elastic spend in {month}, {currency}", MonthSub: "{date}: {sofar}",
	MonthForecast: "forecast {likely} ({low} to {high})", MonthLimit: "budget {limit}", MonthAlt: "By {date} {sofar}",
	SoFar: "so far", Expected: "forecast", Band: "8 of 10 months end in here", Limit: "budget",

	Top: "Elastic spend by project, {currency}", TopSub: "{week}: {elastic}", TopLine: "{name} {cost} ({share} %)", Others: "{n} others", NoProject: "(none)",
}

func textsOf(l report.Lang) *texts {
	if l == report.Chinese {
		return &chinese
	}
	return &english
}

// all are the words themselves, for whoever asks whether they can be drawn.
func (t *texts) all() string {
	words := []string{
		t.Kept, t.OnDemand, t.Spot, t.Stop, t.Gap, t.Spend, t.SpendSub, t.SpendSubAll, t.SpendDay, t.Demand, t.DemandAxis,
		t.DemandClass, t.DemandClassOnly, t.Reserve, t.Rent, t.Wanted, t.Best, t.Have, t.Further, t.DemandAlt, t.DemandAltBest,
		t.Month, t.MonthSub, t.MonthForecast, t.MonthLimit, t.MonthAlt, t.SoFar, t.Expected, t.Band, t.Limit,
		t.Top, t.TopSub, t.TopLine, t.Others, t.NoProject,
	}
	return strings.Join(append(words, t.Weekdays[:]...), " ")
}

// fill puts facts, name and value in turn, into the slots of a text.
func fill(text string, facts ...string) string {
	pairs := make([]string, len(facts))
	for i, f := range facts {
		if pairs[i] = f; i%2 == 0 {
			pairs[i] = "{" + f + "}"
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
