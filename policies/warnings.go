package policies

import (
	"slices"
	"strings"

	"spillway.sh/spillway/bridge/config/strict"
)

// named is a name in the file that something else has to know.
type named struct {
	name string
	at   strict.Node
}

func (f *File) warn(n strict.Node, what string) {
	w := n.Later(what)
	if _, single := n.Scalar(); !single {
		w.Got = "" // what is written as a whole has no text to show
	}
	f.warnings = append(f.warnings, w)
}

// Warnings are what the file says and probably does not mean, in the order of
// lines. Nothing is refused for them.
func (f *File) Warnings() strict.Faults { return inLines(f.warnings) }

// UnknownClouds are warnings of budgets whose cloud is none of those given.
func (f *File) UnknownClouds(clouds []string) strict.Faults {
	return unknown(f.budgetClouds, clouds, "no cloud of the configuration has this name, so the budget limits nothing", "cloud: ")
}

// UnofferedClasses are warnings of budgets whose class of GPU is none of those
// that the clouds offer.
func (f *File) UnofferedClasses(classes []string) strict.Faults {
	return unknown(f.budgetClasses, classes, "no cloud offers this class of GPU, so the budget limits nothing", "gpu: ")
}

// unknown warns of names that are not among the known ones, with the nearest of
// them as example.
func unknown(names []named, known []string, what, key string) strict.Faults {
	var out strict.Faults
	for _, n := range names {
		if slices.Contains(known, n.name) {
			continue
		}
		wrong, at := what, n.at.With("")
		if len(known) > 0 {
			wrong += "; known are " + strings.Join(known, ", ")
			at = n.at.With(key + nearest(n.name, known))
		}
		out = append(out, at.Later(wrong))
	}
	return inLines(out)
}

func nearest(name string, known []string) string {
	if i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, name) }); i >= 0 {
		return known[i]
	}
	if near, ok := strict.Near(name, known); ok {
		return near
	}
	return known[0]
}

func inLines(fs strict.Faults) strict.Faults {
	out := slices.Clone(fs)
	slices.SortStableFunc(out, func(a, b *strict.Fault) int { return a.Line - b.Line })
	return out
}
