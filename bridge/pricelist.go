package bridge

import (
	"cmp"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// ListPrice is what a provider's public price list said of a machine, over all of
// its regions. It is there to compare with: it is old, and nothing is bought at it.
type ListPrice struct {
	Cloud  string `json:"cloud"`
	Type   string `json:"type"`
	GPU    string `json:"gpu"`
	GPUs   int    `json:"gpus"`
	Market Market `json:"market"`
	Low    Rate   `json:"low"`
	High   Rate   `json:"high"`
	As     string `json:"as_of"` // the day of the list, or its month
}

//go:embed prices/prices.csv
var priceLists string

// listedOn is when each list was made.
var listedOn = map[string]string{"aws": "2026-07-20", "gcp": "2026-08-03", "alibaba": "2024-10"}

// lists are the shipped price lists; prices/LICENSE is theirs.
var lists = sync.OnceValue(func() []ListPrice {
	out, err := readPriceLists(priceLists)
	if err != nil {
		panic(err) // it is part of the program, and a test reads it
	}
	return out
})

// ListPrices returns what the shipped price lists say of machines with so many
// GPUs of a kind: of each provider and market the cheapest, the cheapest first.
func ListPrices(gpu string, gpus int) []ListPrice {
	var out []ListPrice
	for _, p := range lists() {
		if p.GPUs != gpus || p.Low.Micro == 0 || !GPUTakes(gpu, p.GPU) {
			continue
		}
		same := func(o ListPrice) bool { return o.Cloud == p.Cloud && o.Market == p.Market }
		switch i := slices.IndexFunc(out, same); {
		case i < 0:
			out = append(out, p)
		case p.Low.Micro < out[i].Low.Micro:
			out[i] = p
		}
	}
	slices.SortFunc(out, func(a, b ListPrice) int {
		return cmp.Or(cmp.Compare(a.dollars(), b.dollars()), strings.Compare(a.Cloud, b.Cloud))
	})
	return out
}

// dollars is roughly what a price comes to, to put lists of several currencies in order.
func (p *ListPrice) dollars() int64 { return p.Low.Micro / perDollar[p.Low.Currency] }

// readPriceLists reads lines of cloud, type, family, count, market, currency, low
// and high, an hour.
func readPriceLists(text string) ([]ListPrice, error) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read price lists: %w", err)
	}
	var out []ListPrice
	for _, row := range rows[1:] {
		currency := Currency(row[5])
		n, err := strconv.Atoi(row[3])
		if err != nil {
			return nil, fmt.Errorf("read price list of %s: %w", row[1], err)
		}
		low, err := strconv.ParseFloat(row[6], 64)
		high, err2 := strconv.ParseFloat(row[7], 64)
		if err := errors.Join(err, err2); err != nil {
			return nil, fmt.Errorf("read price list of %s: %w", row[1], err)
		}
		rate := func(v float64) Rate { return Rate{int64(math.Round(v * float64(Micro))), currency} }
		out = append(out, ListPrice{row[0], row[1], row[2], n, Market(row[4]), rate(low), rate(high), listedOn[row[0]]})
	}
	return out, nil
}
