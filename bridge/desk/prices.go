package desk

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// PricesRequest asks what machines cost now; GPU and Place narrow it.
type PricesRequest struct {
	GPU   string `json:"gpu,omitempty"`
	Place string `json:"place,omitempty"`
	Lang  Lang   `json:"lang,omitempty"`
}

// PricesAnswer is every offer, the cheapest for each GPU-hour first; machines
// without GPUs come last.
type PricesAnswer struct {
	At     time.Time `json:"at"`
	Prices []Priced  `json:"prices"`
}

// Priced is one offer of a cloud.
type Priced struct {
	Pool   bridge.Pool  `json:"pool"`
	Shape  bridge.Shape `json:"shape"` // of one machine
	Rate   bridge.Rate  `json:"rate"`  // of one machine-hour
	PerGPU bridge.Rate  `json:"per_gpu"`
	At     time.Time    `json:"at"`    // when the cloud said so
	Fresh  bool         `json:"fresh"` // enough to buy at
	Left   int          `json:"left"`  // machines in stock; negative: unknown
	// Quoted is the rate in the cloud's own currency, and FX what converted it;
	// both empty where nothing had to. Why is what keeps it from being bought
	// whatever it costs.
	Quoted bridge.Rate   `json:"quoted,omitzero"`
	FX     string        `json:"fx,omitempty"`
	Why    bridge.Reason `json:"why,omitempty"`
	Text   string        `json:"text,omitempty"` // the same in words
	// Billing is how it is charged, in words, where that is not by the second.
	Billing string `json:"billing,omitempty"`
}

// Prices answers what machines cost; everybody may ask.
func (d *Desk) Prices(_ context.Context, _ Person, q PricesRequest) (PricesAnswer, error) {
	snap, _, err := d.look()
	if err != nil {
		return PricesAnswer{}, err
	}
	w := Wish{GPUType: q.GPU, Place: q.Place}
	if err := checkNames(&w, d.known(&snap)); err != nil {
		e := AsError(err)
		e.Try = strings.Replace(e.Try, "spillway quote", "spillway prices", 1)
		return PricesAnswer{}, e
	}
	a := PricesAnswer{At: d.Now(), Prices: []Priced{}}
	for i := range snap.Offers {
		o := &snap.Offers[i]
		if w.GPUType != "" && !bridge.GPUTakes(w.GPUType, o.Shape.GPUType) || !w.means(&o.Pool) {
			continue
		}
		price := Priced{Pool: o.Pool, Shape: o.Shape, Rate: o.Rate, At: o.SampledAt, Fresh: o.Fresh(d.Now()), Left: o.Available, Quoted: o.Quoted, FX: o.FX, Why: o.Bar, Billing: q.Lang.billing(o.Billing(), anyLife)}
		if o.Bar != "" {
			price.Text = q.Lang.Short(o.Bar)
		}
		if n := int64(o.Shape.GPUs); n > 0 {
			price.PerGPU = bridge.Rate{Micro: (o.Rate.Micro + n - 1) / n, Currency: o.Rate.Currency}
		}
		a.Prices = append(a.Prices, price)
	}
	slices.SortStableFunc(a.Prices, func(x, y Priced) int {
		return cmp.Or(strings.Compare(y.Shape.GPUType, x.Shape.GPUType), cmp.Compare(x.PerGPU.Micro, y.PerGPU.Micro),
			cmp.Compare(x.Rate.Micro, y.Rate.Micro), strings.Compare(x.Pool.String(), y.Pool.String()))
	})
	return a, nil
}
