package chart

import (
	"strconv"
	"strings"
	"time"

	"github.com/go-analyze/charts"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/report"
)

// month is a month's spend, its budget and where it may end.
type month struct {
	name     string
	days     int // of the month
	sofar    []report.MonthDay
	forecast *report.Forecast
	limit    *bridge.Money
}

// monthOf is the month that the report follows, if it has a day.
func monthOf(r *report.Report) (month, bool) {
	s := &r.Spend
	if len(s.Month) == 0 {
		return month{}, false
	}
	first, err := time.Parse(time.DateOnly, s.Month[0].Date)
	if err != nil {
		return month{}, false
	}
	m := month{name: first.Format("2006-01"), sofar: s.Month, limit: budgetOf(r, first.Format("2006-01"))}
	m.days = first.AddDate(0, 1, -first.Day()).Day()
	if f := s.Forecast; f != nil && f.Month == m.name {
		m.forecast = f
	}
	return m, true
}

// budgetOf is the limit of the one monthly budget that covers just what the
// report is about; with several accounts at the top there is none.
func budgetOf(r *report.Report, name string) *bridge.Money {
	var found *bridge.Money
	for i := range r.Spend.Budgets {
		b := &r.Spend.Budgets[i]
		if b.Period != name || b.Scope.Cloud != "" || b.Scope.GPU != "" {
			continue
		}
		if r.Account != "" && b.Scope.Account != r.Account || r.Account == "" && strings.Contains(string(b.Scope.Account), "/") {
			continue
		}
		if found != nil {
			return nil
		}
		found = &b.Limit
	}
	return found
}

func monthPicture(r *report.Report, t *texts) picture {
	m, _ := monthOf(r)
	last := m.sofar[len(m.sofar)-1]
	p := picture{title: fill(t.Month, "month", m.name, "currency", string(r.Currency))}
	p.subtitle = fill(t.MonthSub, "date", last.Date, "sofar", amount(last.SoFar))
	if f := m.forecast; f != nil {
		p.subtitle += t.Gap + fill(t.MonthForecast, "likely", amount(f.Likely), "low", amount(f.Low), "high", amount(f.High))
	}
	if m.limit != nil {
		p.subtitle += t.Gap + fill(t.MonthLimit, "limit", amount(*m.limit))
	}
	said := []string{p.title, p.subtitle}
	for i, d := range m.sofar {
		if i%7 == 6 && i < len(m.sofar)-1 {
			said = append(said, fill(t.MonthAlt, "date", d.Date, "sofar", amount(d.SoFar)))
		}
	}
	p.alt = sentences(said, t)
	p.draw = func(c *canvas) { drawMonth(c, &p, &m, t) }
	return p
}

func drawMonth(c *canvas, p *picture, m *month, t *texts) {
	legend := []entry{{name: t.SoFar, hue: onDemand}}
	most := 0.0
	for _, d := range m.sofar {
		most = max(most, units(d.SoFar))
	}
	if f := m.forecast; f != nil {
		legend = append(legend, entry{name: t.Expected, hue: expected, line: true, dash: true}, entry{name: t.Band, hue: band})
		most = max(most, units(f.High))
	}
	if m.limit != nil {
		legend = append(legend, entry{name: t.Limit, hue: limit, line: true})
		most = max(most, units(*m.limit))
	}
	in := c.head(p.title, p.subtitle, legend)
	in.bottom -= c.px(1.5)
	in.right -= c.px(0.8)
	a := axisTo(most, 5, false)
	plot := c.upright(a, in)
	point := func(day int, v bridge.Money) charts.Point {
		return charts.Point{X: plot.left + plot.width()*day/m.days, Y: a.at(max(units(v), 0), plot.bottom, plot.top)}
	}
	path := []charts.Point{point(0, bridge.Money{})}
	for i, d := range m.sofar {
		path = append(path, point(i+1, d.SoFar))
	}
	end := path[len(path)-1]
	ahead := m.forecast
	if len(m.sofar) >= m.days {
		ahead = nil // nothing of the month is left
	}
	if f := ahead; f != nil {
		c.polygon([]charts.Point{end, point(m.days, f.High), point(m.days, f.Low)}, band)
	}
	c.polygon(append(append([]charts.Point{}, path...), charts.Point{X: end.X, Y: plot.bottom}), onDemand)
	if f := ahead; f != nil {
		c.line([]charts.Point{end, point(m.days, f.Likely)}, expected, 4, 12, 8)
	}
	c.line(path, expected, 4)
	c.dot(end.X, end.Y, 7, expected)
	if m.limit != nil {
		y := point(0, *m.limit).Y
		c.line([]charts.Point{{X: plot.left, Y: y}, {X: plot.right, Y: y}}, limit, 4)
	}
	m.drawDates(c, plot)
}

func (m *month) drawDates(c *canvas, plot box) {
	for day := 1; day <= m.days; day++ {
		if day == 1 || day%5 == 0 && day < m.days-2 || day == m.days {
			c.text(strconv.Itoa(day), plot.left+plot.width()*(2*day-1)/(2*m.days), plot.bottom+c.px(1.2), c.Text*0.9, muted, centre)
		}
	}
}
