package aws_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/aws"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// TestBadInput gives the driver what people get wrong: each time there is one
// refusal with AWS's own code, that says how far it reaches, and nothing is rented.
func TestBadInput(t *testing.T) {
	r := start(t)
	good := r.config()
	region := func(change func(*aws.Region)) func(*aws.Config) {
		return func(c *aws.Config) {
			one := good.Regions[0]
			change(&one)
			c.Regions = []aws.Region{one}
		}
	}
	for name, test := range map[string]struct {
		change func(*aws.Config)
		fault  string // code that the cloud refuses the create with
		pool   bridge.Pool
		kind   bridge.CloudErrorKind
		code   string
		reach  bridge.Reach
	}{
		"a wrong secret": {
			change: func(c *aws.Config) { c.CredentialsFile = r.credentialsFile("nimbus-default", "wrong") },
			pool:   spotPool, kind: bridge.CloudDenied, code: "SignatureDoesNotMatch",
		},
		"a key that nobody has": {
			change: func(c *aws.Config) { c.CredentialsFile = r.credentialsFile("AKIDNOBODY", "wrong") },
			pool:   spotPool, kind: bridge.CloudDenied, code: "AuthFailure",
		},
		"no credentials at all": {
			change: func(c *aws.Config) { c.CredentialsFile = "/nowhere/credentials" },
			pool:   spotPool, kind: bridge.CloudDenied, reach: bridge.ReachCloud,
		},
		"a profile that is not there": {
			change: func(c *aws.Config) { c.Profile = "nobody" }, pool: spotPool, kind: bridge.CloudDenied, reach: bridge.ReachCloud,
		},
		"a right that is missing": {fault: "UnauthorizedOperation", pool: spotPool, kind: bridge.CloudDenied, code: "UnauthorizedOperation"},
		"a region that AWS does not have": {
			change: region(func(r *aws.Region) { r.Name = "mars-north-1" }),
			pool:   pool("mars-north-1", "mars-north-1a", gpuType, bridge.Spot), kind: bridge.CloudDenied, code: "AuthFailure",
		},
		"a region that is not configured": {pool: pool("eu-west-1", "eu-west-1a", gpuType, bridge.Spot), kind: bridge.CloudInvalid},
		"a type that AWS does not have":   {pool: pool(east, "us-east-1a", "p99.huge", bridge.Spot), kind: bridge.CloudInvalid, code: "InvalidParameterValue"},
		"an image that is not there": {
			change: region(func(r *aws.Region) { r.Image = "ami-00000000000000000" }),
			pool:   spotPool, kind: bridge.CloudInvalid, code: "InvalidAMIID.NotFound", reach: bridge.ReachRegion,
		},
		"a subnet that is not there": {
			change: region(func(r *aws.Region) { r.Subnets = map[string]string{"us-east-1a": "subnet-00000000000000000"} }),
			pool:   spotPool, kind: bridge.CloudInvalid, code: "InvalidSubnetID.NotFound",
		},
		"a zone without a subnet": {
			change: region(func(r *aws.Region) { r.Subnets = map[string]string{"us-east-1b": "subnet-00000000000000000"} }),
			pool:   spotPool, kind: bridge.CloudInvalid,
		},
		"a security group that is not there": {
			change: region(func(r *aws.Region) { r.SecurityGroups = []string{"sg-00000000000000000"} }),
			pool:   spotPool, kind: bridge.CloudInvalid, code: "InvalidGroup.NotFound", reach: bridge.ReachRegion,
		},
		"a market that EC2 does not have": {pool: pool(east, "us-east-1a", gpuType, bridge.Reserved), kind: bridge.CloudInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			if test.fault != "" {
				r.fault(wire.Fault{Kind: wire.FaultCode, Op: "create", Count: 1, Code: test.fault})
			}
			cloud := r.open(test.change)
			_, err := cloud.Create(t.Context(), launch(test.pool, 1, 1))
			e := wantError(t, err, test.kind, test.code)
			if e.Reach != test.reach || strings.Contains(e.Error(), "\n") || e.Message == "" && e.Err == nil {
				t.Errorf("it reaches %q, want %q: %v", e.Reach, test.reach, e)
			}
		})
	}
	if l, err := r.cloud.List(t.Context(), "st", "cl"); err != nil || len(l.Instances) > 0 {
		t.Errorf("%d machines were rented, %v", len(l.Instances), err)
	}
}

// TestANewKeyNeedsNoRestart puts the right secret where the wrong one was.
func TestANewKeyNeedsNoRestart(t *testing.T) {
	r := start(t)
	file := r.credentialsFile("nimbus-default", "wrong")
	cloud := r.open(func(c *aws.Config) { c.CredentialsFile = file })
	_, err := cloud.List(t.Context(), "st", "cl")
	wantError(t, err, bridge.CloudDenied, "SignatureDoesNotMatch")
	good, err := os.ReadFile(r.config().CredentialsFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, good, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := cloud.List(t.Context(), "st", "cl"); err != nil {
		t.Error(err)
	}
}

// TestExamination looks for each mistake in what doctor is told.
func TestExamination(t *testing.T) {
	r := start(t)
	good := r.config()
	subnets, err := r.sdk(east).DescribeSubnets(t.Context(), &sdk.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	subnet := map[string]string{}
	for _, s := range subnets.Subnets {
		subnet[sdkaws.ToString(s.AvailabilityZone)] = sdkaws.ToString(s.SubnetId)
	}
	for name, test := range map[string]struct {
		change            func(*aws.Config)
		fault             *wire.Fault
		what, code, words string
		grade             bridge.Grade
	}{
		"all is well":       {what: "permissions", grade: bridge.GradeOK, words: "would be done"},
		"who we are":        {what: "credentials", grade: bridge.GradeOK, words: ":user/default"},
		"the time":          {what: "clock", grade: bridge.GradeOK},
		"the default image": {what: "image", grade: bridge.GradeOK, words: "x86_64"},
		"a wrong secret": {
			change: func(c *aws.Config) { c.CredentialsFile = r.credentialsFile("nimbus-default", "wrong") },
			what:   "credentials", grade: bridge.GradeBroken, code: "SignatureDoesNotMatch",
		},
		"an image that is not there": {
			change: func(c *aws.Config) { c.Regions[0].Image = "ami-00000000000000000" },
			what:   "image", grade: bridge.GradeBroken, code: "InvalidAMIID.NotFound",
		},
		"a subnet of another zone": {
			change: func(c *aws.Config) { c.Regions[0].Subnets = map[string]string{"gone-error": subnet["us-east-1a"]} },
			what:   "network", grade: bridge.GradeBroken, words: "is in zone us-east-1a",
		},
		"a security group that is not there": {
			change: func(c *aws.Config) { c.Regions[0].SecurityGroups = []string{"sg-00000000000000000"} },
			what:   "network", grade: bridge.GradeBroken, code: "InvalidGroup.NotFound",
		},
		"a type that is not there": {
			change: func(c *aws.Config) { c.Types = append(c.Types, "p99.huge") },
			what:   "types", grade: bridge.GradeWarning, code: "InvalidInstanceType",
		},
		"a region that is not there": {
			change: func(c *aws.Config) { c.Regions[1].Name = "mars-north-1" },
			what:   "types", grade: bridge.GradeBroken, code: "AuthFailure", words: "mars-north-1",
		},
		"a quota of nothing": {
			change: func(c *aws.Config) { c.Types = append(c.Types, "g6.xlarge") },
			what:   "quota", grade: bridge.GradeWarning, words: "Running On-Demand G and VT instances",
		},
		"a right to rent that is missing": {
			fault: &wire.Fault{Kind: wire.FaultCode, Op: "RunInstances", Code: "UnauthorizedOperation"},
			what:  "permissions", grade: bridge.GradeBroken, code: "UnauthorizedOperation", words: "RunInstances",
		},
		"prices that may not be read": {
			fault: &wire.Fault{Kind: wire.FaultCode, Op: "GetProducts", Code: "AccessDeniedException"},
			what:  "prices", grade: bridge.GradeBroken, code: "AccessDeniedException",
		},
		"quotas that may not be read": {
			fault: &wire.Fault{Kind: wire.FaultCode, Op: "ListServiceQuotas", Code: "AccessDeniedException"},
			what:  "quota", grade: bridge.GradeWarning, code: "AccessDeniedException",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.fault != nil {
				r.fault(*test.fault)
				defer r.heal()
			}
			got := r.open(func(c *aws.Config) {
				c.Regions = append([]aws.Region{}, good.Regions...)
				if test.change != nil {
					test.change(c)
				}
			}).Examine(t.Context())
			found := false
			for _, f := range got {
				found = found || f.What == test.what && f.Grade == test.grade && f.Code == test.code && strings.Contains(f.Said, test.words)
				if f.Grade != bridge.GradeOK && f.Try == "" {
					t.Errorf("nothing is said to do about: %+v", f)
				}
			}
			if !found {
				t.Errorf("no %s finding of %s with code %q and %q among %+v", test.grade, test.what, test.code, test.words, got)
			}
		})
	}
}

// TestPermissions reads the policy as IAM does.
func TestPermissions(t *testing.T) {
	_, cloud := faked(t, nil, func(c *aws.Config) { c.InstanceProfile, c.Regions[0].Name = "machines", "cn-north-1" })
	var policy struct {
		Statement []struct {
			Sid    string
			Action any
		}
	}
	text := cloud.Permissions()
	if err := json.Unmarshal([]byte(text), &policy); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if n := len(policy.Statement); n != 6 || policy.Statement[n-1].Action != "iam:PassRole" || strings.Contains(text, "arn:aws:") {
		t.Errorf("%d statements: %s", n, text)
	}
}
