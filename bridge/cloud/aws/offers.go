package aws

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
)

// How long answers serve, and how old a price may be to be bought at. Machines on
// demand have a list price, that changes with notice; spot prices move with the
// market, and seldom.
const (
	typesAge       = 24 * time.Hour
	zonesAge       = 6 * time.Hour
	onDemandAge    = 6 * time.Hour
	onDemandMaxAge = 24 * time.Hour
	spotAge        = time.Minute
	spotMaxAge     = 15 * time.Minute
	quotaAge       = 15 * time.Minute
	usedAge        = time.Minute
	scoreAge       = 6 * time.Hour
)

// Where rates are from.
const (
	sourceOnDemand = "pricing:GetProducts"
	sourceSpot     = "ec2:DescribeSpotPriceHistory"
)

// minimum is what each machine is charged at least.
const minimum = time.Minute

// Offers returns the pools of all regions that answer. It fails only if there is
// nothing to offer.
func (c *Cloud) Offers(ctx context.Context) ([]bridge.Offer, error) {
	if err := ctx.Err(); err != nil {
		return nil, &bridge.CloudError{Kind: bridge.CloudThrottled, Op: opOffers, Cloud: c.config.Name, Err: err}
	}
	var mu sync.Mutex
	found := map[string][]bridge.Offer{}
	errs := c.each(func(r *region) error {
		offers, err := c.regionOffers(ctx, r)
		mu.Lock()
		defer mu.Unlock()
		found[r.Name] = offers
		c.warn("offers of "+r.Name, err)
		if err != nil {
			return inRegion(err, r)
		}
		return nil
	})
	var out []bridge.Offer
	for _, name := range c.order {
		out = append(out, found[name]...)
	}
	if err := firstOf(errs); err != nil && (len(out) == 0 || ctx.Err() != nil) {
		return nil, err
	}
	c.score(ctx, out)
	return out, nil
}

// regionOffers are the pools of one region. What fails of it is returned beside
// what there is: a market without prices, or quotas that may not be read, take
// nothing from the other.
func (c *Cloud) regionOffers(ctx context.Context, r *region) ([]bridge.Offer, error) {
	kinds, at, err := c.kinds(ctx, r, opOffers)
	if at.IsZero() {
		return nil, err
	}
	zones, at, err := c.zonesByType(ctx, r)
	if at.IsZero() {
		return nil, err
	}
	i, _, imageErr := c.imageOf(ctx, r, opOffers)
	errs := []error{imageErr}
	offers := []bridge.Offer{}
	for _, market := range c.config.Markets {
		rate, sampled, err := c.rates(ctx, r, market)
		errs = append(errs, err)
		if sampled.IsZero() {
			continue
		}
		for typ, k := range kinds {
			if !slices.Contains(k.markets, market) || !k.runs(i) {
				continue
			}
			for _, zone := range zones[typ] {
				if len(r.Subnets) > 0 && r.Subnets[zone] == "" {
					continue
				}
				if price := rate(zoneType{zone, typ}); price.Micro > 0 {
					o := c.offer(r, k, i, bridge.Pool{Cloud: c.config.Name, Region: r.Name, Zone: zone, Type: typ, Market: market})
					o.Rate, o.SampledAt = price, sampled.UTC()
					offers = append(offers, o)
				}
			}
		}
	}
	c.limit(ctx, r, kinds, offers)
	slices.SortFunc(offers, func(a, b bridge.Offer) int { return cmp.Compare(a.Pool.String(), b.Pool.String()) })
	if err := firstOf(errs); err != nil {
		return offers, err
	}
	if len(offers) == 0 {
		return nil, &bridge.CloudError{
			Kind: bridge.CloudNotFound, Op: opOffers, Cloud: c.config.Name, Err: errors.New("no type that is wanted is offered, with a price, in a zone that is"),
		}
	}
	return offers, nil
}

// rates returns how to find the rate of a type in a zone, and when rates were read.
func (c *Cloud) rates(ctx context.Context, r *region, market bridge.Market) (func(zoneType) bridge.Rate, time.Time, error) {
	if market == bridge.Spot {
		rates, at, err := c.spotRates(ctx, r)
		return func(p zoneType) bridge.Rate { return rates[p] }, at, err
	}
	rates, at, err := c.onDemandRates(ctx, r, opOffers)
	return func(p zoneType) bridge.Rate { return rates[p.typ] }, at, err
}

// offer is a pool without its rate.
func (c *Cloud) offer(r *region, k kind, i image, p bridge.Pool) bridge.Offer {
	o := bridge.Offer{
		Pool: p, Shape: k.shape, Features: append(slices.Clone(c.config.Features), k.features...), Boot: c.config.Boot, Available: -1,
		Step: time.Second, Minimum: minimum, MaxAge: onDemandMaxAge, Source: sourceOnDemand, Network: k.network,
	}
	o.Shape.MemoryMiB -= o.Shape.MemoryMiB * int64(c.config.Reserve) / 100
	o.Shape.DiskMiB = c.diskMiB(i)
	if k.network == bridge.NetworkRDMA && !c.config.EFA {
		o.Network = k.plain
	}
	if p.Market == bridge.Spot {
		o.MaxAge, o.Source, o.Notice = spotMaxAge, sourceSpot, lead
	}
	return o
}
