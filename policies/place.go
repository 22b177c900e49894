package policies

import (
	"fmt"
	"regexp"
	"slices"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/config/strict"
)

// mostGiB is a pebibyte: more leaves no cloud with each start of a job.
const mostGiB = 1 << 20

var attributeName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

// attribute checks the name of what a provider must have, as the configuration
// spells it under its clouds.
func attribute(s string) string {
	if !attributeName.MatchString(s) {
		return "want small letters, digits and dashes, at most 40"
	}
	return ""
}

func leastNetwork(v *bridge.Network) func(strict.Node) {
	return strict.Choice(v, bridge.NetworkFast, bridge.NetworkVast, bridge.NetworkRDMA)
}

// Attributes are what the rules ask providers for, sorted: what no cloud of the
// configuration has leaves the rule without an offer.
func (f *File) Attributes() []string {
	var out []string
	for i := range f.rules {
		out = append(out, f.rules[i].terms.Attributes...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Prices are the site's own ranges of what is believed of a price.
func (f *File) Prices() []bridge.PriceRange { return slices.Clone(f.prices) }

const priceExample = "prices: [{gpu: a100, low: 0.05 USD/h, high: 9 USD/h}]"

func (r *reader) readPrices(n strict.Node) {
	at := map[string]int{}
	strict.Each(func(e strict.Node) {
		p, sound := r.onePrice(e)
		switch line, twice := at[p.GPU]; {
		case !sound:
		case twice:
			e.With(priceExample).Refuse(fmt.Sprintf("another range is of the same, on line %d", line))
		case p.Low.Micro >= p.High.Micro:
			e.With(priceExample).Refuse("low is not below high: no price would be believed")
		default:
			at[p.GPU] = e.Line()
			r.file.prices = append(r.file.prices, p)
		}
	})(n)
}

func (r *reader) onePrice(e strict.Node) (p bridge.PriceRange, sound bool) {
	code := r.code()
	sound = e.Sound(func(e strict.Node) {
		e.Object(
			strict.May("gpu", "gpu: a100", strict.Text(&p.GPU, level)),
			strict.Need("low", "low: 0.05 "+code+"/h", r.maxRate(&p.Low)),
			strict.Need("high", "high: 9 "+code+"/h", r.maxRate(&p.High)),
		)
	})
	return p, sound
}
