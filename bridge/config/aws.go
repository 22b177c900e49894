package config

import (
	"regexp"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/config/strict"
)

// AWS is an account of Amazon EC2, or of a cloud that speaks as it does. Of
// credentials it has at most where the SDK finds them.
type AWS struct {
	Regions []AWSRegion `json:"regions"`
	Types   []string    `json:"types,omitempty"`   // empty: all with a GPU
	Markets []string    `json:"markets,omitempty"` // empty: on-demand and spot

	KeyName         string        `json:"key_name,omitempty"`         // SSH key of machines
	InstanceProfile string        `json:"instance_profile,omitempty"` // name or ARN
	DiskGiB         int           `json:"disk_gib,omitempty"`         // zero: as the image has it
	EFA             bool          `json:"efa,omitempty"`
	ReservePercent  int           `json:"reserve_percent"` // of a type's memory that machines do not show
	Features        []string      `json:"features,omitempty"`
	Boot            time.Duration `json:"boot,omitempty"`

	Profile         string        `json:"profile,omitempty"`
	CredentialsFile string        `json:"credentials_file,omitempty"`
	Role            string        `json:"role,omitempty"` // ARN
	Endpoint        string        `json:"endpoint,omitempty"`
	Timeout         time.Duration `json:"timeout,omitempty"`
}

// AWSRegion is where in a region machines are rented, and from which image.
type AWSRegion struct {
	Name           string            `json:"name"`
	Image          string            `json:"image"`
	Subnets        map[string]string `json:"subnets,omitempty"`         // by zone; empty: the default ones
	SecurityGroups []string          `json:"security_groups,omitempty"` // empty: the default one
}

// awsReserve is the percentage of memory that is kept back unless told: firmware
// and kernel take more of a small machine than of a large one.
const awsReserve = 8

const awsDiskMost = 16384 // GiB, of an EBS volume

const awsExample = "aws: {regions: [{name: us-east-1, image: ami-0123456789abcdef0}], types: [p5.48xlarge]}"

// form is the check of a name in AWS's own form.
func form(rule, like string) func(string) string {
	return matches(regexp.MustCompile("^(?:"+rule+")$"), "want one like "+like)
}

var (
	awsRegionName = form(`[a-z][a-z0-9-]{0,39}`, "us-east-1")
	awsZone       = form(`[a-z][a-z0-9-]{0,59}`, "us-east-1a")
	awsImage      = form(`ami-[0-9a-f]{8,17}`, "ami-0123456789abcdef0")
	awsSubnet     = form(`subnet-[0-9a-f]{8,17}`, "subnet-0123456789abcdef0")
	awsGroup      = form(`sg-[0-9a-f]{8,17}`, "sg-0123456789abcdef0")
	awsType       = form(`[a-z0-9-]+(\.[a-z0-9-]+)?`, "p5.48xlarge")
	awsRole       = form(`arn:aws[a-z-]*:iam::\d{12}:role/.+`, "arn:aws:iam::123456789012:role/spillway")
)

func (r *reader) aws(n strict.Node, a *AWS) {
	a.ReservePercent = awsReserve
	disk := int64(0)
	const regions = "regions: [{name: us-east-1, image: ami-0123456789abcdef0}]"
	ok := n.Object(
		strict.Need("regions", regions, awsRegions(&a.Regions)),
		strict.May("types", "types: [p5.48xlarge, g6.12xlarge]", strict.Texts(&a.Types, awsType)),
		strict.May("markets", "markets: [on-demand, spot]", strict.Texts(&a.Markets, market)),
		strict.May("key_name", "key_name: ops", strict.Text(&a.KeyName, oneLine)),
		strict.May("instance_profile", "instance_profile: spillway-machine", strict.Text(&a.InstanceProfile, oneLine)),
		strict.May("disk", "disk: 200GiB", amount(&disk)),
		strict.May("efa", "efa: true", strict.Flag(&a.EFA)),
		strict.May("reserve_percent", "reserve_percent: 8", strict.Whole(&a.ReservePercent, 0, 50)),
		strict.May("features", "features: [aws]", strict.Texts(&a.Features, word)),
		strict.May("boot", "boot: 5m", strict.Span(&a.Boot, time.Second, time.Hour)),
		strict.May("profile", "profile: spillway", strict.Text(&a.Profile, oneLine)),
		strict.May("credentials_file", "credentials_file: /etc/spillway/aws.credentials", r.path(&a.CredentialsFile, aFile)),
		strict.May("role", "role: arn:aws:iam::123456789012:role/spillway", strict.Text(&a.Role, awsRole)),
		strict.May("endpoint", "endpoint: http://127.0.0.1:7070/aws/north", address(&a.Endpoint)),
		strict.May("timeout", "timeout: 1m", strict.Span(&a.Timeout, time.Second, 10*time.Minute)),
	)
	a.DiskGiB = int((disk + 1<<30 - 1) >> 30)
	if at, given := n.Get("disk"); given && a.DiskGiB > awsDiskMost {
		at.Fault("more than a disk can have: at most 16TiB")
	}
	if at, given := n.Get("regions"); ok && given && len(a.Regions) == 0 {
		at.With(regions).Refuse("names no region")
	}
}

func awsRegions(dst *[]AWSRegion) func(strict.Node) {
	return func(n strict.Node) {
		lines := map[string]int{}
		strict.Each(func(e strict.Node) {
			a := AWSRegion{}
			e.Object(
				strict.Need("name", "name: us-east-1", strict.Text(&a.Name, awsRegionName)),
				strict.Need("image", "image: ami-0123456789abcdef0", strict.Text(&a.Image, awsImage)),
				strict.May("subnets", "subnets: {us-east-1a: subnet-0123456789abcdef0}", strict.Pairs(&a.Subnets, awsZone, awsSubnet)),
				strict.May("security_groups", "security_groups: [sg-0123456789abcdef0]", strict.Texts(&a.SecurityGroups, awsGroup)),
			)
			once(e, lines, a.Name, "region of this cloud")
			*dst = append(*dst, a)
		})(n)
	}
}

// market is the check of a way to buy machines.
func market(s string) string {
	if s != string(bridge.OnDemand) && s != string(bridge.Spot) {
		return "want " + strings.Join([]string{string(bridge.OnDemand), string(bridge.Spot)}, " or ")
	}
	return ""
}
