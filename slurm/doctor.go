package slurm

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Level says how much a finding matters.
type Level string

// The levels. With an Error, machines cannot be rented for the cluster.
const (
	Error   Level = "error"
	Warning Level = "warning"
	Note    Level = "note"
)

// Finding is one thing about a cluster that an administrator should know.
type Finding struct {
	Level   Level
	Subject string   // one or two words
	Found   string   // what is the case
	Why     string   // why it matters
	Fix     []string // the exact lines to change, and the command that applies them
}

// Oldest supported version, as year and month.
const oldest = 2205

// declaredLeast is how many overlays a cluster should declare: as many rentals
// can be served at once without partitions made at run time.
const declaredLeast = 20

// Doctor looks at the cluster and says what stands in Spillway's way, with the
// lines to change. It changes nothing. The error is that of a cluster that
// cannot be read at all.
func (c *Cluster) Doctor(ctx context.Context) ([]Finding, error) {
	out, err := c.run(ctx, "scontrol", "show", "config")
	if err != nil {
		return nil, fmt.Errorf("examine cluster: %w", err)
	}
	s, err := parseSettings(out)
	if c.understood(err) != nil {
		return nil, fmt.Errorf("examine cluster: %w", err)
	}
	v, err := c.look(ctx, c.options.Now(), s)
	if err != nil {
		return nil, fmt.Errorf("examine cluster: %w", err)
	}
	x := &examination{c: c, s: s, v: v, version: versionOf(s["SLURM_VERSION"])}
	for _, look := range []func(context.Context){
		x.rights, x.supported, x.room, x.dynamic, x.overlays, x.everyNode, x.configuration, x.resources, x.requeue, x.clock,
	} {
		look(ctx)
	}
	return x.findings, nil
}

// examination gathers findings; each method looks at one side.
type examination struct {
	c        *Cluster
	s        settings
	v        *view
	version  int // year and month: 2205
	findings []Finding
}

func (x *examination) add(level Level, subject, found, why string, fix ...string) {
	x.findings = append(x.findings, Finding{level, subject, found, why, fix})
}

const restart = "then: systemctl restart slurmctld (running jobs survive)"

// versionOf turns "22.05.8" into 2205; zero is a version not understood.
func versionOf(text string) int {
	var year, month int
	if _, err := fmt.Sscanf(text, "%2d.%2d", &year, &month); err != nil {
		return 0
	}
	return year*100 + month
}

// rights asks for a change of a partition that cannot exist: slurmctld checks
// who asks before it looks for the partition.
func (x *examination) rights(ctx context.Context) {
	err := x.c.write(ctx, "update", "PartitionName=spillway-doctor-asks", "State=UP")
	if says(err, "invalid partition name") {
		return
	}
	user := "the account that runs Spillway"
	if name := os.Getenv("USER"); name != "" {
		user = name
	}
	x.add(Error, "rights", fmt.Sprintf("slurmctld refuses changes: %v", err), "machines can be neither admitted nor taken back",
		"run Spillway as root or SlurmUser, or: sacctmgr modify user "+user+" set adminlevel=Administrator")
}

func (x *examination) supported(context.Context) {
	if x.version < oldest {
		x.add(Error, "version", "Slurm "+x.s["SLURM_VERSION"], "nodes cannot join a running cluster before 22.05", "upgrade to 22.05 or later")
	}
	if plugin := x.s["SelectType"]; !strings.Contains(plugin, "cons_tres") {
		x.add(Error, "SelectType", "SelectType="+plugin, "dynamic nodes need cons_tres", "SelectType=select/cons_tres", restart)
	}
	plugin := x.s["TopologyPlugin"]
	if flat := []string{"", "(null)", "topology/none", "topology/default", "topology/flat"}; x.version < 2505 && !slices.Contains(flat, plugin) {
		x.add(Error, "topology", "TopologyPlugin="+plugin, "before 25.05 dynamic nodes do not work with a topology plugin", "TopologyPlugin=topology/default", restart)
	}
}

// room looks for places in the node table.
func (x *examination) room(context.Context) {
	most, err := strconv.Atoi(x.s["MaxNodeCount"])
	if have := len(x.v.nodes); err != nil || most <= have {
		x.add(Error, "MaxNodeCount", fmt.Sprintf("MaxNodeCount=%s with %d nodes", x.s["MaxNodeCount"], have),
			"the node table is full: a machine that registers is refused", fmt.Sprintf("MaxNodeCount=%d", have+256), restart)
	}
}

func (x *examination) dynamic(context.Context) {
	parameters := strings.ToLower(x.s["SlurmctldParameters"])
	if x.version < 2302 {
		if width, err := strconv.Atoi(x.s["TreeWidth"]); err != nil || width < 65533 {
			x.add(Error, "TreeWidth", "TreeWidth="+x.s["TreeWidth"], "on 22.05 slurmd's fan-out does not find dynamic nodes", "TreeWidth=65533", restart)
		}
		if strings.Contains(parameters, "cloud_dns") {
			x.add(Error, "cloud_dns", "SlurmctldParameters="+x.s["SlurmctldParameters"], "on 22.05 the addresses of dynamic nodes are then not tracked",
				"take cloud_dns out of SlurmctldParameters", restart)
		}
	}
	if x.c.options.MachineConf == "" && !strings.Contains(parameters, "enable_configless") {
		x.add(Error, "configless", "SlurmctldParameters="+x.s["SlurmctldParameters"], "machines fetch their configuration from slurmctld",
			"SlurmctldParameters=enable_configless", "then: scontrol reconfigure; or give Spillway a slurm.conf for machines")
	}
	if x.s["ReturnToService"] == "0" {
		x.add(Warning, "ReturnToService", "ReturnToService=0", "a rented machine that was silent for a while stays down, and is paid for", "ReturnToService=1", "then: scontrol reconfigure")
	}
}

// overlays looks for partitions that are declared for rentals.
func (x *examination) overlays(context.Context) {
	have := 0
	for name, p := range x.v.partitions {
		if !declared.MatchString(name) {
			continue
		}
		have++
		if p.Record["State"] != closed && x.v.tenants[name] == "" {
			x.add(Warning, "overlays", "partition "+name+" is "+p.Record["State"], "jobs that nobody pays for can be sent to it", "PartitionName="+name+" State="+closed, "then: scontrol update PartitionName="+name+" State="+closed)
		}
		if p.Record["RootOnly"] == "YES" {
			x.add(Error, "overlays", "partition "+name+" has RootOnly=YES", "slurmctld never starts an ordinary user's job there, whoever routed it", "PartitionName="+name+" RootOnly=NO")
		}
	}
	if have > 0 {
		return
	}
	fix := make([]string, 0, declaredLeast+1)
	for i := range declaredLeast {
		fix = append(fix, fmt.Sprintf("PartitionName=sw-%d MaxTime=INFINITE State=%s", i+1, closed))
	}
	x.add(Error, "overlays", "no partition sw-1, sw-2, ... is declared",
		"a partition made at run time is lost when slurmctld restarts, and Slurm then ends the jobs that run in it", append(fix, restart)...)
}

// everyNode looks for partitions that take each node that registers.
func (x *examination) everyNode(context.Context) {
	for name, p := range x.v.partitions {
		if p.All || strings.EqualFold(p.Record["Nodes"], "ALL") || x.takesAll(p) {
			x.add(Error, "Nodes=ALL", "partition "+name+" holds every node", "a rented machine would be in it at once, for anybody's jobs",
				"PartitionName="+name+" Nodes=<the site's own nodes by name>", restart)
		}
	}
}

// takesAll reports whether a partition was declared with Nodes=ALL, which
// Slurm prints as the list it stands for: it then holds our parked machines.
func (x *examination) takesAll(p partition) bool {
	if isOverlay(p.Name) {
		return false
	}
	return slices.ContainsFunc(p.Nodes, func(name string) bool { return tenantOfNode(name) != "" })
}

func (x *examination) configuration(context.Context) {
	if _, err := os.ReadFile(x.c.options.MungeKeyFile); err != nil {
		x.add(Error, "munge key", err.Error(), "machines need the cluster's key", "give the account that runs Spillway read access to "+x.c.options.MungeKeyFile)
	}
	if private := x.s["PrivateData"]; !absent(private) && private != "none" {
		x.add(Note, "PrivateData", "PrivateData="+private, "only privileged accounts see the whole queue; Spillway must be one")
	}
	if enforce := x.s["AccountingStorageEnforce"]; strings.Contains(enforce, "associations") {
		x.add(Note, "accounting", "AccountingStorageEnforce="+enforce,
			"a user whose associations name partitions cannot run in an overlay; give such users an association without partition")
	}
	if strings.Contains(x.s["EnforcePartLimits"], "ALL") {
		x.add(Note, "EnforcePartLimits", "EnforcePartLimits="+x.s["EnforcePartLimits"], "a job must satisfy the limits of each of its partitions; overlays have none")
	}
}

func (x *examination) resources(context.Context) {
	if !slices.Contains(words(x.s["GresTypes"]), "gpu") {
		x.add(Warning, "GresTypes", "GresTypes="+x.s["GresTypes"], "machines with GPUs are refused", "GresTypes=gpu", "gres.conf: Name=gpu File=/dev/nvidia[0-7]", restart)
	}
	if !x.s.countsMemory() {
		x.add(Note, "memory", "SelectTypeParameters="+x.s["SelectTypeParameters"], "Slurm does not count memory, so machines are chosen by what jobs say they need")
	}
}

var leadingNumber = regexp.MustCompile(`^\d+`)

func (x *examination) requeue(context.Context) {
	if x.s["JobRequeue"] == "0" {
		x.add(Warning, "JobRequeue", "JobRequeue=0", "only jobs sent with --requeue survive the reclaim of a spot machine; the others run on demand", "JobRequeue=1", "then: scontrol reconfigure")
	}
	if wait, err := strconv.Atoi(leadingNumber.FindString(x.s["KillWait"])); err == nil && wait > 20 {
		x.add(Warning, "KillWait", "KillWait="+x.s["KillWait"], "a job that ignores SIGTERM keeps its machine so long; some clouds warn 30 s ahead", "KillWait=10", "then: scontrol reconfigure")
	}
	if x.s["JobFileAppend"] == "0" {
		x.add(Note, "JobFileAppend", "JobFileAppend=0", "a job that is requeued overwrites its own output, unless it was sent with --open-mode=append", "JobFileAppend=1", "then: scontrol reconfigure")
	}
}

// controllerTime matches the epoch seconds in sdiag's first lines.
var controllerTime = regexp.MustCompile(`sdiag output at .*\((\d+)\)`)

// clock compares the controller's clock with ours.
func (x *examination) clock(ctx context.Context) {
	out, err := x.c.run(ctx, "sdiag")
	if err != nil {
		x.add(Warning, "clock", err.Error(), "the controller's clock cannot be compared")
		return
	}
	match := controllerTime.FindSubmatch(out)
	if match == nil {
		x.add(Warning, "clock", "sdiag says no time", "the controller's clock cannot be compared")
		return
	}
	seconds, _ := strconv.ParseInt(string(match[1]), 10, 64) // digits, by the pattern
	skew := x.c.options.Now().Sub(time.Unix(seconds, 0)).Abs()
	switch {
	case skew > 4*time.Minute:
		x.add(Error, "clock", fmt.Sprintf("%s between the controller and here", skew.Round(time.Second)), "munge refuses credentials that are five minutes off", "let both follow the same time server: systemctl enable --now chrony")
	case skew > 5*time.Second:
		x.add(Warning, "clock", fmt.Sprintf("%s between the controller and here", skew.Round(time.Second)), "waiting times and begin times are judged wrongly", "let both follow the same time server: systemctl enable --now chrony")
	}
}
