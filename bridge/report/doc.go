// Package report is the weekly report for who decides how much to reserve and
// how much to rent: what was spent, what it was good for, what was wasted and
// what would be cheaper.
//
// Make computes a Report from plain values and reads no clock, file or store.
// All amounts of a Report are whole cents, as they are shown: costs are rounded
// up, what is left is rounded down, and the parts of a table are rounded by
// largest remainder so that they add up to the total beside them. So every form
// of it (Markdown, JSON, CSV, HTML, Slack) has the same numbers. A figure that
// cannot be computed is absent, and a note says why.
package report
