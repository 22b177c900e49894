package slurm

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

func TestHostLists(t *testing.T) {
	for list, want := range map[string][]string{
		"":                       nil,
		"(null)":                 nil,
		"local1":                 {"local1"},
		"local[1-3]":             {"local1", "local2", "local3"},
		"a1,sw-001a-[0-1,7],b":   {"a1", "sw-001a-0", "sw-001a-1", "sw-001a-7", "b"},
		"n[08-11]":               {"n08", "n09", "n10", "n11"},
		"rack[1-2]n[0-1]":        {"rack1n0", "rack1n1", "rack2n0", "rack2n1"},
		"local[1-":               {"!"},
		"local1-2]":              {"!"},
		"local[2-1]":             {"!"},
		"local[x]":               {"!"},
		"a,,b":                   {"!"},
		"n[0-99999]":             {"!"},
		"n[0-999]m[0-999]o[0-9]": {"!"},
	} {
		got, err := expandHosts(list)
		if err != nil {
			got = []string{"!"}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", list, diff)
		}
	}
}

func TestGenericResources(t *testing.T) {
	for list, want := range map[string]string{
		"gpu":                          "gpu//1",
		"gpu:4":                        "gpu//4",
		"gpu:a100":                     "gpu/a100/1",
		"gpu:a100:8(S:0-1)":            "gpu/a100/8",
		"gpu:a100:2(IDX:0-1)":          "gpu/a100/2",
		"gres:gpu:a100:2":              "gpu/a100/2",
		"gres/gpu:a100:2":              "gpu/a100/2",
		"gres/gpu=4":                   "gpu//4",
		"gres/gpu:h100=4":              "gpu/h100/4",
		"gpu:a100:2,shard:16":          "gpu/a100/2 shard//16",
		"gpu:1g.5gb:7":                 "gpu/1g.5gb/7",
		"mps:2K":                       "mps//2048",
		"gpu:a100:1(S:0),gpu:h100:2()": "gpu/a100/1 gpu/h100/2",
		"bandwidth:lustre:no_consume":  "bandwidth/lustre/1",
		"(null)":                       "",
		":4":                           "!",
		"gpu:a:b:c:4":                  "!",
		"gpu:a100:8(S:0-1":             "!",
	} {
		var words []string
		got, err := parseGRES(list)
		for _, r := range got {
			words = append(words, fmt.Sprintf("%s/%s/%d", r.Name, r.Type, r.Count))
		}
		if err != nil {
			words = []string{"!"}
		}
		if text := strings.Join(words, " "); text != want {
			t.Errorf("%q is read as %q, want %q", list, text, want)
		}
	}
}

func TestConstraints(t *testing.T) {
	for expression, want := range map[string]string{
		"(null)":      "",
		"ib":          "ib",
		"ib&rack1":    "ib & rack1",
		"ib,rack1":    "ib & rack1",
		"ib|rack1":    "ib|rack1",
		"a&b|c":       "a|c & b|c", // from left to right
		"a|b&c":       "a|b & c",
		"a&(b|c)":     "a & b|c",
		"(a&b)|(c&d)": "a|c & a|d & b|c & b|d",
		"((a))":       "a",
		"a&a":         "a",
		"[ib|rack1]":  "! asks that all nodes have the same one of several features",
		"a*2&b*1":     "! asks for a number of nodes with a feature",
		"a&!b":        "! excludes a feature",
		"a&":          "! is not understood",
		"(a":          "! is not understood",
		"a)":          "! is not understood",
		"a b":         "! is not understood",
		"(a&b&c&d&e&f&g&h&i)|(a&b&c&d&e&f&g&h&i)": "! is not understood", // 81 clauses
	} {
		clauses, err := parseFeatures(expression)
		var parts []string
		for _, clause := range clauses {
			parts = append(parts, strings.Join(clause, "|"))
		}
		got := strings.Join(parts, " & ")
		if err != nil {
			got = "!" + strings.TrimPrefix(err.Error(), "its constraint "+expression)
		}
		if got != want {
			t.Errorf("%q is read as %q, want %q", expression, got, want)
		}
	}
}

// TestS_F46_AnArrayIsReadWhole counts the tasks an array record stands for.
func TestS_F46_AnArrayIsReadWhole(t *testing.T) {
	for list, want := range map[string][2]int{
		"1-200":        {200, 0},
		"1-9:2,20%4":   {6, 4},
		"0":            {1, 0},
		"1,3,5-7":      {5, 0},
		"0-4000000%50": {4000001, 50},
		"":             {-1, -1},
		"3-1":          {-1, -1},
		"1-9:0":        {-1, -1},
		"1-9%0":        {-1, -1},
		"1-4000002":    {-1, -1},
		"1-9...":       {-1, -1},
	} {
		tasks, throttle, err := parseTasks(list)
		if err != nil {
			tasks, throttle = -1, -1
		}
		if got := [2]int{tasks, throttle}; got != want {
			t.Errorf("%q is read as %v, want %v", list, got, want)
		}
	}
}

func TestAnArraysThrottleCountsWhatRuns(t *testing.T) {
	j := &job{Array: "7", Tasks: "1-100%4"}
	for running, want := range map[int]int{0: 4, 3: 1, 4: 0} {
		if n, err := gangs(j, &view{running: map[string]int{"7": running}}); err != nil || n != want {
			t.Errorf("with %d tasks running %d may start, error %v; want %d", running, n, err, want)
		}
	}
}

// TestS_F27_NodeStatesAreSets reads the state words of twenty years.
func TestS_F27_NodeStatesAreSets(t *testing.T) {
	for state, want := range map[string]struct{ usable, responding, dynamic bool }{
		"IDLE":                              {true, true, false},
		"IDLE+DYNAMIC_NORM":                 {true, true, true},
		"MIXED+DYNAMIC_NORM":                {true, true, true},
		"ALLOCATED+COMPLETING":              {true, true, false},
		"IDLE+CLOUD+POWERED_DOWN":           {true, false, false},
		"idle~":                             {true, false, false},
		"IDLE*+DYNAMIC_NORM":                {false, false, true},
		"DOWN*":                             {false, false, false},
		"down~":                             {false, false, false},
		"idle#":                             {true, false, false},
		"IDLE+DRAIN":                        {false, true, false},
		"MIXED+DRAIN+DYNAMIC_NORM":          {false, true, true},
		"IDLE+DRAIN+INVALID_REG":            {false, true, false},
		"IDLE+CLOUD+DRAIN+NOT_RESPONDING":   {false, false, false},
		"UNKNOWN":                           {false, false, false},
		"FUTURE":                            {false, false, false},
		"IDLE+RESERVED":                     {false, true, false},
		"IDLE+MAINTENANCE+RESERVED":         {false, true, false},
		"IDLE+PLANNED":                      {true, true, false},
		"IDLE+BLOCKED":                      {false, true, false},
		"IDLE+EXTERNAL+SOMETHING_NEW":       {true, true, false},
		"IDLE+CLOUD+POWERING_DOWN":          {false, false, false},
		"IDLE+DYNAMIC_FUTURE+POWERED_DOWN~": {true, false, true},
	} {
		n, err := readNode(record{"NodeName": "n", "State": state, "CPUTot": "2", "CPUAlloc": "0", "RealMemory": "1", "AllocMem": "0"})
		if err != nil {
			t.Errorf("%s: %v", state, err)
		}
		if n.Usable != want.usable || n.Responding != want.responding || n.Dynamic != want.dynamic {
			t.Errorf("%s: usable %t responding %t dynamic %t, want %+v", state, n.Usable, n.Responding, n.Dynamic, want)
		}
		if free := n.Usable && !slices.Contains(n.States, "PLANNED"); free == (n.Free.CPUs == 0) {
			t.Errorf("%s: usable %t with %d CPUs free", state, n.Usable, n.Free.CPUs)
		}
	}
}

// TestS_F50_NodeLines reads free texts beside keys, and a node in no partition.
func TestS_F50_NodeLines(t *testing.T) {
	const head = "NodeName=n1 Arch=x86_64 CPUAlloc=3 CPUEfctv=7 CPUTot=8 ActiveFeatures=a,b Gres=gpu:a100:8(S:0-1),shard:16 GresUsed=gpu:a100:3(IDX:0-2),shard:4(0/4) OS=Linux 6.1 State=x RealMemory=1000 AllocMem=100 MemSpecLimit=50 State=MIXED TmpDisk=7"
	data := strings.ReplaceAll(head, "State=x ", "") +
		" Partitions=gpu,long  Comment=by hand State=DOWN Reason=not this Reason=spillway: reclaim Gres=none [root@2026-11-30T13:15:10] Extra=x Reason\nsecond line of a comment\n" +
		"NodeName=n2 CPUAlloc=0 CPUTot=2 State=IDLE RealMemory=10 AllocMem=0 \n"
	nodes, err := parseNodes([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	var got []bridge.Node
	for _, n := range nodes {
		got = append(got, n.Node)
	}
	if nodes[0].comment != "by hand State=DOWN" {
		t.Errorf("comment %q", nodes[0].comment)
	}
	want := []bridge.Node{
		{
			Name: "n1", States: []string{"MIXED"}, Partitions: []string{"gpu", "long"}, Features: []string{"a", "b"},
			Shape:  bridge.Shape{CPUs: 7, MemoryMiB: 950, GPUType: "a100", GPUs: 8, GRES: map[string]int{"shard": 16}, DiskMiB: 7},
			Free:   bridge.Shape{CPUs: 4, MemoryMiB: 850, GPUType: "a100", GPUs: 5, GRES: map[string]int{"shard": 12}, DiskMiB: 7},
			Reason: "spillway: reclaim Gres=none [root@2026-11-30T13:15:10]", Responding: true, Usable: true,
		},
		{Name: "n2", States: []string{"IDLE"}, Shape: bridge.Shape{CPUs: 2, MemoryMiB: 10}, Free: bridge.Shape{CPUs: 2, MemoryMiB: 10}, Responding: true, Usable: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
}

func TestOverlayNames(t *testing.T) {
	for name, want := range map[string]bool{
		bridge.PartitionName(bridge.NewRentalID(1)):     true,
		bridge.PartitionName(bridge.NewRentalID(40000)): true,
		"sw-1": true, "sw-250": true, "sw-1000": false,
		"sw-lab": false, "sw-0012": false, "gpu": false, "sw-": false, "SW-0013": false,
	} {
		if got := isOverlay(name); got != want {
			t.Errorf("isOverlay(%q) is %t, want %t", name, got, want)
		}
	}
}

// TestS_F04_StandingsOfReasons goes through the classes of pending reasons.
func TestS_F04_StandingsOfReasons(t *testing.T) {
	now := captured
	base := job{State: "PENDING", Priority: 1, Batch: true, Eligible: now.Add(-time.Hour)}
	for name, test := range map[string]struct {
		change func(*job)
		want   bridge.Standing
	}{
		"resources": {func(j *job) { j.Reason = "Resources" }, bridge.StandingHelps},
		"the long text": {func(j *job) {
			j.Reason = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
		}, bridge.StandingHelps},
		"the long text with underscores":    {func(j *job) { j.Reason = "Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved" }, bridge.StandingHelps},
		"priority":                          {func(j *job) { j.Reason = "Priority" }, bridge.StandingBehind},
		"not looked at yet":                 {func(j *job) { j.Reason = "None" }, bridge.StandingBehind},
		"requeued, delayed":                 {func(j *job) { j.Reason, j.Restarts, j.Eligible = "BeginTime", 1, now.Add(100*time.Second) }, bridge.StandingSoon},
		"requeued, but for tomorrow":        {func(j *job) { j.Reason, j.Restarts, j.Eligible = "BeginTime", 1, now.Add(24*time.Hour) }, bridge.StandingUser},
		"begin time of its own":             {func(j *job) { j.Reason, j.Eligible = "BeginTime", now.Add(time.Minute) }, bridge.StandingUser},
		"begin time under an old reason":    {func(j *job) { j.Reason, j.Eligible = "Resources", now.Add(time.Minute) }, bridge.StandingUser},
		"dependency under an old reason":    {func(j *job) { j.Reason, j.Dependency = "Resources", "afterok:1(unfulfilled)" }, bridge.StandingUser},
		"held":                              {func(j *job) { j.Reason, j.Priority = "JobHeldUser", 0 }, bridge.StandingUser},
		"held under an old reason":          {func(j *job) { j.Reason, j.Priority = "Resources", 0 }, bridge.StandingUser},
		"set aside after a node loss":       {func(j *job) { j.Reason, j.Priority = "BadConstraints", 0 }, bridge.StandingDoubtful},
		"larger than the partition":         {func(j *job) { j.Reason = "PartitionNodeLimit" }, bridge.StandingDoubtful},
		"waits for a licence":               {func(j *job) { j.Reason = "Licenses" }, bridge.StandingDoubtful},
		"QOS limit":                         {func(j *job) { j.Reason = "QOSMaxCpuPerUserLimit" }, bridge.StandingPolicy},
		"association limit":                 {func(j *job) { j.Reason = "AssocGrpGRESMinutes" }, bridge.StandingPolicy},
		"per-account limit":                 {func(j *job) { j.Reason = "MaxJobsPerAccount" }, bridge.StandingPolicy},
		"memory limit is no limit of money": {func(j *job) { j.Reason = "MaxMemPerLimit" }, bridge.StandingConfig},
		"array throttle":                    {func(j *job) { j.Reason = "JobArrayTaskLimit" }, bridge.StandingPolicy},
		"time limit of the partition":       {func(j *job) { j.Reason = "PartitionTimeLimit" }, bridge.StandingConfig},
		"launch failed":                     {func(j *job) { j.Reason = "JobLaunchFailure, x" }, bridge.StandingConfig},
		"reservation":                       {func(j *job) { j.Reason = "Reservation" }, bridge.StandingUser},
		"a node went down":                  {func(j *job) { j.Reason = "NodeDown" }, bridge.StandingHelps},
		"cleaning up":                       {func(j *job) { j.Reason = "Cleaning" }, bridge.StandingSoon},
		"a word to come":                    {func(j *job) { j.Reason = "Wombats" }, bridge.StandingConfig},
		"its own nodes are down":            {func(j *job) { j.Reason, j.ReqNodes = "ReqNodeNotAvail, UnavailableNodes:local1", "local1" }, bridge.StandingDoubtful},
	} {
		t.Run(name, func(t *testing.T) {
			j := base
			test.change(&j)
			c := newQuiet()
			if got := c.standing(&j, &view{now: now, doubts: map[bridge.JobID]bool{}}); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// TestHurdles lists what is never bought for, with the sentence for its owner.
func TestHurdles(t *testing.T) {
	base := job{Batch: true, NumTasks: 1, CPUs: 1, Nodes: 1, Memory: 1, TotalMemory: 1, Sharing: "OK"}
	for want, change := range map[string]func(*job){
		"":                         func(*job) {},
		"is part of a heterogen":   func(j *job) { j.HetPart = true },
		"names the nodes it wants": func(j *job) { j.ReqNodes = "local1" },
		"is bound to the reserv":   func(j *job) { j.Reservation = "maint" },
		"needs licences":           func(j *job) { j.Licenses = "fluent:2" },
		"asks for specialised":     func(j *job) { j.CoreSpec = "2" },
		"is interactive":           func(j *job) { j.Batch = false },
		"asks for resources per":   func(j *job) { j.PerSocket = "gres/gpu:1" },
		"wants a part of the":      func(j *job) { j.Sharing = "TOPO" },
		"asks for a layout inside its nodes: 2 sockets per node": func(j *job) { j.setTopology("sockets per node", 2) },
		"asks for a layout inside its nodes: 4 tasks per socket": func(j *job) { j.setTopology("tasks per socket", 4) },
		"asks for GPUs of two types":                             func(j *job) { j.PerNode, j.PerJob = "gres/gpu:a100:1", "gres/gpu:h100:1" },
		"asks for GPUs twice":                                    func(j *job) { j.PerNode = "gres/gpu:1,gres/gpu:2" },
		"asks for license/x:1, which":                            func(j *job) { j.PerJob = "license/x:1" },
		"asks for gres/:::, which":                               func(j *job) { j.PerNode = "gres/:::" },
		"asks for a type of shard":                               func(j *job) { j.PerNode = "gres/shard:a100:2" },
	} {
		j := base
		change(&j)
		got := shapeOf(&j, &view{}).hurdle
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("hurdle %q, want %q", got, want)
		}
	}
}

// TestShapes has what the fixtures do not: other spellings, uneven gangs.
func TestShapes(t *testing.T) {
	for name, test := range map[string]struct {
		job   job
		shape bridge.Shape
		nodes int
	}{
		"five tasks on three nodes": {
			job{Nodes: 3, NumTasks: 5, CPUs: 15, CPUsPerTask: 3, Memory: 100, TotalMemory: 300},
			bridge.Shape{CPUs: 6, MemoryMiB: 100},
			3,
		},
		"memory per CPU on the fullest node": {
			job{Nodes: 3, NumTasks: 5, CPUs: 15, CPUsPerTask: 3, Memory: 100, TotalMemory: 1500},
			bridge.Shape{CPUs: 6, MemoryMiB: 600},
			3,
		},
		"CPUs per task within the resources, as from 24.05 on": {
			job{Nodes: 1, NumTasks: 2, CPUs: 8, CPUsPerTask: 4, PerTask: "cpu:4,gres/gpu:a100:1", Memory: 100, TotalMemory: 100},
			bridge.Shape{CPUs: 8, MemoryMiB: 100, GPUs: 2, GPUType: "a100"},
			1,
		},
		"tasks per node count": {
			job{Nodes: 2, NumTasks: 2, CPUs: 2, TasksPerNode: 4, PerTask: "gres:gpu:1", Memory: 1, TotalMemory: 2},
			bridge.Shape{CPUs: 4, MemoryMiB: 1, GPUs: 4},
			2,
		},
		"seven GPUs on two nodes": {
			job{Nodes: 2, NumTasks: 2, CPUs: 2, PerJob: "gres:gpu:7", Memory: 1, TotalMemory: 2},
			bridge.Shape{CPUs: 1, MemoryMiB: 1, GPUs: 4},
			2,
		},
		"shards": {
			job{Nodes: 1, NumTasks: 1, CPUs: 1, PerNode: "gres/shard:2", Memory: 1, TotalMemory: 1},
			bridge.Shape{CPUs: 1, MemoryMiB: 1, GRES: map[string]int{"shard": 2}},
			1,
		},
		"a label for itself": {
			job{Nodes: 1, NumTasks: 1, CPUs: 1, Sharing: "MCS", Memory: 1, TotalMemory: 1},
			bridge.Shape{CPUs: 1, MemoryMiB: 1, Exclusive: true},
			1,
		},
		"no tasks said": {
			job{Nodes: 2, CPUs: 7, Memory: 1, TotalMemory: 2},
			bridge.Shape{CPUs: 7, MemoryMiB: 1},
			2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := shapeOf(&test.job, &view{countsMemory: true})
			if diff := cmp.Diff(test.shape, r.shape); diff != "" || r.nodes != test.nodes {
				t.Errorf("%d nodes, want %d; shape (-want +got):\n%s", r.nodes, test.nodes, diff)
			}
		})
	}
}

// TestMemoryThatIsNotCountedIsNoReason tells "no memory asked for" on a site
// that counts memory, where it means all of it, from one that does not.
func TestMemoryThatIsNotCountedIsNoReason(t *testing.T) {
	j := &job{Nodes: 1, NumTasks: 1, CPUs: 1, TotalMemory: 64000}
	for _, counts := range []bool{true, false} {
		if r := shapeOf(j, &view{countsMemory: counts}); r.shape.Exclusive != counts {
			t.Errorf("memory counted %t: exclusive %t", counts, r.shape.Exclusive)
		}
	}
}

func TestDurationsAndSizes(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"10:00": 10 * time.Minute, "1:00:00": time.Hour, "2-03:04:05": 51*time.Hour + 4*time.Minute + 5*time.Second, "0:30": 30 * time.Second,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%s is %v, error %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "10", "a:b", "1:2:3:4", "-1:00", "1-2"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
	for text, want := range map[string]int64{"1000M": 1000, "62.50G": 64000, "1T": 1 << 20, "2000Mc": 2000, "3": 3, "1.5M": 2, "512K": 1} {
		if got, err := parseMebibytes(text); err != nil || got != want {
			t.Errorf("%s is %d, error %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"NaN", "InfG", "-1M", "M", "1X", "1e300G"} {
		if got, err := parseMebibytes(text); err == nil {
			t.Errorf("%q is read as %d", text, got)
		}
	}
}

func TestOverlaysAreToldFromTheOrigin(t *testing.T) {
	origin, overlays := splitOverlays("sw-0013,gpu,sw-3,sw-lab,sw-4,long", map[string]bridge.RentalID{"sw-3": "r-0026"})
	if origin != "gpu,sw-lab,long" || !slices.Equal(overlays, []string{"sw-0013", "sw-0026", "sw-4"}) {
		t.Errorf("origin %q, overlays %v", origin, overlays)
	}
}
