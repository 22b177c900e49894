package slurm

import (
	"fmt"
	"strconv"
	"strings"
)

// maxTasks bounds what one array may stand for; Slurm's own limit is 4,000,000.
const maxTasks = 4_000_001

// parseTasks reads the pending tasks of an array, "1-9:2,20%4": how many there
// are, and how many may run at once (0: as many as there are).
func parseTasks(list string) (tasks, throttle int, err error) {
	list, limit, limited := strings.Cut(list, "%")
	if limited {
		n, err := strconv.ParseUint(limit, 10, 31)
		if err != nil || n == 0 {
			return 0, 0, fmt.Errorf("array throttle %q", limit)
		}
		throttle = int(n)
	}
	for item := range strings.SplitSeq(list, ",") {
		n, err := countRange(item)
		if err != nil {
			return 0, 0, err
		}
		if tasks += n; tasks > maxTasks {
			return 0, 0, fmt.Errorf("array of more than %d tasks", maxTasks)
		}
	}
	return tasks, throttle, nil
}

// countRange counts "7", "1-9" and "1-9:2".
func countRange(item string) (int, error) {
	bounds, stride, stepped := strings.Cut(item, ":")
	step := uint64(1)
	var err error
	if stepped {
		if step, err = strconv.ParseUint(stride, 10, 31); err != nil || step == 0 {
			return 0, fmt.Errorf("array range %q", item)
		}
	}
	first, last, ranged := strings.Cut(bounds, "-")
	low, err := strconv.ParseUint(first, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("array range %q", item)
	}
	if !ranged {
		return 1, nil
	}
	high, err := strconv.ParseUint(last, 10, 31)
	if err != nil || high < low {
		return 0, fmt.Errorf("array range %q", item)
	}
	return int((high-low)/step) + 1, nil
}
