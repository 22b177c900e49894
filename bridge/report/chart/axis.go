package chart

import (
	"math"
	"strconv"

	"github.com/go-analyze/charts"
)

// axis is the scale of values, from zero up.
type axis struct {
	top  float64
	step float64
}

// axisTo is an axis of about so many steps of 1, 2, 2.5 or 5 that reaches most;
// whole: steps below 1 make no sense.
func axisTo(most float64, steps int, whole bool) axis {
	if most <= 0 {
		most = 1
	}
	raw := most / float64(steps)
	size := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * size
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*size >= raw*(1-1e-9) {
			step = m * size
			break
		}
	}
	if whole {
		step = math.Max(1, math.Ceil(step-1e-9))
	}
	return axis{top: step * math.Ceil(most/step-1e-9), step: step}
}

// ticks are the values that have a label.
func (a axis) ticks() []float64 {
	n := int(math.Round(a.top / a.step))
	out := make([]float64, n+1)
	for i := range out {
		out[i] = float64(i) * a.step
	}
	return out
}

// label writes a value with the digits that the step has.
func (a axis) label(v float64) string {
	digits := 0
	for s := a.step; digits < 6 && math.Abs(s-math.Round(s)) > 1e-9; digits++ {
		s *= 10
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// at is where a value is between the ends of a length.
func (a axis) at(v float64, from, to int) int {
	return from + int(math.Round(float64(to-from)*v/a.top))
}

// upright draws the grid and labels of a value axis and returns the plot that is
// left: above it is room for half a label.
func (c *canvas) upright(a axis, b box) box {
	size := c.Text * 0.9
	wide := 0
	for _, v := range a.ticks() {
		wide = max(wide, c.width(a.label(v), size))
	}
	plot := box{b.left + wide + c.px(0.6), b.top + c.px(0.4), b.right, b.bottom}
	for _, v := range a.ticks() {
		y := a.at(v, plot.bottom, plot.top)
		h, w := rule, 2.0
		if v == 0 {
			h = muted
		}
		c.line([]charts.Point{{X: plot.left, Y: y}, {X: plot.right, Y: y}}, h, w)
		c.text(a.label(v), plot.left-c.px(0.4), y+c.px(0.33), size, muted, right)
	}
	return plot
}

// entry is one line of a legend.
type entry struct {
	name string
	hue  hue
	line bool // a line, not an area
	dash bool
}

// head writes title, subtitle and legend, and returns what is left below them.
func (c *canvas) head(title, subtitle string, legend []entry) box {
	in := box{c.px(1.2), c.px(1.1), c.Width - c.px(1.2), c.Height - c.px(1)}
	if c.Page {
		in.left, in.right, in.top = 0, c.Width-c.px(0.4), c.px(0.3)
	}
	size := c.Text * 1.3
	y := in.top + c.px(1)
	c.text(c.cut(title, size, in.width()), in.left, y, size, ink, left)
	for i, line := range c.wrap(subtitle, c.Text*0.95, in.width()) {
		y += c.px(1.4 - 0.1*float64(min(i, 1)))
		c.text(line, in.left, y, c.Text*0.95, muted, left)
	}
	if len(legend) > 0 {
		y += c.px(1.6)
		y = c.legend(legend, box{in.left, y, in.right, 0})
	}
	in.top = y + c.px(0.9)
	return in
}

// legend writes entries in lines from a baseline on and returns the last one.
func (c *canvas) legend(entries []entry, b box) int {
	x, y, size := b.left, b.top, c.Text*0.95
	swatch := c.px(0.85)
	for _, e := range entries {
		w := swatch + c.px(0.45) + c.width(e.name, size)
		if x > b.left && x+w > b.right {
			x, y = b.left, y+c.px(1.45)
		}
		mid := y - c.px(0.34)
		switch {
		case e.line && e.dash:
			c.line([]charts.Point{{X: x, Y: mid}, {X: x + swatch, Y: mid}}, e.hue, 5, 8, 5)
		case e.line:
			c.line([]charts.Point{{X: x, Y: mid}, {X: x + swatch, Y: mid}}, e.hue, 5)
		default:
			c.area(box{x, y - c.px(0.75), x + swatch, y - c.px(0.75) + swatch}, e.hue)
		}
		c.text(e.name, x+swatch+c.px(0.45), y, size, ink, left)
		x += w + c.px(1.3)
	}
	return y
}
