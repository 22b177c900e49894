package slurm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"spillway.sh/spillway/bridge"
)

// Route lets a pending job, or all pending tasks of an array, use the rental's
// overlay beside its own partitions. It writes once and not at all when the
// job may use it already, since each write can cost a job its accrued age. A
// job that runs meanwhile is left as it is.
func (c *Cluster) Route(ctx context.Context, r *bridge.Rental, id bridge.JobID) error {
	overlay := bridge.PartitionName(r.ID)
	err := c.editPartitions(ctx, id, func(list []string) []string {
		if slices.Contains(list, overlay) {
			return list
		}
		return append(list, overlay)
	})
	if err != nil {
		return fmt.Errorf("route job %s to %s: %w", id, overlay, err)
	}
	return nil
}

// Unroute takes the overlay from a pending job's partitions, whoever put it
// there. A job that has no other gets the rental's origin.
func (c *Cluster) Unroute(ctx context.Context, r *bridge.Rental, id bridge.JobID) error {
	overlay := bridge.PartitionName(r.ID)
	err := c.editPartitions(ctx, id, func(list []string) []string {
		list = slices.DeleteFunc(list, func(name string) bool { return name == overlay })
		if len(list) == 0 {
			list = words(r.Origin)
		}
		return list
	})
	if err != nil {
		return fmt.Errorf("unroute job %s from %s: %w", id, overlay, err)
	}
	return nil
}

// editPartitions changes the partition list of each pending record of a job
// that differs, and reads back.
func (c *Cluster) editPartitions(ctx context.Context, id bridge.JobID, edit func([]string) []string) error {
	jobs, err := c.records(ctx, id)
	if err != nil {
		return err
	}
	var wrote error
	changed := false
	for i := range jobs {
		want, differs := edited(&jobs[i], edit)
		if !differs {
			continue
		}
		if want == "" {
			return fmt.Errorf("no partition would be left")
		}
		changed = true
		// The answer may be an error though the change was made; what is read
		// back decides.
		if err := c.write(ctx, "update", "JobId="+address(&jobs[i]), "Partition="+want); err != nil && wrote == nil {
			wrote = err
		}
	}
	if !changed {
		return nil
	}
	if jobs, err = c.records(ctx, id); err != nil {
		return err
	}
	for i := range jobs {
		if _, differs := edited(&jobs[i], edit); differs {
			if wrote == nil {
				wrote = fmt.Errorf("its partitions are %s after the call", jobs[i].Partition)
			}
			return wrote
		}
	}
	return nil
}

// edited returns the partition list a record should have, and whether it is
// another one than it has.
func edited(j *job, edit func([]string) []string) (string, bool) {
	if !j.pending() {
		return "", false
	}
	want := strings.Join(edit(strings.Split(j.Partition, ",")), ",")
	return want, want != j.Partition
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
