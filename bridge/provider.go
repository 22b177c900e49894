package bridge

import (
	"cmp"
	"slices"
	"time"
)

// Provider is what a site's configuration says of a cloud and of who runs it:
// what no call to the cloud answers.
type Provider struct {
	Attributes []Attribute `json:"attributes,omitempty"`
	Network    Network     `json:"network,omitempty"`
	// Egress is the price of a GiB that leaves the cloud; zero: as its offers say.
	Egress Money `json:"egress,omitzero"`
	// DataRegion is the country or region that data stays in. Offers have it as
	// the attribute data-REGION.
	DataRegion string `json:"data_region,omitempty"`
}

// On returns an offer with what the site says of its provider. What the cloud's
// own driver says of the same is replaced.
func (p *Provider) On(o Offer) Offer {
	if all := p.All(); len(all) > 0 {
		own := slices.DeleteFunc(slices.Clone(o.Attributes), func(a Attribute) bool {
			return slices.ContainsFunc(all, func(b Attribute) bool { return a.Name == b.Name })
		})
		o.Attributes = append(own, all...)
	}
	o.Network = cmp.Or(p.Network, o.Network)
	if p.Egress.Currency != "" {
		o.Egress = p.Egress
	}
	return o
}

// All are the attributes with the one that the data's region is.
func (p *Provider) All() []Attribute {
	if p.DataRegion == "" {
		return p.Attributes
	}
	return append(slices.Clone(p.Attributes), Attribute{Name: "data-" + p.DataRegion})
}

// Validity says whether an attribute still holds.
type Validity string

// How long an attribute still holds.
const (
	Valid    Validity = "valid"
	EndsSoon Validity = "ends-soon" // within SoonBefore
	Ended    Validity = "ended"
)

// SoonBefore is how long before its end an attribute is warned of.
const SoonBefore = 30 * 24 * time.Hour

// Validity is how an attribute stands at a time.
func (a *Attribute) Validity(now time.Time) Validity {
	switch {
	case a.Until.IsZero() || a.Until.Sub(now) > SoonBefore:
		return Valid
	case a.Until.Before(now):
		return Ended
	}
	return EndsSoon
}
