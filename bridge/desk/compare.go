package desk

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// Compared is one offer for a demand with all that the choice weighs, and the same
// line by line in words.
type Compared struct {
	bridge.Candidate
	Lines []Weighed `json:"lines"`
}

// Weighed is one thing of an offer that counts in a choice, in words.
type Weighed struct {
	What string `json:"what"` // offer, rate, run, billing, machines, loss, egress, total, hold, delivery, network, attributes, verdict
	Name string `json:"name"`
	Says string `json:"says"`
}

// mostOfCloud is how many offers of one cloud are told of.
const mostOfCloud = 3

// compared weighs the offers for a demand, those first that come first in the
// choice, and of each cloud a few.
func (l Lang) compared(s *bridge.Snapshot, d *bridge.Demand, t *bridge.Terms) []Compared {
	out, of := []Compared{}, map[string]int{}
	for _, c := range bridge.Compare(s, d, t) {
		if of[c.Offer.Pool.Cloud]++; of[c.Offer.Pool.Cloud] <= mostOfCloud {
			out = append(out, Compared{c, l.lines(&c, s.Now)})
		}
	}
	return out
}

// comparedFor weighs the offers for a job that more machines would help. What is
// asked about is no refusal.
func (d *Desk) comparedFor(s *bridge.Snapshot, dem *bridge.Demand, v *bridge.Verdict, lang Lang) []Compared {
	t := d.Rules.Terms(dem, &bridge.Facts{Cluster: dem.Cluster})
	if !t.Burst || dem.Standing != bridge.StandingHelps {
		return []Compared{}
	}
	out := lang.compared(s, dem, t)
	for i := range out {
		if v != nil && v.Kind == bridge.Ask && v.Pool != nil && *v.Pool == out[i].Offer.Pool {
			out[i].judged(lang.compare("asks", nil))
		}
	}
	return out
}

// judged replaces the last line, the verdict.
func (c *Compared) judged(says string) { c.Lines[len(c.Lines)-1].Says = says }

// comparedQuotes weighs what was quoted: each size as a job of that size, that
// runs as long as was asked for, would be.
func (d *Desk) comparedQuotes(r *request, quotes []Quoted, lang Lang) []Compared {
	out := []Compared{}
	done := map[bridge.Pool]bool{}
	for i := range quotes {
		q := &quotes[i]
		if done[q.Pool] {
			continue
		}
		dem := r.asDemand(q)
		for _, c := range lang.compared(&r.snap, &dem, r.terms) {
			same := slices.ContainsFunc(quotes, func(o Quoted) bool { return o.Pool == c.Offer.Pool && o.Machines == q.Machines })
			if same && !done[c.Offer.Pool] {
				done[c.Offer.Pool] = true
				out = append(out, c)
			}
		}
		done[q.Pool] = true
	}
	slices.SortStableFunc(out, func(x, y Compared) int {
		open := func(c *Compared) int { return min(len(c.Why), 1) }
		return cmp.Or(cmp.Compare(open(&x), open(&y)), strings.Compare(string(x.Total.Currency), string(y.Total.Currency)), cmp.Compare(x.Total.Micro, y.Total.Micro))
	})
	for i := range out {
		j := slices.IndexFunc(quotes, func(q Quoted) bool { return q.Pool == out[i].Offer.Pool })
		out[i].quoted(&quotes[j], lang)
	}
	return out
}

// quoted takes the verdict of a quote: a request by hand gets what it names, and
// may be put to an approver.
func (c *Compared) quoted(q *Quoted, lang Lang) {
	c.Chosen = false
	switch {
	case q.Outcome == AtOnce:
		c.Why, c.Detail = "", ""
		c.judged(lang.compare("at-once", nil))
	case q.Outcome == AskOne:
		c.Why, c.Detail = "", ""
		c.judged(lang.compare("asks", nil))
	default:
		if c.Why != q.Why {
			c.Why, c.Detail = q.Why, ""
		}
		c.judged(lang.compare("why-not", map[string]string{"why": q.Text, "detail": c.Detail}))
	}
}

// asDemand is a quoted size as a job.
func (r *request) asDemand(q *Quoted) bridge.Demand {
	if r.demand != nil && r.wish.Machines == 0 && r.wish.GPUs == 0 && r.wish.CPUs == 0 {
		dem := *r.demand
		dem.TimeLimit = r.wish.duration()
		return dem
	}
	shape := bridge.Shape{CPUs: r.wish.CPUs, MemoryMiB: r.wish.MemoryMiB, GPUType: r.wish.GPUType, GPUs: min(r.wish.GPUs, q.Shape.GPUs)}
	if r.wish.GPUs == 0 && r.wish.CPUs == 0 { // machines of a type: whole ones
		shape.CPUs, shape.GPUs = q.Shape.CPUs, q.Shape.GPUs
	}
	return bridge.Demand{
		Cluster: r.cluster, User: r.user, Nodes: q.Machines, Count: 1, Shape: shape, TimeLimit: r.wish.duration(), Restartable: true, Standing: bridge.StandingHelps,
	}
}

// lines say a candidate line by line.
func (l Lang) lines(c *bridge.Candidate, now time.Time) []Weighed {
	o := &c.Offer
	says := map[string]string{
		"offer": fmt.Sprintf("%d x %s", c.Machines, Place(o.Pool)), "rate": l.rateLine(o, now), "run": l.runLine(c), "billing": l.billingLine(c),
		"machines": c.Machine.String(), "loss": l.lossLine(c), "egress": c.Egress.String(), "total": c.Total.String(), "hold": c.Hold.String(),
		"delivery": Span(o.Boot), "network": cmp.Or(string(o.Network), l.compare("unsaid", nil)), "attributes": l.attributesLine(o, now), "verdict": l.verdictLine(c),
	}
	out := make([]Weighed, 0, len(compareLines))
	for _, what := range compareLines {
		out = append(out, Weighed{what, l.compare("name-"+what, nil), says[what]})
	}
	return out
}

func (l Lang) rateLine(o *bridge.Offer, now time.Time) string {
	f := map[string]string{"rate": bridge.Money(o.Rate).String(), "source": o.Source}
	if !o.SampledAt.IsZero() {
		f["age"] = Span(max(now.Sub(o.SampledAt), 0))
	}
	return l.compare("rate", f)
}

func (l Lang) runLine(c *bridge.Candidate) string {
	f := map[string]string{"run": Span(c.Run), "boot": Span(c.Boot)}
	if c.Spare > 0 {
		f["spare"] = Span(c.Spare)
	}
	return l.compare("run", f)
}

func (l Lang) billingLine(c *bridge.Candidate) string {
	f := map[string]string{}
	for name, d := range map[string]time.Duration{"minimum": c.Minimum, "step": c.Step, "early": c.Early} {
		if d > 0 {
			f[name] = Span(d)
		}
	}
	if len(f) == 0 {
		return l.compare("billing-none", nil)
	}
	return strings.TrimRight(l.compare("billing", f), ",，")
}

func (l Lang) lossLine(c *bridge.Candidate) string {
	if c.Loss.IsZero() && c.Reclaims == 0 {
		return c.Loss.String()
	}
	return l.compare("loss", map[string]string{"loss": c.Loss.String(), "reclaims": fmt.Sprintf("%d.%03d", c.Reclaims/1000, c.Reclaims%1000)})
}

func (l Lang) attributesLine(o *bridge.Offer, now time.Time) string {
	if len(o.Attributes) == 0 {
		return l.compare("unsaid", nil)
	}
	out := make([]string, 0, len(o.Attributes))
	for i := range o.Attributes {
		a := &o.Attributes[i]
		f := map[string]string{"name": a.Name, "number": a.Number}
		key := "attribute"
		if !a.Until.IsZero() {
			f["day"] = a.Until.UTC().Format(time.DateOnly)
		}
		if a.Validity(now) == bridge.Ended {
			key = "attribute-ended"
		}
		out = append(out, l.compare(key, f))
	}
	return strings.Join(out, "; ")
}

func (l Lang) verdictLine(c *bridge.Candidate) string {
	switch {
	case c.Chosen:
		return l.compare("chosen", nil)
	case c.Why == "":
		return l.compare("would-do", nil)
	}
	why := l.Short(c.Why)
	if c.Why == bridge.ReasonNoOffer { // it fits, so it is policy that has no room for it
		why = l.notAllowed()
	}
	return l.compare("why-not", map[string]string{"why": why, "detail": c.Detail})
}
