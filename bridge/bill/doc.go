// Package bill reads what a provider bills and compares it with what was
// metered. Read turns an export in FOCUS columns, or in columns that are named
// to it, into lines; Match gives the lines to rentals by tag and by machine and
// says how each differs and why that may be; Statement.Corrections are the
// entries that bring closed books to what was billed.
//
// All of it is pure: no clock, no file, no store. Nothing is guessed that costs
// money: a line that cannot be read makes the whole file unreadable, one that
// belongs to no rental for certain is shown and never settled.
package bill
