package slurm

import (
	"fmt"
	"slices"
	"strings"
)

// maxClauses bounds the conjunctive form: an expression beyond it is not
// placed with certainty.
const maxClauses = 64

// parseFeatures brings a constraint into conjunctive form: every inner list
// needs at least one of its words. In Slurm AND and OR bind alike and are read
// from left to right. Brackets (all nodes of one kind), counts and negations
// have no such form and are an error whose text says so.
func parseFeatures(expression string) ([][]string, error) {
	if absent(expression) {
		return nil, nil
	}
	for _, form := range formless {
		if strings.Contains(expression, form.mark) {
			return nil, fmt.Errorf("its constraint %s %s", expression, form.why)
		}
	}
	p := featureParser{text: expression}
	out, err := p.expression(0)
	if err == nil && p.at < len(p.text) {
		err = fmt.Errorf("%q at %d", p.text[p.at:], p.at)
	}
	if err != nil {
		return nil, fmt.Errorf("its constraint %s is not understood", expression)
	}
	return out, nil
}

// formless are the forms of a constraint that no conjunction can say.
var formless = []struct{ mark, why string }{
	{"[", "asks that all nodes have the same one of several features"},
	{"*", "asks for a number of nodes with a feature"},
	{"!", "excludes a feature"},
}

type featureParser struct {
	text string
	at   int
}

// maxDepth bounds nested parentheses.
const maxDepth = 16

func (p *featureParser) expression(depth int) ([][]string, error) {
	left, err := p.term(depth)
	for err == nil && p.at < len(p.text) && (p.text[p.at] == '&' || p.text[p.at] == ',' || p.text[p.at] == '|') {
		operator := p.text[p.at]
		p.at++
		var right [][]string
		if right, err = p.term(depth); err != nil {
			return nil, err
		}
		if operator == '|' {
			left, err = either(left, right)
		} else {
			left = both(left, right)
		}
	}
	return left, err
}

func (p *featureParser) term(depth int) ([][]string, error) {
	if p.at < len(p.text) && p.text[p.at] == '(' && depth < maxDepth {
		p.at++
		inner, err := p.expression(depth + 1)
		if err == nil && (p.at == len(p.text) || p.text[p.at] != ')') {
			err = fmt.Errorf("parenthesis not closed")
		}
		p.at++
		return inner, err
	}
	begin := p.at
	for p.at < len(p.text) && !strings.ContainsRune("&|,()", rune(p.text[p.at])) {
		p.at++
	}
	word := p.text[begin:p.at]
	if word == "" || strings.ContainsAny(word, " \t\n") {
		return nil, fmt.Errorf("no feature at %d", begin)
	}
	return [][]string{{word}}, nil
}

func both(left, right [][]string) [][]string {
	for _, clause := range right {
		if !slices.ContainsFunc(left, func(have []string) bool { return slices.Equal(have, clause) }) {
			left = append(left, clause)
		}
	}
	return left
}

// either distributes OR over the clauses of both sides.
func either(left, right [][]string) ([][]string, error) {
	if len(left)*len(right) > maxClauses {
		return nil, fmt.Errorf("more than %d clauses", maxClauses)
	}
	var out [][]string
	for _, l := range left {
		for _, r := range right {
			clause := slices.Concat(l, r)
			slices.Sort(clause)
			out = both(out, [][]string{slices.Compact(clause)})
		}
	}
	return out, nil
}
