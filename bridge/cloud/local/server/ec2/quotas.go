package ec2

import (
	"slices"
	"strings"

	"spillway.sh/spillway/bridge"
)

// family is a group of types that EC2 counts together.
type family struct {
	name           string // as worlds name it
	onDemand, spot code
	letters        []string // that the names of its types begin with
}

type code struct{ code, name string }

// families are those of EC2's quotas, the first that fits counts.
var families = []family{
	{"p", code{"L-417A185B", "Running On-Demand P instances"}, code{"L-7212CCBC", "All P4, P3 and P2 Spot Instance Requests"}, []string{"p"}},
	{"p5", code{}, code{"L-C4BD4855", "All P5 Spot Instance Requests"}, nil}, // On demand they count as p.
	{"g", code{"L-DB2E81BA", "Running On-Demand G and VT instances"}, code{"L-3819A6DF", "All G and VT Spot Instance Requests"}, []string{"g", "vt"}},
	{
		"standard",
		code{"L-1216C47A", "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"},
		code{"L-34B43A08", "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests"},
		[]string{"a", "c", "d", "h", "i", "m", "r", "t", "z"},
	},
}

// Families are the names of groups of types that quotas of vCPUs may be for.
func Families() []string {
	var out []string
	for _, f := range families {
		out = append(out, f.name)
	}
	return out
}

// FamilyOf is the group of a type on a market, by the letters before its first
// digit as EC2 has it. A type with another name counts as p if it has GPUs and as
// standard if not.
func FamilyOf(kind string, gpus int, market string) string {
	letters, _, ok := strings.Cut(kind, ".")
	if ok && market == string(bridge.Spot) && strings.HasPrefix(letters, "p5") {
		return "p5"
	}
	if at := strings.IndexAny(letters, "0123456789"); ok && at > 0 {
		for _, f := range families {
			if slices.Contains(f.letters, letters[:at]) {
				return f.name
			}
		}
	}
	if gpus > 0 {
		return "p"
	}
	return "standard"
}

type serviceQuota struct {
	ServiceCode string  `json:"ServiceCode"`
	ServiceName string  `json:"ServiceName"`
	QuotaArn    string  `json:"QuotaArn"`
	QuotaCode   string  `json:"QuotaCode"`
	QuotaName   string  `json:"QuotaName"`
	Value       float64 `json:"Value"`
	Unit        string  `json:"Unit"`
	Adjustable  bool    `json:"Adjustable"`
	GlobalQuota bool    `json:"GlobalQuota"`
}

// quotas are the account's limits in vCPUs in the request's region, for each
// family and market the least that holds. Where the world sets none, none is told.
func (q *request) quotas() []serviceQuota {
	var out []serviceQuota
	for _, f := range families {
		for _, m := range []struct {
			market bridge.Market
			code   code
		}{{bridge.OnDemand, f.onDemand}, {bridge.Spot, f.spot}} {
			least, found := 0, false
			if m.code.code == "" {
				continue
			}
			for _, limit := range q.Quotas() {
				if (limit.Region == "" || limit.Region == q.Region) && (limit.Market == "" || limit.Market == string(m.market)) &&
					(limit.Family == "" || limit.Family == f.name) && (!found || limit.VCPUs < least) {
					least, found = limit.VCPUs, true
				}
			}
			if found {
				out = append(out, serviceQuota{
					ServiceCode: "ec2", ServiceName: "Amazon Elastic Compute Cloud (Amazon EC2)",
					QuotaArn:  "arn:aws:servicequotas:" + q.Region + ":" + q.owner() + ":ec2/" + m.code.code,
					QuotaCode: m.code.code, QuotaName: m.code.name, Value: float64(least), Unit: "None", Adjustable: true,
				})
			}
		}
	}
	return out
}

type serviceQuotaList struct {
	Quotas    []serviceQuota `json:"Quotas"`
	NextToken string         `json:"NextToken,omitempty"`
}

type oneServiceQuota struct {
	Quota serviceQuota `json:"Quota"`
}

func (q *request) listQuotas() (any, *Refusal) {
	if q.str("ServiceCode") != "ec2" {
		return nil, refuse("NoSuchResourceException", "The service %.80s has no quotas here", q.str("ServiceCode"))
	}
	all := []serviceQuota{}
	for _, one := range q.quotas() {
		if !q.has("QuotaCode") || q.str("QuotaCode") == one.QuotaCode {
			all = append(all, one)
		}
	}
	page, next, no := pageOf(q, all, 100)
	if no != nil {
		return nil, refuse("InvalidPaginationTokenException", "The pagination token is invalid")
	}
	return serviceQuotaList{page, next}, nil
}

func (q *request) getQuota() (any, *Refusal) {
	for _, one := range q.quotas() {
		if q.str("ServiceCode") == "ec2" && q.str("QuotaCode") == one.QuotaCode {
			return oneServiceQuota{one}, nil
		}
	}
	return nil, refuse("NoSuchResourceException", "The request failed because the specified service quota does not exist.")
}
