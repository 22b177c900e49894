package bridge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// lacks lists in words what a machine of the offer has too little of for a
// shape, and how much that is in all, in per mille of what is wanted.
func (o *Offer) lacks(s *Shape) (words []string, short int) {
	h := &o.Shape
	amount := func(name string, have, want int64, unit string) {
		if have < want {
			words = append(words, fmt.Sprintf("%s (%d of %d%s)", name, have, want, unit))
			short += int((want - have) * 1000 / want)
		}
	}
	amount("CPUs", int64(h.CPUs), int64(s.CPUs), "")
	amount("memory", h.MemoryMiB, s.MemoryMiB, " MiB")
	amount("GPUs", int64(h.GPUs), int64(s.GPUs), "")
	amount("disk", h.DiskMiB, s.DiskMiB, " MiB")
	for _, k := range sortedKeys(s.GRES) {
		amount(k, int64(h.GRES[k]), int64(s.GRES[k]), "")
	}
	if s.GPUs > 0 && s.GPUType != "" && !GPUTakes(s.GPUType, h.GPUType) {
		words = append(words, fmt.Sprintf("GPU type %s (it has %s)", s.GPUType, cmp.Or(h.GPUType, "none")))
		short += 1000
	}
	for _, any := range s.Features {
		if !slices.ContainsFunc(any, func(w string) bool { return slices.Contains(o.Features, w) }) {
			words = append(words, "feature "+strings.Join(any, "|"))
			short += 1000
		}
	}
	return words, short
}

func joinWords(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
