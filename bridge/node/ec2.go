package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"spillway.sh/spillway/bridge"
)

// EC2 is the metadata service of AWS, and of what is shaped after it: the local
// cloud, and OpenStack as far as the machine's id goes.
type EC2 struct{ meta tokened }

// LinkLocal is where most clouds have their metadata service.
const LinkLocal = "http://169.254.169.254"

// NewEC2 asks the service at a base URL.
func NewEC2(base string) *EC2 {
	return &EC2{tokened{metadata: newMetadata(base), lifeHeader: "X-aws-ec2-metadata-token-ttl-seconds", header: "X-aws-ec2-metadata-token"}}
}

// Name implements Cloud.
func (*EC2) Name() string { return "ec2" }

// Every implements Cloud. A spot machine has two minutes.
func (*EC2) Every() time.Duration { return time.Second }

// Identify returns the instance id.
func (c *EC2) Identify(ctx context.Context) (string, error) {
	return c.meta.get(ctx, "/latest/meta-data/instance-id")
}

const (
	sourceEC2Action    = "spot/instance-action"
	sourceEC2Rebalance = "events/recommendations/rebalance"
)

// Look reads the interruption notice, and else the advice that comes earlier.
func (c *EC2) Look(ctx context.Context) (*bridge.Warning, error) {
	text, err := c.meta.get(ctx, "/latest/meta-data/"+sourceEC2Action)
	if err == nil {
		return readEC2Action(text)
	}
	if !errors.Is(err, errAbsent) {
		return nil, err
	}
	text, err = c.meta.get(ctx, "/latest/meta-data/"+sourceEC2Rebalance)
	switch {
	case errors.Is(err, errAbsent):
		return nil, nil
	case err != nil:
		return nil, err
	}
	var said struct {
		NoticeTime string `json:"noticeTime"`
	}
	if err := json.Unmarshal([]byte(text), &said); err != nil {
		return nil, fmt.Errorf("read %s %.120q: %w", sourceEC2Rebalance, text, err)
	}
	return &bridge.Warning{Source: sourceEC2Rebalance, Advice: true}, nil
}

// readEC2Action reads the notice. Terminate, stop and hibernate all take the
// machine away. A time that cannot be read does not make the notice less true.
func readEC2Action(text string) (*bridge.Warning, error) {
	var said struct {
		Action string `json:"action"`
		Time   string `json:"time"`
	}
	if err := json.Unmarshal([]byte(text), &said); err != nil || said.Action == "" {
		return nil, fmt.Errorf("read %s: %.120q is no notice", sourceEC2Action, text)
	}
	at, err := time.Parse(time.RFC3339, said.Time)
	if err != nil {
		at = time.Time{}
	}
	return &bridge.Warning{Source: sourceEC2Action, At: at.UTC()}, nil
}

// Expires reads the machine's own tag.
func (c *EC2) Expires(ctx context.Context) (time.Time, error) {
	text, err := c.meta.get(ctx, "/latest/meta-data/tags/instance/spillway-expires")
	switch {
	case errors.Is(err, errAbsent):
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, err
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("read tag spillway-expires: %w", err)
	}
	return t.UTC(), nil
}
