package desk

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// CloudInfo is a cloud as the configuration has it.
type CloudInfo struct {
	Name     string
	Kind     string // local, plugin, aws …
	Provider bridge.Provider
}

// CloudsRequest asks how clouds and their pools are; Cloud, Region and GPU narrow it.
type CloudsRequest struct {
	Cloud  string `json:"cloud,omitempty"`
	Region string `json:"region,omitempty"` // or a zone
	GPU    string `json:"gpu,omitempty"`
	Lang   Lang   `json:"lang,omitempty"`
}

// CloudsAnswer is every cloud of the configuration, answering or not.
type CloudsAnswer struct {
	At     time.Time    `json:"at"`
	Clouds []CloudStand `json:"clouds"`
}

// CloudHealth says in one word how a cloud is.
type CloudHealth string

// The words.
const (
	CloudAnswers CloudHealth = "answers"
	CloudFails   CloudHealth = "fails"          // its last answer to a question was no good one
	CloudEmpty   CloudHealth = "offers-nothing" // and answers
	CloudUnasked CloudHealth = "not-asked"      // nothing was heard of it yet
)

// CloudStand is how one cloud is.
type CloudStand struct {
	Name  string      `json:"name"`
	Kind  string      `json:"kind,omitempty"`
	State CloudHealth `json:"state"`
	Text  string      `json:"text"` // State in words
	// Replies are the last ones to the questions for offers and for machines.
	Replies []bridge.Reply `json:"replies"`
	Offers  int            `json:"offers"`
	Fresh   int            `json:"fresh"`   // with a price that may be bought at
	Resting int            `json:"resting"` // after a refusal
	// Attributes are those that the configuration gives it.
	Attributes []AttributeStand `json:"attributes"`
	Network    bridge.Network   `json:"network,omitempty"`
	Egress     bridge.Money     `json:"egress,omitzero"` // of a GiB
	DataRegion string           `json:"data_region,omitempty"`
	// Notes are what somebody should know or do, in words.
	Notes []string `json:"notes"`
	// Pools are those that were asked for, the cheapest for each GPU first and those
	// without GPUs last.
	Pools []PoolStand `json:"pools"`
}

// AttributeStand is an attribute and whether it still holds.
type AttributeStand struct {
	bridge.Attribute
	Validity bridge.Validity `json:"validity"`
}

// PoolHealth says in one word how a pool is.
type PoolHealth string

// The words.
const (
	PoolReady    PoolHealth = "ready"
	PoolResting  PoolHealth = "resting" // after a refusal
	PoolSoldOut  PoolHealth = "sold-out"
	PoolNoQuota  PoolHealth = "no-quota"
	PoolNoPrice  PoolHealth = "no-price"    // none that is fresh enough
	PoolBarred   PoolHealth = "barred"      // its price is refused, and Why says so
	PoolUnlisted PoolHealth = "not-offered" // and remembered for a refusal
)

// PoolStand is one pool of a cloud.
type PoolStand struct {
	Pool  bridge.Pool  `json:"pool"`
	Shape bridge.Shape `json:"shape"` // of one machine
	State PoolHealth   `json:"state"`
	Text  string       `json:"text"` // State in words
	// Rate is that of one machine-hour, Quoted the same in the cloud's currency
	// where FX converted it.
	Rate     bridge.Rate   `json:"rate"`
	PerGPU   bridge.Rate   `json:"per_gpu"`
	Quoted   bridge.Rate   `json:"quoted,omitzero"`
	FX       string        `json:"fx,omitempty"`
	PricedAt time.Time     `json:"priced_at,omitzero"`
	Age      int64         `json:"price_age_seconds"`
	MaxAge   int64         `json:"price_max_age_seconds"`
	Source   string        `json:"price_source,omitempty"`
	Fresh    bool          `json:"fresh"` // enough to buy at
	Why      bridge.Reason `json:"why,omitempty"`

	Stock   int    `json:"stock"` // machines; negative: not said
	Limited string `json:"limited,omitempty"`
	Score   int    `json:"score,omitempty"`

	Boot    int64  `json:"boot_seconds"`
	Notice  int64  `json:"notice_seconds"`
	Step    int64  `json:"step_seconds"`
	Minimum int64  `json:"minimum_seconds"`
	Term    int64  `json:"term_seconds,omitempty"`
	EarlyPM int    `json:"early_pm,omitempty"`
	Billing string `json:"billing,omitempty"` // in words

	Network    bridge.Network     `json:"network,omitempty"`
	Egress     bridge.Money       `json:"egress,omitzero"`
	Attributes []bridge.Attribute `json:"attributes,omitempty"`
	Contract   string             `json:"contract,omitempty"`

	// Last is how it last answered a request for machines; nil: none is remembered.
	Last     *bridge.Reply `json:"last,omitempty"`
	Failures int           `json:"failures"` // in a row
	Until    time.Time     `json:"rests_until,omitzero"`
}

// Clouds answers how clouds and pools are; everybody may ask.
func (d *Desk) Clouds(_ context.Context, _ Person, q CloudsRequest) (CloudsAnswer, error) {
	snap, _, err := d.look() // asks the clouds itself where there is no daemon
	if err != nil {
		return CloudsAnswer{}, err
	}
	replies := map[string]bridge.Reply{}
	if d.Replies != nil {
		replies = d.Replies()
	}
	if snap, _, err = d.look(); err != nil { // no older than the replies
		return CloudsAnswer{}, err
	}
	if err := d.checkClouds(&snap, &q); err != nil {
		return CloudsAnswer{}, err
	}
	a := CloudsAnswer{At: d.Now(), Clouds: []CloudStand{}}
	for _, info := range d.cloudInfos(&snap) {
		if q.Cloud != "" && q.Cloud != info.Name {
			continue
		}
		a.Clouds = append(a.Clouds, d.cloudStand(&snap, &info, replies, &q))
	}
	return a, nil
}

// cloudInfos are the clouds of the configuration in its order, and of those that
// offer something beside it, their names.
func (d *Desk) cloudInfos(s *bridge.Snapshot) []CloudInfo {
	out := slices.Clone(d.CloudInfos)
	for i := range s.Offers {
		name := s.Offers[i].Pool.Cloud
		if !slices.ContainsFunc(out, func(c CloudInfo) bool { return c.Name == name }) {
			out = append(out, CloudInfo{Name: name})
		}
	}
	return out
}

// checkClouds refuses names that nothing has, and spells the others as they are listed.
func (d *Desk) checkClouds(s *bridge.Snapshot, q *CloudsRequest) error {
	infos := d.cloudInfos(s)
	names := make([]string, 0, len(infos))
	for i := range infos {
		names = append(names, infos[i].Name)
	}
	if q.Cloud != "" {
		as, ok := among(names, q.Cloud)
		if !ok {
			return wrong(NotFound, "spillway clouds", "no cloud is called %q; known: %s", q.Cloud, listed(names))
		}
		q.Cloud = as
	}
	w := Wish{GPUType: q.GPU, Place: q.Region}
	if err := checkNames(&w, d.known(s)); err != nil {
		e := AsError(err)
		e.Try = "spillway clouds"
		return e
	}
	q.GPU, q.Region = w.GPUType, w.Place
	return nil
}

func (d *Desk) cloudStand(s *bridge.Snapshot, info *CloudInfo, replies map[string]bridge.Reply, q *CloudsRequest) CloudStand {
	now := d.Now()
	c := CloudStand{
		Name: info.Name, Kind: info.Kind, Replies: []bridge.Reply{}, Attributes: []AttributeStand{}, Notes: []string{}, Pools: []PoolStand{},
		Network: info.Provider.Network, Egress: info.Provider.Egress, DataRegion: info.Provider.DataRegion,
	}
	for _, a := range info.Provider.All() {
		c.Attributes = append(c.Attributes, AttributeStand{a, a.Validity(now)})
	}
	for _, op := range []string{"offers", "list"} {
		if r, known := replies[op+"/"+info.Name]; known {
			c.Replies = append(c.Replies, r)
		}
	}
	offered := map[bridge.Pool]bool{}
	for i := range s.Offers {
		o := &s.Offers[i]
		if o.Pool.Cloud != info.Name {
			continue
		}
		offered[o.Pool] = true
		p := poolStand(s, o, replies, now, q.Lang)
		c.Offers++
		if p.Fresh {
			c.Fresh++
		}
		if p.State == PoolResting {
			c.Resting++
		}
		if q.wants(o) {
			c.Pools = append(c.Pools, p)
		}
	}
	if q.Region == "" && q.GPU == "" {
		c.unlisted(s, offered, now, q.Lang)
	}
	slices.SortStableFunc(c.Pools, func(x, y PoolStand) int {
		return cmp.Or(cmp.Compare(min(y.Shape.GPUs, 1), min(x.Shape.GPUs, 1)), cmp.Compare(x.PerGPU.Micro, y.PerGPU.Micro),
			cmp.Compare(x.Rate.Micro, y.Rate.Micro), strings.Compare(x.Pool.String(), y.Pool.String()))
	})
	c.State = c.health()
	c.Text = q.Lang.cloud(string(c.State), nil)
	c.note(now, q.Lang)
	c.refusals(s, replies, now, q.Lang)
	return c
}

// wants reports whether a pool is one of those that were asked for.
func (q *CloudsRequest) wants(o *bridge.Offer) bool {
	return (q.GPU == "" || bridge.GPUTakes(q.GPU, o.Shape.GPUType)) &&
		(q.Region == "" || q.Region == o.Pool.Region || q.Region == o.Pool.Zone || q.Region == o.Pool.Cloud)
}

// health sums the replies up. A cloud that was not heard of may still be known
// by its offers: while there is no daemon, they were just asked for.
func (c *CloudStand) health() CloudHealth {
	failed := slices.ContainsFunc(c.Replies, func(r bridge.Reply) bool { return r.Kind != "" })
	switch {
	case failed:
		return CloudFails
	case c.Offers > 0:
		return CloudAnswers
	case len(c.Replies) > 0:
		return CloudEmpty
	}
	return CloudUnasked
}

// unlisted adds the pools that rest and are not offered any more: of a cloud that
// has not answered since a restart, that is all there is.
func (c *CloudStand) unlisted(s *bridge.Snapshot, offered map[bridge.Pool]bool, now time.Time, lang Lang) {
	for i := range s.Pools {
		h := &s.Pools[i]
		if h.Pool.Cloud != c.Name || offered[h.Pool] || h.Pool.Wide() || !now.Before(h.DownUntil) {
			continue
		}
		p := PoolStand{Pool: h.Pool, State: PoolUnlisted, Text: lang.cloud("pool-"+string(PoolUnlisted), nil), Stock: -1}
		p.refused(h, now)
		c.Pools = append(c.Pools, p)
	}
}

func poolStand(s *bridge.Snapshot, o *bridge.Offer, replies map[string]bridge.Reply, now time.Time, lang Lang) PoolStand {
	p := PoolStand{
		Pool: o.Pool, Shape: o.Shape, Rate: o.Rate, Quoted: o.Quoted, FX: o.FX, PricedAt: o.SampledAt, MaxAge: seconds(o.MaxAge),
		Age: seconds(max(now.Sub(o.SampledAt), 0)), Source: o.Source, Fresh: o.Fresh(now), Why: o.Bar,
		Stock: o.Available, Limited: o.Limited, Score: o.Score, Boot: seconds(o.Boot), Notice: seconds(o.Notice),
		Step: seconds(o.Step), Minimum: seconds(o.Minimum), Term: seconds(o.Term), EarlyPM: o.EarlyPM, Billing: lang.billing(o.Billing(), anyLife),
		Network: o.Network, Egress: o.Egress, Attributes: o.Attributes, Contract: o.Contract,
	}
	if o.SampledAt.IsZero() {
		p.Age = 0
	}
	if n := int64(o.Shape.GPUs); n > 0 {
		p.PerGPU = bridge.Rate{Micro: (o.Rate.Micro + n - 1) / n, Currency: o.Rate.Currency}
	}
	if r, known := replies["create/"+o.Pool.String()]; known {
		p.Last = &r
	}
	for i := range s.Pools {
		if h := &s.Pools[i]; h.Pool.Covers(o.Pool) {
			p.refused(h, now)
		}
	}
	p.State = p.health(now)
	p.Text = p.words(now, lang)
	return p
}

// refused adds what is remembered of a refusal, which may be of more than the pool.
func (p *PoolStand) refused(h *bridge.PoolHealth, now time.Time) {
	if h.DownUntil.After(p.Until) && now.Before(h.DownUntil) {
		p.Until = h.DownUntil
	}
	p.Failures = max(p.Failures, h.Failures)
	if h.At.IsZero() && h.Code == "" || p.Last != nil && !h.At.After(p.Last.At) {
		return
	}
	r := replyOf(h)
	p.Last = &r
}

// replyOf is a remembered refusal as the reply that it was.
func replyOf(h *bridge.PoolHealth) bridge.Reply {
	return bridge.Reply{Op: "create", At: h.At, Kind: cmp.Or(h.Kind, bridge.CloudUnknown), Code: h.Code, Failures: h.Failures, Until: h.DownUntil}
}

func (p *PoolStand) health(now time.Time) PoolHealth {
	switch {
	case now.Before(p.Until):
		return PoolResting
	case p.Why != "":
		return PoolBarred
	case !p.Fresh:
		return PoolNoPrice
	case p.Stock == 0 && p.Limited != "":
		return PoolNoQuota
	case p.Stock == 0:
		return PoolSoldOut
	}
	return PoolReady
}

func (p *PoolStand) words(now time.Time, lang Lang) string {
	switch p.State {
	case PoolBarred:
		return lang.Short(p.Why)
	case PoolResting:
		return lang.cloud("pool-resting", map[string]string{"span": Span(p.Until.Sub(now))})
	}
	return lang.cloud("pool-"+string(p.State), nil)
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
