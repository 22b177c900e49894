package bridge

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestGPUOf holds that all vendors' names of one GPU are one name.
func TestGPUOf(t *testing.T) {
	for name, want := range map[string]struct {
		name string
		mib  int64 // as the vendor gives it
		gpu  string
		gib  int64
		link Link
	}{
		"EC2, 40 GiB":                  {"A100", 40960, "a100-40", 40, LinkNVLink},
		"EC2, 80 GiB":                  {"A100", 81920, "a100-80", 80, LinkNVLink},
		"EC2, less than 24 GiB usable": {"L4", 22888, "l4", 24, LinkPCIe},
		"EC2, less than 48 GiB usable": {"L40S", 45776, "l40s", 48, LinkPCIe},
		"EC2, H100":                    {"H100", 81920, "h100", 80, LinkNVLink},
		"EC2, V100":                    {"V100", 16384, "v100-16", 16, LinkNVLink},
		"EC2, V100 of p3dn":            {"V100", 32768, "v100-32", 32, LinkNVLink},
		"EC2, A10G":                    {"A10G", 24576, "a10g", 24, LinkPCIe},
		"EC2, T4":                      {"T4", 16384, "t4", 16, LinkPCIe},
		"Google, 40 GB unsaid":         {"nvidia-tesla-a100", 0, "a100-40", 40, LinkNVLink},
		"Google, 80 GB":                {"nvidia-a100-80gb", 0, "a100-80", 80, LinkNVLink},
		"Google, H100":                 {"nvidia-h100-80gb", 0, "h100", 80, LinkNVLink},
		"Google, H100 mega":            {"nvidia-h100-mega-80gb", 0, "h100", 80, LinkNVLink},
		"Google, H200":                 {"nvidia-h200-141gb", 0, "h200", 141, LinkNVLink},
		"Google, T4":                   {"nvidia-tesla-t4", 0, "t4", 16, LinkPCIe},
		"Google, L4":                   {"nvidia-l4", 0, "l4", 24, LinkPCIe},
		"Azure, by its size":           {"Standard_NC24ads_A100_v4", 0, "a100-80", 80, LinkNVLink},
		"Alibaba, A10":                 {"NVIDIA A10", 0, "a10", 24, LinkPCIe},
		"Alibaba, V100":                {"NVIDIA V100", 16384, "v100-16", 16, LinkNVLink},
		"Alibaba, a name of its own":   {"GU8TF", 98304, "gu8tf", 96, LinkNVLink},
		"Tencent, with a count":        {"8 * NVIDIA A800", 0, "a800", 80, LinkNVLink},
		"Huawei, Ascend":               {"Ascend 910B", 0, "910b", 64, LinkHCCS},
		"Huawei, Ascend in one":        {"Ascend910B4", 32768, "910b-32", 32, LinkHCCS},
		"Huawei, by its code":          {"ascend-snt9b", 0, "910b", 64, LinkHCCS},
		"nvidia-smi, A100 SXM":         {"NVIDIA A100-SXM4-80GB", 0, "a100-80", 80, LinkNVLink},
		"nvidia-smi, A100 SXM, total":  {"NVIDIA A100-SXM4-40GB", 40536, "a100-40", 40, LinkNVLink},
		"nvidia-smi, A100 PCIe":        {"NVIDIA A100 80GB PCIe", 81559, "a100-80", 80, LinkPCIe},
		"nvidia-smi, H100":             {"NVIDIA H100 80GB HBM3", 81559, "h100", 80, LinkNVLink},
		"nvidia-smi, H100 NVL":         {"NVIDIA H100 NVL", 0, "h100-94", 94, LinkNVLink},
		"nvidia-smi, V100":             {"Tesla V100-SXM2-32GB", 0, "v100-32", 32, LinkNVLink},
		"nvidia-smi, H20":              {"NVIDIA H20", 97871, "h20", 96, LinkNVLink},
		"nvidia-smi, a gaming card":    {"NVIDIA GeForce RTX 4090", 24564, "rtx4090", 24, LinkPCIe},
		"nvidia-smi, a workstation":    {"NVIDIA RTX A6000", 0, "a6000", 48, LinkPCIe},
		"nvidia-smi, Ada is another":   {"NVIDIA RTX 6000 Ada Generation", 0, "rtx6000ada", 48, LinkPCIe},
		"nvidia-smi, RTX 6000":         {"Quadro RTX 6000", 0, "rtx6000", 24, LinkPCIe},
		"rocm-smi":                     {"AMD Instinct MI300X", 0, "mi300x", 192, LinkXGMI},
		"Slurm, plain":                 {"a100", 0, "a100", 0, LinkNVLink},
		"Slurm, found by the driver":   {"nvidia_a100-sxm4-80gb", 0, "a100-80", 80, LinkNVLink},
		"Slurm, with a number":         {"a100-80", 0, "a100-80", 80, LinkNVLink},
		"Slurm, with a unit":           {"a100_40g", 0, "a100-40", 40, LinkNVLink},
		"Slurm, in capitals":           {"H800", 0, "h800", 80, LinkNVLink},
		"Slurm, an L20":                {"l20", 0, "l20", 48, LinkPCIe},
		"without a break":              {"teslav100", 0, "v100", 0, LinkNVLink},
		"a part: MIG":                  {"nvidia_a100_3g.20gb", 0, "", 0, ""},
		"a part: MIG alone":            {"1g.5gb", 0, "", 0, ""},
		"a part: a share":              {"1/4 NVIDIA T4", 0, "", 0, ""},
		"a part: a profile":            {"A10-4Q", 0, "", 0, ""},
		"a part: an eighth by memory":  {"L4", 2861, "", 0, ""},
		"more memory than there is":    {"T4", 81920, "", 0, ""},
		"nothing":                      {"", 0, "", 0, ""},
		"a machine's type is no GPU":   {"p4d.24xlarge", 0, "", 0, ""},
		"nobody knows":                 {"gauss-7", 0, "", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, ok := GPUOf(want.name, want.mib)
			if ok != (want.gpu != "") || g.Name != want.gpu || g.MemoryMiB != want.gib<<10 || g.Link != want.link {
				t.Errorf("GPUOf(%q, %d) = %+v, %t; want %s with %d GiB and %s", want.name, want.mib, g, ok, want.gpu, want.gib, want.link)
			}
		})
	}
}

// TestGPUTakes holds which GPU a demand may get.
func TestGPUTakes(t *testing.T) {
	for _, c := range []struct {
		want, has string
		takes     bool
	}{
		{"a100", "a100-40", true},
		{"a100", "a100-80", true},
		{"a100", "a100", true},
		{"a100-80", "a100-80", true},
		{"a100-80", "a100-40", false},
		{"a100-80", "a100", false}, // it does not say that it has them
		{"A100", "a100-80", true},
		{"nvidia_a100-sxm4-80gb", "a100-80", true},
		{"nvidia_a100-sxm4-80gb", "a100-40", false},
		{"h100", "h100-94", true},
		{"h100", "h800", false},
		{"l40", "l40s", false},
		{"a10", "a100-80", false},
		{"v100", "v100-32", true},
		{"ascend910b", "910b", true},
		{"1g.5gb", "a100-40", false},
		{"big", "big", true},
		{"big", "a100-80", false},
		{"big", "", false},
	} {
		if got := GPUTakes(c.want, c.has); got != c.takes {
			t.Errorf("who asks for %q gets %q: %t, want %t", c.want, c.has, got, c.takes)
		}
	}
}

// TestGPUNamesAreTheirOwn holds that a name of ours is read as itself, in whatever
// case, and that no spelling belongs to two families.
func TestGPUNamesAreTheirOwn(t *testing.T) {
	seen := map[string]string{}
	for i := range gpuModels {
		m := &gpuModels[i]
		for _, w := range append(strings.Fields(m.words), m.family) {
			if other, twice := seen[w]; twice {
				t.Errorf("%q is a word of %s and of %s", w, other, m.family)
			}
			seen[w] = m.family
		}
		for _, v := range m.variants {
			if g, ok := GPUOf(strings.ToUpper(v.name), 0); !ok || g.Name != v.name || g.Family() != m.family {
				t.Errorf("%s is read as %+v of %s", v.name, g, g.Family())
			}
			if g, ok := GPUOf(v.name, v.gib<<10); !ok || g.Name != v.name || g.MemoryMiB != v.gib<<10 {
				t.Errorf("%s with its own %d GiB is read as %+v", v.name, v.gib, g)
			}
		}
	}
}

// TestGPUTakesIsAnOrder holds over all words that taking is reflexive and
// transitive: what passes one gate by one name passes the next by another.
func TestGPUTakesIsAnOrder(t *testing.T) {
	var words []string
	for name := range gpuNames {
		words = append(words, name, strings.ToUpper(name), "nvidia-"+name)
	}
	rapid.Check(t, func(t *rapid.T) {
		pick := rapid.SampledFrom(words)
		a, b, c := pick.Draw(t, "a"), pick.Draw(t, "b"), pick.Draw(t, "c")
		if !GPUTakes(a, a) {
			t.Fatalf("%s does not take itself", a)
		}
		if GPUTakes(a, b) && GPUTakes(b, c) && !GPUTakes(a, c) {
			t.Fatalf("%s takes %s, that takes %s, but %s does not", a, b, c, a)
		}
	})
}

// TestMachineIsCalledWhatItsJobsAskFor holds that a job which asks for a family
// gets any memory of it, that the scheduler is told the job's own word, and that
// the job then has room there and no second machine is bought, before it is
// admitted and after.
func TestMachineIsCalledWhatItsJobsAskFor(t *testing.T) {
	w := smallWorld()
	w.Queues[0].Demands[0].Shape = Shape{CPUs: 4, GPUs: 2, GPUType: "A100"}
	w.Offers[0].Shape = Shape{CPUs: 16, MemoryMiB: 1 << 16, GPUs: 8, GPUType: "a100-80"}
	d := NewDecider(always{smallTerms()})
	p := d.Decide(&w)
	if len(p.Rent) != 1 || p.Rent[0].GPUAs != "A100" || p.Rent[0].Offer.Shape.GPUType != "a100-80" {
		t.Fatalf("the plan is %+v", p)
	}
	r := Draw("r-0013", &p.Rent[0], noon)
	if got := r.Declared().GPUType; got != "A100" || r.Scope().GPU != "a100-80" {
		t.Errorf("the scheduler is told %q, the budget pays for %q", got, r.Scope().GPU)
	}
	if back, as, ok := parseShape(shapeTag(&r)); !ok || as != "A100" || back.GPUType != "a100-80" {
		t.Errorf("its tag is read as %+v, %q", back, as)
	}
	for _, state := range []State{StateLaunching, StateAdmitted} {
		later := w
		r.State = state
		later.Rentals, later.Now = []Rental{r}, noon.Add(time.Second)
		later.Queues = []Queue{{Cluster: "c", ObservedAt: later.Now, Demands: w.Queues[0].Demands}}
		if state == StateAdmitted {
			r.Machines[0].State = MachineJoined
			later.Queues[0].Nodes = []Node{{Name: r.Machines[0].Node, Usable: true, Dynamic: true, Shape: r.Declared(), Free: r.Declared()}}
		}
		if again := d.Decide(&later); len(again.Rent) != 0 {
			t.Errorf("%s, the job gets another machine: %+v", state, again.Verdicts)
		}
	}
}

// TestBudgetOfAFamily holds that a budget of a family counts all its memories,
// and one of a memory that one alone.
func TestBudgetOfAFamily(t *testing.T) {
	spent := Scope{Account: "o/t", Cloud: "north", GPU: "a100-80"}
	for gpu, covers := range map[string]bool{"": true, "a100": true, "a100-80": true, "a100-40": false, "h100": false} {
		if got := (Scope{Account: "o", GPU: gpu}).Covers(spent); got != covers {
			t.Errorf("a budget of %q counts %s: %t, want %t", gpu, spent, got, covers)
		}
	}
}
