package bridge

import (
	"regexp"
	"strconv"
	"strings"
)

// GPU is a model of accelerator under one name, whoever sells it.
type GPU struct {
	// Name is a100-80, h100, l40s, 910b: the family, and its GiB where it comes
	// with several. The family's own name alone is one whose memory is not known.
	Name      string
	MemoryMiB int64 // of one; zero: not known
	Link      Link
}

// Link is what joins the GPUs of one machine to each other.
type Link string

// The links.
const (
	LinkPCIe   Link = "pcie"
	LinkNVLink Link = "nvlink"
	LinkXGMI   Link = "xgmi" // of AMD
	LinkHCCS   Link = "hccs" // of Ascend
)

// GPUOf returns the GPU that a vendor, a driver or a scheduler means by a name:
// "A100", "nvidia-a100-80gb", "NVIDIA A100-SXM4-80GB", "Ascend 910B",
// "8 * NVIDIA V100". The memory is that of one GPU as the vendor gives it, zero if
// it does not; what it leaves open is taken from the name. It is false for a name
// nobody knows and for a part of a GPU: a slice, a share, a virtual one.
func GPUOf(vendorName string, memoryMiB int64) (GPU, bool) {
	m, gib, link := parseGPU(vendorName)
	if m == nil {
		return GPU{}, false
	}
	g := GPU{Name: m.family, Link: link}
	if len(m.variants) == 0 { // a word of one vendor, which has told nobody what it is
		g.MemoryMiB = max(memoryMiB, 0)
		return g, true
	}
	if memoryMiB <= 0 {
		memoryMiB = gib << 10
	}
	switch {
	case memoryMiB > 0:
		v := m.nearest(memoryMiB)
		if v == nil {
			return GPU{}, false
		}
		g.Name, g.MemoryMiB = v.name, v.gib<<10
	case len(m.variants) == 1 || m.variants[0].name == m.family:
		g.MemoryMiB = m.variants[0].gib << 10
	}
	return g, true
}

// Family is the name without its memory: a100 for a100-80.
func (g GPU) Family() string { return familyOf(g.Name) }

func familyOf(name string) string {
	if k, ok := gpuNames[name]; ok {
		return k.family
	}
	return name
}

// GPUTakes reports whether who asks for one name of GPU may get another: the same
// under whatever spelling, and of a family, asked for without its memory, any. A
// name that nobody knows is itself alone.
func GPUTakes(want, has string) bool {
	if want == has {
		return true
	}
	if want == "" || has == "" {
		return false
	}
	w, h := modelOf(want), modelOf(has)
	return w.takes(h)
}

// takes is GPUTakes of two names that are known; nobody takes what is not.
func (w gpuName) takes(h gpuName) bool {
	if w.name == "" || h.name == "" {
		return false
	}
	return w.name == h.name || w.name == w.family && w.family == h.family
}

// gpuName is a known name, with the family it is of.
type gpuName struct{ name, family string }

// modelOf is the known name that a word means; the zero one if there is none.
func modelOf(word string) gpuName {
	if k, ok := gpuNames[word]; ok {
		return k
	}
	g, ok := GPUOf(word, 0)
	if !ok {
		return gpuName{}
	}
	return gpuNames[g.Name]
}

// gpuModel is a family of GPUs.
type gpuModel struct {
	family   string
	link     Link
	variants []gpuVariant // by memory; none: not known
	words    string       // other spellings, separated by spaces
}

type gpuVariant struct {
	name string
	gib  int64
}

// nearest is the variant of a memory, as vendors count it: some leave out what
// the driver or error correction takes, some count in powers of ten. Nil for what
// is too far from all of them to be a whole GPU of this family.
func (m *gpuModel) nearest(mib int64) *gpuVariant {
	var best *gpuVariant
	least := int64(0)
	for i := range m.variants {
		v := &m.variants[i]
		off := mib - v.gib<<10
		if off < 0 {
			off = -off
		}
		if off*100 <= v.gib<<10*15 && (best == nil || off < least) {
			best, least = v, off
		}
	}
	return best
}

// A part of a GPU: MIG (3g.20gb), a share (1/4 NVIDIA T4), a profile of a virtual
// one (A10-4Q, grid).
var (
	gpuPart    = regexp.MustCompile(`\d+g\.\d+gb|\b\d+/\d+|\bgrid\b|\bvgpu\b|-\d{1,2}[qcb]\b|\bmig\b`)
	gpuBreak   = regexp.MustCompile(`[^a-z0-9]+`)
	gpuMemory  = regexp.MustCompile(`^(\d+)gi?b?$`)
	gpuSXM     = regexp.MustCompile(`^(sxm\d?|hgx)$`)
	gpuNumber  = regexp.MustCompile(`^\d+$`)
	gpuAscend  = regexp.MustCompile(`^ascend(9\d\d)`)
	gpuTeslaOf = regexp.MustCompile(`^(tesla|instinct|nvidia)([a-z]+\d.*)$`)
)

// parseGPU finds the family in a name, the memory it speaks of in GiB, and the
// link.
func parseGPU(name string) (m *gpuModel, gib int64, link Link) {
	name = strings.ToLower(name)
	if gpuPart.MatchString(name) {
		return nil, 0, ""
	}
	words := gpuBreak.Split(name, -1)
	rest := words
	for i := range words {
		if m, rest = gpuAt(words[i:]); m != nil {
			break
		}
	}
	if m == nil {
		return nil, 0, ""
	}
	link = m.link
	for i, w := range rest {
		switch {
		case w == "pcie":
			link = LinkPCIe
		case gpuSXM.MatchString(w):
			link = LinkNVLink
		case w == "nvl" && m.family == "h100": // 94 GiB, two and two joined
			gib, link = 94, LinkNVLink
		case gpuMemory.MatchString(w), i == 0 && gpuNumber.MatchString(w):
			gib, _ = strconv.ParseInt(gpuMemory.ReplaceAllString(w, "$1"), 10, 64)
		}
	}
	if gib == 0 {
		gib = gpuHint(name)
	}
	return m, gib, link
}

// gpuAt returns the model whose name begins a list of words, and the words after
// it. The longest name wins: rtx 6000 ada is no rtx 6000.
func gpuAt(words []string) (*gpuModel, []string) {
	for n := min(4, len(words)); n > 0; n-- {
		joined := strings.Join(words[:n], "")
		joined = gpuTeslaOf.ReplaceAllString(gpuAscend.ReplaceAllString(joined, "$1"), "$2")
		if m := gpuWords[joined]; m != nil {
			return m, words[n:]
		}
	}
	return nil, words
}

// gpuHint is the memory that a vendor means who gives it neither in the name nor
// beside it: at Google the Tesla A100 is the one of 40 GB and the others say 80gb;
// at Azure the sizes of A100_v4 have 80 GB, and the V100 is the one of 16.
func gpuHint(name string) int64 {
	for _, h := range []struct {
		in  string
		gib int64
	}{{"nvidia-tesla-a100", 40}, {"nvidia-tesla-v100", 16}, {"_a100_v4", 80}} {
		if strings.Contains(name, h.in) {
			return h.gib
		}
	}
	return 0
}

// gpuWords finds a family by every spelling of it, gpuNames by our own names.
var gpuWords, gpuNames = indexGPUs()

func indexGPUs() (map[string]*gpuModel, map[string]gpuName) {
	words, names := map[string]*gpuModel{}, map[string]gpuName{}
	for i := range gpuModels {
		m := &gpuModels[i]
		names[m.family] = gpuName{m.family, m.family}
		for _, v := range m.variants {
			names[v.name] = gpuName{v.name, m.family}
		}
		for _, w := range append(strings.Fields(m.words), m.family) {
			words[w] = m
		}
	}
	return words, names
}
