package ec2

import (
	"maps"
	"slices"
	"strings"

	"spillway.sh/spillway/bridge/cloud/local/wire"
)

type done struct {
	head
	Return bool `xml:"return"`
}

// resources are the machines that a call about tags names. Nothing else has tags
// of its own here.
func (q *request) resources() ([]Machine, *Refusal) {
	var out []string
	for _, want := range q.texts("ResourceId") {
		if !strings.HasPrefix(want, "i-") {
			return nil, refuse("UnsupportedOperation", "only machines have tags in the local cloud, not '%s'", want)
		}
		out = append(out, want)
	}
	return q.find(out, false)
}

func (q *request) createTags() (any, *Refusal) {
	found, no := q.resources()
	if no != nil {
		return nil, no
	}
	tags, no := readTags(q.each("Tag"))
	if no != nil {
		return nil, no
	}
	if no := q.dry(); no != nil {
		return nil, no
	}
	if refused := q.Tag(idsOf(found), tags, nil); refused != nil {
		return nil, refused.refusal("")
	}
	return &done{Return: true}, nil
}

// deleteTags takes tags away. One that names a value is taken only where it has
// that value; none named takes all.
func (q *request) deleteTags() (any, *Refusal) {
	found, no := q.resources()
	if no != nil {
		return nil, no
	}
	if no := q.dry(); no != nil {
		return nil, no
	}
	for _, m := range found {
		var gone []string
		for _, t := range q.each("Tag") {
			value, there := m.Tags[t.str("Key")]
			if there && (!t.has("Value") || t.str("Value") == value) {
				gone = append(gone, t.str("Key"))
			}
		}
		if !q.has("Tag") {
			gone = slices.Collect(maps.Keys(m.Tags))
		}
		if refused := q.Tag([]string{m.ID}, nil, gone); refused != nil {
			return nil, refused.refusal("")
		}
	}
	return &done{Return: true}, nil
}

func idsOf(all []Machine) []string {
	out := make([]string, 0, len(all))
	for _, m := range all {
		out = append(out, m.ID)
	}
	return out
}

type tagOf struct {
	Resource string `xml:"resourceId"`
	Type     string `xml:"resourceType"`
	tag
}

type describeTags struct {
	head
	Tags []tagOf `xml:"tagSet>item"`
	Next string  `xml:"nextToken,omitempty"`
}

func (q *request) describeTags() (any, *Refusal) {
	filters, no := q.filters("key", "value", "resource-id", "resource-type")
	if no != nil {
		return nil, no
	}
	machines, no := q.listed()
	if no != nil {
		return nil, no
	}
	var all []tagOf
	for _, m := range machines {
		for _, t := range tagsOf(m.Tags) {
			a := attributes{"key": {t.Key}, "value": {t.Value}, "resource-id": {m.ID}, "resource-type": {"instance"}}
			if a.pass(filters) {
				all = append(all, tagOf{m.ID, "instance", t})
			}
		}
	}
	out := &describeTags{}
	out.Tags, out.Next, no = pageOf(q, all, pageMost)
	return out, no
}

// listed are all machines of the region that lists show.
func (q *request) listed() ([]Machine, *Refusal) {
	var all []Machine
	look := Look{Size: pageMost, Match: func(m *wire.Instance) bool { return m.Pool.Region == q.Region }}
	for {
		page, refused := q.List(look)
		if refused != nil {
			return nil, refused.refusal("")
		}
		all = append(all, page.Machines...)
		if look.Next = page.Next; look.Next == "" {
			return all, nil
		}
	}
}
