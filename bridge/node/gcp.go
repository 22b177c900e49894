package node

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// GCP is the metadata service of Google Compute Engine.
type GCP struct {
	meta *metadata
	etag string    // of the answer heard last
	at   time.Time // of the taking; zero: no notice
}

// NewGCP asks the service at a base URL.
func NewGCP(base string) *GCP { return &GCP{meta: newMetadata(base)} }

// Name implements Cloud.
func (*GCP) Name() string { return "gcp" }

// Every implements Cloud. The pause is short: a look waits for a change.
func (*GCP) Every() time.Duration { return 100 * time.Millisecond }

const (
	flavor, flavorGoogle = "Metadata-Flavor", "Google"
	sourceGCP            = "instance/preempted"
	// gcpLead is how long a machine has after the notice, as documented.
	gcpLead = 30 * time.Second
	// gcpWait is how long a look waits for a change.
	gcpWait = 30 * time.Second
)

// get returns an answer that the service really gave: it shows the flavour too.
func (c *GCP) get(ctx context.Context, path string, limit time.Duration) (answer, error) {
	a, err := c.meta.ask(ctx, http.MethodGet, "/computeMetadata/v1/"+path, limit, flavor, flavorGoogle)
	if err == nil && a.header.Get(flavor) != flavorGoogle {
		err = fmt.Errorf("what answers (%d) is not Google's metadata service", a.status)
	}
	return a, err
}

// Identify returns the numeric id, which is never used twice.
func (c *GCP) Identify(ctx context.Context) (string, error) {
	a, err := c.get(ctx, "instance/id", metadataLimit)
	if err != nil {
		return "", err
	}
	return a.value()
}

// Look asks whether the machine is being preempted; after the first time it
// waits for a change. When it is taken is not said: the documented lead counts
// from when the notice was first seen.
func (c *GCP) Look(ctx context.Context) (*bridge.Warning, error) {
	path, limit := sourceGCP, metadataLimit
	if c.etag != "" {
		q := url.Values{"wait_for_change": {"true"}, "timeout_sec": {fmt.Sprint(int(gcpWait.Seconds()))}, "last_etag": {c.etag}}
		path, limit = path+"?"+q.Encode(), gcpWait+metadataLimit
	}
	a, err := c.get(ctx, path, limit)
	if err != nil {
		c.etag = "" // The next look does not wait.
		return nil, err
	}
	text, err := a.value()
	if err != nil {
		c.etag = ""
		return nil, fmt.Errorf("read %s: %w", sourceGCP, err)
	}
	switch strings.ToUpper(text) {
	case "TRUE":
		if c.etag = a.header.Get("ETag"); c.at.IsZero() {
			c.at = time.Now().UTC().Add(gcpLead)
		}
		return &bridge.Warning{Source: sourceGCP, At: c.at}, nil
	case "FALSE":
		c.etag, c.at = a.header.Get("ETag"), time.Time{}
		return nil, nil
	}
	c.etag = ""
	return nil, fmt.Errorf("read %s: %.120q is neither TRUE nor FALSE", sourceGCP, text)
}

// Expires implements Cloud: machines do not see their labels.
func (*GCP) Expires(context.Context) (time.Time, error) { return time.Time{}, nil }
