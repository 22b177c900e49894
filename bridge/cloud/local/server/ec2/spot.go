package ec2

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

const productLinux = "Linux/UNIX"

type spotPrice struct {
	Type    string `xml:"instanceType"`
	Product string `xml:"productDescription"`
	Price   string `xml:"spotPrice"`
	At      string `xml:"timestamp"`
	Zone    string `xml:"availabilityZone"`
}

type describeSpotPrices struct {
	head
	Prices []spotPrice `xml:"spotPriceHistorySet>item"`
	Next   string      `xml:"nextToken,omitempty"`
}

// decimals is an amount as EC2 writes prices.
func decimals(micro int64) string {
	return fmt.Sprintf("%d.%06d", micro/bridge.Micro, micro%bridge.Micro)
}

// describeSpotPrices tells the prices that changed in a span of time, and the
// one that held at its start; the latest first.
func (q *request) describeSpotPrices() (any, *Refusal) {
	filters, no := q.filters("availability-zone", "instance-type", "product-description", "spot-price", "timestamp")
	if no != nil {
		return nil, no
	}
	zone := q.str("AvailabilityZone")
	if zone != "" && !slices.Contains(q.zones(), zone) {
		return nil, refuse("InvalidParameterValue", "Invalid availability zone: [%s]", zone)
	}
	now := q.Now()
	from, to := q.moment(now, "StartTime"), q.moment(now, "EndTime")
	if to.After(now) {
		to = now
	}
	var all []dated
	for _, o := range q.pools {
		if !q.priced(o.Pool) {
			continue
		}
		for _, m := range q.History(o.Pool, from, to) {
			if one := (dated{spotPrice{o.Pool.Type, productLinux, decimals(m.Micro), stamp(m.At), o.Pool.Zone}, m.At}); one.attributes().pass(filters) {
				all = append(all, one)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b dated) int { return b.at.Compare(a.at) })
	page, next, no := pageOf(q, all, 1000)
	out := &describeSpotPrices{Next: next}
	for _, one := range page {
		out.Prices = append(out.Prices, one.spotPrice)
	}
	return out, no
}

// priced says whether a request asks for the prices of a pool.
func (q *request) priced(p wire.Pool) bool {
	zone, products := q.str("AvailabilityZone"), q.texts("ProductDescription")
	return p.Region == q.Region && p.Market == string(bridge.Spot) && chosen(q.texts("InstanceType"), p.Type) &&
		(zone == "" || zone == p.Zone) && (chosen(products, productLinux) || slices.Contains(products, productLinux+" (Amazon VPC)"))
}

// dated is a price with its time, to be put in order.
type dated struct {
	spotPrice
	at time.Time
}

func (p *spotPrice) attributes() attributes {
	return attributes{
		"availability-zone": {p.Zone}, "instance-type": {p.Type}, "product-description": {p.Product}, "spot-price": {p.Price}, "timestamp": {p.At},
	}
}

// moment is a time that a request gives, or another.
func (q *request) moment(otherwise time.Time, name string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, q.str(name))
	if err != nil {
		return otherwise // The model has refused what is no time.
	}
	return at
}

type placementScore struct {
	Region string `xml:"region"`
	ZoneID string `xml:"availabilityZoneId,omitempty"`
	Score  int    `xml:"score"`
}

type placementScores struct {
	head
	Scores []placementScore `xml:"spotPlacementScoreSet>item"`
	Next   string           `xml:"nextToken,omitempty"`
}

// placementScores rates places by what is left there: ten where twice as much as
// is wanted could be had, one where there is nothing.
func (q *request) placementScores() (any, *Refusal) {
	kinds, regions := q.texts("InstanceType"), q.texts("RegionName")
	target := q.num(1, "TargetCapacity")
	switch {
	case len(kinds) == 0:
		return nil, refuse("MissingParameter", "The request must contain the parameter InstanceType")
	case q.has("TargetCapacityUnitType") && q.str("TargetCapacityUnitType") != "units":
		return nil, refuse("UnsupportedOperation", "capacity is counted in units by the local cloud")
	}
	for _, want := range regions {
		if !slices.Contains(q.regions(), want) {
			return nil, refuse("InvalidParameterValue", "Invalid region names: [%s]", want)
		}
	}
	single := q.str("SingleAvailabilityZone") == "true"
	left := map[placementScore]int{}
	var order []placementScore
	for _, o := range q.pools {
		if o.Pool.Market != string(bridge.Spot) || !slices.Contains(kinds, o.Pool.Type) || !chosen(regions, o.Pool.Region) {
			continue
		}
		place := placementScore{Region: o.Pool.Region}
		if single {
			place.ZoneID = q.zoneID(o.Pool.Region, o.Pool.Zone)
		}
		if !slices.Contains(order, place) {
			order = append(order, place)
		}
		left[place] += q.Left(o.Pool)
	}
	for i, place := range order {
		order[i].Score = min(10, max(1, 5*left[place]/target))
	}
	slices.SortStableFunc(order, func(a, b placementScore) int { return cmp.Compare(b.Score, a.Score) })
	out := &placementScores{}
	var no *Refusal
	out.Scores, out.Next, no = pageOf(q, order, 1000)
	return out, no
}

type spotRequest struct {
	ID        string     `xml:"spotInstanceRequestId"`
	Price     string     `xml:"spotPrice"`
	Type      string     `xml:"type"`
	State     string     `xml:"state"`
	Status    spotStatus `xml:"status"`
	Instance  string     `xml:"instanceId"`
	Created   string     `xml:"createTime"`
	Product   string     `xml:"productDescription"`
	Zone      string     `xml:"launchedAvailabilityZone"`
	Behaviour string     `xml:"instanceInterruptionBehavior"`
}

type spotStatus struct {
	Code    string `xml:"code"`
	Message string `xml:"message"`
	Updated string `xml:"updateTime"`
}

type describeSpotRequests struct {
	head
	Requests []spotRequest `xml:"spotInstanceRequestSet>item"`
	Next     string        `xml:"nextToken,omitempty"`
}

// spotRequestOf is the request behind a spot machine. A notice is to be seen in
// its status.
func spotRequestOf(m *Machine) spotRequest {
	out := spotRequest{
		ID: spotRequestID(m.ID), Price: decimals(m.MaxRate.Micro), Type: "one-time", State: "active", Instance: m.ID, Created: stamp(m.Launched),
		Product: productLinux, Zone: m.Pool.Zone, Behaviour: "terminate",
		Status: spotStatus{"fulfilled", "Your Spot request is fulfilled.", stamp(m.Launched)},
	}
	switch {
	case m.State == wire.StateError:
		out.State, out.Status = "closed", spotStatus{"system-error", "There was an unexpected system error.", stamp(m.Stopped)}
	case m.Ended == "reclaimed":
		out.State, out.Status = "closed", spotStatus{"instance-terminated-no-capacity", "Your Spot Instance was terminated because there is no Spot capacity available.", stamp(m.Stopped)}
	case m.Ended != "":
		out.State, out.Status = "closed", spotStatus{"instance-terminated-by-user", "Your Spot Instance was terminated at your request.", stamp(m.Stopped)}
	case !m.NoticeAt.IsZero():
		out.Status = spotStatus{"marked-for-termination", "Your Spot Instance is marked for termination.", stamp(m.NoticeAt)}
	}
	return out
}

func (q *request) describeSpotRequests() (any, *Refusal) {
	filters, no := q.filters("instance-id", "spot-instance-request-id", "state", "status-code", "launched-availability-zone", "type")
	if no != nil {
		return nil, no
	}
	machines, no := q.listed()
	if no != nil {
		return nil, no
	}
	wanted := q.texts("SpotInstanceRequestId")
	var all []spotRequest
	for i := range machines {
		if machines[i].Pool.Market != string(bridge.Spot) {
			continue
		}
		one := spotRequestOf(&machines[i])
		a := attributes{
			"instance-id": {one.Instance}, "spot-instance-request-id": {one.ID}, "state": {one.State}, "status-code": {one.Status.Code},
			"launched-availability-zone": {one.Zone}, "type": {one.Type},
		}
		if chosen(wanted, one.ID) && a.pass(filters) {
			all = append(all, one)
		}
	}
	for _, want := range wanted {
		if !slices.ContainsFunc(machines, func(m Machine) bool { return spotRequestID(m.ID) == want }) {
			return nil, refuse("InvalidSpotInstanceRequestID.NotFound", "The spot instance request ID '%s' does not exist", want)
		}
	}
	out := &describeSpotRequests{}
	out.Requests, out.Next, no = pageOf(q, all, pageMost)
	return out, no
}
