package chart

import (
	"math"
	"testing"
)

// linear are the parts of a colour as light, from 0 to 1.
func linear(t Theme, h hue) [3]float64 {
	c := colourOf(t, h)
	var out [3]float64
	for i, v := range []uint8{c.R, c.G, c.B} {
		s := float64(v) / 255
		if out[i] = s / 12.92; s > 0.04045 {
			out[i] = math.Pow((s+0.055)/1.055, 2.4)
		}
	}
	return out
}

func times(m [3][3]float64, v [3]float64) [3]float64 {
	var out [3]float64
	for i := range m {
		for k := range v {
			out[i] += m[i][k] * v[k]
		}
		out[i] = min(max(out[i], 0), 1)
	}
	return out
}

func luminance(v [3]float64) float64 { return 0.2126*v[0] + 0.7152*v[1] + 0.0722*v[2] }

func contrast(a, b [3]float64) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// lab is a colour of linear light in CIE L*a*b*.
func lab(v [3]float64) [3]float64 {
	xyz := times([3][3]float64{{0.4124, 0.3576, 0.1805}, {0.2126, 0.7152, 0.0722}, {0.0193, 0.1192, 0.9505}}, v)
	f := func(x float64) float64 {
		if x > 0.008856 {
			return math.Cbrt(x)
		}
		return 7.787*x + 16.0/116
	}
	x, y, z := f(xyz[0]/0.9505), f(xyz[1]), f(xyz[2]/1.089)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

// seen are the colours that people without one kind of cones see, by Machado,
// Oliveira and Fernandes (2009), at full severity, and all others.
var seen = map[string][3][3]float64{
	"all":          {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

func TestColoursThatTouchAreToldApartByEverybody(t *testing.T) {
	for _, theme := range []Theme{Light, Dark} {
		for who, m := range seen {
			for _, pair := range [][2]hue{{kept, onDemand}, {onDemand, spot}, {kept, spot}, {kept, paper}, {onDemand, paper}, {spot, paper}, {limit, onDemand}, {limit, kept}, {band, paper}} {
				a, b := lab(times(m, linear(theme, pair[0]))), lab(times(m, linear(theme, pair[1])))
				d := math.Sqrt((a[0]-b[0])*(a[0]-b[0]) + (a[1]-b[1])*(a[1]-b[1]) + (a[2]-b[2])*(a[2]-b[2]))
				if d < 15 {
					t.Errorf("%s, %s: %s and %s are %.0f apart", theme, who, names[pair[0]], names[pair[1]], d)
				}
			}
		}
	}
}

func TestWordsAndLinesStandOutFromThePaper(t *testing.T) {
	for _, theme := range []Theme{Light, Dark} {
		for h, least := range map[hue]float64{ink: 7, muted: 4.5, limit: 3, expected: 3, kept: 3} {
			if got := contrast(linear(theme, h), linear(theme, paper)); got < least {
				t.Errorf("%s: %s has a contrast of %.1f to the paper, want %.1f", theme, names[h], got, least)
			}
		}
	}
}

func TestAPageHasTheColoursOfTheLightTheme(t *testing.T) {
	for h := ink; h < hues; h++ {
		if colours[inPage][h] != colours[Light][h] {
			t.Errorf("%s is another in a page", names[h])
		}
	}
	named := map[string]hue{}
	for h := range hues {
		c := colourOf(inPage, h)
		if s := c.String(); s != c.StringRGB() {
			t.Errorf("the library calls %s %q, which a name may have in it", names[h], s)
		}
		if other, twice := named[colours[inPage][h]]; twice {
			t.Errorf("%s and %s are one colour in a page", names[h], names[other])
		}
		named[colours[inPage][h]] = h
	}
}
