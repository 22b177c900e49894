package chart

import (
	"strconv"
	"strings"

	"github.com/go-analyze/charts"
)

// Theme is light or dark.
type Theme string

// The themes.
const (
	Light Theme = "light"
	Dark  Theme = "dark"

	inPage Theme = "page" // an SVG, whose colours are then named
)

// hue is a colour by what it means.
type hue int

const (
	paper hue = iota
	ink
	muted
	rule     // lines of the grid
	kept     // owned and reserved
	onDemand // also all that is elastic, where spot is not told apart
	spot
	expected // what is forecast
	band     // where it may end
	limit    // of a budget; the number of GPUs that is best
	hues
)

var names = [hues]string{"paper", "ink", "muted", "rule", "kept", "on-demand", "spot", "expected", "band", "limit"}

// Okabe and Ito's blue, orange, bluish green and reddish purple, the last darker
// on white; in the dark their sky blue stands for blue.
var colours = map[Theme][hues]string{
	Light: {"#FFFFFF", "#1B1F24", "#57606A", "#E2E6EA", "#0072B2", "#E69F00", "#009E73", "#B87A00", "#F9DDA4", "#AA3377"},
	Dark:  {"#16191D", "#E6E9ED", "#A3ACB6", "#30363D", "#56B4E9", "#E69F00", "#009E73", "#F0B63A", "#4A3A14", "#E79BC4"},
	// As light; the library would call #FFFFFF white, as a project may be called.
	inPage: {"#FEFEFE", "#1B1F24", "#57606A", "#E2E6EA", "#0072B2", "#E69F00", "#009E73", "#B87A00", "#F9DDA4", "#AA3377"},
}

// Variables declares the colours of a theme as the CSS custom properties that
// every SVG of this package uses.
func Variables(t Theme) string {
	var b strings.Builder
	for h, name := range names {
		b.WriteString("--chart-" + name + ":" + colours[t][h] + ";")
	}
	return b.String()
}

func colourOf(t Theme, h hue) charts.Color {
	n, err := strconv.ParseUint(colours[t][h][1:], 16, 32)
	if err != nil {
		panic("a colour of the charts is broken: " + err.Error()) // the table above
	}
	return charts.Color{R: uint8(n >> 16), G: uint8(n >> 8), B: uint8(n), A: 255}
}

// variables replaces the colours of an SVG by names, so that one picture suits
// both themes.
var variables = func() *strings.Replacer {
	var pairs []string
	for h, name := range names {
		pairs = append(pairs, colourOf(inPage, hue(h)).String(), "var(--chart-"+name+")")
	}
	return strings.NewReplacer(pairs...)
}()
