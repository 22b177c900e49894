package slurmctl

import (
	"maps"
	"slices"
	"strings"
)

// note remembers what kinds of commands were run.
func (c *Controller) note(input string, args []string) {
	kinds := []string{kindOf(args)}
	if input != "" {
		kinds = nil
		for line := range strings.Lines(input) {
			kinds = append(kinds, kindOf(append([]string{"scontrol", "<"}, strings.Fields(line)...)))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, kind := range kinds {
		c.asked[kind] = true
	}
}

// Asked are the kinds of commands that were run so far, sorted: a command with
// its options and keys, without the names and values that differ each time.
func (c *Controller) Asked() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.asked))
}

func kindOf(args []string) string {
	var words []string
	takesValue := false
	for _, arg := range args {
		key, value, pair := strings.Cut(arg, "=")
		switch {
		case takesValue:
			takesValue = false
		case pair && (key == "State" || value == ""):
			words = append(words, arg)
		case pair && key == "StartTime":
			words = append(words, strings.TrimRight(arg, "0123456789"))
		case pair && key == "JobId" && strings.Contains(value, "["):
			words = append(words, "JobId=[]")
		case pair:
			words = append(words, key+"=")
		case arg != "" && arg[0] >= '0' && arg[0] <= '9':
			words = append(words, "ID")
		default:
			words = append(words, arg)
			takesValue = slices.Contains([]string{"-O", "-j", "-p", "-w"}, arg)
		}
	}
	return strings.Join(words, " ")
}
