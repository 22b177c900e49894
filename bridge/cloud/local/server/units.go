package server

import (
	"fmt"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/shopspring/decimal"
)

// Price is an amount in micro-units, written as a decimal such as 12.50.
type Price int64

// UnmarshalYAML reads a decimal with at most six places.
func (p *Price) UnmarshalYAML(node ast.Node) error {
	text, err := scalar(node, "a price such as 12.50")
	if err != nil {
		return err
	}
	d, err := decimal.NewFromString(text)
	if err != nil {
		return misread(node, "price %q is not a decimal such as 12.50", text)
	}
	micro := d.Shift(6)
	if !micro.IsInteger() || !micro.BigInt().IsInt64() {
		return misread(node, "price %s needs more than six places or more than 64 bits", text)
	}
	*p = Price(micro.IntPart())
	return nil
}

// Span is a length of time, written such as 90s or 5m.
type Span time.Duration

// UnmarshalYAML reads a duration with its unit.
func (d *Span) UnmarshalYAML(node ast.Node) error {
	text, err := scalar(node, "a duration such as 90s")
	if err != nil {
		return err
	}
	v, err := time.ParseDuration(text)
	if err != nil {
		return misread(node, "%q is not a duration such as 90s", text)
	}
	*d = Span(v)
	return nil
}

// scalar is a node's text as it was written, without quotes.
func scalar(node ast.Node, want string) (string, error) {
	if _, ok := node.(ast.ScalarNode); !ok {
		return "", misread(node, "want %s, not a list or a map", want)
	}
	return node.GetToken().Value, nil
}

// misread is an error with line, column and the line itself.
func misread(node ast.Node, format string, args ...any) error {
	return &yaml.SyntaxError{Message: fmt.Sprintf(format, args...), Token: node.GetToken()}
}
