package bill

import (
	"fmt"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// News tell that a rental's cost was corrected, and from what to what.
func (c *Case) News(cloud, cluster, who string, now time.Time) bridge.News {
	by := bridge.Money{Currency: c.Was.Currency}
	for _, k := range c.Corrections {
		by.Micro += k.Amount.Micro
	}
	is := bridge.Money{Micro: c.Was.Micro + by.Micro, Currency: c.Was.Currency}
	return bridge.News{
		At: now, Kind: bridge.NewsCorrected, Cluster: cluster, Rental: c.Rental, Who: who, Cost: by,
		Text: fmt.Sprintf("was %s, now %s, by bill %s of %s", c.Was, is, strings.Join(c.Invoices, " and "), cloud),
	}
}
