package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"spillway.sh/spillway/bridge"
)

// Alibaba is the metadata service of Alibaba Cloud's ECS.
type Alibaba struct{ meta tokened }

// AlibabaBase is where it answers.
const AlibabaBase = "http://100.100.100.200"

// NewAlibaba asks the service at a base URL, with session tokens where the
// machine asks for them.
func NewAlibaba(base string) *Alibaba {
	return &Alibaba{tokened{metadata: newMetadata(base), lifeHeader: "X-aliyun-ecs-metadata-token-ttl-seconds", header: "X-aliyun-ecs-metadata-token"}}
}

// Name implements Cloud.
func (*Alibaba) Name() string { return "alibaba" }

// Every implements Cloud. A spot machine has five minutes.
func (*Alibaba) Every() time.Duration { return time.Second }

// Identify returns the instance id.
func (c *Alibaba) Identify(ctx context.Context) (string, error) {
	return c.meta.get(ctx, "/latest/meta-data/instance-id")
}

const sourceAlibaba = "instance/spot/termination-time"

// Look reads the time of the taking, which is there once it is known.
func (c *Alibaba) Look(ctx context.Context) (*bridge.Warning, error) {
	text, err := c.meta.get(ctx, "/latest/meta-data/"+sourceAlibaba)
	if errors.Is(err, errAbsent) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", sourceAlibaba, err)
	}
	return &bridge.Warning{Source: sourceAlibaba, At: at.UTC()}, nil
}

// Expires implements Cloud: machines do not see their tags.
func (*Alibaba) Expires(context.Context) (time.Time, error) { return time.Time{}, nil }
