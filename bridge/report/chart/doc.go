// Package chart draws a weekly report's charts, as PNG for a chat and as SVG for
// a page. It has a font of its own with Latin and common Chinese characters, so
// that charts look the same on every machine; no file, clock or network is read.
//
// Its canvas, PNG and SVG are those of go-analyze/charts. Plots are laid out
// here: of that library's chart types none draws a duration curve with areas on
// both sides of a level, nor a forecast band, and all of ours should look alike.
//
// Colours are those of Okabe and Ito, which people with any colour vision tell
// apart, and no meaning is by colour alone: areas are in the order of the legend,
// with a gap between them.
package chart
