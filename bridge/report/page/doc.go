// Package page writes a weekly report as one HTML file: no script, nothing from
// a network, for screens from a phone's to a wall's, light or dark, and for
// paper. All figures and words are those of the report's sections, so they are
// the same as in every other form; names of people and jobs are escaped.
package page
