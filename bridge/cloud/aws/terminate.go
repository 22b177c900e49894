package aws

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"spillway.sh/spillway/bridge"
)

// Terminate ends machines. An id that EC2 does not know is ended already. All ids
// are tried; the first failure worth knowing is returned.
func (c *Cloud) Terminate(ctx context.Context, ids []string) error {
	_ = c.locate(ctx, opTerminate, ids) // Those that stay unknown are tried everywhere.
	return c.everywhere(ids, func(r *region, part []string) error { return c.end(ctx, r, part) })
}

// everywhere runs f for parts of ids in the regions that they are in or may be in.
func (c *Cloud) everywhere(ids []string, f func(r *region, part []string) error) error {
	var first error
	homes := c.byHome(ids)
	for _, name := range c.order {
		r := c.regions[name]
		for part := range slices.Chunk(homes[r], chunk) {
			if err := f(r, part); err != nil && first == nil {
				first = inRegion(err, r)
			}
		}
	}
	return first
}

// end ends machines of a region. EC2 ends all of a call's or, if it does not know
// one, none: then those that it shows are ended together, and the others one by
// one, as a list may lag behind.
func (c *Cloud) end(ctx context.Context, r *region, ids []string) error {
	err := c.endTogether(ctx, r, ids)
	if bridge.KindOf(err) != bridge.CloudNotFound || err == nil {
		return err
	}
	if len(ids) == 1 {
		return nil
	}
	found, err := c.named(ctx, r, opTerminate, ids)
	shown := idsOf(found)
	if err == nil && len(shown) > 0 && len(shown) < len(ids) && c.endTogether(ctx, r, shown) == nil {
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(shown, id) })
	}
	var first error
	for _, id := range ids {
		if err := c.endTogether(ctx, r, []string{id}); err != nil && bridge.KindOf(err) != bridge.CloudNotFound && first == nil {
			first = err
		}
	}
	return first
}

func (c *Cloud) endTogether(ctx context.Context, r *region, ids []string) error {
	_, err := ask(ctx, c, r, opTerminate, r.lanes.terminate, func(ctx context.Context, s *services) (*ec2.TerminateInstancesOutput, error) {
		return s.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: ids})
	})
	if err == nil {
		r.used.age()
	}
	return err
}

// Extend moves the end of machines. EC2 has no end of its own: the machine reads
// the tag and moves its timer.
func (c *Cloud) Extend(ctx context.Context, ids []string, expires time.Time) error {
	tag := types.Tag{Key: aws.String(bridge.TagExpires), Value: aws.String(expires.UTC().Format(time.RFC3339))}
	if err := c.locate(ctx, opExtend, ids); err != nil {
		return err
	}
	return c.everywhere(ids, func(r *region, part []string) error {
		_, err := ask(ctx, c, r, opExtend, r.lanes.tag, func(ctx context.Context, s *services) (*ec2.CreateTagsOutput, error) {
			return s.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: part, Tags: []types.Tag{tag}})
		})
		return err
	})
}

// locate looks in all regions for machines of which it is not known where they are.
func (c *Cloud) locate(ctx context.Context, op string, ids []string) error {
	c.mu.Lock()
	unknown := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return c.homes[id] != nil })
	c.mu.Unlock()
	if len(unknown) == 0 {
		return nil
	}
	return firstOf(c.each(func(r *region) error {
		_, err := c.named(ctx, r, op, unknown) // It learns what it sees.
		return err
	}))
}
