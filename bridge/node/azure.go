package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// Azure is the metadata service of Azure with its Scheduled Events.
type Azure struct {
	meta *metadata
	name string // of the machine, as events name it
	at   time.Time
	on   bool // Scheduled Events have answered once
}

// NewAzure asks the service at a base URL.
func NewAzure(base string) *Azure { return &Azure{meta: newMetadata(base)} }

// Name implements Cloud.
func (*Azure) Name() string { return "azure" }

// Every implements Cloud: once a second, as the provider asks for.
func (*Azure) Every() time.Duration { return time.Second }

const (
	azureInstance = "/metadata/instance/compute/"
	azureFormat   = "?api-version=2021-02-01&format=text"
	azureEvents   = "/metadata/scheduledevents?api-version=2020-07-01"
	sourceAzure   = "scheduledevents/Preempt"
	// azureFirst is how long the first question may take: it switches the events
	// on, which lasts up to two minutes.
	azureFirst = 2*time.Minute + 10*time.Second
	// azureLead is the least warning, as documented.
	azureLead = 30 * time.Second
)

// Identify returns the machine's resource id, in small letters: the provider
// writes it in several ways.
func (c *Azure) Identify(ctx context.Context) (string, error) {
	id, err := c.text(ctx, "resourceId")
	if err == nil && !strings.HasPrefix(strings.ToLower(id), "/subscriptions/") {
		err = fmt.Errorf("%.120q is no resource id", id)
	}
	if err != nil {
		return "", err
	}
	if c.name, err = c.text(ctx, "name"); err != nil {
		return "", err
	}
	return strings.ToLower(id), nil
}

func (c *Azure) text(ctx context.Context, what string) (string, error) {
	a, err := c.meta.ask(ctx, http.MethodGet, azureInstance+what+azureFormat, metadataLimit, "Metadata", "true")
	if err != nil {
		return "", err
	}
	return a.value()
}

// azureEvent is one entry of the list of events, which may concern others too.
type azureEvent struct {
	EventType   string
	EventStatus string
	Resources   []string
	NotBefore   string
}

// Look reads the list of events. One that is gone from the list was cancelled,
// or is over.
func (c *Azure) Look(ctx context.Context) (*bridge.Warning, error) {
	limit := metadataLimit
	if !c.on {
		limit = azureFirst
	}
	a, err := c.meta.ask(ctx, http.MethodGet, azureEvents, limit, "Metadata", "true")
	if err != nil {
		return nil, err
	}
	text, err := a.value()
	if err != nil {
		return nil, fmt.Errorf("read scheduled events: %w", err)
	}
	var list struct {
		DocumentIncarnation *int64
		Events              []azureEvent
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("read scheduled events: %w", err)
	}
	if list.DocumentIncarnation == nil {
		return nil, errors.New("read scheduled events: the answer is no list of events")
	}
	c.on = true
	i := slices.IndexFunc(list.Events, c.takes)
	if i < 0 {
		c.at = time.Time{}
		return nil, nil
	}
	return &bridge.Warning{Source: sourceAzure, At: c.when(&list.Events[i])}, nil
}

// takes reports whether an event takes this very machine.
func (c *Azure) takes(e azureEvent) bool {
	mine := func(r string) bool { return strings.EqualFold(strings.TrimPrefix(r, "_"), c.name) }
	return (e.EventType == "Preempt" || e.EventType == "Terminate") && slices.ContainsFunc(e.Resources, mine)
}

// when is the time of an event. One that has started has none; then, or when it
// cannot be read, the documented lead counts from when it was first seen.
func (c *Azure) when(e *azureEvent) time.Time {
	if at, err := http.ParseTime(e.NotBefore); err == nil {
		c.at = at.UTC()
	} else if c.at.IsZero() {
		c.at = time.Now().UTC().Add(azureLead)
	}
	return c.at
}

// Expires implements Cloud: the tag is one of a list that is read as a whole.
func (c *Azure) Expires(ctx context.Context) (time.Time, error) {
	text, err := c.text(ctx, "tags")
	if err != nil {
		return time.Time{}, err
	}
	for pair := range strings.SplitSeq(text, ";") {
		if value, ok := strings.CutPrefix(pair, "spillway-expires:"); ok {
			t, err := time.Parse(time.RFC3339, value)
			if err != nil {
				return time.Time{}, fmt.Errorf("read tag spillway-expires: %w", err)
			}
			return t.UTC(), nil
		}
	}
	return time.Time{}, nil
}
