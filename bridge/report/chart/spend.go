package chart

import (
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/report"
)

// picture is one chart in one language, before it has a size and colours.
type picture struct {
	title, subtitle, alt string
	panels               int // that a narrow picture has under each other; 0: one
	draw                 func(c *canvas)
}

// fit is a size with room for all panels.
func (p *picture) fit(s Size) Size {
	if s.narrow() && p.panels > 1 {
		s.Height += int(float64(p.panels-1) * 11 * s.Text)
	}
	return s
}

// amount is money as the report shows it, without its currency.
func amount(m bridge.Money) string {
	s, _, _ := strings.Cut(m.String(), " ")
	return s
}

// units is money as a length: only to be drawn.
func units(m bridge.Money) float64 { return float64(m.Micro) / bridge.Micro }

func spendPicture(r *report.Report, t *texts) picture {
	s := &r.Spend
	p := picture{title: fill(t.Spend, "currency", string(r.Currency))}
	facts := []string{"week", r.Week, "total", amount(s.Total), "elastic", amount(s.Elastic)}
	p.subtitle = fill(t.SpendSubAll, facts...)
	if s.ElasticPM != nil {
		p.subtitle = fill(t.SpendSub, append(facts, "share", report.Percent(*s.ElasticPM))...)
	}
	said := []string{p.title, p.subtitle}
	for _, d := range s.Days {
		said = append(said, fill(t.SpendDay, "day", d.Date, "kept", amount(d.Kept), "demand", amount(d.OnDemand), "spot", amount(d.Spot)))
	}
	p.alt = sentences(said, t)
	p.draw = func(c *canvas) { drawDays(c, &p, s.Days, t) }
	return p
}

// sentences are the description of a picture.
func sentences(said []string, t *texts) string {
	return strings.TrimSpace(strings.Join(said, t.Stop) + t.Stop)
}

// drawDays are stacked bars: what is paid anyway stands below.
func drawDays(c *canvas, p *picture, days []report.SpendDay, t *texts) {
	in := c.head(p.title, p.subtitle, []entry{{name: t.Kept, hue: kept}, {name: t.OnDemand, hue: onDemand}, {name: t.Spot, hue: spot}})
	most := 0.0
	sums := make([]bridge.Money, len(days))
	for i, d := range days {
		sums[i] = bridge.Money{Micro: d.Kept.Micro + d.OnDemand.Micro + d.Spot.Micro, Currency: d.Kept.Currency}
		most = max(most, stacked(d))
	}
	a := axisTo(most, 5, false)
	in.top += c.px(0.5) // for the sum over a bar that reaches the top
	in.bottom -= c.px(2.6)
	plot := c.upright(a, in)
	slot := float64(plot.width()) / float64(len(days))
	size := c.Text * 0.85
	fits := true
	for _, m := range sums {
		fits = fits && float64(c.width(amount(m), size)) < slot*0.88
	}
	for i, d := range days {
		mid := plot.left + int(slot*(float64(i)+0.5))
		half := int(slot * 0.31)
		y := plot.bottom
		for _, part := range []struct {
			m bridge.Money
			h hue
		}{{d.Kept, kept}, {d.OnDemand, onDemand}, {d.Spot, spot}} {
			if part.m.Micro <= 0 { // a credit has no height; the tables have it
				continue
			}
			high := plot.bottom - a.at(units(part.m), 0, plot.height())
			next := y - (plot.bottom - high)
			c.area(box{mid - half, next, mid + half, y - gapBelow(y, next, plot.bottom)}, part.h)
			y = next
		}
		if fits {
			wide := c.width(amount(sums[i]), size) / 2
			c.area(box{mid - wide, y - c.px(1.15), mid + wide, y - 2}, paper) // no grid through the figure
			c.text(amount(sums[i]), mid, y-c.px(0.35), size, ink, centre)
		}
		day, month := dayOf(d.Date, t)
		c.text(day, mid, plot.bottom+c.px(1.2), c.Text*0.9, ink, centre)
		c.text(month, mid, plot.bottom+c.px(2.3), c.Text*0.85, muted, centre)
	}
}

// gapBelow parts a piece of a bar from the one below it, if both can be seen.
func gapBelow(bottom, top, floor int) int {
	if bottom < floor && bottom-top > 5 {
		return 3
	}
	return 0
}

func stacked(d report.SpendDay) float64 {
	sum := 0.0
	for _, m := range []bridge.Money{d.Kept, d.OnDemand, d.Spot} {
		sum += max(units(m), 0)
	}
	return sum
}

// dayOf is a date's weekday, and its month and day.
func dayOf(date string, t *texts) (weekday, rest string) {
	at, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date, ""
	}
	return t.Weekdays[at.Weekday()], at.Format("01-02")
}
