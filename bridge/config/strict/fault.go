package strict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxFaults bounds the report of a file that is wrong throughout.
const maxFaults = 50

// Fault is one mistake in a file. Line and Column count from 1, Column in
// characters.
type Fault struct {
	File    string
	Line    int
	Column  int
	Path    string // for example budgets[0].limit; empty for the file as a whole
	Got     string // what was understood, as text for people; may be empty
	Wrong   string // what is wrong with it
	Example string // one valid line; may be empty
}

// Error prints the fault on one line that editors can jump to.
func (f *Fault) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: ", f.File, f.Line, f.Column)
	if f.Path != "" {
		b.WriteString(f.Path + ": ")
	}
	if f.Got != "" {
		b.WriteString(f.Got + ": ")
	}
	b.WriteString(f.Wrong)
	if f.Example != "" {
		b.WriteString("; for example: " + f.Example)
	}
	return b.String()
}

// Faults are all mistakes of one file, in the order of its lines.
type Faults []*Fault

// Error prints one fault a line.
func (fs Faults) Error() string {
	lines := make([]string, 0, len(fs)+1)
	for i, f := range fs {
		if i == maxFaults {
			lines = append(lines, fmt.Sprintf("%s: and %d more", f.File, len(fs)-i))
			break
		}
		lines = append(lines, f.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the faults to errors.As.
func (fs Faults) Unwrap() []error {
	out := make([]error, len(fs))
	for i, f := range fs {
		out[i] = f
	}
	return out
}

// Err returns every fault found so far, as Faults, or nil. What was found
// several times, on the way to several values, is told once.
func (d *Document) Err() error {
	if len(d.faults) == 0 {
		return nil
	}
	out := slices.Clone(d.faults)
	slices.SortStableFunc(out, func(a, b *Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.CompactFunc(out, func(a, b *Fault) bool { return *a == *b })
}
