package bridge

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Shape is what one node of a gang must have. Zero means "any".
type Shape struct {
	CPUs      int    `json:"cpus"`
	MemoryMiB int64  `json:"memory_mib"`
	GPUType   string `json:"gpu_type,omitempty"` // empty: any type
	GPUs      int    `json:"gpus,omitempty"`
	// GRES holds other generic resources by name, for example "shard" or "mps".
	GRES map[string]int `json:"gres,omitempty"`
	// Features is the constraint in conjunctive form: every inner list needs at
	// least one of its words. Adapters that cannot bring a constraint into this
	// form say so with Standing Unplaceable.
	Features  [][]string `json:"features,omitempty"`
	DiskMiB   int64      `json:"disk_mib,omitempty"`
	Exclusive bool       `json:"exclusive,omitempty"` // no other job on the node
}

// Key is equal for equal shapes; it groups demands.
func (s Shape) Key() string {
	var b strings.Builder
	fmt.Fprintf(&b, "c%d m%d g%s:%d d%d x%t", s.CPUs, s.MemoryMiB, s.GPUType, s.GPUs, s.DiskMiB, s.Exclusive)
	for _, k := range sortedKeys(s.GRES) {
		fmt.Fprintf(&b, " %s=%d", k, s.GRES[k])
	}
	for _, or := range s.Features {
		b.WriteString(" (" + strings.Join(or, "|") + ")")
	}
	return b.String()
}

// String prints a shape for people, for example "8 CPU, 64 GB, 4 x a100".
func (s Shape) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%d CPU", s.CPUs)
	if s.MemoryMiB > 0 {
		fmt.Fprintf(&out, ", %.4g GiB", float64(s.MemoryMiB)/1024)
	}
	if s.GPUs > 0 {
		t := s.GPUType
		if t == "" {
			t = "GPU"
		}
		fmt.Fprintf(&out, ", %d x %s", s.GPUs, t)
	}
	for _, k := range sortedKeys(s.GRES) {
		fmt.Fprintf(&out, ", %d x %s", s.GRES[k], k)
	}
	for _, or := range s.Features {
		out.WriteString(", " + strings.Join(or, "|"))
	}
	if s.Exclusive {
		out.WriteString(", exclusive")
	}
	return out.String()
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
