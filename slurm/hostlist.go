package slurm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxHosts bounds what one list may stand for; Slurm itself stops at 65,536.
const maxHosts = 1 << 16

// expandHosts returns the names that a host list stands for, such as
// "local1,sw-001a-[0-3,07-09]", in its order. Empty and "(null)" are no hosts.
func expandHosts(list string) ([]string, error) {
	if list == "" || list == "(null)" {
		return nil, nil
	}
	parts, err := splitOutside(list, ',')
	if err != nil {
		return nil, fmt.Errorf("host list %q: %w", list, err)
	}
	var out []string
	for _, part := range parts {
		names, err := expandName(part)
		if err != nil {
			return nil, fmt.Errorf("host list %q: %w", list, err)
		}
		if out = append(out, names...); len(out) > maxHosts {
			return nil, fmt.Errorf("host list %.60q...: more than %d hosts", list, maxHosts)
		}
	}
	return out, nil
}

// expandName expands one name, which may hold several brackets.
func expandName(name string) ([]string, error) {
	before, rest, found := strings.Cut(name, "[")
	if !found {
		if name == "" || strings.ContainsAny(name, "] \t\n") {
			return nil, fmt.Errorf("name %q", name)
		}
		return []string{name}, nil
	}
	inside, after, found := strings.Cut(rest, "]")
	if !found {
		return nil, fmt.Errorf("name %q: bracket not closed", name)
	}
	var tails []string
	if after == "" {
		tails = []string{""}
	} else {
		var err error
		if tails, err = expandName(after); err != nil {
			return nil, err
		}
	}
	var out []string
	for item := range strings.SplitSeq(inside, ",") {
		numbers, err := expandRange(item)
		if err != nil {
			return nil, fmt.Errorf("name %q: %w", name, err)
		}
		for _, number := range numbers {
			for _, tail := range tails {
				out = append(out, before+number+tail)
			}
			if len(out) > maxHosts {
				return nil, fmt.Errorf("name %.60q: more than %d hosts", name, maxHosts)
			}
		}
	}
	return out, nil
}

// expandRange expands "7" and "007-012"; leading zeros are part of the name.
func expandRange(item string) ([]string, error) {
	first, last, ranged := strings.Cut(item, "-")
	low, err := strconv.ParseUint(first, 10, 31)
	if err != nil {
		return nil, fmt.Errorf("range %q", item)
	}
	if !ranged {
		return []string{first}, nil
	}
	high, err := strconv.ParseUint(last, 10, 31)
	if err != nil || high < low || high-low >= maxHosts {
		return nil, fmt.Errorf("range %q", item)
	}
	out := make([]string, 0, high-low+1)
	for n := low; n <= high; n++ {
		out = append(out, fmt.Sprintf("%0*d", len(first), n))
	}
	return out, nil
}

// splitOutside splits s at each separator that stands outside of brackets.
func splitOutside(s string, separator byte) ([]string, error) {
	var out []string
	depth, begin := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '[', '(':
			depth++
		case ']', ')':
			if depth--; depth < 0 {
				return nil, fmt.Errorf("bracket not opened in %q", s)
			}
		case separator:
			if depth == 0 {
				out, begin = append(out, s[begin:i]), i+1
			}
		}
	}
	if depth != 0 {
		return nil, fmt.Errorf("bracket not closed in %q", s)
	}
	return append(out, s[begin:]), nil
}

// joinHosts is the list of names as an argument, sorted: lists that mean the
// same are the same.
func joinHosts(names []string) string {
	return strings.Join(slices.Sorted(slices.Values(names)), ",")
}
