package aws

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"spillway.sh/spillway/bridge"
)

// instances are machines of a region in our words. While one of them is a spot
// machine that lives, notices are looked for.
func (c *Cloud) instances(ctx context.Context, r *region, list []types.Instance) []bridge.Instance {
	out := make([]bridge.Instance, 0, len(list))
	spot := false
	for i := range list {
		m := c.instance(r, &list[i])
		spot = spot || m.Pool.Market == bridge.Spot && m.State != bridge.InstanceGone
		out = append(out, m)
	}
	if !spot {
		return out
	}
	noted := c.notices(ctx, r)
	for i := range out {
		if n, ok := noted[out[i].ID]; ok {
			out[i].NoticeAt, out[i].ReclaimAt = n.said, n.ends
		}
	}
	return out
}

func (c *Cloud) instance(r *region, m *types.Instance) bridge.Instance {
	out := bridge.Instance{
		ID: aws.ToString(m.InstanceId), State: stateOf(m), Address: aws.ToString(m.PrivateIpAddress), Token: aws.ToString(m.ClientToken),
		Launched: aws.ToTime(m.LaunchTime).UTC(), Tags: tagsOut(m.Tags),
		Pool: bridge.Pool{Cloud: c.config.Name, Region: r.Name, Type: string(m.InstanceType), Market: bridge.OnDemand},
	}
	if m.Placement != nil {
		out.Pool.Zone = aws.ToString(m.Placement.AvailabilityZone)
	}
	if m.InstanceLifecycle == types.InstanceLifecycleTypeSpot {
		out.Pool.Market = bridge.Spot
	}
	out.Rate = r.rate(out.Pool)
	why := reasonOf(m)
	if out.State == bridge.InstanceGone {
		out.Stopped = stoppedOf(m, out.Launched)
	}
	if why.ownFault {
		out.Fault = strings.TrimSuffix(why.code+": "+why.text, ": ")
	}
	if why.code == codeReclaimed && out.State == bridge.InstanceGone && !out.Stopped.IsZero() {
		out.NoticeAt, out.ReclaimAt = out.Stopped, out.Stopped // that it was taken is said now at the latest
	}
	return out
}

// tagsOut leaves out what AWS puts on machines by itself.
func tagsOut(tags []types.Tag) map[string]string {
	out := make(map[string]string, len(tags))
	for _, t := range tags {
		if key := aws.ToString(t.Key); !strings.HasPrefix(key, "aws:") {
			out[key] = aws.ToString(t.Value)
		}
	}
	return out
}

// stateOf maps a machine's state. A word that is not known may cost money, so it
// is taken for running. What is stopped still has its disks, and goes when it is
// told to.
func stateOf(m *types.Instance) bridge.InstanceState {
	if m.State == nil {
		return bridge.InstancePending
	}
	switch m.State.Name {
	case types.InstanceStateNamePending:
		return bridge.InstancePending
	case types.InstanceStateNameShuttingDown, types.InstanceStateNameStopping, types.InstanceStateNameStopped:
		return bridge.InstanceStopping
	case types.InstanceStateNameTerminated:
		return bridge.InstanceGone
	case types.InstanceStateNameRunning:
	}
	return bridge.InstanceRunning
}

// reason is why a machine ends or has ended.
type reason struct {
	code, text string
	ownFault   bool // nobody wanted it to
}

const codeReclaimed = "SpotInstanceTermination"

// reasonOf reads EC2's reason. What a customer or the machine itself asked for is
// no fault.
func reasonOf(m *types.Instance) reason {
	if m.StateReason == nil {
		return reason{}
	}
	whole := aws.ToString(m.StateReason.Code)
	side, code, ok := strings.Cut(whole, ".")
	if !ok {
		side, code = "", whole
	}
	text := strings.TrimSpace(strings.TrimPrefix(aws.ToString(m.StateReason.Message), whole+":"))
	switch code {
	case "", "UserInitiatedShutdown", "UserInitiatedHibernate", "InstanceInitiatedShutdown", "InstanceTerminated", "pending", "running":
		return reason{code: code, text: text}
	case "SpotInstanceShutdown":
		code = codeReclaimed
	}
	return reason{code: code, text: clip(text), ownFault: side != "" || code == codeReclaimed}
}

var endedAt = regexp.MustCompile(`\((\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?:GMT|UTC)\)`)

// stoppedOf is when a machine ended, which EC2 writes into a text; zero: it did
// not.
func stoppedOf(m *types.Instance, launched time.Time) time.Time {
	found := endedAt.FindStringSubmatch(aws.ToString(m.StateTransitionReason))
	if found == nil {
		return time.Time{}
	}
	at, err := time.Parse(time.DateTime, found[1])
	if err != nil {
		return time.Time{}
	}
	if at.Before(launched) { // the text has whole seconds
		return launched
	}
	return at.UTC()
}
