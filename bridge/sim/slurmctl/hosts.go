package slurmctl

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// expand returns the names of a host list, "a,b-[0-1,7]".
func expand(list string) []string {
	var out []string
	for list != "" {
		var one string
		one, list = cutOutside(list)
		before, rest, found := strings.Cut(one, "[")
		if !found {
			out = append(out, one)
			continue
		}
		inside, after, _ := strings.Cut(rest, "]")
		for item := range strings.SplitSeq(inside, ",") {
			first, last, ranged := strings.Cut(item, "-")
			if !ranged {
				out = append(out, before+first+after)
				continue
			}
			low, _ := strconv.Atoi(first)
			high, _ := strconv.Atoi(last)
			for n := low; n <= high; n++ {
				out = append(out, fmt.Sprintf("%s%0*d%s", before, len(first), n, after))
			}
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// cutOutside cuts a list at its first comma that is not in brackets.
func cutOutside(list string) (first, rest string) {
	depth := 0
	for i := range len(list) {
		switch list[i] {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth == 0 {
				return list[:i], list[i+1:]
			}
		}
	}
	return list, ""
}

// compress writes names as Slurm does: those that differ in their last number
// only become one with brackets, in their numbers' order.
func compress(names []string) string {
	type numbered struct {
		digits string
		n      int
	}
	var order []string
	groups := map[string][]numbered{}
	for _, name := range names {
		at := len(name)
		for at > 0 && name[at-1] >= '0' && name[at-1] <= '9' {
			at--
		}
		prefix := name[:at]
		if _, known := groups[prefix]; !known {
			order = append(order, prefix)
		}
		n, _ := strconv.Atoi(name[at:])
		groups[prefix] = append(groups[prefix], numbered{name[at:], n})
	}
	var out []string
	for _, prefix := range order {
		list := groups[prefix]
		if len(list) == 1 {
			out = append(out, prefix+list[0].digits)
			continue
		}
		slices.SortFunc(list, func(a, b numbered) int { return cmp.Compare(a.n, b.n) })
		var ranges []string
		for i := 0; i < len(list); {
			end := i
			for end+1 < len(list) && list[end+1].n == list[end].n+1 && len(list[end+1].digits) == len(list[i].digits) {
				end++
			}
			if end == i {
				ranges = append(ranges, list[i].digits)
			} else {
				ranges = append(ranges, list[i].digits+"-"+list[end].digits)
			}
			i = end + 1
		}
		out = append(out, prefix+"["+strings.Join(ranges, ",")+"]")
	}
	return strings.Join(out, ",")
}
