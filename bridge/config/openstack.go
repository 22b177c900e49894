package config

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"
	"golang.org/x/text/currency"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/config/strict"
)

// OpenStack is a project of an OpenStack cloud in one region, see
// deploy/docs/clouds/openstack.md. Who we are is either an entry of a clouds.yaml
// or spelled out.
type OpenStack struct {
	CloudsYAML string `json:"clouds_yaml,omitempty"`
	Cloud      string `json:"cloud,omitempty"` // the entry

	AuthURL       string `json:"auth_url,omitempty"`
	CredentialID  string `json:"application_credential_id,omitempty"`
	User          string `json:"user,omitempty"`
	UserDomain    string `json:"user_domain,omitempty"`
	Project       string `json:"project,omitempty"`
	ProjectDomain string `json:"project_domain,omitempty"`
	Secret        Secret `json:"secret,omitzero"` // of the application credential or the user
	CAFile        string `json:"ca_file,omitempty"`

	Region         string            `json:"region"`
	Interface      string            `json:"interface"`
	Image          string            `json:"image"`
	Network        string            `json:"network"`
	SecurityGroups []string          `json:"security_groups,omitempty"`
	KeyPair        string            `json:"key_pair,omitempty"`
	Zones          []string          `json:"zones,omitempty"` // empty: all that are open
	Flavors        []OpenStackFlavor `json:"flavors"`
	Boot           time.Duration     `json:"boot"`
	Timeout        time.Duration     `json:"timeout"` // of each call
}

// OpenStackFlavor is what a machine of a flavor costs, and its GPUs where the
// flavor itself does not name them.
type OpenStackFlavor struct {
	Name string      `json:"name"`
	Rate bridge.Rate `json:"rate"` // an hour
	GPU  string      `json:"gpu,omitempty"`
	GPUs int         `json:"gpus,omitempty"`
}

const openStackExample = "openstack: {clouds_yaml: clouds.yaml, cloud: batch, region: RegionOne, image: node, network: batch, flavors: [{name: g8, rate: 12.80 EUR}]}"

func (r *reader) openStack(n strict.Node, o *OpenStack) {
	o.UserDomain, o.ProjectDomain, o.Interface = "Default", "Default", "public"
	fields := append(r.secretIfGiven(n, "secret", &o.Secret),
		strict.May("clouds_yaml", "clouds_yaml: /etc/spillway/clouds.yaml", r.path(&o.CloudsYAML, aSecret)),
		strict.May("cloud", "cloud: batch", strict.Text(&o.Cloud, plainText)),
		strict.May("auth_url", "auth_url: https://keystone.example.org:5000/v3", address(&o.AuthURL)),
		strict.May("application_credential_id", "application_credential_id: 3f9c…", strict.Text(&o.CredentialID, plainText)),
		strict.May("user", "user: spillway", strict.Text(&o.User, plainText)),
		strict.May("user_domain", "user_domain: Default", strict.Text(&o.UserDomain, plainText)),
		strict.May("project", "project: batch", strict.Text(&o.Project, plainText)),
		strict.May("project_domain", "project_domain: Default", strict.Text(&o.ProjectDomain, plainText)),
		strict.May("ca_file", "ca_file: /etc/ssl/site-ca.pem", r.path(&o.CAFile, aFile)),
		strict.Need("region", "region: RegionOne", strict.Text(&o.Region, plainText)),
		strict.May("interface", "interface: public", strict.Choice(&o.Interface, "public", "internal", "admin")),
		strict.Need("image", "image: node-2026-11", strict.Text(&o.Image, plainText)),
		strict.Need("network", "network: batch", strict.Text(&o.Network, plainText)),
		strict.May("security_groups", "security_groups: [batch]", strict.Texts(&o.SecurityGroups, plainText)),
		strict.May("key_pair", "key_pair: operators", strict.Text(&o.KeyPair, plainText)),
		strict.May("zones", "zones: [nova]", strict.Texts(&o.Zones, plainText)),
		strict.Need("flavors", "flavors: [{name: g8.a100, rate: 12.80 EUR, gpu: a100-80, gpus: 8}]", openStackFlavors(&o.Flavors)),
		strict.May("boot", "boot: 5m", strict.Span(&o.Boot, time.Second, 2*time.Hour)),
		strict.May("timeout", "timeout: 1m", strict.Span(&o.Timeout, time.Second, 10*time.Minute)),
	)
	if n.Sound(func(n strict.Node) { n.Object(fields...) }) {
		o.judge(n)
	}
}

// judge looks at what only the whole can tell.
func (o *OpenStack) judge(n strict.Node) {
	byFile := o.CloudsYAML != "" || o.Cloud != ""
	spelled := o.AuthURL != "" || o.CredentialID != "" || o.User != "" || o.Project != "" || o.Secret.Given()
	user := o.User != "" && o.Project != ""
	switch {
	case byFile && spelled:
		n.With("clouds_yaml: /etc/spillway/clouds.yaml").Refuse("has credentials twice: by clouds_yaml and cloud, or by auth_url and secret_file; keep one")
	case byFile && (o.CloudsYAML == "" || o.Cloud == ""):
		n.With("clouds_yaml: /etc/spillway/clouds.yaml").Refuse("needs both clouds_yaml and cloud, the entry in it")
	case byFile:
	case o.AuthURL == "" || !o.Secret.Given():
		n.With("clouds_yaml: /etc/spillway/clouds.yaml").Refuse("has no credentials: give clouds_yaml and cloud, or auth_url, secret_file and an application_credential_id")
	case (o.CredentialID != "") == user || o.CredentialID != "" && (o.User != "" || o.Project != ""):
		n.With("application_credential_id: 3f9c…").Refuse("needs application_credential_id, or user and project, and not both")
	}
}

func openStackFlavors(dst *[]OpenStackFlavor) func(strict.Node) {
	return func(n strict.Node) {
		lines := map[string]int{}
		strict.Each(func(e strict.Node) {
			var f OpenStackFlavor
			if e.Object(
				strict.Need("name", "name: g8.a100", strict.Text(&f.Name, plainText)),
				strict.Need("rate", "rate: 12.80 EUR", hourly(&f.Rate)),
				strict.May("gpu", "gpu: a100-80", strict.Text(&f.GPU, word)),
				strict.May("gpus", "gpus: 8", strict.Whole(&f.GPUs, 1, 64)),
			) && (f.GPU != "") != (f.GPUs > 0) {
				e.With("gpu: a100-80").Refuse("needs gpu and gpus together: what they are and how many")
			}
			once(e, lines, f.Name, "flavor of this cloud")
			*dst = append(*dst, f)
		})(n)
		if n.IsList() && n.Len() == 0 {
			n.Refuse("no flavor: there is nothing to rent")
		}
	}
}

// plainText is the check of names as OpenStack takes them.
func plainText(s string) string {
	if s == "" {
		return "is empty"
	}
	if len(s) > 255 {
		return "more than 255 bytes, which OpenStack does not take"
	}
	return oneLine(s[:min(len(s), 80)])
}

// mostHourly is more than any machine costs; what is above it is a slip.
const mostHourly = 100_000

// hourly reads what a machine costs in an hour. Nothing is no price: what is paid
// for anyway is a contract, in the policy.
func hourly(dst *bridge.Rate) func(strict.Node) {
	return func(n strict.Node) {
		s, _ := n.Scalar()
		m := moneyForm.FindStringSubmatch(s)
		if m == nil {
			n.Fault("want the price of an hour with its currency, such as 12.80 EUR")
			return
		}
		d, err := decimal.NewFromString(m[1])
		if err != nil {
			n.Fault("not an amount of money")
			return
		}
		d = d.Shift(6)
		_, err = currency.ParseISO(m[2])
		switch {
		case err != nil:
			n.Fault(m[2] + " is no currency of ISO 4217")
		case !d.IsInteger():
			n.Fault("finer than a millionth, which is the smallest unit counted")
		case !d.IsPositive():
			n.Fault("nothing is no price: capacity that is paid for anyway belongs in the policy, as a contract")
		case d.GreaterThan(decimal.NewFromInt(mostHourly * bridge.Micro)):
			n.Fault(fmt.Sprintf("more than an hour can cost: at most %d", mostHourly))
		default:
			*dst = bridge.Rate{Micro: d.IntPart(), Currency: bridge.Currency(m[2])}
		}
	}
}
