package desk

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// cloudWords says how clouds and pools are; its twin is cloudWordsChinese. {name}
// is a fact, and a part in [brackets] is left out when its fact is not known.
var cloudWords = map[string]string{
	string(CloudAnswers): "answers",
	string(CloudFails):   "fails",
	string(CloudEmpty):   "offers nothing",
	string(CloudUnasked): "not asked yet",

	"pool-ready":       "ready",
	"pool-resting":     "rests {span}",
	"pool-sold-out":    "sold out",
	"pool-no-quota":    "no quota left",
	"pool-no-price":    "price too old",
	"pool-not-offered": "not offered",

	"fails-offers": "its offers could not be had[, {times} times in a row][, last {ago} ago]: {kind}[ ({code})][: {said}].[ Asked again in {span}.][ They were last had {good} ago.]",
	"fails-both":   "neither its offers nor its machines could be read[, {times} times in a row][, last {ago} ago]: {kind}[ ({code})][: {said}].[ Asked again in {span}.][ Last read {good} ago.]",
	"fails-list":   "its machines could not be listed[, {times} times in a row][, last {ago} ago]: {kind}[ ({code})][: {said}].[ Asked again in {span}.][ They were last listed {good} ago.]",

	"refused":       "{pool}: {kind}[ ({code})][, {times} times in a row][, last {ago} ago]; asked again in {span}.",
	"licence-soon":  "{name}[ ({number})] ends on {day}, in {span}: renew it, or jobs that need it go elsewhere.",
	"licence-ended": "{name}[ ({number})] ended on {day}: jobs that need it go elsewhere.",
	"no-fresh":      "None of its prices is fresh enough to buy at.",

	"all": "all of {of}",

	"market-spot": "spot", "market-on-demand": "on-demand", "market-reserved": "reserved",

	"no-capacity": "sold out", "quota": "quota reached", "price": "dearer than the ceiling", "denied": "access denied",
	"invalid": "request refused as invalid", "mismatch": "token used before", "throttled": "asked too often",
	"not-found": "not found", "unknown": "no clear answer",
}

func (l Lang) cloud(key string, facts map[string]string) string {
	words := cloudWords
	if l == Chinese {
		words = cloudWordsChinese
	}
	return fill(words[key], facts)
}

// CloudKind says what an error of a cloud means, in a few words.
func (l Lang) CloudKind(k bridge.CloudErrorKind) string { return l.cloud(string(k), nil) }

// note says what somebody should know of a cloud, the worst first.
func (c *CloudStand) note(now time.Time, lang Lang) {
	say := func(key string, facts map[string]string) { c.Notes = append(c.Notes, lang.cloud(key, facts)) }
	for _, r := range failing(c.Replies) {
		say("fails-"+r.Op, replyFacts(&r, now, lang))
	}
	for i := range c.Attributes {
		a := &c.Attributes[i]
		if a.Validity == bridge.Valid {
			continue
		}
		facts := map[string]string{"name": a.Name, "number": a.Number, "day": a.Until.UTC().Format(time.DateOnly), "span": Span(a.Until.Sub(now))}
		if a.Validity == bridge.Ended {
			say("licence-ended", facts)
		} else {
			say("licence-soon", facts)
		}
	}
	if c.Offers > 0 && c.Fresh == 0 {
		say("no-fresh", nil)
	}
}

// refusals says which pools rest and why. One that is of a region or a whole
// cloud is said once.
func (c *CloudStand) refusals(s *bridge.Snapshot, replies map[string]bridge.Reply, now time.Time, lang Lang) {
	for i := range s.Pools {
		h := &s.Pools[i]
		shown := slices.ContainsFunc(c.Pools, func(p PoolStand) bool { return h.Pool.Covers(p.Pool) })
		if h.Pool.Cloud != c.Name || !now.Before(h.DownUntil) || !shown {
			continue
		}
		r, known := replies["create/"+h.Pool.String()]
		if !known || r.Kind == "" || h.At.After(r.At) {
			r = replyOf(h)
		}
		r.Failures = max(r.Failures, h.Failures) // those of before a restart, too
		facts := replyFacts(&r, now, lang)
		facts["pool"], facts["span"] = lang.PoolName(h.Pool), Span(h.DownUntil.Sub(now))
		c.Notes = append(c.Notes, lang.cloud("refused", facts))
	}
}

// failing are the replies that are no good ones. Two that say the same are one,
// of both.
func failing(replies []bridge.Reply) []bridge.Reply {
	var out []bridge.Reply
	for _, r := range replies {
		switch {
		case r.Kind == "":
		case len(out) == 1 && out[0].Kind == r.Kind && out[0].Code == r.Code && out[0].Text == r.Text:
			out[0].Op = "both"
		default:
			out = append(out, r)
		}
	}
	return out
}

func replyFacts(r *bridge.Reply, now time.Time, lang Lang) map[string]string {
	f := map[string]string{"kind": lang.CloudKind(r.Kind), "code": r.Code, "said": oneLine(r.Text)}
	if r.Failures > 1 {
		f["times"] = strconv.Itoa(r.Failures)
	}
	if !r.At.IsZero() {
		f["ago"] = Span(now.Sub(r.At))
	}
	if r.Until.After(now) {
		f["span"] = Span(r.Until.Sub(now))
	}
	if !r.Good.IsZero() {
		f["good"] = Span(now.Sub(r.Good))
	}
	return f
}

// oneLine is the first line of what a cloud said, without the stop at its end and
// no longer than people read.
func oneLine(s string) string {
	const most = 160
	r := []rune(s)
	for i, c := range r {
		if c == '\n' || c == '\r' {
			r = r[:i]
			break
		}
	}
	for len(r) > 0 && (r[len(r)-1] == '.' || r[len(r)-1] == ' ') {
		r = r[:len(r)-1]
	}
	if len(r) > most {
		return string(r[:most]) + "…"
	}
	return string(r)
}

// PoolName says a pool without its cloud: where, what, how. One that stands for
// several is all of them.
func (l Lang) PoolName(p bridge.Pool) string {
	if p.Type == "" {
		return l.cloud("all", map[string]string{"of": cmp.Or(p.Zone, p.Region, p.Cloud)})
	}
	words := []string{cmp.Or(p.Zone, p.Region), p.Type, l.cloud("market-"+string(p.Market), nil)}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}
