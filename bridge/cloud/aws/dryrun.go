package aws

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"golang.org/x/time/rate"

	"spillway.sh/spillway/bridge"
)

// codeWould is EC2's answer to a call that is only tried: it would be done.
const codeWould = "DryRunOperation"

// dry tries a call. Nil: it would be done.
func dry[Out any](ctx context.Context, c *Cloud, r *region, limit *rate.Limiter, f func(context.Context, *ec2.Client) (*Out, error)) error {
	_, err := ask(ctx, c, r, opExamine, limit, func(ctx context.Context, s *services) (*Out, error) { return f(ctx, s.ec2) })
	if e, ok := errors.AsType[*bridge.CloudError](err); ok && e.Code == codeWould {
		return nil
	}
	return err
}

// tries are the calls that only look, as EC2 would answer them.
func (c *Cloud) tries(ctx context.Context, r *region) map[string]error {
	yes, limit := aws.Bool(true), r.lanes.read
	return map[string]error{
		"ec2:DescribeInstances": dry(ctx, c, r, limit, func(ctx context.Context, s *ec2.Client) (*ec2.DescribeInstancesOutput, error) {
			return s.DescribeInstances(ctx, &ec2.DescribeInstancesInput{DryRun: yes})
		}),
		"ec2:DescribeAvailabilityZones": dry(ctx, c, r, limit, func(ctx context.Context, s *ec2.Client) (*ec2.DescribeAvailabilityZonesOutput, error) {
			return s.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{DryRun: yes})
		}),
		"ec2:DescribeSubnets": dry(ctx, c, r, limit, func(ctx context.Context, s *ec2.Client) (*ec2.DescribeSubnetsOutput, error) {
			return s.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{DryRun: yes})
		}),
		"ec2:DescribeSecurityGroups": dry(ctx, c, r, limit, func(ctx context.Context, s *ec2.Client) (*ec2.DescribeSecurityGroupsOutput, error) {
			return s.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{DryRun: yes})
		}),
		"ec2:DescribeSpotInstanceRequests": dry(ctx, c, r, limit, func(ctx context.Context, s *ec2.Client) (*ec2.DescribeSpotInstanceRequestsOutput, error) {
			return s.DescribeSpotInstanceRequests(ctx, &ec2.DescribeSpotInstanceRequestsInput{DryRun: yes})
		}),
		actScores: dry(ctx, c, r, r.lanes.list, func(ctx context.Context, s *ec2.Client) (*ec2.GetSpotPlacementScoresOutput, error) {
			return s.GetSpotPlacementScores(ctx, &ec2.GetSpotPlacementScoresInput{
				DryRun: yes, InstanceTypes: []string{"m5.large", "m6i.large", "m7i.large"}, TargetCapacity: aws.Int32(1), RegionNames: []string{r.Name},
			})
		}),
	}
}

// actScores is the one call that can be done without.
const actScores = "ec2:GetSpotPlacementScores"

// nobody is a machine that does not exist, in EC2's form.
const nobody = "i-00000000000000000"

// examineCalls tries every call whose outcome no other finding shows.
func (c *Cloud) examineCalls(ctx context.Context, f *findings, r *region, kinds map[string]kind) {
	good := 0
	judge := func(act string, err error) {
		switch kind := bridge.KindOf(err); {
		case err == nil:
			good++
		case kind == bridge.CloudDenied && act == actScores:
			f.failed(whatPermissions, bridge.GradeWarning, act+" in "+r.Name+": offers have no scores", err, "allow "+act)
		case kind == bridge.CloudDenied:
			f.failed(whatPermissions, bridge.GradeBroken, act+" in "+r.Name, err, "allow "+act+": spillway cloud doctor "+c.config.Name+" --permissions")
		default:
			f.failed(whatPermissions, bridge.GradeWarning, act+" in "+r.Name+" could not be tried", err, "look at what EC2 says and try again")
		}
	}
	tried := c.tries(ctx, r)
	for _, act := range slices.Sorted(maps.Keys(tried)) {
		judge(act, tried[act])
	}
	c.examineChanges(ctx, f, r, judge)
	if zone, typ := c.some(r, kinds); typ != "" {
		for _, m := range c.config.Markets {
			if slices.Contains(kinds[typ].markets, m) {
				judge("ec2:RunInstances "+string(m)+" "+typ, c.wouldRun(ctx, r, bridge.Pool{Cloud: c.config.Name, Region: r.Name, Zone: zone, Type: typ, Market: m}))
			}
		}
	}
	if good > 0 {
		f.add(whatPermissions, bridge.GradeOK, r.Name+": "+countOf(good, "call")+" would be done", "")
	}
}

// examineChanges tries what changes machines, on one of ours if there is one. A
// policy that allows it for ours alone refuses it for a machine that nobody has.
func (c *Cloud) examineChanges(ctx context.Context, f *findings, r *region, judge func(string, error)) {
	id := nobody
	c.mu.Lock()
	for known, home := range c.homes {
		if home == r {
			id = known
		}
	}
	c.mu.Unlock()
	for act, err := range map[string]error{
		"ec2:TerminateInstances": dry(ctx, c, r, r.lanes.terminate, func(ctx context.Context, s *ec2.Client) (*ec2.TerminateInstancesOutput, error) {
			return s.TerminateInstances(ctx, &ec2.TerminateInstancesInput{DryRun: aws.Bool(true), InstanceIds: []string{id}})
		}),
		"ec2:CreateTags": dry(ctx, c, r, r.lanes.tag, func(ctx context.Context, s *ec2.Client) (*ec2.CreateTagsOutput, error) {
			return s.CreateTags(ctx, &ec2.CreateTagsInput{
				DryRun: aws.Bool(true), Resources: []string{id},
				Tags: []types.Tag{{Key: aws.String(bridge.TagExpires), Value: aws.String(c.config.Now().UTC().Format(time.RFC3339))}},
			})
		}),
	} {
		switch kind := bridge.KindOf(err); {
		case err != nil && kind == bridge.CloudNotFound: // it was allowed to look for the machine
			judge(act, nil)
		case err != nil && kind == bridge.CloudDenied && id == nobody:
			f.failed(whatPermissions, bridge.GradeWarning, act+" in "+r.Name+" can be tried only on a machine of ours, and there is none", err, "examine again while one is rented")
		default:
			judge(act, err)
		}
	}
}

// some is a type and a zone of a region that could be rented in.
func (c *Cloud) some(r *region, kinds map[string]kind) (zone, typ string) {
	zones, _ := r.zones.last()
	i, _ := r.image.last()
	for _, typ := range slices.Sorted(maps.Keys(kinds)) {
		k := kinds[typ]
		for _, zone := range slices.Sorted(slices.Values(zones[typ])) {
			if (len(r.Subnets) == 0 || r.Subnets[zone] != "") && k.runs(i) {
				return zone, typ
			}
		}
	}
	return "", ""
}

// wouldRun tries to rent one machine of a pool.
func (c *Cloud) wouldRun(ctx context.Context, r *region, p bridge.Pool) error {
	l := bridge.Launch{
		Pool: p, Count: 1, UserData: "#!/bin/sh\n", Token: "spillway-doctor", Expires: c.config.Now().UTC().Add(time.Hour),
		Tags: map[string]string{bridge.TagStore: "doctor"},
	}
	in, err := c.request(ctx, r, &l)
	if err != nil {
		return err
	}
	in.DryRun = aws.Bool(true)
	return dry(ctx, c, r, r.lanes.run, func(ctx context.Context, s *ec2.Client) (*ec2.RunInstancesOutput, error) {
		return s.RunInstances(ctx, in)
	})
}

func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
