package slurm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// record is one line of scontrol --oneliner: known keys only.
type record map[string]string

// partition is what we need to know of one.
type partition struct {
	Name   string
	Nodes  []string
	All    bool // holds every node there is, also those that register themselves
	Record record
}

// node is a node with its comment, which says what overlay it is in.
type node struct {
	bridge.Node
	comment string
}

// freeKeys begin texts that people choose; they end what can be read by key.
var freeKeys = []string{" Comment=", " Extra=", " Reason="}

// parseRecords reads the lines of scontrol --oneliner, each of which begins
// with the given key and must hold all of must.
func parseRecords(data []byte, what, first string, must ...string) ([]record, error) {
	bad := mishaps{what: what}
	var out []record
	lines := strings.Split(string(data), "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	} else {
		bad.add(last+1, lines[last], fmt.Errorf("cut off in the middle"))
	}
	open := false // the line before ends in a free text, which may hold line breaks
	for i, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if !strings.HasPrefix(line, first+"=") {
			if !open {
				bad.add(i+1, line, fmt.Errorf("does not begin with %s", first))
			}
			continue
		}
		r := parseRecordLine(line)
		for _, key := range must {
			if _, ok := r[key]; !ok {
				bad.add(i+1, line, fmt.Errorf("says no %s", key))
			}
		}
		_, open = r["+"]
		out = append(out, r)
	}
	return out, bad.err()
}

// parseRecordLine reads "Key=value Key=value ...". Only the first of equal keys
// counts, so that no free text can change what stands before it; the key "+"
// marks a line with such texts.
func parseRecordLine(line string) record {
	head, tail := line, ""
	for _, key := range freeKeys {
		if at := strings.Index(head, key); at >= 0 {
			head, tail = head[:at], head[at:]+tail
		}
	}
	r := record{}
	for word := range strings.FieldsSeq(head) {
		key, value, found := strings.Cut(word, "=")
		if _, known := r[key]; found && !known {
			r[key] = value
		}
	}
	if tail != "" {
		r["+"] = ""
	}
	for _, key := range []string{" Reason=", " Comment="} {
		if at := strings.LastIndex(tail, key); at >= 0 {
			text := tail[at+len(key):]
			for _, next := range freeKeys {
				text, _, _ = strings.Cut(text, next)
			}
			r[key[1:len(key)-1]] = strings.TrimSpace(text)
		}
	}
	return r
}

func parsePartitions(data []byte) (map[string]partition, error) {
	records, err := parseRecords(data, "partitions", "PartitionName", "State", "Nodes", "MaxTime")
	if err != nil {
		return nil, err
	}
	out := make(map[string]partition, len(records))
	for _, r := range records {
		p := partition{Name: r["PartitionName"], Record: r}
		if p.All = r["Nodes"] == "ALL"; !p.All {
			if p.Nodes, err = expandHosts(r["Nodes"]); err != nil {
				return nil, &ParseError{What: "partitions", Count: 1, Text: p.Name, Err: err}
			}
		}
		out[p.Name] = p
	}
	return out, nil
}

func parseNodes(data []byte) ([]node, error) {
	if s := strings.TrimSpace(string(data)); s == "No nodes in the system" {
		return nil, nil
	}
	records, err := parseRecords(data, "nodes", "NodeName", "State", "CPUTot", "CPUAlloc", "RealMemory", "AllocMem")
	if err != nil {
		return nil, err
	}
	bad := mishaps{what: "nodes"}
	if len(records) == 0 {
		bad.add(1, "", fmt.Errorf("no nodes, and no word that there are none"))
	}
	out := make([]node, 0, len(records))
	for i, r := range records {
		n, err := readNode(r)
		if err != nil {
			bad.add(i+1, r["NodeName"], err)
		}
		out = append(out, node{n, r["Comment"]})
	}
	return out, bad.err()
}

// readNode turns a line of "scontrol --details show nodes" into a node.
func readNode(r record) (bridge.Node, error) {
	states := readStates(r["State"])
	n := bridge.Node{
		Name: r["NodeName"], Address: r["NodeAddr"], States: states, Reason: r["Reason"],
		Features: words(r["ActiveFeatures"]), Partitions: words(r["Partitions"]),
		Dynamic:    hasAny(states, "DYNAMIC_NORM", "DYNAMIC_FUTURE"),
		Responding: hasAny(states, "IDLE", "MIXED", "ALLOCATED") && !hasAny(states, silent...),
		Usable:     hasAny(states, "IDLE", "MIXED", "ALLOCATED") && !hasAny(states, unusable...),
	}
	var err error
	if n.Shape, err = readCapacity(r); err != nil {
		return n, err
	}
	// What is planned is kept for a larger job; others do not get it.
	if n.Usable && !hasAny(states, "PLANNED") {
		if n.Free, err = readFree(r, n.Shape); err != nil {
			return n, err
		}
	}
	if hasAny(states, "IDLE") {
		var busy int64
		if busy, err = r.number("LastBusyTime", 0); busy > 0 {
			n.IdleSince = time.Unix(busy, 0).UTC()
		}
	}
	return n, err
}

// silent are the states in which a node does not answer.
var silent = []string{"NOT_RESPONDING", "NO_RESPOND", "POWERED_DOWN", "POWERING_UP", "POWERING_DOWN", "DOWN"}

// unusable are the states in which nothing new is placed on a node. A powered
// down node is not among them: Slurm places jobs on it and powers it up.
var unusable = []string{
	"DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "NOT_RESPONDING", "NO_RESPOND", "INVALID_REG", "INVAL",
	"MAINT", "MAINTENANCE", "RESERVED", "REBOOT_REQUESTED", "REBOOT_ISSUED", "POWERING_DOWN", "POWER_DOWN",
	"FUTURE", "UNKNOWN", "ERROR", "BLOCKED", "PERFCTRS",
}

// stateMarks are the letters by which short forms say what long ones spell out.
var stateMarks = map[byte]string{
	'*': "NOT_RESPONDING", '~': "POWERED_DOWN", '#': "POWERING_UP", '!': "POWER_DOWN", '%': "POWERING_DOWN",
	'$': "MAINT", '@': "REBOOT_REQUESTED", '^': "REBOOT_ISSUED", '-': "PLANNED",
}

// readStates returns the set of a node's states. Words that no version has
// used so far are kept like all others.
func readStates(s string) []string {
	var out []string
	for word := range strings.SplitSeq(strings.ToUpper(s), "+") {
		for word != "" && stateMarks[word[len(word)-1]] != "" {
			out = append(out, stateMarks[word[len(word)-1]])
			word = word[:len(word)-1]
		}
		if word != "" {
			out = append(out, word)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func hasAny(have []string, want ...string) bool {
	return slices.ContainsFunc(want, func(w string) bool { return slices.Contains(have, w) })
}

// words splits a comma list; Slurm's ways of saying nothing are no words.
func words(list string) []string {
	if absent(list) {
		return nil
	}
	return strings.Split(list, ",")
}

// readCapacity is what a node has for jobs.
func readCapacity(r record) (bridge.Shape, error) {
	cpus, err := r.number("CPUTot", 0)
	if err != nil {
		return bridge.Shape{}, err
	}
	if cpus, err = r.number("CPUEfctv", cpus); err != nil {
		return bridge.Shape{}, err
	}
	memory, err := r.number("RealMemory", 0)
	if err != nil {
		return bridge.Shape{}, err
	}
	kept, err := r.number("MemSpecLimit", 0)
	if err != nil {
		return bridge.Shape{}, err
	}
	disk, err := r.number("TmpDisk", 0)
	if err != nil {
		return bridge.Shape{}, err
	}
	s := bridge.Shape{CPUs: int(cpus), MemoryMiB: max(0, memory-kept), DiskMiB: disk}
	resources, err := parseGRES(r["Gres"])
	if err != nil {
		return s, err
	}
	s.GPUType, s.GPUs, s.GRES = resources.most()
	return s, nil
}

// readFree is what of a node's capacity no job holds.
func readFree(r record, has bridge.Shape) (bridge.Shape, error) {
	cpus, err := r.number("CPUAlloc", 0)
	if err != nil {
		return bridge.Shape{}, err
	}
	memory, err := r.number("AllocMem", 0)
	if err != nil {
		return bridge.Shape{}, err
	}
	used, err := parseGRES(r["GresUsed"])
	if err != nil {
		return bridge.Shape{}, err
	}
	free := has
	free.CPUs = max(0, has.CPUs-int(cpus))
	free.MemoryMiB = max(0, has.MemoryMiB-memory)
	free.GPUs = max(0, has.GPUs-used.total("gpu"))
	free.GRES = nil
	for name, n := range has.GRES {
		if free.GRES == nil {
			free.GRES = map[string]int{}
		}
		free.GRES[name] = max(0, n-used.total(name))
	}
	return free, nil
}

func (r record) number(key string, otherwise int64) (int64, error) {
	v, said := r[key]
	if !said || absent(v) {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s %q is not a number", key, v)
	}
	return n, nil
}
