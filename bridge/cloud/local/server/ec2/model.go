package ec2

import (
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"
)

//go:embed model.json
var modelText []byte

// models are AWS's own descriptions of what its services take, by the name that
// requests are signed for, cut down to the operations that are served here.
var models = func() map[string]*model {
	var file struct {
		Services map[string]*model `json:"services"`
	}
	if err := json.Unmarshal(modelText, &file); err != nil {
		panic("the extract of the models is wrong: " + err.Error())
	}
	return file.Services
}()

// model is one service.
type model struct {
	Version    string            `json:"version"`
	Target     string            `json:"target,omitempty"` // of services that speak JSON
	Operations map[string]string `json:"operations"`       // the shape of what each takes
	Shapes     map[string]*shape `json:"shapes"`
}

// shape is what a value may be.
type shape struct {
	Type     string            `json:"type"`
	Members  map[string]string `json:"members,omitempty"` // by the name a request has for them
	Required []string          `json:"required,omitempty"`
	Element  string            `json:"element,omitempty"` // of lists
	Enum     []string          `json:"enum,omitempty"`
	Min      *int64            `json:"min,omitempty"`
	Max      *int64            `json:"max,omitempty"`
}

// check refuses what the model does not allow, the first in the order of names.
func (m *model) check(name string, p *params) *Refusal {
	s := m.Shapes[name]
	switch s.Type {
	case "structure":
		return m.checkStructure(s, p)
	case "list":
		return m.checkList(s, p)
	}
	if len(p.kids) > 0 {
		return unknown(p.kids[p.names()[0]])
	}
	return s.checkValue(p)
}

func (m *model) checkStructure(s *shape, p *params) *Refusal {
	if p.given {
		return invalid(p, "it is a structure")
	}
	for _, name := range p.names() {
		member, ok := s.Members[name]
		if !ok {
			return unknown(p.kids[name])
		}
		if no := m.check(member, p.kids[name]); no != nil {
			return no
		}
	}
	for _, name := range s.Required {
		if p.kids[name] == nil {
			return refuse("MissingParameter", "The request must contain the parameter %s", p.under(name))
		}
	}
	return nil
}

// listMost is the largest index of a list.
const listMost = 1000

func (m *model) checkList(s *shape, p *params) *Refusal {
	if p.given {
		return invalid(p, "it is a list")
	}
	for _, name := range p.names() {
		if n, err := strconv.Atoi(name); err != nil || n < 1 || n > listMost || strconv.Itoa(n) != name {
			return unknown(p.kids[name])
		}
		if no := m.check(s.Element, p.kids[name]); no != nil {
			return no
		}
	}
	if s.Min != nil && int64(len(p.kids)) < *s.Min || s.Max != nil && int64(len(p.kids)) > *s.Max {
		return invalid(p, "it has "+strconv.Itoa(len(p.kids))+" elements")
	}
	return nil
}

// checkValue refuses a value that cannot be one of its type.
func (s *shape) checkValue(p *params) *Refusal {
	if p.kind != "" && p.kind != jsonKind(s.Type) {
		return invalid(p, "it is not a "+s.Type)
	}
	size, ok := measure(s.Type, p.text)
	switch {
	case !ok:
		return invalid(p, "it is not of the type "+s.Type)
	case s.Enum != nil && !slices.Contains(s.Enum, p.text):
		return invalid(p, "it is none of the values that are known")
	case s.Min != nil && size < *s.Min:
		return invalid(p, "it is below "+strconv.FormatInt(*s.Min, 10))
	case s.Max != nil && size > *s.Max:
		return invalid(p, "it is above "+strconv.FormatInt(*s.Max, 10))
	}
	return nil
}

// measure is what the limits of a type hold against: a number's value, a text's
// length. It is false for a text that is not of the type.
func measure(kind, text string) (size int64, ok bool) {
	var err error
	switch kind {
	case "integer":
		size, err = strconv.ParseInt(text, 10, 32)
	case "long":
		size, err = strconv.ParseInt(text, 10, 64)
	case "float", "double":
		_, err = strconv.ParseFloat(text, 64)
	case "timestamp":
		_, err = time.Parse(time.RFC3339Nano, text)
	case "blob":
		_, err = base64.StdEncoding.DecodeString(text)
	case "boolean":
		return 0, text == "true" || text == "false"
	default:
		size = int64(len(text))
	}
	return size, err == nil
}

// jsonKind is what JSON has for a type of the model.
func jsonKind(kind string) string {
	switch kind {
	case "boolean":
		return "boolean"
	case "integer", "long", "float", "double", "timestamp":
		return "number"
	}
	return "string"
}

func unknown(p *params) *Refusal {
	return refuse("UnknownParameter", "The parameter %s is not recognized", p.path) //nolint:misspell // EC2's own words.
}

func invalid(p *params, why string) *Refusal {
	return refuse("InvalidParameterValue", "Value (%.120s) for parameter %s is invalid: %s", p.text, p.path, why)
}

// names are a value's members or elements in order; elements as numbers.
func (p *params) names() []string {
	return slices.SortedFunc(maps.Keys(p.kids), func(a, b string) int {
		x, errX := strconv.Atoi(a)
		y, errY := strconv.Atoi(b)
		if errX == nil && errY == nil && x != y {
			return x - y
		}
		switch {
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	})
}
