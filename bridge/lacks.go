package bridge

import (
	"fmt"
	"slices"
	"strings"
)

// lacks lists in words what a machine of the offer has too little of for a
// shape; empty if it holds it.
func (o *Offer) lacks(s *Shape) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	h := &o.Shape
	if h.CPUs < s.CPUs {
		add("CPUs (%d of %d)", h.CPUs, s.CPUs)
	}
	if h.MemoryMiB < s.MemoryMiB {
		add("memory (%d of %d MiB)", h.MemoryMiB, s.MemoryMiB)
	}
	if h.GPUs < s.GPUs {
		add("GPUs (%d of %d)", h.GPUs, s.GPUs)
	}
	if s.GPUs > 0 && s.GPUType != "" && h.GPUType != s.GPUType {
		add("GPU type %s (it has %s)", s.GPUType, orNone(h.GPUType))
	}
	if h.DiskMiB < s.DiskMiB {
		add("disk (%d of %d MiB)", h.DiskMiB, s.DiskMiB)
	}
	for _, k := range sortedKeys(s.GRES) {
		if h.GRES[k] < s.GRES[k] {
			add("%s (%d of %d)", k, h.GRES[k], s.GRES[k])
		}
	}
	for _, or := range s.Features {
		if !slices.ContainsFunc(or, func(w string) bool { return slices.Contains(o.Features, w) }) {
			add("feature %s", strings.Join(or, "|"))
		}
	}
	return out
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func joinWords(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
