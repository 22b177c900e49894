package ec2

import (
	"slices"
	"strings"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// networkRDMA is the class of network that EC2 calls EFA.
const networkRDMA = "rdma"

type gpu struct {
	Name         string `xml:"name"`
	Manufacturer string `xml:"manufacturer"`
	Count        int    `xml:"count"`
	Memory       int64  `xml:"memoryInfo>sizeInMiB"`
}

type gpuInfo struct {
	GPUs  []gpu `xml:"gpus>item"`
	Total int64 `xml:"totalGpuMemoryInMiB"`
}

type networkInfo struct {
	Performance string `xml:"networkPerformance"`
	Interfaces  int    `xml:"maximumNetworkInterfaces"`
	Cards       int    `xml:"maximumNetworkCards"`
	EFA         bool   `xml:"efaSupported"`
	ENA         string `xml:"enaSupport"`
	// EFAInfo is nil where there is none.
	EFAInfo *efaInfo `xml:"efaInfo"`
}

type efaInfo struct {
	Interfaces int `xml:"maximumEfaInterfaces"`
}

type storageInfo struct {
	Total int64 `xml:"totalSizeInGB"`
}

type instanceType struct {
	Name          string       `xml:"instanceType"`
	Current       bool         `xml:"currentGeneration"`
	Markets       []string     `xml:"supportedUsageClasses>item"`
	RootDevices   []string     `xml:"supportedRootDeviceTypes>item"`
	Bare          bool         `xml:"bareMetal"`
	Hypervisor    string       `xml:"hypervisor"`
	Architectures []string     `xml:"processorInfo>supportedArchitectures>item"`
	VCPUs         int          `xml:"vCpuInfo>defaultVCpus"`
	Cores         int          `xml:"vCpuInfo>defaultCores"`
	Threads       int          `xml:"vCpuInfo>defaultThreadsPerCore"`
	Memory        int64        `xml:"memoryInfo>sizeInMiB"`
	HasStorage    bool         `xml:"instanceStorageSupported"`
	Storage       *storageInfo `xml:"instanceStorageInfo"`
	Network       networkInfo  `xml:"networkInfo"`
	GPU           *gpuInfo     `xml:"gpuInfo"`
}

// usual is the memory of GPUs that come with several, where the world does not say.
var usual = map[string]int64{"a100": 40 << 10, "v100": 16 << 10}

// gpuOf is a GPU of the world as EC2 names it.
func gpuOf(o *wire.Offer) *gpuInfo {
	if o.GPUs == 0 {
		return nil
	}
	family, memory := o.GPUType, o.GPUMemoryMiB
	if g, ok := bridge.GPUOf(o.GPUType, o.GPUMemoryMiB); ok {
		family, memory = g.Family(), max(memory, g.MemoryMiB)
	}
	if memory == 0 {
		memory = usual[family]
	}
	one := gpu{Name: strings.ToUpper(family), Manufacturer: "NVIDIA", Count: o.GPUs, Memory: memory}
	switch {
	case strings.HasPrefix(family, "mi"):
		one.Manufacturer = "AMD"
	case strings.HasPrefix(family, "910"):
		one.Manufacturer = "Huawei"
	}
	return &gpuInfo{[]gpu{one}, int64(o.GPUs) * memory}
}

// networkOf is a class of network in EC2's words. With RDMA there is a network card
// for each two GPUs, as Amazon's p4d has.
func networkOf(o *wire.Offer) networkInfo {
	n := networkInfo{Performance: "Up to 10 Gigabit", Interfaces: 1, Cards: 1, ENA: "required"}
	switch o.Network {
	case networkRDMA:
		n.Performance, n.EFA, n.Cards = "400 Gigabit", true, max(1, o.GPUs/2)
		n.Interfaces, n.EFAInfo = n.Cards, &efaInfo{n.Cards}
	case "":
	default:
		n.Performance = strings.TrimSuffix(o.Network, "g") + " Gigabit"
	}
	return n
}

// types are those of the request's region, in the cloud's order.
func (q *request) types() []instanceType {
	var out []instanceType
	for i := range q.pools {
		o := &q.pools[i]
		if o.Pool.Region != q.Region {
			continue
		}
		at := slices.IndexFunc(out, func(t instanceType) bool { return t.Name == o.Pool.Type })
		if at < 0 {
			at = len(out)
			out = append(out, typeOf(o))
		}
		if market := o.Pool.Market; !slices.Contains(out[at].Markets, market) {
			out[at].Markets = append(out[at].Markets, market)
		}
	}
	return out
}

func typeOf(o *wire.Offer) instanceType {
	t := instanceType{
		Name: o.Pool.Type, Current: true, RootDevices: []string{"ebs"}, Hypervisor: "nitro", Architectures: []string{"x86_64"},
		VCPUs: o.CPUs, Cores: o.CPUs, Threads: 1, Memory: o.MemoryMiB, Network: networkOf(o), GPU: gpuOf(o),
	}
	if o.CPUs%2 == 0 {
		t.Cores, t.Threads = o.CPUs/2, 2
	}
	if o.DiskMiB > 0 {
		t.HasStorage, t.Storage = true, &storageInfo{(o.DiskMiB << 20) / 1_000_000_000}
	}
	return t
}

type describeInstanceTypes struct {
	head
	Types []instanceType `xml:"instanceTypeSet>item"`
	Next  string         `xml:"nextToken,omitempty"`
}

func (q *request) describeInstanceTypes() (any, *Refusal) {
	filters, no := q.filters("instance-type", "current-generation", "supported-usage-class", "bare-metal", "processor-info.supported-architecture")
	if no != nil {
		return nil, no
	}
	wanted, known := q.texts("InstanceType"), q.types()
	if len(wanted) > 0 && q.has("MaxResults") {
		return nil, refuse("InvalidParameterCombination", "The parameter instanceTypes cannot be used with the parameter maxResults")
	}
	for _, want := range wanted {
		if !slices.ContainsFunc(known, func(t instanceType) bool { return t.Name == want }) {
			return nil, refuse("InvalidInstanceType", "The following supplied instance types do not exist: [%s]", want)
		}
	}
	var all []instanceType
	for _, t := range known {
		a := attributes{
			"instance-type": {t.Name}, "current-generation": {"true"}, "supported-usage-class": t.Markets, "bare-metal": {"false"},
			"processor-info.supported-architecture": t.Architectures,
		}
		if chosen(wanted, t.Name) && a.pass(filters) {
			all = append(all, t)
		}
	}
	out := &describeInstanceTypes{}
	out.Types, out.Next, no = pageOf(q, all, 100)
	return out, no
}

type offering struct {
	Type         string `xml:"instanceType"`
	LocationType string `xml:"locationType"`
	Location     string `xml:"location"`
}

type describeOfferings struct {
	head
	Offerings []offering `xml:"instanceTypeOfferingSet>item"`
	Next      string     `xml:"nextToken,omitempty"`
}

func (q *request) describeOfferings() (any, *Refusal) {
	filters, no := q.filters("instance-type", "location")
	if no != nil {
		return nil, no
	}
	kind := q.str("LocationType")
	if kind == "" {
		kind = "region"
	}
	var all []offering
	for _, o := range q.pools {
		one := offering{o.Pool.Type, kind, q.Region}
		switch kind {
		case "availability-zone":
			one.Location = o.Pool.Zone
		case "availability-zone-id":
			one.Location = q.zoneID(q.Region, o.Pool.Zone)
		case "outpost":
			continue
		}
		a := attributes{"instance-type": {one.Type}, "location": {one.Location}}
		if o.Pool.Region == q.Region && a.pass(filters) && !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	out := &describeOfferings{}
	out.Offerings, out.Next, no = pageOf(q, all, 1000)
	return out, no
}
