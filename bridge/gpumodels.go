package bridge

// alone is the variant of a family that comes with one memory.
func alone(family string, gib int64) []gpuVariant { return []gpuVariant{{family, gib}} }

// gpuModels are the GPUs that are known, with the memory of one in GiB and what
// joins those of one machine as it is usual for it. Sources: the makers' data
// sheets; words from the APIs of AWS (DescribeInstanceTypes), Google Cloud
// (acceleratorTypes), Alibaba Cloud, Tencent Cloud and Huawei Cloud, where the
// 910B is also called Snt9B, and the product names of nvidia-smi and npu-smi.
var gpuModels = []gpuModel{
	// Data centre, joined.
	{"a100", LinkNVLink, []gpuVariant{{"a100-40", 40}, {"a100-80", 80}}, "a100x"},
	{"a800", LinkNVLink, []gpuVariant{{"a800", 80}, {"a800-40", 40}}, ""},
	{"h100", LinkNVLink, []gpuVariant{{"h100", 80}, {"h100-94", 94}}, "h100mega"},
	{"h800", LinkNVLink, alone("h800", 80), ""},
	{"h200", LinkNVLink, alone("h200", 141), ""},
	{"h20", LinkNVLink, []gpuVariant{{"h20", 96}, {"h20-141", 141}}, "h20e"},
	{"b200", LinkNVLink, alone("b200", 180), ""},
	{"b300", LinkNVLink, alone("b300", 275), ""},
	{"gb200", LinkNVLink, alone("gb200", 186), ""},
	{"gb300", LinkNVLink, alone("gb300", 279), ""},
	{"gh200", LinkNVLink, []gpuVariant{{"gh200", 96}, {"gh200-144", 144}}, ""},
	{"v100", LinkNVLink, []gpuVariant{{"v100-16", 16}, {"v100-32", 32}}, "v100s"},
	// Data centre, each by itself.
	{"p100", LinkPCIe, alone("p100", 16), ""},
	{"k80", LinkPCIe, alone("k80", 12), ""},
	{"m60", LinkPCIe, alone("m60", 8), ""},
	{"p4", LinkPCIe, alone("p4", 8), ""},
	{"p40", LinkPCIe, alone("p40", 24), ""},
	{"t4", LinkPCIe, alone("t4", 16), "t4g"},
	{"a2", LinkPCIe, alone("a2", 16), ""},
	{"a10", LinkPCIe, alone("a10", 24), ""},
	{"a10g", LinkPCIe, alone("a10g", 24), ""},
	{"a16", LinkPCIe, alone("a16", 16), ""},
	{"a30", LinkPCIe, alone("a30", 24), ""},
	{"a40", LinkPCIe, alone("a40", 48), ""},
	{"l2", LinkPCIe, alone("l2", 24), ""},
	{"l4", LinkPCIe, alone("l4", 24), ""},
	{"l20", LinkPCIe, alone("l20", 48), ""},
	{"l40", LinkPCIe, alone("l40", 48), ""},
	{"l40s", LinkPCIe, alone("l40s", 48), ""},
	// Of workstations.
	{"a4000", LinkPCIe, alone("a4000", 16), "rtxa4000"},
	{"a5000", LinkPCIe, alone("a5000", 24), "rtxa5000"},
	{"a6000", LinkPCIe, alone("a6000", 48), "rtxa6000"},
	{"rtx6000", LinkPCIe, alone("rtx6000", 24), "quadrortx6000"},
	{"rtx6000ada", LinkPCIe, alone("rtx6000ada", 48), "rtx6000adageneration"},
	{"rtxpro6000", LinkPCIe, alone("rtxpro6000", 96), "rtxpro6000blackwell"},
	{"rtx2080ti", LinkPCIe, alone("rtx2080ti", 11), "2080ti"},
	{"rtx3090", LinkPCIe, alone("rtx3090", 24), "3090"},
	{"rtx4090", LinkPCIe, alone("rtx4090", 24), "4090"},
	{"rtx4090d", LinkPCIe, alone("rtx4090d", 24), "4090d"},
	{"rtx5090", LinkPCIe, alone("rtx5090", 32), "5090"},
	// AMD.
	{"mi100", LinkXGMI, alone("mi100", 32), ""},
	{"mi210", LinkXGMI, alone("mi210", 64), ""},
	{"mi250", LinkXGMI, alone("mi250", 128), "mi250x"},
	{"mi300x", LinkXGMI, alone("mi300x", 192), ""},
	{"mi325x", LinkXGMI, alone("mi325x", 256), ""},
	{"mi355x", LinkXGMI, alone("mi355x", 288), ""},
	// Ascend.
	{"910a", LinkHCCS, alone("910a", 32), "snt9 ascendsnt9 910 910proa 910prob"},
	{"910b", LinkHCCS, []gpuVariant{{"910b", 64}, {"910b-32", 32}}, "910b1 910b2 910b2c 910b3 910b4 snt9b ascendsnt9b"},
	{"910c", LinkHCCS, []gpuVariant{{"910c", 64}, {"910c-128", 128}}, ""},
	// Alibaba's own words for what it does not name.
	{"gu8t", LinkNVLink, nil, ""},
	{"gu8tf", LinkNVLink, nil, ""},
	{"gu30", LinkPCIe, nil, ""},
	{"gu50", LinkPCIe, nil, ""},
}
