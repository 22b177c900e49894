package slurm

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// field is one column of squeue's long format and how it is read.
type field struct {
	name string
	read func(j *job, value string) error
}

// fields are the columns asked for, in order. Every version from 22.05 on
// knows these names. Texts that users choose freely are not among them.
var fields = []field{
	{"JobArrayID", readID},
	{"State", readState},
	{"Partition", text(func(j *job) *string { return &j.Partition })},
	{"UserName", text(func(j *job) *string { return &j.User })},
	{"Account", text(func(j *job) *string { return &j.Account })},
	{"QOS", text(func(j *job) *string { return &j.QOS })},
	{"PriorityLong", func(j *job, v string) (err error) {
		j.Priority, err = strconv.ParseInt(v, 10, 64)
		return err //nolint:wrapcheck // The ParseError of the whole answer wraps it.
	}},
	{"SubmitTime", epoch(func(j *job) *time.Time { return &j.Submitted })},
	{"EligibleTime", epoch(func(j *job) *time.Time { return &j.Eligible })},
	{"StartTime", epoch(func(j *job) *time.Time { return &j.Start })},
	{"Deadline", epoch(func(j *job) *time.Time { return &j.Deadline })},
	{"TimeLimit", readTimeLimit},
	{"NumNodes", count(func(j *job) *int { return &j.Nodes })},
	{"NumCPUs", count(func(j *job) *int { return &j.CPUs })},
	{"NumTasks", count(func(j *job) *int { return &j.NumTasks })},
	{"cpus-per-task", count(func(j *job) *int { return &j.CPUsPerTask })},
	{"MinCpus", count(func(j *job) *int { return &j.MinCPUs })},
	{"MinMemory", mebibytes(func(j *job) *int64 { return &j.Memory })},
	{"MinTmpDisk", mebibytes(func(j *job) *int64 { return &j.Disk })},
	{"NTPerNode", count(func(j *job) *int { return &j.TasksPerNode })},
	{"tres-alloc", readTRES},
	{"tres-per-node", text(func(j *job) *string { return &j.PerNode })},
	{"tres-per-task", text(func(j *job) *string { return &j.PerTask })},
	{"tres-per-job", text(func(j *job) *string { return &j.PerJob })},
	{"tres-per-socket", text(func(j *job) *string { return &j.PerSocket })},
	{"mem-per-tres", text(func(j *job) *string { return &j.MemoryPerTRES })},
	{"cpus-per-tres", text(func(j *job) *string { return &j.CPUsPerTRES })},
	{"NTPerSocket", layout("tasks per socket")},
	{"Sockets", layout("sockets per node")},
	{"Cores", layout("cores per socket")},
	{"Threads", layout("threads per core")},
	{"Feature", text(func(j *job) *string { return &j.Features })},
	{"ReqNodes", text(func(j *job) *string { return &j.ReqNodes })},
	{"Licenses", text(func(j *job) *string { return &j.Licenses })},
	{"Dependency", text(func(j *job) *string { return &j.Dependency })},
	{"Reservation", text(func(j *job) *string { return &j.Reservation })},
	{"OverSubscribe", text(func(j *job) *string { return &j.Sharing })},
	{"CoreSpec", text(func(j *job) *string { return &j.CoreSpec })},
	{"Requeue", boolean(func(j *job) *bool { return &j.Requeue })},
	{"BatchFlag", readBatch},
	{"RestartCnt", count(func(j *job) *int { return &j.Restarts })},
	{"NodeList", text(func(j *job) *string { return &j.NodeList })},
	{"Reason", text(func(j *job) *string { return &j.Reason })},
}

// freeFields are texts that people choose; they may hold anything.
var freeFields = []field{
	{"admin_comment", free(func(j *job) *string { return &j.AdminComment })},
	{"Comment", free(func(j *job) *string { return &j.Comment })},
	{"Name", free(func(j *job) *string { return &j.Name })},
}

// absent are Slurm's ways of saying nothing.
func absent(v string) bool {
	switch v {
	case "", "N/A", "(null)", "n/a", "None", "NONE", "Unknown", "NOT_SET", "*":
		return true
	}
	return false
}

func text(at func(*job) *string) func(*job, string) error {
	return func(j *job, v string) error {
		if strings.ContainsAny(v, "\n\x1e\x1f") {
			return fmt.Errorf("%q holds a separator", v)
		}
		if v != "(null)" && v != "N/A" {
			*at(j) = v
		}
		return nil
	}
}

func free(at func(*job) *string) func(*job, string) error {
	return func(j *job, v string) error {
		if v != "(null)" {
			*at(j) = v
		}
		return nil
	}
}

func count(at func(*job) *int) func(*job, string) error {
	return func(j *job, v string) error {
		if absent(v) {
			return nil
		}
		n, err := parseCount(v)
		*at(j) = int(n)
		return err
	}
}

func layout(name string) func(*job, string) error {
	return func(j *job, v string) error {
		if absent(v) {
			return nil
		}
		n, err := parseCount(v)
		if err == nil && n > 0 {
			j.setTopology(name, int(n))
		}
		return err
	}
}

func (j *job) setTopology(name string, n int) {
	if j.Topology == nil {
		j.Topology = map[string]int{}
	}
	j.Topology[name] = n
}

// readBatch reads whether a job has a script. slurmctld counts there how often
// it sent the script out, so a job whose node died at the wrong moment has a 2.
func readBatch(j *job, v string) error {
	n, err := strconv.ParseUint(v, 10, 16)
	j.Batch = n > 0
	return err //nolint:wrapcheck // The ParseError of the whole answer wraps it.
}

func boolean(at func(*job) *bool) func(*job, string) error {
	return func(j *job, v string) error {
		switch v {
		case "1":
			*at(j) = true
		case "0":
		default:
			return fmt.Errorf("%q is not 0 or 1", v)
		}
		return nil
	}
}

// epoch reads seconds since 1970, which SLURM_TIME_FORMAT=%s asks for.
func epoch(at func(*job) *time.Time) func(*job, string) error {
	return func(j *job, v string) error {
		if absent(v) {
			return nil
		}
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("%q is not a time in seconds", v)
		}
		if n > 0 {
			*at(j) = time.Unix(n, 0).UTC()
		}
		return nil
	}
}

func mebibytes(at func(*job) *int64) func(*job, string) error {
	return func(j *job, v string) error {
		if absent(v) {
			return nil
		}
		n, err := parseMebibytes(v)
		*at(j) = n
		return err
	}
}

// parseCount reads a number as squeue prints it; ranges such as "2-4" mean at
// least the first.
func parseCount(v string) (int64, error) {
	first, _, _ := strings.Cut(v, "-")
	factor := int64(1)
	if cut, ok := strings.CutSuffix(first, "K"); ok {
		first, factor = cut, 1024
	}
	n, err := strconv.ParseInt(first, 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a count", v)
	}
	return n * factor, nil
}

// parseMebibytes reads "1000M", "62.50G" or a bare number of MiB, rounded up.
func parseMebibytes(v string) (int64, error) {
	v = strings.TrimRight(v, "nc") // per node or per CPU, in old versions
	factor := 1.0
	if v != "" {
		if at := strings.IndexByte("MGTP", v[len(v)-1]); at >= 0 {
			v, factor = v[:len(v)-1], float64(int64(1)<<(10*at))
		} else if v[len(v)-1] == 'K' {
			v, factor = v[:len(v)-1], 1.0/1024
		}
	}
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || !(n >= 0 && n*factor <= 1<<50) { // not-a-number compares false
		return 0, fmt.Errorf("%q is not a size", v)
	}
	whole := int64(n * factor)
	if float64(whole) < n*factor {
		whole++
	}
	return whole, nil
}

// readID reads the id as squeue shows it: 12, 12_7, 12_[1-9:2%4], 50+1.
func readID(j *job, v string) error {
	number := v
	if array, task, found := strings.Cut(v, "_"); found {
		number, j.Array = array, array
		if inside, ok := strings.CutPrefix(task, "["); ok {
			tasks, closed := strings.CutSuffix(inside, "]")
			if !closed {
				return fmt.Errorf("%q is not a job id", v)
			}
			j.Tasks, v = tasks, array
		} else if !digits(task) {
			return fmt.Errorf("%q is not a job id", v)
		}
	} else if master, part, found := strings.Cut(v, "+"); found {
		if !digits(part) {
			return fmt.Errorf("%q is not a job id", v)
		}
		number, j.HetPart = master, true
	}
	if !digits(number) {
		return fmt.Errorf("%q is not a job id", v)
	}
	j.ID = bridge.JobID(v)
	return nil
}

func digits(s string) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}

func readState(j *job, v string) error {
	for _, c := range v {
		if (c < 'A' || c > 'Z') && c != '_' {
			return fmt.Errorf("%q is not a job state", v)
		}
	}
	j.State = v
	if v == "" {
		return fmt.Errorf("no job state")
	}
	return nil
}

func readTimeLimit(j *job, v string) (err error) {
	switch v {
	case "UNLIMITED", "N/A", "INVALID", "NOT_SET", "Partition_Limit", "":
		return nil
	}
	j.TimeLimit, err = parseDuration(v)
	return err
}

// parseDuration reads "days-hours:minutes:seconds" with leading parts left out.
func parseDuration(v string) (time.Duration, error) {
	days, clock, found := strings.Cut(v, "-")
	if !found {
		days, clock = "0", v
	}
	total, err := strconv.ParseInt(days, 10, 32)
	parts := strings.Split(clock, ":")
	if err != nil || len(parts) > 3 || len(parts) < 2 {
		return 0, fmt.Errorf("%q is not a duration", v)
	}
	total *= 24
	if len(parts) == 2 {
		total *= 60
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 31)
		if err != nil {
			return 0, fmt.Errorf("%q is not a duration", v)
		}
		if i > 0 {
			total *= 60
		}
		total += int64(n)
	}
	return time.Duration(total) * time.Second, nil
}

// readTRES takes the least number of nodes and the memory of the whole job out
// of "cpu=8,mem=16000M,node=1,billing=8".
func readTRES(j *job, v string) error {
	if absent(v) {
		return nil
	}
	for item := range strings.SplitSeq(v, ",") {
		name, value, found := strings.Cut(item, "=")
		if !found {
			return fmt.Errorf("%q is no list of resources", v)
		}
		var err error
		switch name {
		case "node":
			var n int64
			n, err = parseCount(value)
			j.Nodes = int(n)
		case "mem":
			j.TotalMemory, err = parseMebibytes(value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
