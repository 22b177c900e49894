package slurm

import (
	"fmt"
	"strconv"
	"strings"
)

// resource is one generic resource of a request or a node.
type resource struct {
	Name  string // gpu, shard, mps, ...
	Type  string // a100, 1g.5gb; empty: any
	Count int
}

type resources []resource

// parseGRES reads a node's or a request's generic resources in every spelling
// in use: gpu:a100:8(S:0-1), gres:gpu:2, gres/gpu:a100:4, gres/gpu:a100=4,
// gpu. A count left out is one.
func parseGRES(list string) (resources, error) {
	if absent(list) {
		return nil, nil
	}
	items, err := splitOutside(list, ',')
	if err != nil {
		return nil, err
	}
	var out resources
	for _, item := range items {
		r, err := parseResource(item)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func parseResource(item string) (resource, error) {
	text, _, _ := strings.Cut(item, "(") // the sockets or the devices it is tied to
	text = strings.TrimPrefix(strings.TrimPrefix(text, "gres:"), "gres/")
	r := resource{Count: 1}
	if name, number, found := strings.Cut(text, "="); found {
		text = name + ":" + number
	}
	parts := strings.Split(text, ":")
	if len(parts) > 1 {
		if n, err := parseAmount(parts[len(parts)-1]); err == nil {
			r.Count, parts = n, parts[:len(parts)-1]
		}
	}
	if parts[0] == "" || len(parts) > 2 && parts[2] != "no_consume" {
		return r, fmt.Errorf("generic resource %q", item)
	}
	r.Name = parts[0]
	if len(parts) > 1 && parts[1] != "no_consume" {
		r.Type = parts[1]
	}
	return r, nil
}

// parseAmount reads a count with Slurm's binary suffixes.
func parseAmount(s string) (int, error) {
	factor := 1
	if s != "" {
		if at := strings.IndexByte("kmgt", s[len(s)-1]|0x20); at >= 0 {
			s, factor = s[:len(s)-1], 1<<(10*(at+1))
		}
	}
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || n > 0 && factor > (1<<40)/int(n) {
		return 0, fmt.Errorf("amount %q", s)
	}
	return int(n) * factor, nil
}

func (rs resources) total(name string) int {
	sum := 0
	for _, r := range rs {
		if r.Name == name {
			sum += r.Count
		}
	}
	return sum
}

// most tells the GPUs of the type a node has most of, and its other resources
// by name. A node of several types is understated, so that nothing is believed
// to fit that does not.
func (rs resources) most() (gpuType string, gpus int, others map[string]int) {
	types := map[string]int{}
	for _, r := range rs {
		switch {
		case r.Name == "gpu":
			if types[r.Type] += r.Count; types[r.Type] > gpus {
				gpuType, gpus = r.Type, types[r.Type]
			}
		case r.Count > 0:
			if others == nil {
				others = map[string]int{}
			}
			others[r.Name] += r.Count
		}
	}
	return gpuType, gpus, others
}
