package slurmctl

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// column is one field of squeue -O.
type column struct {
	value func(*Controller, *row) string
	width int    // 0: as wide as it is
	after string // what follows it
}

// row is a record of the queue: a job, or the pending tasks of an array that
// nothing has set apart.
type row struct {
	*job
	tasks []int // of an array's record
}

// selection is what squeue was asked for.
type selection struct {
	ids        []string
	partitions []string
	nodes      []string
	byJob      bool
}

// squeue reads the options that the adapter and people here use.
func (c *Controller) squeue(a *answer, args []string) []request {
	var columns []column
	var s selection
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-h", "-a", "--noconvert":
			continue
		case "-O", "-j", "-p", "-w":
		default:
			a.unknown(append([]string{"squeue"}, args...)...)
			return nil
		}
		if i+1 == len(args) {
			a.fail("squeue: option requires an argument -- '%s'", args[i][1:])
			return nil
		}
		option, value := args[i], args[i+1]
		i++
		switch option {
		case "-O":
			var bad string
			if columns, bad = parseColumns(value); bad != "" {
				a.err.WriteString("squeue: error: Invalid job format specification: " + bad + "\n")
				return nil // and it is no failure to squeue
			}
		case "-j":
			s.ids, s.byJob = strings.Split(value, ","), true
		case "-p":
			s.partitions = strings.Split(value, ",")
		case "-w":
			s.nodes = expand(value)
		}
	}
	if columns == nil || !slices.Contains(args, "-h") || !slices.Contains(args, "-a") {
		a.unknown(append([]string{"squeue"}, args...)...)
		return nil
	}
	return []request{{do: func(a *answer) { c.list(a, columns, &s) }, trouble: "slurm_load_jobs error: %s"}}
}

// parseColumns reads "name:width,name:<separator>,name".
func parseColumns(format string) ([]column, string) {
	var out []column
	for item := range strings.SplitSeq(format, ",") {
		name, how, shaped := strings.Cut(item, ":")
		value := fieldsOf[strings.ToLower(name)]
		if value == nil {
			return nil, name
		}
		one := column{value: value, width: 20}
		if shaped {
			width, err := strconv.Atoi(how)
			if one.width = width; err != nil {
				one.width, one.after = 0, how
			}
		}
		out = append(out, one)
	}
	return out, ""
}

// list prints the queue.
func (c *Controller) list(a *answer, columns []column, s *selection) {
	c.count("REQUEST_NODE_INFO")
	for _, name := range s.nodes {
		if c.nodes[name] == nil {
			a.fail("squeue: error: Invalid node name %s", name)
			return
		}
	}
	kind := "REQUEST_JOB_INFO"
	if s.byJob && len(s.ids) == 1 {
		if kind = "REQUEST_JOB_INFO_SINGLE"; len(c.named(s.ids[0])) == 0 {
			c.count(kind)
			a.fail("slurm_load_jobs error: Invalid job id specified")
			return
		}
	}
	c.count(kind)
	rows := c.rows(s)
	a.out.Grow(len(rows) * 12 * len(columns))
	for _, r := range rows {
		for _, column := range columns {
			text := column.value(c, &r)
			a.out.WriteString(text)
			switch {
			case column.width == 0:
				a.out.WriteString(column.after)
			case len(text) < column.width:
				fmt.Fprintf(&a.out, "%*s", column.width-len(text), "")
			case len(text) > column.width:
				a.out.Truncate(a.out.Len() - len(text) + column.width)
			}
		}
		a.out.WriteByte('\n')
	}
}

// rows are the records that are selected, in squeue's own order.
func (c *Controller) rows(s *selection) []row {
	var out []row
	arrays := map[int]int{} // number of an array to its record
	for _, j := range c.active {
		if j.ended() || !s.wants(j) {
			continue
		}
		if !j.joined || j.state != pending {
			out = append(out, row{job: j})
			continue
		}
		at, known := arrays[j.number]
		if !known {
			at = len(out)
			arrays[j.number] = at
			out = append(out, row{job: j})
		}
		out[at].tasks = append(out[at].tasks, j.task)
	}
	slices.SortStableFunc(out, func(a, b row) int {
		return cmp.Or(
			strings.Compare(strings.Join(a.partition, ","), strings.Join(b.partition, ",")),
			cmp.Compare(rank(a.job), rank(b.job)), cmp.Compare(b.priority, a.priority),
		)
	})
	return out
}

// rank is the place of a job's state among the states.
func rank(j *job) int {
	switch {
	case j.completing: // a flag above the number, which makes it negative
		return 0
	case j.state == pending:
		return 1
	}
	return 2
}

func (s *selection) wants(j *job) bool {
	if s.ids != nil && !slices.ContainsFunc(s.ids, func(id string) bool { return id == itoa(j.number) || id == string(j.id()) || meansTask(id, j) }) {
		return false
	}
	if s.partitions != nil && !slices.ContainsFunc(j.partition, func(p string) bool { return slices.Contains(s.partitions, p) }) {
		return false
	}
	return s.nodes == nil || j.holds() && slices.ContainsFunc(j.nodes, func(n string) bool { return slices.Contains(s.nodes, n) })
}

// meansTask reports whether "27_[1-3]" means a task.
func meansTask(id string, j *job) bool {
	base, tasks, some := strings.Cut(id, "_[")
	return some && base == itoa(j.number) && slices.Contains(expand("["+tasks), itoa(j.task))
}

// state is the word that squeue shows.
func (j *job) stateShown() string {
	if j.completing {
		return "COMPLETING"
	}
	return j.state
}
