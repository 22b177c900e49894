package desk

// compareLines is the order in which what is weighed is told.
var compareLines = []string{"offer", "rate", "run", "billing", "machines", "loss", "egress", "total", "hold", "delivery", "network", "attributes", "verdict"}

// compareWords says what is weighed of an offer; its twin is compareWordsChinese.
// {name} is a fact, and a part in [brackets] is left out when its fact is not known.
var compareWords = map[string]string{
	"name-offer":      "Offer",
	"name-rate":       "Each hour",
	"name-run":        "Paid for",
	"name-billing":    "Billing adds",
	"name-machines":   "Machines",
	"name-loss":       "Likely loss",
	"name-egress":     "Egress",
	"name-total":      "Total",
	"name-hold":       "Held at most",
	"name-delivery":   "Ready in",
	"name-network":    "Network",
	"name-attributes": "Provider has",
	"name-verdict":    "Verdict",

	"rate":            "{rate}[, {age} old][, by {source}]",
	"run":             "{run} of work, {boot} to boot[, {spare} to spare]",
	"billing":         "[{minimum} up to the minimum, ][{step} up to a whole step, ][{early} for going back early, ]",
	"billing-none":    "nothing",
	"loss":            "{loss} ({reclaims} reclaims of a machine expected)",
	"attribute":       "{name}[ {number}][, until {day}]",
	"attribute-ended": "{name}[ {number}], ended {day}",
	"unsaid":          "not said",
	"chosen":          "taken: it comes first",
	"at-once":         "rented at once",
	"asks":            "needs an approver's yes",
	"would-do":        "would do, and comes later",
	"why-not":         "no: {why}[ ({detail})]",
}

func (l Lang) compare(key string, facts map[string]string) string {
	words := compareWords
	if l == Chinese {
		words = compareWordsChinese
	}
	return fill(words[key], facts)
}
