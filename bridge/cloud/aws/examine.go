package aws

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"spillway.sh/spillway/bridge"
)

//go:embed permissions.json
var permissions string

// passRole lets machines have a role of their own.
const passRole = `,
    {
      "Sid": "GiveMachinesTheirRole",
      "Effect": "Allow",
      "Action": "iam:PassRole",
      "Resource": "arn:aws:iam::*:role/*",
      "Condition": {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}
    }
  ]
}
`

// Permissions is the least that the account's user or role must be allowed, as a
// policy of IAM.
func (c *Cloud) Permissions() string {
	text := permissions
	if c.config.InstanceProfile != "" {
		text = strings.TrimSuffix(text, "\n  ]\n}\n") + passRole
	}
	if strings.HasPrefix(c.order[0], "cn-") {
		text = strings.ReplaceAll(text, "arn:aws:", "arn:aws-cn:")
	}
	return text
}

// What an examination looks at.
const (
	whatCredentials = "credentials"
	whatClock       = "clock"
	whatPermissions = "permissions"
	whatImage       = "image"
	whatNetwork     = "network"
	whatTypes       = "types"
	whatQuota       = "quota"
	whatPrices      = "prices"
)

// findings are gathered from several regions at once.
type findings struct {
	mu   sync.Mutex
	list []bridge.Finding
}

func (f *findings) add(what string, grade bridge.Grade, said, try string) {
	f.put(bridge.Finding{What: what, Grade: grade, Said: said, Try: try})
}

func (f *findings) put(one bridge.Finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, one)
}

// failed is a finding about a call that failed, with the cloud's own code.
func (f *findings) failed(what string, grade bridge.Grade, about string, err error, try string) {
	one := bridge.Finding{What: what, Grade: grade, Said: about + ": " + err.Error(), Try: try}
	if e, ok := errors.AsType[*bridge.CloudError](err); ok {
		one.Code = e.Code
		if e.Message != "" {
			one.Said = about + ": " + e.Message
		}
	}
	f.put(one)
}

// Examine looks at everything that renting needs, in all regions, and rents
// nothing: what makes machines is only asked whether it would.
func (c *Cloud) Examine(ctx context.Context) []bridge.Finding {
	f := &findings{}
	if !c.examineLogin(ctx, f) {
		return f.list
	}
	parts := make([]*findings, len(c.order))
	var wg sync.WaitGroup
	for i, name := range c.order {
		parts[i] = &findings{}
		wg.Go(func() { c.examineRegion(ctx, parts[i], c.regions[name]) })
	}
	wg.Wait()
	for _, p := range parts {
		f.list = append(f.list, p.list...)
	}
	return f.list
}

// clockOff is how far our clock may be from AWS's without a word; AWS refuses
// what is signed five minutes off.
const clockOff = 30 * time.Second

// examineLogin asks who we are. Without an answer nothing else is worth asking.
func (c *Cloud) examineLogin(ctx context.Context, f *findings) bool {
	r := c.regions[c.order[0]]
	who, err := ask(ctx, c, r, opExamine, r.lanes.list, func(ctx context.Context, s *services) (*sts.GetCallerIdentityOutput, error) {
		return s.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	})
	if err != nil {
		f.failed(whatCredentials, bridge.GradeBroken, "AWS does not know us", err, c.loginTry(err))
		return false
	}
	f.add(whatCredentials, bridge.GradeOK, fmt.Sprintf("account %s as %s", aws.ToString(who.Account), aws.ToString(who.Arn)), "")
	theirs, told := awsmiddleware.GetServerTime(who.ResultMetadata)
	ours, at := awsmiddleware.GetResponseAt(who.ResultMetadata)
	if !told || !at {
		return true
	}
	switch off := ours.Sub(theirs).Round(time.Second).Abs(); {
	case off > clockOff:
		f.add(whatClock, bridge.GradeWarning, fmt.Sprintf("our clock is %s off AWS's; at five minutes every call is refused", off), "timedatectl set-ntp true")
	default:
		f.add(whatClock, bridge.GradeOK, "our clock is AWS's within "+clockOff.String(), "")
	}
	return true
}

// loginTry is what to do about credentials that are refused.
func (c *Cloud) loginTry(err error) string {
	e, _ := errors.AsType[*bridge.CloudError](err)
	switch {
	case e == nil || e.Kind != bridge.CloudDenied:
		return "see that this host reaches AWS: the error is not about credentials"
	case strings.HasPrefix(e.Code, "Expired"):
		return "renew the credentials, or let a role give them"
	case strings.Contains(e.Code, "RequestExpired") || strings.Contains(e.Code, "RequestHasExpired"):
		return "timedatectl set-ntp true"
	case e.Code == "SignatureDoesNotMatch":
		return "give the secret key that belongs to this key id"
	case c.config.CredentialsFile != "":
		return "put a valid key into " + c.config.CredentialsFile
	case c.config.Profile != "":
		return "aws sts get-caller-identity --profile " + c.config.Profile
	}
	return "aws sts get-caller-identity"
}

func (c *Cloud) examineRegion(ctx context.Context, f *findings, r *region) {
	kinds, at, err := c.kinds(ctx, r, opExamine)
	if at.IsZero() {
		f.failed(whatTypes, bridge.GradeBroken, "region "+r.Name+" does not tell its types", err, "open the region for this account, allow ec2:DescribeInstanceTypes in it, or take it out of regions")
		return
	}
	c.examineImage(ctx, f, r)
	vpcs := c.examineSubnets(ctx, f, r)
	c.examineGroups(ctx, f, r, vpcs)
	c.examineTypes(ctx, f, r, kinds)
	c.examinePrices(ctx, f, r)
	c.examineQuota(ctx, f, r, kinds)
	c.examineCalls(ctx, f, r, kinds)
}

func (c *Cloud) examineImage(ctx context.Context, f *findings, r *region) {
	i, at, err := c.imageOf(ctx, r, opExamine)
	switch {
	case at.IsZero():
		f.failed(whatImage, bridge.GradeBroken, "image "+r.Image+" of "+r.Name, err, "name an image that this account may use in "+r.Name+": aws ec2 describe-images --region "+r.Name+" --owners self")
	case len(i.keeps) > 0:
		f.add(whatImage, bridge.GradeWarning, fmt.Sprintf("image %s of %s would leave disks %s behind; machines are told not to", r.Image, r.Name, strings.Join(i.keeps, ", ")),
			"make the image with DeleteOnTermination on all disks")
	default:
		f.add(whatImage, bridge.GradeOK, fmt.Sprintf("image %s of %s: %s, %d GiB", r.Image, r.Name, i.architecture, i.rootGiB), "")
	}
}

// examineSubnets looks at each subnet and returns their networks.
func (c *Cloud) examineSubnets(ctx context.Context, f *findings, r *region) []string {
	var vpcs []string
	if len(r.Subnets) == 0 {
		f.add(whatNetwork, bridge.GradeOK, "the default subnets of "+r.Name+" are used", "")
		return nil
	}
	for _, zone := range slices.Sorted(maps.Keys(r.Subnets)) {
		id := r.Subnets[zone]
		out, err := ask(ctx, c, r, opExamine, r.lanes.read, func(ctx context.Context, s *services) (*ec2.DescribeSubnetsOutput, error) {
			return s.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: []string{id}})
		})
		about := "subnet " + id + " of " + zone
		switch {
		case err != nil:
			f.failed(whatNetwork, bridge.GradeBroken, about, err, "aws ec2 describe-subnets --region "+r.Name)
		case len(out.Subnets) != 1:
			f.add(whatNetwork, bridge.GradeBroken, about+" is not there", "aws ec2 describe-subnets --region "+r.Name)
		case aws.ToString(out.Subnets[0].AvailabilityZone) != zone:
			f.add(whatNetwork, bridge.GradeBroken, about+" is in zone "+aws.ToString(out.Subnets[0].AvailabilityZone), "name it under its own zone")
		default:
			free := aws.ToInt32(out.Subnets[0].AvailableIpAddressCount)
			grade, try := bridge.GradeOK, ""
			if free < 16 {
				grade, try = bridge.GradeWarning, "take a larger subnet"
			}
			f.add(whatNetwork, grade, fmt.Sprintf("%s has %d free addresses", about, free), try)
			vpcs = append(vpcs, aws.ToString(out.Subnets[0].VpcId))
		}
	}
	return vpcs
}

func (c *Cloud) examineGroups(ctx context.Context, f *findings, r *region, vpcs []string) {
	if len(r.SecurityGroups) == 0 {
		f.add(whatNetwork, bridge.GradeOK, "the default security group of "+r.Name+" is used", "")
		return
	}
	out, err := ask(ctx, c, r, opExamine, r.lanes.read, func(ctx context.Context, s *services) (*ec2.DescribeSecurityGroupsOutput, error) {
		return s.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: r.SecurityGroups})
	})
	if err != nil {
		f.failed(whatNetwork, bridge.GradeBroken, "security groups of "+r.Name, err, "aws ec2 describe-security-groups --region "+r.Name)
		return
	}
	for i := range out.SecurityGroups {
		g := &out.SecurityGroups[i]
		if len(vpcs) > 0 && !slices.Contains(vpcs, aws.ToString(g.VpcId)) {
			f.add(whatNetwork, bridge.GradeBroken, fmt.Sprintf("security group %s is of network %s, no subnet is", aws.ToString(g.GroupId), aws.ToString(g.VpcId)),
				"take a group of the subnets' network")
			return
		}
	}
	f.add(whatNetwork, bridge.GradeOK, "security groups "+strings.Join(r.SecurityGroups, ", ")+" of "+r.Name, "")
}

// examineTypes says which types a region lacks, in EC2's own words.
func (c *Cloud) examineTypes(ctx context.Context, f *findings, r *region, kinds map[string]kind) {
	for _, typ := range c.config.Types {
		if _, ok := kinds[typ]; ok {
			continue
		}
		_, err := ask(ctx, c, r, opExamine, r.lanes.read, func(ctx context.Context, s *services) (*ec2.DescribeInstanceTypesOutput, error) {
			return s.ec2.DescribeInstanceTypes(ctx, &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{types.InstanceType(typ)}})
		})
		if err == nil {
			err = errors.New("it cannot be rented as a whole machine")
		}
		f.failed(whatTypes, bridge.GradeWarning, "type "+typ+" in "+r.Name, err, "take "+typ+" out of types, or "+r.Name+" out of regions")
	}
	zones, at, err := c.zonesByType(ctx, r)
	if at.IsZero() {
		f.failed(whatTypes, bridge.GradeBroken, "zones of "+r.Name, err, "allow ec2:DescribeInstanceTypeOfferings")
		return
	}
	var offered []string
	for typ := range kinds {
		if slices.ContainsFunc(zones[typ], func(z string) bool { return len(r.Subnets) == 0 || r.Subnets[z] != "" }) {
			offered = append(offered, typ)
		}
	}
	slices.Sort(offered)
	if len(offered) == 0 {
		f.add(whatTypes, bridge.GradeBroken, "no type that is wanted is offered in the zones of "+r.Name, "name other types, or subnets in other zones")
		return
	}
	f.add(whatTypes, bridge.GradeOK, fmt.Sprintf("%s: %d types, %s", r.Name, len(offered), strings.Join(offered[:min(len(offered), 5)], ", ")), "")
}

func (c *Cloud) examinePrices(ctx context.Context, f *findings, r *region) {
	for _, market := range c.config.Markets {
		_, at, err := c.rates(ctx, r, market)
		about, need := "list prices of "+r.Name, sourceOnDemand
		if market == bridge.Spot {
			about, need = "spot prices of "+r.Name, sourceSpot
		}
		if err != nil || at.IsZero() {
			f.failed(whatPrices, bridge.GradeBroken, about, orNothing(err), "allow "+need)
			continue
		}
		f.add(whatPrices, bridge.GradeOK, about+" can be read", "")
	}
}

func orNothing(err error) error {
	if err == nil {
		return errNothing
	}
	return err
}

func (c *Cloud) examineQuota(ctx context.Context, f *findings, r *region, kinds map[string]kind) {
	quotas, at, err := c.readQuotas(ctx, r, opExamine)
	if at.IsZero() {
		f.failed(whatQuota, bridge.GradeWarning, "quotas of "+r.Name+" cannot be read, so they are met by trying", err, "allow servicequotas:ListServiceQuotas")
		return
	}
	low := map[string][]string{}
	for _, typ := range slices.Sorted(maps.Keys(kinds)) {
		for _, market := range c.config.Markets {
			if q := quotaOf(quotas, market, typ); q != nil && q.vcpus < kinds[typ].vcpus {
				low[q.name] = append(low[q.name], fmt.Sprintf("%s (%d)", typ, kinds[typ].vcpus))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(low)) {
		i := slices.IndexFunc(quotas, func(q quota) bool { return q.name == name })
		all := low[name]
		f.add(whatQuota, bridge.GradeWarning,
			fmt.Sprintf("%s: %q is %d vCPUs, too few for one machine of %s", r.Name, name, quotas[i].vcpus, strings.Join(all[:min(len(all), 5)], ", ")),
			"ask AWS for more of "+name+" in "+r.Name)
	}
	if len(low) == 0 {
		f.add(whatQuota, bridge.GradeOK, fmt.Sprintf("%s: %d quotas of vCPUs are read", r.Name, len(quotas)), "")
	}
}
