package aws

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	pricingtypes "github.com/aws/aws-sdk-go-v2/service/pricing/types"
	"github.com/shopspring/decimal"

	"spillway.sh/spillway/bridge"
)

// singly is how many types are priced one by one; more are picked from the list of
// a whole region.
const singly = 20

// onDemandRates are the list prices of a region, by type.
func (c *Cloud) onDemandRates(ctx context.Context, r *region, op string) (map[string]bridge.Rate, time.Time, error) {
	return r.onDemand.get(ctx, c.config.Now, onDemandAge, func(ctx context.Context) (map[string]bridge.Rate, error) {
		wanted := c.config.Types
		if len(wanted) == 0 || len(wanted) > singly {
			wanted = []string{""}
		}
		out := map[string]bridge.Rate{}
		for _, typ := range wanted {
			if err := c.products(ctx, r, op, typ, out); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

// products reads the price list of a type, or of all of a region, into out.
func (c *Cloud) products(ctx context.Context, r *region, op, typ string, out map[string]bridge.Rate) error {
	in := &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), FormatVersion: aws.String("aws_v1"), MaxResults: aws.Int32(100)}
	is := func(field, value string) {
		in.Filters = append(in.Filters, pricingtypes.Filter{
			Type: pricingtypes.FilterTypeTermMatch, Field: aws.String(field), Value: aws.String(value),
		})
	}
	is("regionCode", r.Name)
	is("operatingSystem", "Linux")
	is("tenancy", "Shared")
	is("preInstalledSw", "NA")
	is("capacitystatus", "Used")
	if typ != "" {
		is("instanceType", typ)
	}
	for range pagesLimit {
		page, err := ask(ctx, c, r, op, r.lanes.list, func(ctx context.Context, s *services) (*pricing.GetProductsOutput, error) {
			return s.pricing.GetProducts(ctx, in)
		})
		if err != nil {
			return err
		}
		for _, text := range page.PriceList {
			if typ, rate, ok := readProduct(text, r.currency); ok && rate.Micro > out[typ].Micro {
				out[typ] = rate // of two prices of one type the dearer is the one to reckon with
			}
		}
		if aws.ToString(page.NextToken) == "" {
			return nil
		}
		in.NextToken = page.NextToken
	}
	return nil
}

// product is what is read of an entry of the price list.
type product struct {
	Product struct {
		Attributes struct {
			InstanceType string `json:"instanceType"`
			MarketOption string `json:"marketoption"`
		} `json:"attributes"`
	} `json:"product"`
	Terms struct {
		OnDemand map[string]struct {
			Dimensions map[string]struct {
				Unit  string            `json:"unit"`
				Price map[string]string `json:"pricePerUnit"`
			} `json:"priceDimensions"`
		} `json:"OnDemand"`
	} `json:"terms"`
}

// readProduct reads what a machine on demand costs an hour; false for an entry
// that is no such price.
func readProduct(text string, currency bridge.Currency) (typ string, rate bridge.Rate, ok bool) {
	var p product
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return "", rate, false
	}
	about := p.Product.Attributes
	if about.InstanceType == "" || about.MarketOption != "" && about.MarketOption != "OnDemand" {
		return "", rate, false
	}
	for _, term := range p.Terms.OnDemand {
		for _, d := range term.Dimensions {
			if got, ok := parseRate(d.Price[string(currency)], currency); ok && d.Unit == "Hrs" && got.Micro > rate.Micro {
				rate = got
			}
		}
	}
	return about.InstanceType, rate, rate.Micro > 0
}

// parseRate reads an amount as AWS writes it. What is finer than a millionth is
// rounded up.
func parseRate(text string, currency bridge.Currency) (bridge.Rate, bool) {
	d, err := decimal.NewFromString(text)
	if err != nil {
		return bridge.Rate{}, false
	}
	micro := d.Shift(6).Ceil()
	if !micro.IsPositive() || !micro.BigInt().IsInt64() {
		return bridge.Rate{}, false
	}
	return bridge.Rate{Micro: micro.IntPart(), Currency: currency}, true
}

// spotRates are the prices that spot machines cost now, by zone and type.
func (c *Cloud) spotRates(ctx context.Context, r *region) (map[zoneType]bridge.Rate, time.Time, error) {
	kinds, at, err := c.kinds(ctx, r, opOffers)
	if at.IsZero() {
		return nil, at, err
	}
	return r.spot.get(ctx, c.config.Now, spotAge, func(ctx context.Context) (map[zoneType]bridge.Rate, error) {
		var names []types.InstanceType
		for typ, k := range kinds {
			if slices.Contains(k.markets, bridge.Spot) {
				names = append(names, types.InstanceType(typ))
			}
		}
		slices.Sort(names)
		out, latest := map[zoneType]bridge.Rate{}, map[zoneType]time.Time{}
		for part := range slices.Chunk(names, chunk) {
			// A history that begins now has the price of each pool that holds now.
			in := &ec2.DescribeSpotPriceHistoryInput{
				InstanceTypes: part, ProductDescriptions: []string{"Linux/UNIX"}, StartTime: aws.Time(c.config.Now().UTC()), MaxResults: aws.Int32(pageMost),
			}
			for range pagesLimit {
				page, err := ask(ctx, c, r, opOffers, r.lanes.read, func(ctx context.Context, s *services) (*ec2.DescribeSpotPriceHistoryOutput, error) {
					return s.ec2.DescribeSpotPriceHistory(ctx, in)
				})
				if err != nil {
					return nil, err
				}
				for _, p := range page.SpotPriceHistory {
					pool, since := zoneType{aws.ToString(p.AvailabilityZone), string(p.InstanceType)}, aws.ToTime(p.Timestamp)
					if rate, ok := parseRate(aws.ToString(p.SpotPrice), r.currency); ok && !since.Before(latest[pool]) {
						out[pool], latest[pool] = rate, since
					}
				}
				if aws.ToString(page.NextToken) == "" {
					break
				}
				in.NextToken = page.NextToken
			}
		}
		return out, nil
	})
}

// scoreKey is a place and type that has a score.
type scoreKey struct{ zoneID, typ string }

// score puts on spot offers how likely AWS thinks it is that they can be had. An
// account that may not ask has none.
func (c *Cloud) score(ctx context.Context, offers []bridge.Offer) {
	var names []string
	for i := range offers {
		if o := &offers[i]; o.Pool.Market == bridge.Spot && !slices.Contains(names, o.Pool.Type) {
			names = append(names, o.Pool.Type)
		}
	}
	if len(names) == 0 {
		return
	}
	scores, at, err := c.scores.get(ctx, c.config.Now, scoreAge, func(ctx context.Context) (map[scoreKey]int, error) {
		out := map[scoreKey]int{}
		for _, typ := range names {
			if err := c.scoreType(ctx, typ, out); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
	if err != nil {
		c.log.Debug("no spot placement scores", "error", err)
	}
	if at.IsZero() {
		return
	}
	for i := range offers {
		o := &offers[i]
		if o.Pool.Market != bridge.Spot {
			continue
		}
		names, _, _ := c.zoneNames(ctx, c.regions[o.Pool.Region])
		for id, name := range names {
			if name == o.Pool.Zone {
				o.Score = scores[scoreKey{id, o.Pool.Type}]
			}
		}
	}
}

// scoreType asks for one type in all regions: each set of types and places that
// is new counts against a daily limit.
func (c *Cloud) scoreType(ctx context.Context, typ string, out map[scoreKey]int) error {
	r := c.regions[c.order[0]]
	in := &ec2.GetSpotPlacementScoresInput{
		InstanceTypes: []string{typ}, TargetCapacity: aws.Int32(1), SingleAvailabilityZone: aws.Bool(true), RegionNames: c.order, MaxResults: aws.Int32(pageMost),
	}
	for range pagesLimit {
		page, err := ask(ctx, c, r, opOffers, r.lanes.list, func(ctx context.Context, s *services) (*ec2.GetSpotPlacementScoresOutput, error) {
			return s.ec2.GetSpotPlacementScores(ctx, in)
		})
		if err != nil {
			return err
		}
		for _, s := range page.SpotPlacementScores {
			out[scoreKey{aws.ToString(s.AvailabilityZoneId), typ}] = int(aws.ToInt32(s.Score))
		}
		if aws.ToString(page.NextToken) == "" {
			return nil
		}
		in.NextToken = page.NextToken
	}
	return nil
}

// zoneNames are the account's own names of zones, by the id that all accounts
// share.
func (c *Cloud) zoneNames(ctx context.Context, r *region) (map[string]string, time.Time, error) {
	return r.zoneIDs.get(ctx, c.config.Now, typesAge, func(ctx context.Context) (map[string]string, error) {
		all, err := ask(ctx, c, r, opOffers, r.lanes.read, func(ctx context.Context, s *services) (*ec2.DescribeAvailabilityZonesOutput, error) {
			return s.ec2.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
		})
		if err != nil {
			return nil, err
		}
		out := map[string]string{}
		for _, z := range all.AvailabilityZones {
			out[aws.ToString(z.ZoneId)] = aws.ToString(z.ZoneName)
		}
		return out, nil
	})
}
