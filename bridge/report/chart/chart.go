package chart

import (
	"fmt"
	"html"
	"log/slog"
	"regexp"
	"slices"
	"strings"

	"github.com/go-analyze/charts"

	"spillway.sh/spillway/bridge/report"
)

// Kind is one of the charts of a report.
type Kind string

// The charts.
const (
	Spend  Kind = "spend"  // per day, by how the machines are paid for
	Demand Kind = "demand" // for GPUs, and how many of them to reserve
	Month  Kind = "month"  // so far, its forecast and its budget
	Top    Kind = "top"    // projects
)

// Kinds are the charts that a report has figures for.
func Kinds(r *report.Report) []Kind {
	var out []Kind
	if len(r.Spend.Days) > 0 {
		out = append(out, Spend)
	}
	if _, known := monthOf(r); known {
		out = append(out, Month)
	}
	if len(withCurve(r)) > 0 {
		out = append(out, Demand)
	}
	if len(r.Top.Projects) > 0 {
		out = append(out, Top)
	}
	return out
}

// PNG draws a chart for a chat, 1400 by 720 pixels to be shown at half of that.
// The description has the numbers. A kind that Kinds does not name is an error.
func PNG(k Kind, r *report.Report, g report.Lang, t Theme) (png []byte, alt string, err error) {
	p, err := pictureOf(k, r, g)
	if err != nil {
		return nil, "", err
	}
	if t != Light && t != Dark {
		return nil, "", fmt.Errorf("draw chart %s: no theme %q", k, t)
	}
	png, err = render(&p, k, charts.ChartOutputPNG, Chat, t)
	return png, p.alt, err
}

// SVG draws a chart to be put into a page that declares Variables. Its text is
// the page's, its title and description are inside; place makes their names
// unique in the page.
func SVG(k Kind, r *report.Report, g report.Lang, s Size, place string) (string, error) {
	p, err := pictureOf(k, r, g)
	if err != nil {
		return "", err
	}
	out, err := render(&p, k, charts.ChartOutputSVG, s, inPage)
	if err != nil {
		return "", err
	}
	title, desc := fmt.Sprintf("%s-%s-title", k, place), fmt.Sprintf("%s-%s-desc", k, place)
	head := fmt.Sprintf(`role="img" aria-labelledby="%s %s"><title id="%s">%s</title><desc id="%s">%s</desc>`,
		title, desc, title, html.EscapeString(p.title), desc, html.EscapeString(p.alt))
	svg := fontFamily.ReplaceAllString(variables.Replace(string(out)), "")
	svg = strings.ReplaceAll(svg, "stroke:none;", "")
	return strings.Replace(svg, ">", " "+head, 1), nil
}

// fontFamily is what the page says better.
var fontFamily = regexp.MustCompile(`;font-family:'[^']*',sans-serif`)

func render(p *picture, k Kind, format string, s Size, t Theme) ([]byte, error) {
	c := newCanvas(format, p.fit(s), t)
	p.draw(c)
	out, err := c.p.Bytes()
	if err != nil {
		return nil, fmt.Errorf("draw chart %s: %w", k, err)
	}
	if format == charts.ChartOutputSVG {
		return []byte(anchored(string(out), c.aligned)), nil
	}
	if len(c.lacking) > 0 {
		slog.Warn("a chart's font lacks characters of a name; ? stands for them", "chart", string(k), "characters", c.lacking)
	}
	return out, nil
}

func pictureOf(k Kind, r *report.Report, g report.Lang) (picture, error) {
	t := drawn(textsOf(g), has)
	draw := map[Kind]func(*report.Report, *texts) picture{Spend: spendPicture, Demand: demandPicture, Month: monthPicture, Top: topPicture}
	if !slices.Contains(Kinds(r), k) {
		return picture{}, fmt.Errorf("draw chart %s: the report has no figures for it", k)
	}
	return draw[k](r, t), nil
}

// drawn are texts that a font can draw; English, of which it has every letter,
// in place of those of which it lacks one.
func drawn(t *texts, has func(rune) bool) *texts {
	if lost := lacking(t.all(), has); lost != "" {
		slog.Warn("the charts' font lacks characters; their words are in English", "characters", lost)
		return &english
	}
	return t
}
