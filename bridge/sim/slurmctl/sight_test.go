package slurmctl_test

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// queueFields are those of the adapter's own question.
var queueFields = []string{
	"JobArrayID", "State", "Partition", "UserName", "Account", "QOS", "PriorityLong", "SubmitTime", "EligibleTime", "StartTime", "Deadline", "TimeLimit",
	"NumNodes", "NumCPUs", "NumTasks", "cpus-per-task", "MinCpus", "MinMemory", "MinTmpDisk", "NTPerNode", "tres-alloc", "tres-per-node", "tres-per-task",
	"tres-per-job", "tres-per-socket", "mem-per-tres", "cpus-per-tres", "NTPerSocket", "Sockets", "Cores", "Threads", "Feature", "ReqNodes", "Licenses",
	"Dependency", "Reservation", "OverSubscribe", "CoreSpec", "Requeue", "BatchFlag", "RestartCnt", "NodeList", "Reason", "admin_comment", "Comment", "Name",
}

// sight is what a cluster shows, in a form that is the same for both: names in
// place of ids, words in place of moments, ranks in place of priorities.
func (p *play) sight(ctx context.Context) string {
	var b strings.Builder
	b.WriteString(p.queue(ctx))
	for _, line := range p.lines(ctx, "scontrol", "--details", "-o", "show", "nodes") {
		b.WriteString(p.node(line) + "\n")
	}
	partitions := p.lines(ctx, "scontrol", "-a", "-o", "show", "partitions")
	b.WriteString(strings.Join(partitions, "\n") + "\n")
	for _, name := range p.order {
		if slices.ContainsFunc(strings.Split(b.String(), "\n"), func(line string) bool { return strings.HasPrefix(line, "JobArrayID="+name) }) {
			continue // the queue tells all
		}
		for _, line := range p.lines(ctx, "scontrol", "--oneliner", "show", "job", string(p.ids[name])) {
			b.WriteString(p.ending(name, line))
		}
	}
	return b.String()
}

func (p *play) lines(ctx context.Context, args ...string) []string {
	out, err := p.side.exec(ctx, "", args...)
	if err != nil {
		return []string{err.Error()}
	}
	text := strings.TrimRight(string(out.Stdout)+string(out.Stderr), "\n ")
	return strings.Split(text, "\n")
}

func (p *play) queue(ctx context.Context) string {
	format := strings.Join(queueFields, ":\x1f,") + ":\x1f"
	var rows [][]string
	for _, line := range p.lines(ctx, "squeue", "-h", "-a", "--noconvert", "-O", format) {
		if fields := strings.Split(line, "\x1f"); len(fields) > len(queueFields) {
			rows = append(rows, fields[:len(queueFields)])
		} else if line != "" {
			return fmt.Sprintf("not understood: %q\n", line)
		}
	}
	column := func(name string) int { return slices.Index(queueFields, name) }
	priorities := map[string]int{"0": 0}
	var all []int
	for _, row := range rows {
		n, _ := strconv.Atoi(row[column("PriorityLong")])
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b int) int { return cmp.Compare(b, a) })
	for i, n := range slices.Compact(all) {
		if n > 0 {
			priorities[strconv.Itoa(n)] = i + 1
		}
	}
	var b strings.Builder
	for _, row := range rows {
		waits := row[column("State")] == "PENDING"
		for i, name := range queueFields {
			switch value := &row[i]; name {
			case "JobArrayID":
				*value = p.named(*value)
			case "PriorityLong":
				*value = strconv.Itoa(priorities[*value])
			case "SubmitTime", "EligibleTime":
				*value = moment(*value, p.now())
			case "StartTime":
				if *value = moment(*value, p.now()); waits && !strings.Contains(row[column("Reason")], "BeginTime") {
					*value = "-" // what backfill guesses is told in words of its own below
				}
			case "Dependency":
				*value = p.inText(*value)
			case "Reason":
				*value = words(*value)
			}
		}
		for i, name := range queueFields {
			if !slices.Contains([]string{"N/A", "(null)", "*"}, row[i]) {
				b.WriteString(name + "=" + row[i] + " ")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// words are the reasons that a job in several partitions has, in any order.
func words(reason string) string {
	list := strings.Split(reason, ",")
	if strings.HasPrefix(reason, "Nodes required") {
		return reason
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ",")
}

// moment is when something was or will be, roughly: requeued jobs wait for two
// minutes.
func moment(epoch string, now time.Time) string {
	n, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return epoch
	}
	switch ahead := time.Unix(n, 0).Sub(now); {
	case ahead <= 3*time.Second:
		return "past"
	case ahead > 90*time.Second && ahead <= 125*time.Second:
		return "in two minutes"
	}
	return "later"
}

// named puts a job's name in the place of its id.
func (p *play) named(id string) string {
	base, rest, _ := strings.Cut(id, "_")
	for name, known := range p.ids {
		if string(known) == base {
			return strings.TrimSuffix(name+"_"+rest, "_")
		}
	}
	return id
}

var number = regexp.MustCompile(`\b\d+\b`)

// inText puts names in the place of the ids in a text.
func (p *play) inText(text string) string {
	return number.ReplaceAllStringFunc(text, func(id string) string { return p.named(id) })
}

// loose are a node's keys whose values say where it runs, not what it is.
var loose = regexp.MustCompile(`\b(CPULoad|NodeAddr|NodeHostName|OS|FreeMem|BootTime|SlurmdStartTime|LastBusyTime)=.*? (@0 )?( ?)([A-Z][A-Za-z]+=)`)

var (
	devices = regexp.MustCompile(`\(IDX:[^)]*\)`)
	given   = regexp.MustCompile(`\[root@\d+\]`)
)

// node is a node's line without what is another on each host.
func (p *play) node(line string) string {
	for before := ""; before != line; {
		before, line = line, loose.ReplaceAllString(line, "$4")
	}
	line = devices.ReplaceAllString(line, "")
	return given.ReplaceAllString(line, "[root]")
}

// endingKeys are what the adapter, and people, look for when a job is over.
var endingKeys = []string{"JobName", "JobState", "Requeue", "Restarts", "BatchFlag", "TimeLimit", "Partition", "NodeList", "NumNodes", "AdminComment", "Comment", "Dependency"}

func (p *play) ending(name, line string) string {
	out := "job " + name + ":"
	if strings.Contains(line, "error") {
		return out + " " + line + "\n"
	}
	for word := range strings.FieldsSeq(line) {
		if key, value, _ := strings.Cut(word, "="); slices.Contains(endingKeys, key) {
			if key == "Dependency" {
				value = p.inText(value)
			}
			out += " " + key + "=" + value
		}
	}
	return out + "\n"
}
