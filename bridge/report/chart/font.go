package chart

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/golang/freetype/truetype"
	"golang.org/x/image/math/fixed"
)

//go:embed font/Spillway.ttf
var fontFile []byte

// face is the font of all charts, parsed once.
var face = sync.OnceValue(func() *truetype.Font {
	f, err := truetype.Parse(fontFile)
	if err != nil {
		panic("the font of the charts is broken: " + err.Error()) // part of the program, under test
	}
	return f
})

// has reports whether the font draws a character.
func has(c rune) bool { return face().Index(c) != 0 }

// lacking are the characters of a text that a font does not draw.
func lacking(text string, has func(rune) bool) string {
	return strings.Map(func(c rune) rune {
		if has(c) {
			return -1
		}
		return c
	}, text)
}

// widthOf is how wide a text is in a size, both in pixels.
func widthOf(text string, size float64) int {
	scale := fixed.Int26_6(size * 64)
	sum := fixed.Int26_6(0)
	for _, c := range text {
		sum += face().HMetric(scale, face().Index(c)).AdvanceWidth
	}
	return sum.Ceil()
}
