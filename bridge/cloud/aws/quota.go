package aws

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"

	"spillway.sh/spillway/bridge"
)

// quota is how many vCPUs of some families of types an account may have in a
// region and market.
type quota struct {
	name   string
	market bridge.Market
	words  []string // families it is for, in small letters: p, p4, g, vt
	vcpus  int
}

var (
	onDemandQuota = regexp.MustCompile(`^Running On-Demand (.+) instances$`)
	spotQuota     = regexp.MustCompile(`^All (.+) Spot Instance Requests$`)
	quotaWord     = regexp.MustCompile(`[A-Za-z]+[0-9]*`)
	typeFamily    = regexp.MustCompile(`^([a-z]+)([0-9]*)`)
)

// readQuota reads from its name what a quota is for: their codes are many, and new
// families get new ones.
func readQuota(name string, value float64) (quota, bool) {
	q := quota{name: name, vcpus: int(value)}
	families := ""
	switch on, spot := onDemandQuota.FindStringSubmatch(name), spotQuota.FindStringSubmatch(name); {
	case on != nil:
		q.market, families = bridge.OnDemand, on[1]
	case spot != nil:
		q.market, families = bridge.Spot, spot[1]
	default:
		return q, false
	}
	for _, w := range quotaWord.FindAllString(families, -1) {
		switch w = strings.ToLower(w); w {
		case "and", "standard", "high", "memory":
		default:
			q.words = append(q.words, w)
		}
	}
	return q, len(q.words) > 0
}

// covers says how closely a quota is for a type: 2 for its generation, 1 for its
// family, 0 not at all.
func (q *quota) covers(typ string) int {
	m := typeFamily.FindStringSubmatch(typ)
	if m == nil {
		return 0
	}
	letters, best := m[1], 0
	for _, w := range q.words {
		switch w {
		case letters + m[2]:
			return 2
		case letters:
			best = 1
		}
	}
	return best
}

// quotaOf is the quota that a type is counted under; nil: it is not known.
func quotaOf(all []quota, market bridge.Market, typ string) *quota {
	var best *quota
	most := 0
	for i := range all {
		if q := &all[i]; q.market == market {
			if n := q.covers(typ); n > most {
				best, most = q, n
			}
		}
	}
	return best
}

// readQuotas are the quotas of a region.
func (c *Cloud) readQuotas(ctx context.Context, r *region, op string) ([]quota, time.Time, error) {
	return r.quotas.get(ctx, c.config.Now, quotaAge, func(ctx context.Context) ([]quota, error) {
		var out []quota
		in := &servicequotas.ListServiceQuotasInput{ServiceCode: aws.String("ec2"), MaxResults: aws.Int32(100)}
		for range pagesLimit {
			page, err := ask(ctx, c, r, op, r.lanes.list, func(ctx context.Context, s *services) (*servicequotas.ListServiceQuotasOutput, error) {
				return s.quotas.ListServiceQuotas(ctx, in)
			})
			if err != nil {
				return nil, err
			}
			for _, q := range page.Quotas {
				if got, ok := readQuota(aws.ToString(q.QuotaName), aws.ToFloat64(q.Value)); ok {
					out = append(out, got)
				}
			}
			if aws.ToString(page.NextToken) == "" {
				break
			}
			in.NextToken = page.NextToken
		}
		return out, nil
	})
}

// inUse counts the vCPUs of all machines of the account in a region, ours or not,
// by market and type.
func (c *Cloud) inUse(ctx context.Context, r *region, op string, kinds map[string]kind) (map[bridge.Market]map[string]int, time.Time, error) {
	return r.used.get(ctx, c.config.Now, usedAge, func(ctx context.Context) (map[bridge.Market]map[string]int, error) {
		found, err := c.machines(ctx, r, op, filter("instance-state-name", "pending", "running", "shutting-down"))
		if err != nil {
			return nil, err
		}
		out := map[bridge.Market]map[string]int{bridge.OnDemand: {}, bridge.Spot: {}}
		for i := range found {
			m, market := &found[i], bridge.OnDemand
			if m.InstanceLifecycle == types.InstanceLifecycleTypeSpot {
				market = bridge.Spot
			}
			n := kinds[string(m.InstanceType)].vcpus
			if o := m.CpuOptions; n == 0 && o != nil {
				n = int(aws.ToInt32(o.CoreCount) * aws.ToInt32(o.ThreadsPerCore))
			}
			out[market][string(m.InstanceType)] += n
		}
		return out, nil
	})
}

// limit lowers what is said to be available to what quotas leave. Where they
// cannot be read nothing is known of it, which stops nobody.
func (c *Cloud) limit(ctx context.Context, r *region, kinds map[string]kind, offers []bridge.Offer) {
	quotas, at, err := c.readQuotas(ctx, r, opOffers)
	c.warn("quotas of "+r.Name, err)
	if at.IsZero() || len(quotas) == 0 || len(offers) == 0 {
		return
	}
	used, at, err := c.inUse(ctx, r, opOffers, kinds)
	if at.IsZero() || err != nil {
		return
	}
	for i := range offers {
		o := &offers[i]
		q := quotaOf(quotas, o.Pool.Market, o.Pool.Type)
		if q == nil {
			continue
		}
		left := q.vcpus
		for typ, n := range used[o.Pool.Market] {
			if quotaOf(quotas, o.Pool.Market, typ) == q {
				left -= n
			}
		}
		o.Available, o.Limited = max(left, 0)/max(kinds[o.Pool.Type].vcpus, 1), q.name
	}
}
