package engine

import (
	"errors"
	"maps"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// replies are the last ones of clouds, for people: nothing is decided by them.
// They are kept by the key of their call, or create/POOL.
type replies map[string]bridge.Reply

// note keeps one more answer.
func (r replies) note(key string, now time.Time, err error) {
	op, _, _ := strings.Cut(key, "/")
	r[key] = r[key].Next(op, now, err)
}

// rests notes until when a call that failed is not made again.
func (r replies) rests(key string, until time.Time) {
	last := r[key]
	last.Until = until
	r[key] = last
}

// refused keeps why a pool gave no machines. What came of a launch without a
// word of the cloud has a kind and no code.
func (r replies) refused(p bridge.Pool, now time.Time, kind bridge.CloudErrorKind, cause error) {
	if _, own := errors.AsType[*bridge.CloudError](cause); !own {
		text := ""
		if cause != nil {
			text = cause.Error()
		}
		cause = &bridge.CloudError{Kind: kind, Op: "create", Cloud: p.Cloud, Message: text}
	}
	r.note("create/"+p.String(), now, cause)
}

// shown is a copy for others.
func (r replies) shown() map[string]bridge.Reply { return maps.Clone(r) }

// provided puts what the site says of a cloud on its offers.
func (e *Engine) provided(cloud string, offers []bridge.Offer) []bridge.Offer {
	p, said := e.o.Providers[cloud]
	if !said {
		return offers
	}
	out := make([]bridge.Offer, len(offers))
	for i := range offers {
		out[i] = p.On(offers[i])
	}
	return out
}
