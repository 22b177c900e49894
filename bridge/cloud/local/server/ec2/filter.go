package ec2

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// filter is one that a caller gives: an attribute must have one of the values,
// in which * and ? stand for any characters.
type filter struct {
	name   string
	values []*regexp.Regexp
}

// filters reads the filters of a request. Names that are not known here are
// refused, as they would otherwise hide that nothing was filtered.
func (q *request) filters(known ...string) ([]filter, *Refusal) {
	var out []filter
	for _, p := range q.each("Filter") {
		f := filter{name: p.str("Name")}
		if !slices.Contains(known, f.name) && (!strings.HasPrefix(f.name, "tag:") || !slices.Contains(known, "tag-key")) {
			return nil, refuse("InvalidParameterValue", "The filter '%.120s' is invalid", f.name)
		}
		if len(p.each("Value")) == 0 {
			return nil, refuse("InvalidParameterValue", "The filter '%.120s' has no value", f.name)
		}
		for _, v := range p.texts("Value") {
			f.values = append(f.values, glob(v))
		}
		out = append(out, f)
	}
	return out, nil
}

// glob makes an expression of a filter's value.
func glob(text string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	escaped := false
	for _, r := range text {
		switch {
		case escaped:
			b.WriteString(regexp.QuoteMeta(string(r)))
			escaped = false
		case r == '\\':
			escaped = true
		case r == '*':
			b.WriteString(`.*`)
		case r == '?':
			b.WriteString(`.`)
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	b.WriteString(`\z`)
	return regexp.MustCompile(b.String())
}

// attributes are what filters ask of one thing, by filter name.
type attributes map[string][]string

// pass says whether a thing passes all filters.
func (a attributes) pass(all []filter) bool {
	for _, f := range all {
		if !slices.ContainsFunc(a[f.name], func(v string) bool {
			return slices.ContainsFunc(f.values, func(r *regexp.Regexp) bool { return r.MatchString(v) })
		}) {
			return false
		}
	}
	return true
}

// chosen says whether a list of names leaves a thing in; an empty one leaves all.
func chosen(names []string, name string) bool { return len(names) == 0 || slices.Contains(names, name) }

// pageOf cuts the page that a request asks for out of all there is.
func pageOf[T any](q *request, all []T, most int) ([]T, string, *Refusal) {
	from := 0
	if token := q.str("NextToken"); token != "" {
		n, err := strconv.Atoi(token)
		if err != nil || n < 0 || n > len(all) {
			return nil, "", refuse("InvalidNextToken", "The specified NextToken is not valid")
		}
		from = n
	}
	end := min(len(all), from+max(q.num(most, "MaxResults"), 1))
	if end == len(all) {
		return all[from:end], "", nil
	}
	return all[from:end], strconv.Itoa(end), nil
}
