package slurmctl

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// scontrol reads one command, or several from its input.
func (c *Controller) scontrol(a *answer, input string, args []string) []request {
	words := slices.DeleteFunc(slices.Clone(args), func(w string) bool { return strings.HasPrefix(w, "-") })
	for _, w := range args {
		if strings.HasPrefix(w, "-") && !slices.Contains([]string{"-a", "-o", "--oneliner", "--details"}, w) {
			a.unknown(append([]string{"scontrol"}, args...)...)
			return nil
		}
	}
	if len(words) > 0 {
		if len(words) > 1 && words[0] == "show" && words[1] != "config" && !slices.Contains(args, "-o") && !slices.Contains(args, "--oneliner") {
			a.unknown(append([]string{"scontrol"}, args...)...)
			return nil
		}
		return c.command(a, words, slices.Contains(args, "--details"))
	}
	var out []request
	for line := range strings.Lines(input) {
		if words := strings.Fields(line); len(words) > 0 {
			out = append(out, c.command(a, words, false)...)
		}
	}
	return out
}

// command is one command of scontrol.
func (c *Controller) command(a *answer, words []string, details bool) []request {
	one := func(trouble string, do func(*answer)) []request {
		return []request{{do: do, trouble: trouble}}
	}
	switch verb, rest := words[0], words[1:]; {
	case verb == "show" && len(rest) > 0:
		return c.show(a, rest, details)
	case verb == "update" || verb == "create" || verb == "delete":
		return c.change(a, verb, rest)
	case verb == "requeue" && len(rest) == 2 && rest[0] == "Incomplete":
		return one("%s for job "+rest[1], func(a *answer) { c.requeues(a, rest[1]) })
	case verb == "release" && len(rest) == 1:
		return one("%s for job "+rest[0], func(a *answer) { c.releases(a, rest[0]) })
	}
	a.unknown(append([]string{"scontrol"}, words...)...)
	return nil
}

func (c *Controller) show(a *answer, rest []string, details bool) []request {
	name := ""
	if len(rest) > 1 {
		name = rest[1]
	}
	switch {
	case len(rest) > 2:
	case rest[0] == "nodes" || rest[0] == "node":
		return []request{{do: func(a *answer) { c.showNodes(a, name, details) }, trouble: "slurm_load_node error: %s"}}
	case rest[0] == "partitions" || rest[0] == "partition":
		return []request{{do: func(a *answer) { c.showPartitions(a, name) }, trouble: "slurm_load_partitions error: %s"}}
	case rest[0] == "job" && name != "":
		return []request{{do: func(a *answer) { c.showJob(a, name) }, trouble: "slurm_load_jobs error: %s"}}
	case rest[0] == "config" && name == "":
		return []request{{do: c.showConfig, trouble: "slurm_load_ctl_conf error: %s"}}
	}
	a.unknown(append([]string{"scontrol", "show"}, rest...)...)
	return nil
}

func (c *Controller) showNodes(a *answer, only string, details bool) {
	c.count("REQUEST_NODE_INFO")
	c.count("REQUEST_PARTITION_INFO")
	in := map[string][]string{}
	for _, p := range c.partitions {
		for _, name := range p.nodes {
			in[name] = append(in[name], p.Name)
		}
	}
	names := c.names
	if only != "" {
		names = expand(only)
	} else if len(names) == 0 {
		a.printf("No nodes in the system\n")
	}
	a.out.Grow(len(names) << 10)
	for _, name := range names {
		n := c.nodes[name]
		if n == nil {
			a.printf("Node %s not found\n", name)
			a.code = 1
			continue
		}
		c.showNode(a, n, in[name], details)
	}
}

func (c *Controller) showNode(a *answer, n *node, in []string, details bool) {
	a.printf("NodeName=%s Arch=x86_64 CoresPerSocket=1  CPUAlloc=%d CPUEfctv=%d CPUTot=%d CPULoad=0.00 ", n.Name, n.cpus, n.CPUs, n.CPUs)
	features, gres := "(null)", "(null)"
	if len(n.Features) > 0 {
		features = strings.Join(n.Features, ",")
	}
	if n.GPUs > 0 {
		gres = gpus(n, n.GPUs)
	}
	a.printf("AvailableFeatures=%s ActiveFeatures=%s Gres=%s ", features, features, gres)
	if details {
		a.printf("GresDrain=N/A GresUsed=%s ", gresUsed(n))
	}
	a.printf("NodeAddr=%s NodeHostName=%s Version=22.05.8 OS=Linux ", n.Name, n.Name)
	a.printf(" RealMemory=%d AllocMem=%d FreeMem=%d Sockets=%d Boards=1 State=%s ", n.MemoryMiB, n.memory, n.MemoryMiB, n.CPUs, n.state())
	a.printf("ThreadsPerCore=1 TmpDisk=%d Weight=1 Owner=N/A MCS_label=N/A ", n.DiskMiB)
	if len(in) > 0 {
		a.printf("Partitions=%s  ", strings.Join(in, ","))
	}
	a.printf("BootTime=%d SlurmdStartTime=%d LastBusyTime=%d ", n.started.Unix(), n.started.Unix(), n.lastBusy.Unix())
	a.printf("CfgTRES=cpu=%d,mem=%s,billing=%d AllocTRES=", n.CPUs, size(n.MemoryMiB), n.CPUs)
	if n.cpus > 0 {
		a.printf("cpu=%d,mem=%s", n.cpus, size(n.memory))
	}
	a.printf(" CapWatts=n/a CurrentWatts=0 AveWatts=0 ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s ")
	if n.reason != "" {
		a.printf("Reason=%s [root@%d] ", n.reason, n.reasonAt.Unix())
	}
	if n.comment != "" {
		a.printf("Comment=%s ", n.comment)
	}
	a.out.Truncate(a.out.Len() - 1)
	a.printf("\n")
}

func gpus(n *node, count int) string {
	if n.GPUType == "" {
		return fmt.Sprintf("gpu:%d", count)
	}
	return fmt.Sprintf("gpu:%s:%d", n.GPUType, count)
}

// gresUsed is what jobs hold of a node's GPUs; which ones nobody asks.
func gresUsed(n *node) string {
	switch {
	case n.GPUs == 0:
		return "(null)"
	case n.gpus == 0:
		return gpus(n, 0) + "(IDX:N/A)"
	case n.gpus == 1:
		return gpus(n, 1) + "(IDX:0)"
	}
	return fmt.Sprintf("%s(IDX:0-%d)", gpus(n, n.gpus), n.gpus-1)
}

// state is a node's state with its flags, in Slurm's order.
func (n *node) state() string {
	words := []string{"IDLE"}
	switch {
	case n.down:
		words[0] = "DOWN"
	case n.cpus == n.CPUs || n.whole:
		words[0] = "ALLOCATED"
	case n.cpus > 0:
		words[0] = "MIXED"
	}
	for _, one := range []struct {
		is   bool
		word string
	}{
		{n.completing(), "COMPLETING"},
		{n.drained, "DRAIN"},
		{n.dynamic, "DYNAMIC_NORM"},
		{n.unanswered || n.asked, "NOT_RESPONDING"},
		{n.reserved, "RESERVED"},
	} {
		if one.is {
			words = append(words, one.word)
		}
	}
	return strings.Join(words, "+")
}

func (c *Controller) showPartitions(a *answer, only string) {
	c.count("REQUEST_PARTITION_INFO")
	for _, p := range c.partitions {
		if only == "" || only == p.Name {
			c.showPartition(a, p)
		}
	}
	if only != "" && c.partition(only) == nil {
		a.printf("Partition %s not found\n", only)
		a.code = 1
	}
}

func yes(b bool) string {
	if b {
		return "YES"
	}
	return "NO"
}

func (c *Controller) showPartition(a *answer, p *partition) {
	limit, cpus, memory := "UNLIMITED", 0, int64(0)
	if p.maxTime > 0 {
		limit = clock(p.maxTime)
	}
	nodes := "(null)"
	if len(p.nodes) > 0 {
		nodes = compress(p.nodes)
	}
	for _, name := range p.nodes {
		if n := c.nodes[name]; n != nil {
			cpus, memory = cpus+n.CPUs, memory+n.MemoryMiB
		}
	}
	tres := "(null)"
	if len(p.nodes) > 0 {
		tres = fmt.Sprintf("cpu=%d,mem=%s,node=%d,billing=%d", cpus, size(memory), len(p.nodes), cpus)
	}
	a.printf("PartitionName=%s AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=%s QoS=N/A DefaultTime=NONE ", p.Name, yes(p.isDefault))
	a.printf("DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO MaxNodes=UNLIMITED MaxTime=%s MinNodes=%d LLN=NO MaxCPUsPerNode=UNLIMITED ", limit, p.least)
	a.printf("Nodes=%s PriorityJobFactor=%d PriorityTier=%d RootOnly=NO ReqResv=NO OverSubscribe=%s OverTimeLimit=NONE PreemptMode=OFF ", nodes, p.factor, p.priority, p.sharing)
	a.printf("State=%s TotalCPUs=%d TotalNodes=%d SelectTypeParameters=NONE JobDefaults=(null) DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED TRES=%s\n", p.state, cpus, len(p.nodes), tres)
}

// clock is "00:10:00", with days in front.
func clock(d time.Duration) string {
	s := int64(d.Seconds())
	text := fmt.Sprintf("%02d:%02d:%02d", s/3600%24, s/60%60, s%60)
	if days := s / 86400; days > 0 {
		text = fmt.Sprintf("%d-%s", days, text)
	}
	return text
}

func (c *Controller) showJob(a *answer, id string) {
	c.count("REQUEST_JOB_INFO_SINGLE")
	list := c.named(id)
	if len(list) == 0 {
		a.fail("slurm_load_jobs error: Invalid job id specified")
		return
	}
	slices.Reverse(list)
	shown := map[string]bool{} // tasks that nothing set apart are one record
	list = slices.DeleteFunc(list, func(j *job) bool {
		again := j.joined && shown[j.state]
		shown[j.state] = shown[j.state] || j.joined
		return again
	})
	for _, j := range list {
		c.showOne(a, j)
	}
}

func (c *Controller) showOne(a *answer, j *job) {
	user := j.User
	a.printf("JobId=%d ", j.number)
	if j.task >= 0 {
		a.printf("ArrayJobId=%d ArrayTaskId=%d ", j.number, j.task)
	}
	a.printf("JobName=%s UserId=%s(%d) GroupId=%s(%d) MCS_label=N/A Priority=%d Nice=0 Account=%s QOS=(null) ", j.Name, user, account(user), user, account(user), j.priority, orNull(j.Account))
	exit := j.exit
	if exit == "" {
		exit = "0:0"
	}
	a.printf("JobState=%s Reason=%s Dependency=%s Requeue=%s Restarts=%d BatchFlag=1 Reboot=0 ExitCode=%s ", j.stateShown(), strings.ReplaceAll(orNone(j.reason), " ", "_"), j.dependency(), flag(j.Restartable), j.restarts, exit)
	limit := "UNLIMITED"
	if d := c.limitShown(j); d > 0 {
		limit = clock(d)
	}
	a.printf("TimeLimit=%s TimeMin=N/A SubmitTime=%s EligibleTime=%s StartTime=%s Partition=%s ReqNodeList=(null) ExcNodeList=(null) NodeList=%s ",
		limit, epoch(j.submitted), unknown(j.eligible), unknown(j.startShown()), strings.Join(j.partition, ","), j.lastNodes())
	nodes := itoa(j.Nodes)
	if j.state == pending && !j.completing && j.restarts == 0 {
		nodes += "-" + nodes
	}
	a.printf("NumNodes=%s NumCPUs=%d NumTasks=%d CPUs/Task=1 TRES=%s MinMemoryNode=%dM Features=%s OverSubscribe=%s", nodes, j.Nodes*j.CPUs, j.Nodes*j.CPUs, j.tres(), j.MemoryMiB, orNull(j.Features), j.sharing())
	if j.commented {
		a.printf(" AdminComment=%s", j.adminComment)
	}
	if j.Comment != "" {
		a.printf(" Comment=%s", j.Comment)
	}
	if j.GPUs > 0 {
		a.printf(" TresPerNode=%s", j.gresShown())
	}
	a.printf("\n")
}

// lastNodes are those that a job holds or held last.
func (j *job) lastNodes() string {
	if j.state == pending && !j.completing {
		return ""
	}
	return compress(j.nodes)
}

func unknown(t time.Time) string {
	if t.IsZero() {
		return "Unknown"
	}
	return epoch(t)
}

func (c *Controller) showConfig(a *answer) {
	c.count("REQUEST_BUILD_INFO")
	seconds := func(d time.Duration) string { return fmt.Sprintf("%d sec", int(d.Seconds())) }
	a.printf("Configuration data as of %d\n", c.at.Unix())
	for _, line := range [][2]string{
		{"AccountingStorageEnforce", "none"},
		{"AccountingStorageType", "accounting_storage/none"},
		{"AuthType", "auth/munge"},
		{"BOOT_TIME", epoch(c.booted)},
		{"ClusterName", "sim"},
		{"DefMemPerCPU", "1000"},
		{"EnforcePartLimits", "NO"},
		{"GresTypes", "gpu"},
		{"JobFileAppend", "0"},
		{"JobRequeue", "1"},
		{"KillWait", seconds(c.options.KillWait)},
		{"MaxNodeCount", "4096"},
		{"MessageTimeout", seconds(c.options.MessageTimeout)},
		{"MinJobAge", seconds(c.options.MinJobAge)},
		{"NEXT_JOB_ID", itoa(c.lastJob + 1)},
		{"PriorityType", "priority/basic"},
		{"PrivateData", "none"},
		{"ReturnToService", "2"},
		{"SchedulerType", "sched/backfill"},
		{"SelectType", "select/cons_tres"},
		{"SelectTypeParameters", "CR_CORE_MEMORY"},
		{"SlurmctldHost[0]", "head(127.0.0.1)"},
		{"SlurmctldPort", "6817"},
		{"SlurmctldParameters", "enable_configless"},
		{"SlurmdTimeout", seconds(c.options.SlurmdTimeout)},
		{"SLURM_VERSION", "22.05.8"},
		{"TopologyPlugin", "topology/none"},
		{"TreeWidth", "65533"},
	} {
		a.printf("%-23s = %s\n", line[0], line[1])
	}
	a.printf("\nSlurmctld(primary) at head is UP\n")
}

// sdiag prints what this package can honestly say: how many requests there were.
// Their times are those of a small cluster, 500 µs each.
func (c *Controller) sdiag(a *answer) {
	c.count("REQUEST_STATS_INFO")
	stamp := func(t time.Time) string { return fmt.Sprintf("%s (%d)", t.UTC().Format(time.ANSIC), t.Unix()) }
	rule := strings.Repeat("*", 55)
	a.printf("%s\nsdiag output at %s\nData since      %s\n%s\n", rule, stamp(c.at), stamp(c.booted), rule)
	a.printf("\nRemote Procedure Call statistics by message type\n")
	for _, kind := range c.kinds {
		if n := c.calls[kind]; kind != "REQUEST_STATS_INFO" {
			a.printf("\t%-40s( 2003) count:%-6d ave_time:%-6d total_time:%d\n", kind, n, 500, 500*n)
		}
	}
}
