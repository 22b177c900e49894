package chart

import (
	"strconv"

	"spillway.sh/spillway/bridge/report"
)

// mostBars is how many lines a chart of projects has room for.
const mostBars = 8

func topPicture(r *report.Report, t *texts) picture {
	p := picture{title: fill(t.Top, "currency", string(r.Currency))}
	p.subtitle = fill(t.TopSub, "week", r.Week, "elastic", amount(r.Spend.Elastic))
	said := []string{p.title, p.subtitle}
	for _, l := range r.Top.Projects {
		said = append(said, fill(t.TopLine, "cost", amount(l.Cost), "share", report.Percent(l.PM), "name", nameOf(l, t)))
	}
	p.alt = sentences(said, t)
	lines := r.Top.Projects
	if len(lines) > mostBars {
		lines = lines[:mostBars]
	}
	p.draw = func(c *canvas) { drawBars(c, &p, lines, t) }
	return p
}

func nameOf(l report.TopLine, t *texts) string {
	switch {
	case l.Others > 0:
		return fill(t.Others, "n", strconv.Itoa(l.Others))
	case l.Name == "":
		return t.NoProject
	}
	return l.Name
}

// drawBars are lying bars with their names before and their figures behind.
func drawBars(c *canvas, p *picture, lines []report.TopLine, t *texts) {
	in := c.head(p.title, p.subtitle, nil)
	size := c.Text * 0.95
	names, figures := make([]string, len(lines)), make([]string, len(lines))
	wideName, wideFigure, most := 0, 0, 0.0
	for i, l := range lines {
		names[i] = c.cut(c.drawable(nameOf(l, t)), size, in.width()*3/10)
		figures[i] = fill("{cost} ({share} %)", "cost", amount(l.Cost), "share", report.Percent(l.PM))
		wideName, wideFigure = max(wideName, c.width(names[i], size)), max(wideFigure, c.width(figures[i], size))
		most = max(most, units(l.Cost))
	}
	from := in.left + wideName + c.px(0.6)
	a := axis{top: max(most, 1e-6)}
	slot := min(in.height()/max(len(lines), 1), c.px(3.6))
	for i, l := range lines {
		mid := in.top + slot*i + slot/2
		half := slot * 30 / 100
		to := from + a.at(max(units(l.Cost), 0), 0, in.right-from-wideFigure-c.px(0.6))
		h := onDemand
		if l.Others > 0 {
			h = muted
		}
		c.text(names[i], from-c.px(0.6), mid+c.px(0.35), size, ink, right)
		c.area(box{from, mid - half, max(to, from+2), mid + half}, h)
		c.text(figures[i], max(to, from+2)+c.px(0.4), mid+c.px(0.35), size, ink, left)
	}
}
