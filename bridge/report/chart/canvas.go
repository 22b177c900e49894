package chart

import (
	"math"
	"strings"

	"github.com/go-analyze/charts"
)

// Size is how large a picture is, in pixels, and the height of its text.
type Size struct {
	Width, Height int
	Text          float64
	Page          bool // it stands in a page, which has margins of its own
}

// narrow reports whether things stand under each other.
func (s Size) narrow() bool { return s.Width < 1000 }

// The sizes: a chat's picture, twice as fine as it is shown, and a page's on wide
// and on narrow screens.
var (
	Chat   = Size{1400, 720, 26, false}
	Wide   = Size{1400, 520, 21, true}
	Narrow = Size{720, 680, 27, true}
)

// align is where a text's anchor is.
type align int

const (
	left align = iota
	centre
	right
)

// canvas is a picture under way.
type canvas struct {
	Size
	p      *charts.Painter
	theme  Theme
	format string
	// lacking are characters of names that the font does not draw.
	lacking string
	aligned []align // the texts of an SVG, in order
}

// box is a part of a canvas, in pixels from its upper left corner.
type box struct{ left, top, right, bottom int }

func (b box) width() int  { return b.right - b.left }
func (b box) height() int { return b.bottom - b.top }

func newCanvas(format string, size Size, theme Theme) *canvas {
	c := &canvas{Size: size, theme: theme, format: format, p: charts.NewPainter(charts.PainterOptions{
		OutputFormat: format, Width: size.Width, Height: size.Height, Font: face(),
	})}
	if format == charts.ChartOutputPNG {
		c.area(box{0, 0, size.Width, size.Height}, paper)
	}
	return c
}

// px is a length in heights of text.
func (c *canvas) px(lines float64) int { return int(math.Round(lines * c.Text)) }

// width is how wide a text may be: a page's fonts are not ours, and some are
// wider.
func (c *canvas) width(s string, size float64) int {
	const wider = 1.16 // DejaVu Sans
	if c.Page {
		size *= wider
	}
	return widthOf(s, size)
}

// cut shortens a text to a width, with an ellipsis in place of its end.
func (c *canvas) cut(text string, size float64, width int) string {
	if c.width(text, size) <= width {
		return text
	}
	runes := []rune(text)
	for n := len(runes) - 1; n > 0; n-- {
		if s := strings.TrimRight(string(runes[:n]), " -_./") + "…"; c.width(s, size) <= width {
			return s
		}
	}
	return "…"
}

// wrap breaks a text into lines, after spaces and Chinese commas.
func (c *canvas) wrap(text string, size float64, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.SplitAfter(strings.ReplaceAll(text, "，", "， "), " ") {
		if line != "" && c.width(line+strings.TrimSpace(word), size) > width {
			lines, line = append(lines, strings.TrimSpace(line)), ""
		}
		line += strings.ReplaceAll(word, "， ", "，")
	}
	return append(lines, c.cut(strings.TrimSpace(line), size, width))
}

// text writes on a baseline, from, around or up to x.
func (c *canvas) text(s string, x, y int, size float64, h hue, a align) {
	switch {
	case s == "":
		return
	case c.format == charts.ChartOutputSVG:
		c.aligned = append(c.aligned, a) // the page's fonts have other widths
	case a == centre:
		x -= widthOf(s, size) / 2
	case a == right:
		x -= widthOf(s, size)
	}
	const points = 72.0 / 96.0 // of a pixel, as the library counts
	c.p.Text(s, x, y, 0, charts.FontStyle{FontSize: size * points, FontColor: colourOf(c.theme, h), Font: face()})
}

// anchored tells the texts of an SVG which way they grow, in order.
func anchored(svg string, texts []align) string {
	var b strings.Builder
	for _, a := range texts {
		before, after, found := strings.Cut(svg, "<text ")
		if !found {
			break
		}
		b.WriteString(before + "<text ")
		switch a {
		case centre:
			b.WriteString(`text-anchor="middle" `)
		case right:
			b.WriteString(`text-anchor="end" `)
		case left:
		}
		svg = after
	}
	return b.String() + svg
}

func (c *canvas) area(b box, h hue) {
	if b.width() > 0 && b.height() > 0 {
		col := colourOf(c.theme, h)
		c.p.FilledRect(b.left, b.top, b.right, b.bottom, col, col, 0)
	}
}

// polygon fills what points surround.
func (c *canvas) polygon(points []charts.Point, h hue) {
	if len(points) > 2 {
		c.p.FillArea(append(points, points[0]), colourOf(c.theme, h))
	}
}

// line draws through points; dashes are lengths of strokes and gaps, or none.
func (c *canvas) line(points []charts.Point, h hue, width float64, dashes ...float64) {
	if len(points) < 2 {
		return
	}
	if len(dashes) == 0 {
		c.p.LineStroke(points, colourOf(c.theme, h), width)
		return
	}
	c.p.DashedLineStroke(points, colourOf(c.theme, h), width, dashes)
}

func (c *canvas) dot(x, y int, radius float64, h hue) {
	col := colourOf(c.theme, h)
	c.p.Circle(radius, x, y, col, col, 0)
}

// drawable is a name of somebody else's with a question mark for each character
// that the font does not draw. In an SVG the page's fonts draw it.
func (c *canvas) drawable(name string) string {
	if c.format != charts.ChartOutputPNG {
		return name
	}
	c.lacking += lacking(name, has)
	return strings.Map(func(r rune) rune {
		if has(r) {
			return r
		}
		return '?'
	}, name)
}
