package ec2

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strconv"
	"strings"
)

// params is one value of a request: a text, the members of a structure or the
// elements of a list. The zero value, and nil, is one that was not given.
type params struct {
	path  string // as the request names it
	text  string
	given bool   // it has a text
	kind  string // of the text in JSON: string, number, boolean; empty: in a form
	kids  map[string]*params
}

// depthMost is how deep a parameter may be nested.
const depthMost = 12

// parseForm reads the parameters of an EC2 Query, without its Action and
// Version. A parameter that is there twice is refused: one of the two would not
// be seen.
func parseForm(form url.Values) (*params, *Refusal) {
	root := &params{}
	for key, values := range form {
		if key == "Action" || key == "Version" {
			continue
		}
		parts := strings.Split(key, ".")
		if len(parts) > depthMost {
			return nil, refuse("UnknownParameter", "The parameter %.200s is not recognized", key) //nolint:misspell // EC2's own words.
		}
		p := root
		for _, part := range parts {
			p = p.child(part)
		}
		if len(values) != 1 {
			return nil, refuse("InvalidParameterCombination", "The parameter %s is given %d times", key, len(values))
		}
		p.text, p.given = values[0], true
	}
	return root, nil
}

// child is a member or element, made if it is not there.
func (p *params) child(name string) *params {
	if p.kids == nil {
		p.kids = map[string]*params{}
	}
	if p.kids[name] == nil {
		p.kids[name] = &params{path: p.under(name)}
	}
	return p.kids[name]
}

// under is the path of a member.
func (p *params) under(name string) string {
	if p.path == "" {
		return name
	}
	return p.path + "." + name
}

// parseJSON reads the body of a service that speaks JSON.
func parseJSON(body []byte) (*params, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	members, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("the body is not a JSON object")
	}
	root := &params{}
	return root, root.fill(members, 0)
}

// fill takes over a JSON value.
func (p *params) fill(v any, depth int) error {
	if depth > depthMost {
		return errors.New("the body is nested too deep")
	}
	switch v := v.(type) {
	case nil: // not given
	case string:
		p.text, p.given, p.kind = v, true, "string"
	case json.Number:
		p.text, p.given, p.kind = v.String(), true, "number"
	case bool:
		p.text, p.given, p.kind = strconv.FormatBool(v), true, "boolean"
	case []any:
		for i, e := range v {
			if err := p.child(strconv.Itoa(i+1)).fill(e, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, e := range v {
			if e == nil {
				continue
			}
			if err := p.child(name).fill(e, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// get is the value at a path of members; nil if it was not given.
func (p *params) get(path ...string) *params {
	for _, name := range path {
		if p == nil {
			return nil
		}
		p = p.kids[name]
	}
	return p
}

// str is the text at a path; empty if there is none.
func (p *params) str(path ...string) string {
	if p = p.get(path...); p == nil {
		return ""
	}
	return p.text
}

// has says whether something was given at a path.
func (p *params) has(path ...string) bool { return p.get(path...) != nil }

// num is the number at a path, or a default.
func (p *params) num(otherwise int, path ...string) int {
	v := p.get(path...)
	if v == nil {
		return otherwise
	}
	n, err := strconv.Atoi(v.text)
	if err != nil {
		return otherwise // The model has refused all others.
	}
	return n
}

// each are the elements of a list at a path, in order.
func (p *params) each(path ...string) []*params {
	if p = p.get(path...); p == nil {
		return nil
	}
	var out []*params
	for _, name := range p.names() {
		out = append(out, p.kids[name])
	}
	return out
}

// texts are the elements of a list of texts.
func (p *params) texts(path ...string) []string {
	var out []string
	for _, e := range p.each(path...) {
		out = append(out, e.text)
	}
	return out
}

// leaves calls do for every text with its path, elements' numbers left out.
func (p *params) leaves(do func(path string, leaf *params)) { p.walk("", do) }

func (p *params) walk(path string, do func(string, *params)) {
	if p.given {
		do(path, p)
	}
	for _, name := range p.names() {
		next := path
		if _, err := strconv.Atoi(name); err != nil {
			next = strings.TrimPrefix(path+"."+name, ".")
		}
		p.kids[name].walk(next, do)
	}
}
