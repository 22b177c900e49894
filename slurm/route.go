package slurm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"spillway.sh/spillway/bridge"
)

// Route lets pending jobs, and all pending tasks of arrays, use the rental's
// overlay beside their own partitions, all in one command. A job that may use it
// already is not written, since each write can cost a job its accrued age. One
// that runs meanwhile is left as it is.
func (c *Cluster) Route(ctx context.Context, r *bridge.Rental, ids ...bridge.JobID) error {
	overlay, err := c.overlayOf(ctx, r)
	if err == nil && overlay == "" {
		err = errors.New("it has no overlay; admit its machines first")
	}
	if err == nil {
		err = c.editPartitions(ctx, ids, func(list []string) []string {
			if slices.Contains(list, overlay) {
				return list
			}
			return append(list, overlay)
		})
	}
	if err != nil {
		return fmt.Errorf("route jobs %s to rental %s: %w", ids, r.ID, err)
	}
	return nil
}

// Unroute takes the overlay from a pending job's partitions, whoever put it
// there. A job that has no other gets the rental's origin.
func (c *Cluster) Unroute(ctx context.Context, r *bridge.Rental, id bridge.JobID) error {
	overlay, err := c.overlayOf(ctx, r)
	if err == nil && overlay != "" {
		err = c.evict(ctx, r, overlay, id)
	}
	if err != nil {
		return fmt.Errorf("unroute job %s from rental %s: %w", id, r.ID, err)
	}
	return nil
}

// evict takes an overlay from a job's partitions.
func (c *Cluster) evict(ctx context.Context, r *bridge.Rental, overlay string, id bridge.JobID) error {
	return c.editPartitions(ctx, []bridge.JobID{id}, func(list []string) []string {
		list = slices.DeleteFunc(list, func(name string) bool { return name == overlay })
		if len(list) == 0 {
			list = words(r.Origin)
		}
		return list
	})
}

// editTries bounds how often a change is written: what slurmctld answers to a
// change of partitions says little (24.11 fails at random with "temporarily
// unavailable", 22.05 succeeds without doing it), so what is read back decides.
const editTries = 3

// editPartitions changes the partition list of each pending record of some jobs
// that differs.
func (c *Cluster) editPartitions(ctx context.Context, ids []bridge.JobID, edit func([]string) []string) error {
	var wrote error
	var later putOff
	for try := 0; ; {
		jobs, err := c.records(ctx, ids...)
		if err != nil {
			return err
		}
		changes, overlays, err := changesOf(jobs, edit)
		switch {
		case err != nil:
			return err
		case len(changes) == 0:
			return nil
		case try == editTries && wrote == nil:
			return fmt.Errorf("after the call its partitions are still: %s", changes)
		case try == editTries:
			return wrote
		}
		if wrote = c.throughDoors(ctx, overlays, changes); !later.again(ctx, wrote) {
			try++
		}
	}
}

// changesOf returns the commands that make the records' partition lists what
// they should be, and the overlays in those lists.
func changesOf(jobs []job, edit func([]string) []string) (changes [][]string, overlays []string, err error) {
	for i := range jobs {
		j := &jobs[i]
		if !j.pending() {
			continue
		}
		list := edit(strings.Split(j.Partition, ","))
		want := strings.Join(list, ",")
		if want == j.Partition {
			continue
		}
		if want == "" {
			return nil, nil, fmt.Errorf("no partition would be left to it")
		}
		changes = append(changes, []string{"update", "JobId=" + address(j), "Partition=" + want})
		overlays = append(overlays, slices.DeleteFunc(list, func(name string) bool { return !isOverlay(name) })...)
	}
	slices.Sort(overlays)
	return changes, slices.Compact(overlays), nil
}

// throughDoors opens the overlays, changes jobs' partitions, and closes the
// overlays behind them, all in one command. Only one change at a time has a
// door open.
func (c *Cluster) throughDoors(ctx context.Context, overlays []string, changes [][]string) error {
	c.door.Lock()
	defer c.door.Unlock()
	var open, shut [][]string
	for _, name := range overlays {
		open = append(open, []string{"update", "PartitionName=" + name, "State=UP"})
		shut = append(shut, []string{"update", "PartitionName=" + name, "State=" + closed})
	}
	err := c.script(ctx, slices.Concat(open, changes, shut)...)
	if err == nil || len(shut) == 0 {
		return err
	}
	// Whatever failed, and however little time is left, no door stays open.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.options.Timeout)
	defer cancel()
	return errors.Join(err, c.script(ctx, shut...))
}

// address is how scontrol knows exactly this record: the pending tasks of an
// array by their list, since its plain id would mean its running tasks too, and
// a part of the list would split the record.
func address(j *job) string {
	if j.Tasks == "" {
		return string(j.ID)
	}
	tasks, _, _ := strings.Cut(j.Tasks, "%")
	return string(j.ID) + "_[" + tasks + "]"
}
