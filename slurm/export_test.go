package slurm

import (
	"context"
	"testing"
)

// Line says how one demand is understood; see line.
var Line = line

// Spoken counts the bytes that the commands of one cycle print.
func Spoken(ctx context.Context, tb testing.TB, c *Cluster) int64 {
	tb.Helper()
	total := int64(0)
	queue := []string{"squeue", "-h", "-a", "--noconvert", "-O", queueFormat("ABCDEFGH")}
	if c.options.Read == JSON {
		queue = []string{"squeue", "-a", "--json"}
	}
	for _, args := range [][]string{
		queue,
		{"scontrol", "--details", "-o", "show", "nodes"},
		{"scontrol", "-a", "-o", "show", "partitions"},
	} {
		out, err := c.run(ctx, args...)
		if err != nil {
			tb.Fatal(err)
		}
		total += int64(len(out))
	}
	return total
}

// ParseCost is parseCost.
var ParseCost = parseCost
