package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"spillway.sh/spillway/bridge"
)

const (
	pagesLimit = 10_000 // of one listing; a service that never ends one is broken
	chunk      = 200    // values of one filter, and ids of one call
	// settled is how long after its launch a machine is surely shown by EC2, if it
	// is there at all.
	settled = 10 * time.Minute
)

func filter(name string, values ...string) types.Filter {
	return types.Filter{Name: aws.String(name), Values: values}
}

// machines reads a list to its end. What arrived comes together with an error.
func (c *Cloud) machines(ctx context.Context, r *region, op string, filters ...types.Filter) ([]types.Instance, error) {
	var found []types.Instance
	seen := map[string]bool{}
	in := &ec2.DescribeInstancesInput{Filters: filters, MaxResults: aws.Int32(int32(c.config.Page))} //nolint:gosec // At most 1000.
	for range pagesLimit {
		page, err := ask(ctx, c, r, op, r.lanes.read, func(ctx context.Context, s *services) (*ec2.DescribeInstancesOutput, error) {
			return s.ec2.DescribeInstances(ctx, in)
		})
		if err != nil {
			return found, err
		}
		for i := range page.Reservations {
			for _, m := range page.Reservations[i].Instances {
				if id := aws.ToString(m.InstanceId); id != "" && !seen[id] {
					seen[id] = true
					found = append(found, m)
				}
			}
		}
		if aws.ToString(page.NextToken) == "" {
			c.learn(r, idsOf(found)...)
			return found, nil
		}
		in.NextToken = page.NextToken
	}
	return found, &bridge.CloudError{
		Kind: bridge.CloudUnknown, Op: op, Cloud: c.config.Name, Err: fmt.Errorf("the listing has not ended after %d pages", pagesLimit),
	}
}

func idsOf(all []types.Instance) []string {
	out := make([]string, 0, len(all))
	for i := range all {
		out = append(out, aws.ToString(all[i].InstanceId))
	}
	return out
}

// named looks for machines by id. Filters, unlike a call that names them, leave
// out what is not shown yet.
func (c *Cloud) named(ctx context.Context, r *region, op string, want []string) ([]types.Instance, error) {
	var out []types.Instance
	for part := range slices.Chunk(want, chunk) {
		found, err := c.machines(ctx, r, op, filter("instance-id", part...))
		if err != nil {
			return out, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// Observe returns the machines of a create. Without a handle, as after a create
// without an answer, it looks for them by token and returns bridge.CloudNotFound
// if none is shown (yet). Machines of the handle that EC2 does not show are
// returned with their id alone: pending while that may be a list that lags, gone
// when EC2, asked for one by name, knows none. The order is the handle's.
//
// Only the create's own outcome may come back as a refused kind: a failure of the
// look itself, denied for instance, says nothing of the machines.
func (c *Cloud) Observe(ctx context.Context, l bridge.Launch, h bridge.Handle) ([]bridge.Instance, error) {
	r, err := c.regionOf(opObserve, &l)
	if err != nil {
		return nil, blindly(err)
	}
	made := unpack(h)
	var found []types.Instance
	if len(made.ids) == 0 {
		found, err = c.machines(ctx, r, opObserve, filter("client-token", l.Token))
		if err == nil && len(found) == 0 {
			err = &bridge.CloudError{Kind: bridge.CloudNotFound, Op: opObserve, Cloud: c.config.Name, Message: "no machine with the create's token is listed"}
		}
		slices.SortFunc(found, func(a, b types.Instance) int {
			return int(aws.ToInt32(a.AmiLaunchIndex)) - int(aws.ToInt32(b.AmiLaunchIndex))
		})
	} else {
		found, err = c.named(ctx, r, opObserve, made.ids)
	}
	if err != nil {
		return nil, blindly(err)
	}
	if lack := c.outcome(found, max(len(made.ids), l.Count)); lack != nil {
		return nil, lack
	}
	shown := map[string]bridge.Instance{}
	for _, m := range c.instances(ctx, r, found) {
		shown[m.ID] = m
	}
	if len(made.ids) == 0 {
		made.ids = idsOf(found)
	}
	out := make([]bridge.Instance, 0, len(made.ids))
	for _, id := range made.ids {
		m, ok := shown[id]
		if !ok {
			m = bridge.Instance{ID: id, Pool: l.Pool, Token: l.Token, State: bridge.InstancePending}
			if gone, err := c.forgotten(ctx, r, id, made.launched); err != nil {
				return nil, blindly(err)
			} else if gone {
				m.State = bridge.InstanceGone
			}
		}
		out = append(out, m)
	}
	return out, nil
}

func blindly(err error) error {
	if e, ok := errors.AsType[*bridge.CloudError](err); ok {
		return blind(e)
	}
	return err
}

// forgotten reports whether a machine that no list shows is gone: it was launched
// long ago, and asked for by its name EC2 knows none such.
func (c *Cloud) forgotten(ctx context.Context, r *region, id string, launched time.Time) (bool, error) {
	if launched.IsZero() || c.config.Now().Sub(launched) < settled {
		return false, nil
	}
	_, err := ask(ctx, c, r, opObserve, r.lanes.read, func(ctx context.Context, s *services) (*ec2.DescribeInstancesOutput, error) {
		return s.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	})
	if err != nil && bridge.KindOf(err) == bridge.CloudNotFound {
		return true, nil
	}
	return false, err
}

// outcome is why none of a create's machines came about; nil: at least one did, or
// may still. EC2 sometimes takes a create and finds the lack only then.
func (c *Cloud) outcome(found []types.Instance, made int) error {
	if len(found) < made {
		return nil
	}
	var lack *bridge.CloudError
	for i := range found {
		m := &found[i]
		why := reasonOf(m)
		k := meaningOf(why.code, 400).kind
		if stateOf(m) != bridge.InstanceGone || !why.ownFault || k != bridge.CloudNoCapacity && k != bridge.CloudQuota && k != bridge.CloudPrice {
			return nil
		}
		lack = &bridge.CloudError{Kind: k, Op: opObserve, Cloud: c.config.Name, Code: why.code, Message: why.text}
	}
	if lack == nil {
		return nil
	}
	return lack
}

// List asks all regions at once for machines that carry our tags. When a region
// fails the others' machines come together with the error, and the listing says
// that it is not whole.
func (c *Cloud) List(ctx context.Context, storeID, cluster string) (bridge.Listing, error) {
	out := bridge.Listing{Cloud: c.config.Name, At: c.config.Now().UTC(), Complete: true}
	var mu sync.Mutex
	errs := c.each(func(r *region) error {
		found, err := c.machines(ctx, r, opList, filter("tag-key", bridge.TagStore, bridge.TagCluster))
		ours := slices.DeleteFunc(c.instances(ctx, r, found), func(m bridge.Instance) bool {
			return (storeID == "" || m.Tags[bridge.TagStore] != storeID) && (cluster == "" || m.Tags[bridge.TagCluster] != cluster)
		})
		mu.Lock()
		defer mu.Unlock()
		out.Instances = append(out.Instances, ours...)
		if err != nil {
			return inRegion(err, r)
		}
		return nil
	})
	err := firstOf(errs)
	out.Complete = err == nil
	return out, err
}

// inRegion says which region failed.
func inRegion(err error, r *region) error {
	if e, ok := errors.AsType[*bridge.CloudError](err); ok {
		if e.Message != "" {
			e.Message = "region " + r.Name + ": " + e.Message
		} else if e.Err != nil {
			e.Err = fmt.Errorf("region %s: %w", r.Name, e.Err)
		}
	}
	return err
}

// notice is what EC2 said of taking a spot machine back.
type notice struct{ said, ends time.Time }

// lead is the warning that EC2 gives.
const lead = 2 * time.Minute

// notices are the machines of a region that are marked to be taken back. Machines
// hear it first by themselves; when this cannot be read, they still do.
func (c *Cloud) notices(ctx context.Context, r *region) map[string]notice {
	out := map[string]notice{}
	in := &ec2.DescribeSpotInstanceRequestsInput{
		Filters: []types.Filter{filter("status-code", "marked-for-termination", "marked-for-stop")}, MaxResults: aws.Int32(pageMost),
	}
	for range pagesLimit {
		page, err := ask(ctx, c, r, opList, r.lanes.read, func(ctx context.Context, s *services) (*ec2.DescribeSpotInstanceRequestsOutput, error) {
			return s.ec2.DescribeSpotInstanceRequests(ctx, in)
		})
		c.warn("spot notices of "+r.Name, err)
		if err != nil {
			break
		}
		for i := range page.SpotInstanceRequests {
			q := &page.SpotInstanceRequests[i]
			if q.Status == nil {
				continue
			}
			said := aws.ToTime(q.Status.UpdateTime).UTC()
			if said.IsZero() {
				said = c.config.Now().UTC()
			}
			out[aws.ToString(q.InstanceId)] = notice{said, said.Add(lead)}
		}
		if aws.ToString(page.NextToken) == "" {
			break
		}
		in.NextToken = page.NextToken
	}
	return out
}
