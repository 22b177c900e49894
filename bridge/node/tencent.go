package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"spillway.sh/spillway/bridge"
)

// Tencent is the metadata service of Tencent Cloud's CVM.
type Tencent struct{ meta *metadata }

// TencentBase is where it answers, whatever names the machine can resolve.
const TencentBase = "http://169.254.0.23"

// NewTencent asks the service at a base URL.
func NewTencent(base string) *Tencent { return &Tencent{newMetadata(base)} }

// Name implements Cloud.
func (*Tencent) Name() string { return "tencent" }

// Every implements Cloud. A spot machine has two minutes.
func (*Tencent) Every() time.Duration { return time.Second }

func (c *Tencent) get(ctx context.Context, path string) (string, error) {
	a, err := c.meta.ask(ctx, http.MethodGet, "/latest/meta-data/"+path, metadataLimit, "Host", "metadata.tencentyun.com")
	if err != nil {
		return "", err
	}
	return a.value()
}

// Identify returns the instance id.
func (c *Tencent) Identify(ctx context.Context) (string, error) { return c.get(ctx, "instance-id") }

const (
	sourceTencent = "spot/termination-time"
	tencentTime   = "2006-01-02 15:04:05"
)

// china is UTC+8, in which the time is written, without saying so.
var china = time.FixedZone("UTC+8", 8*60*60)

// Look reads the time of the taking, which is there once it is known.
func (c *Tencent) Look(ctx context.Context) (*bridge.Warning, error) {
	text, err := c.get(ctx, sourceTencent)
	if errors.Is(err, errAbsent) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	at, err := time.ParseInLocation(tencentTime, text, china)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", sourceTencent, err)
	}
	return &bridge.Warning{Source: sourceTencent, At: at.UTC()}, nil
}

// Expires implements Cloud: machines do not see their tags.
func (*Tencent) Expires(context.Context) (time.Time, error) { return time.Time{}, nil }
