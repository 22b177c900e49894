package config

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/shopspring/decimal"
	"golang.org/x/text/currency"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/config/strict"
)

// provider are the keys that any cloud may have, whatever its kind: what the
// site knows of it and no call to it says.
func provider(p *bridge.Provider) []strict.Field {
	return []strict.Field{
		strict.May("attributes", `attributes: [{name: iso27001, number: "IS 712345", until: 2027-05-31}]`, attributes(&p.Attributes)),
		strict.May("network", "network: 100g", strict.Choice(&p.Network, bridge.NetworkFast, bridge.NetworkVast, bridge.NetworkRDMA)),
		strict.May("egress", "egress: 0.09 USD", perGiB(&p.Egress)),
		strict.May("data_region", "data_region: cn", strict.Text(&p.DataRegion, word)),
	}
}

var plainWord = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

// word is the check of names that policies ask for.
func word(s string) string {
	if !plainWord.MatchString(s) {
		return "want small letters, digits and dashes, at most 40"
	}
	return ""
}

func attributes(dst *[]bridge.Attribute) func(strict.Node) {
	return func(n strict.Node) {
		lines := map[string]int{}
		strict.Each(func(e strict.Node) {
			var a bridge.Attribute
			e.Object(
				strict.Need("name", "name: iso27001", strict.Text(&a.Name, word)),
				strict.May("number", `number: "IS 712345"`, strict.Text(&a.Number, oneLine)),
				strict.May("until", "until: 2027-05-31", lastDay(&a.Until)),
			)
			once(e, lines, a.Name, "attribute of this cloud")
			*dst = append(*dst, a)
		})(n)
	}
}

// oneLine is the check of a number as authorities write it.
func oneLine(s string) string {
	if len(s) > 80 || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "want one line of at most 80 characters"
	}
	return ""
}

// lastDay reads the last day on which something holds; it holds until the end
// of that day, UTC.
func lastDay(dst *time.Time) func(strict.Node) {
	return func(n strict.Node) {
		s, _ := n.Scalar()
		day, err := time.Parse(time.DateOnly, s)
		if err != nil || day.Year() < 2000 {
			n.Fault("want the last day it holds, such as 2027-05-31")
			return
		}
		*dst = day.Add(24*time.Hour - time.Second)
	}
}

var moneyForm = regexp.MustCompile(`^([0-9]{1,9}(?:\.[0-9]+)?) ([A-Z]{3})$`)

// mostEgress is more than anybody charges for a GiB; what is above it is a slip.
const mostEgress = 10_000

// perGiB reads the price of a GiB that leaves a cloud.
func perGiB(dst *bridge.Money) func(strict.Node) {
	return func(n strict.Node) {
		s, _ := n.Scalar()
		m := moneyForm.FindStringSubmatch(s)
		if m == nil {
			n.Fault("want the price of a GiB with its currency, such as 0.09 USD")
			return
		}
		d, err := decimal.NewFromString(m[1])
		if err != nil {
			n.Fault("not an amount of money")
			return
		}
		d = d.Shift(6)
		_, err = currency.ParseISO(m[2])
		switch {
		case err != nil:
			n.Fault(m[2] + " is no currency of ISO 4217")
		case !d.IsInteger():
			n.Fault("finer than a millionth, which is the smallest unit counted")
		case d.GreaterThan(decimal.NewFromInt(mostEgress * bridge.Micro)):
			n.Fault(fmt.Sprintf("more than a GiB can cost: at most %d", mostEgress))
		default:
			*dst = bridge.Money{Micro: d.IntPart(), Currency: bridge.Currency(m[2])}
		}
	}
}
