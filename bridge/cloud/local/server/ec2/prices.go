package ec2

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

type products struct {
	FormatVersion string   `json:"FormatVersion"`
	PriceList     []string `json:"PriceList"`
	NextToken     string   `json:"NextToken,omitempty"`
}

// getProducts tells prices on demand, as AWS does by type and region. Where zones
// of a region differ, which AWS's do not, it is the highest.
func (q *request) getProducts() (any, *Refusal) {
	switch {
	case q.str("ServiceCode") != "AmazonEC2":
		return nil, refuse("NotFoundException", "The service %.80s is not priced by the local cloud", q.str("ServiceCode"))
	case q.has("FormatVersion") && q.str("FormatVersion") != "aws_v1":
		return nil, refuse("InvalidParameterException", "The FormatVersion is aws_v1")
	}
	dearest := map[[2]string]*wire.Offer{}
	var order [][2]string
	for i := range q.pools {
		o := &q.pools[i]
		if o.Pool.Market != string(bridge.OnDemand) {
			continue
		}
		key := [2]string{o.Pool.Region, o.Pool.Type}
		if dearest[key] == nil {
			order = append(order, key)
		}
		if dearest[key] == nil || dearest[key].Rate.Micro < o.Rate.Micro {
			dearest[key] = o
		}
	}
	var all []string
	for _, key := range order {
		o := dearest[key]
		about := attributesOf(o)
		fits := true
		for _, f := range q.each("Filters") {
			value, known := about[f.str("Field")]
			if !known {
				return nil, refuse("InvalidParameterException", "The field %.80s is not one of %s", f.str("Field"), strings.Join(slices.Sorted(maps.Keys(about)), ", "))
			}
			fits = fits && value == f.str("Value")
		}
		if fits {
			all = append(all, product(q, o, about))
		}
	}
	page, next, no := pageOf(q, all, 100)
	if no != nil {
		return nil, refuse("InvalidNextTokenException", "The pagination token is invalid")
	}
	return products{FormatVersion: "aws_v1", PriceList: page, NextToken: next}, nil
}

// attributesOf are what a type is found by.
func attributesOf(o *wire.Offer) map[string]string {
	return map[string]string{
		"servicecode": "AmazonEC2", "servicename": "Amazon Elastic Compute Cloud", "instanceType": o.Pool.Type, "regionCode": o.Pool.Region,
		"location": o.Pool.Region, "locationType": "AWS Region", "operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA",
		"capacitystatus": "Used", "licenseModel": "No License required", "marketoption": "OnDemand", "operation": "RunInstances",
		"usagetype": "BoxUsage:" + o.Pool.Type, "vcpu": strconv.Itoa(o.CPUs), "memory": strconv.FormatInt(o.MemoryMiB/1024, 10) + " GiB",
		"gpu": strconv.Itoa(o.GPUs), "currentGeneration": "Yes", "productFamily": "Compute Instance",
	}
}

// The codes that AWS has for on demand, and for a rate by the hour.
const (
	termOnDemand = "JRTCKXETXF"
	rateHourly   = "6YS6EN2CT7"
)

// product is one entry of the price list, which is JSON in a text.
func product(q *request, o *wire.Offer, about map[string]string) string {
	sum := sha256.Sum256([]byte(o.Pool.Region + "/" + o.Pool.Type))
	sku := base32.StdEncoding.EncodeToString(sum[:])[:16]
	term, now := sku+"."+termOnDemand, stamp(q.Now())
	kept := maps.Clone(about)
	delete(kept, "productFamily")
	text, err := json.Marshal(map[string]any{
		"product": map[string]any{"productFamily": about["productFamily"], "attributes": kept, "sku": sku}, "serviceCode": "AmazonEC2",
		"terms": map[string]any{"OnDemand": map[string]any{term: map[string]any{
			"priceDimensions": map[string]any{term + "." + rateHourly: map[string]any{
				"unit": "Hrs", "beginRange": "0", "endRange": "Inf", "appliesTo": []string{}, "rateCode": term + "." + rateHourly,
				"description":  decimals(o.Rate.Micro) + " per On Demand Linux " + o.Pool.Type + " Instance Hour",
				"pricePerUnit": map[string]string{o.Rate.Currency: decimals(o.Rate.Micro) + "0000"},
			}},
			"sku": sku, "effectiveDate": now, "offerTermCode": termOnDemand, "termAttributes": map[string]any{},
		}}},
		"version": now, "publicationDate": now,
	})
	if err != nil {
		panic(err) // Texts and maps of them.
	}
	return string(text)
}
