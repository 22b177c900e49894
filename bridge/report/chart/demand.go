package chart

import (
	"slices"
	"strconv"

	"github.com/go-analyze/charts"

	"spillway.sh/spillway/bridge/report"
)

// mostPanels is how many classes a picture has room for.
const mostPanels = 4

func demandPicture(r *report.Report, t *texts) picture {
	classes := withCurve(r)
	p := picture{title: t.Demand, subtitle: r.Week}
	said := []string{p.title, p.subtitle}
	for _, m := range classes {
		s := fill(t.DemandAlt, "gpu", m.GPU, "peak", strconv.Itoa(m.Peak), "median", strconv.Itoa(m.Median), "have", strconv.Itoa(m.Have))
		if best, known := bestOf(m); known {
			s += fill(t.DemandAltBest, "best", strconv.Itoa(best))
		}
		said = append(said, s)
	}
	p.alt = sentences(said, t)
	shown := classes
	if len(shown) > mostPanels {
		shown = shown[:mostPanels]
		p.subtitle += t.Gap + fill(t.Further, "n", strconv.Itoa(len(classes)-mostPanels))
	}
	p.panels = len(shown)
	p.draw = func(c *canvas) { drawDemand(c, &p, shown, t) }
	return p
}

// withCurve are the classes whose demand is known, those wanted most first.
func withCurve(r *report.Report) []*report.MixClass {
	var out []*report.MixClass
	for i := range r.Mix.Classes {
		if m := &r.Mix.Classes[i]; len(m.Curve) > 1 {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b *report.MixClass) int { return b.Peak - a.Peak })
	return out
}

// bestOf is the best number under the prices as paid.
func bestOf(m *report.MixClass) (int, bool) {
	if len(m.Sets) == 0 {
		return 0, false
	}
	return m.Sets[0].Best, true
}

func drawDemand(c *canvas, p *picture, classes []*report.MixClass, t *texts) {
	legend := []entry{{name: t.Have, hue: ink, line: true, dash: true}}
	priced := func(m *report.MixClass) bool { _, known := bestOf(m); return known }
	if slices.ContainsFunc(classes, priced) {
		legend = append([]entry{{name: t.Rent, hue: onDemand}, {name: t.Reserve, hue: kept}, {name: t.Best, hue: limit, line: true}}, legend...)
	}
	if !slices.ContainsFunc(classes, priced) || slices.ContainsFunc(classes, func(m *report.MixClass) bool { return !priced(m) }) {
		legend = append([]entry{{name: t.Wanted, hue: muted}}, legend...)
	}
	in := c.head(p.title, p.subtitle, legend)
	columns := len(classes)
	switch {
	case c.narrow():
		columns = 1
	case columns == mostPanels:
		columns = 2
	}
	rows := (len(classes) + columns - 1) / columns
	gap := c.px(1.6)
	wide, high := (in.width()-gap*(columns-1))/columns, (in.height()-c.px(0.6)*(rows-1))/rows
	for i, m := range classes {
		x, y := in.left+(i%columns)*(wide+gap), in.top+(i/columns)*(high+c.px(0.6))
		axisName := ""
		if i/columns == rows-1 {
			axisName = t.DemandAxis
		}
		drawCurve(c, m, box{x, y, x + wide, y + high}, axisName, t)
	}
}

// drawCurve is one class: its hours from the busiest to the quietest, parted at
// the best number.
func drawCurve(c *canvas, m *report.MixClass, b box, axisName string, t *texts) {
	best, priced := bestOf(m)
	name := fill(t.DemandClassOnly, "gpu", c.drawable(m.GPU), "have", strconv.Itoa(m.Have))
	if priced {
		name = fill(t.DemandClass, "gpu", c.drawable(m.GPU), "best", strconv.Itoa(best), "have", strconv.Itoa(m.Have))
	}
	c.text(c.cut(name, c.Text, b.width()), b.left, b.top+c.px(0.9), c.Text, ink, left)
	b.top += c.px(1.5)
	b.bottom -= c.px(1.4)
	if axisName != "" {
		b.bottom -= c.px(1.2)
	}
	b.right -= c.px(0.9) // half of 100
	steps := max(2, min(5, b.height()/c.px(2.2)))
	a := axisTo(float64(max(m.Peak, best, m.Have)), steps, true)
	plot := c.upright(a, b)
	if priced {
		c.polygon(stairs(m.Curve, a, plot, best, m.Peak), onDemand)
		c.polygon(stairs(m.Curve, a, plot, 0, best), kept)
	} else {
		c.polygon(stairs(m.Curve, a, plot, 0, m.Peak), muted)
	}
	level := func(n int) []charts.Point {
		y := a.at(float64(n), plot.bottom, plot.top)
		return []charts.Point{{X: plot.left, Y: y}, {X: plot.right, Y: y}}
	}
	if priced {
		c.line(level(best), limit, 4)
	}
	c.line(level(m.Have), ink, 3, 10, 7)
	for _, pc := range []int{0, 25, 50, 75, 100} {
		x := plot.left + plot.width()*pc/100
		if plot.width() < c.px(13) && pc%50 != 0 {
			continue
		}
		c.text(strconv.Itoa(pc), x, plot.bottom+c.px(1.15), c.Text*0.9, muted, centre)
	}
	if axisName != "" {
		c.text(c.cut(axisName, c.Text*0.9, b.width()), (plot.left+plot.right)/2, plot.bottom+c.px(2.35), c.Text*0.9, muted, centre)
	}
}

// stairs are the outline of a duration curve between two numbers of GPUs.
func stairs(curve []report.CurvePoint, a axis, plot box, from, to int) []charts.Point {
	at := func(gpus, pm int) charts.Point {
		return charts.Point{X: plot.left + plot.width()*pm/1000, Y: a.at(float64(gpus), plot.bottom, plot.top)}
	}
	// share is for how much of the time the n-th GPU was wanted: at the first point
	// that is as high.
	share := func(n int) int {
		for _, p := range curve {
			if p.GPUs >= n {
				return p.PM
			}
		}
		return 0
	}
	out := []charts.Point{at(from, 0)}
	level := from
	for _, p := range curve {
		if p.GPUs <= from {
			continue
		}
		top := min(p.GPUs, to)
		pm := share(top)
		out = append(out, at(level, pm), at(top, pm))
		level = top
		if top == to {
			break
		}
	}
	return append(out, at(level, 0))
}
