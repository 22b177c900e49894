package desk

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

// withClouds is a world whose configuration has three clouds: stratus offers, and
// some of its pools do not give; dead refuses us; quiet was not asked yet.
func withClouds(t *testing.T) (*Desk, *world) {
	t.Helper()
	d, w := newWorld(t)
	d.CloudInfos = []CloudInfo{
		{Name: "stratus", Kind: "local", Provider: bridge.Provider{
			Attributes: []bridge.Attribute{
				{Name: "iso27001", Number: "IS 1", Until: noon.Add(10 * 24 * time.Hour)}, {Name: "idc-licence", Until: noon.Add(-time.Hour)}, {Name: "own-data-centre"},
			},
			Network: bridge.NetworkVast, DataRegion: "cn",
		}},
		{Name: "dead", Kind: "plugin"}, {Name: "quiet", Kind: "plugin"},
	}
	denied := &bridge.CloudError{Kind: bridge.CloudDenied, Op: "offers", Cloud: "dead", Code: "AuthFailure", Message: "no such key.\nrequest 17"}
	full := &bridge.CloudError{Kind: bridge.CloudNoCapacity, Op: "create", Cloud: "stratus", Code: "SoldOut", Message: "none left"}
	at := noon.Add(-10 * time.Second)
	d.Replies = func() map[string]bridge.Reply {
		return map[string]bridge.Reply{
			"offers/stratus": bridge.Reply{}.Next("offers", at, nil), "list/stratus": bridge.Reply{}.Next("list", at, nil),
			"offers/dead": bridge.Reply{}.Next("offers", at.Add(-time.Minute), denied).Next("offers", at, denied),
			"list/dead":   bridge.Reply{}.Next("list", at, denied),
			"create/" + w.snap.Offers[0].Pool.String(): bridge.Reply{}.Next("create", at, full),
		}
	}
	w.snap.Pools = []bridge.PoolHealth{
		{Pool: w.snap.Offers[0].Pool, DownUntil: noon.Add(2 * time.Minute), Failures: 3, Code: "SoldOut", At: at, Kind: bridge.CloudNoCapacity},
		{Pool: bridge.Pool{Cloud: "dead", Region: "r", Type: "g8", Market: bridge.OnDemand, Zone: "z"}, DownUntil: noon.Add(time.Minute), Failures: 1, Code: "Old"},
	}
	w.snap.Offers[1].Available, w.snap.Offers[1].Limited = 0, "L-417A185B"
	w.snap.Offers[2].Available = 0
	w.snap.Offers[3].SampledAt = noon.Add(-2 * time.Hour)
	return d, w
}

func (d *Desk) mustSeeClouds(t *testing.T, q CloudsRequest) CloudsAnswer {
	t.Helper()
	a, err := d.Clouds(t.Context(), d.as("ana"), q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestCloudsSayHowTheyAreAndSoDoTheirPools(t *testing.T) {
	d, _ := withClouds(t)
	a := d.mustSeeClouds(t, CloudsRequest{})
	var states []string
	pools := map[string]string{}
	for i := range a.Clouds {
		c := &a.Clouds[i]
		states = append(states, c.Name+" "+string(c.State))
		for j := range c.Pools {
			pools[c.Name+" "+English.PoolName(c.Pools[j].Pool)] = string(c.Pools[j].State) + ": " + c.Pools[j].Text
		}
	}
	if diff := cmp.Diff([]string{"stratus answers", "dead fails", "quiet not-asked"}, states); diff != "" {
		t.Errorf("clouds (-want +got):\n%s", diff)
	}
	want := map[string]string{
		"stratus east-1 gpu8 spot": "resting: rests 2 min", "stratus east-1 gpu8 on-demand": "no-quota: no quota left",
		"stratus east-1 gpu4 on-demand": "sold-out: sold out", "stratus east-1 cpu64 on-demand": "no-price: price too old",
		"dead z g8 on-demand": "not-offered: not offered",
	}
	if diff := cmp.Diff(want, pools); diff != "" {
		t.Errorf("pools (-want +got):\n%s", diff)
	}
	if c := &a.Clouds[0]; c.Offers != 4 || c.Fresh != 3 || c.Resting != 1 {
		t.Errorf("stratus has %d offers, %d fresh, %d resting; want 4, 3, 1", c.Offers, c.Fresh, c.Resting)
	}
}

// What is wrong is one line a cloud, with the cloud's own code, in both languages.
func TestCloudsNotesNameTheProvidersOwnCode(t *testing.T) {
	d, _ := withClouds(t)
	for lang, want := range map[Lang][]string{
		English: {
			"iso27001 (IS 1) ends on 2026-12-10, in 10 d: renew it, or jobs that need it go elsewhere.",
			"idc-licence ended on 2026-11-30: jobs that need it go elsewhere.",
			"east-1 gpu8 spot: sold out (SoldOut), 3 times in a row, last 10 s ago; asked again in 2 min.",
			"neither its offers nor its machines could be read, 2 times in a row, last 10 s ago: access denied (AuthFailure): no such key.",
			"z g8 on-demand: no clear answer (Old); asked again in 1 min.",
		},
		Chinese: {
			"iso27001（IS 1）将于 2026-12-10 到期，还有 10 d：请续期，否则需要它的作业将改用别处。",
			"idc-licence已于 2026-11-30 到期：需要它的作业改用别处。",
			"east-1 gpu8 竞价：售罄（SoldOut），连续 3 次，最近一次在 10 s 前；2 min 后再试。",
			"既读不到它的报价，也列不出它的机器，连续 2 次，最近一次在 10 s 前：没有权限（AuthFailure）：no such key。",
			"z g8 按需：没有明确答复（Old）；1 min 后再试。",
		},
	} {
		a := d.mustSeeClouds(t, CloudsRequest{Lang: lang})
		if diff := cmp.Diff(want, append(a.Clouds[0].Notes, a.Clouds[1].Notes...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", lang, diff)
		}
	}
}

// A refusal of a whole region is said once, however many pools it has.
func TestARefusalOfARegionIsOneNote(t *testing.T) {
	d, w := withClouds(t)
	w.snap.Pools = []bridge.PoolHealth{{
		Pool: bridge.Pool{Cloud: "stratus", Region: "east"}, DownUntil: noon.Add(time.Minute), Failures: 1, Code: "OptInRequired", At: noon, Kind: bridge.CloudDenied,
	}}
	d.Replies = nil
	c := d.mustSeeClouds(t, CloudsRequest{Cloud: "stratus"}).Clouds[0]
	if c.Resting != 4 {
		t.Errorf("%d pools rest, want all 4", c.Resting)
	}
	if n := c.Notes[len(c.Notes)-1]; n != "all of east: access denied (OptInRequired), last 0 s ago; asked again in 1 min." || strings.Count(strings.Join(c.Notes, "\n"), "OptInRequired") != 1 {
		t.Errorf("notes: %q", c.Notes)
	}
}

func TestCloudsAreNarrowedByNamesThatExist(t *testing.T) {
	d, _ := withClouds(t)
	for _, c := range []struct {
		q     CloudsRequest
		pools int
	}{
		{CloudsRequest{}, 5},
		{CloudsRequest{Cloud: "STRATUS"}, 4},
		{CloudsRequest{GPU: "h100"}, 3},
		{CloudsRequest{Region: "east-1", GPU: "h100"}, 3},
		{CloudsRequest{Cloud: "dead"}, 1},
		{CloudsRequest{Cloud: "dead", GPU: "h100"}, 0},
	} {
		n := 0
		a := d.mustSeeClouds(t, c.q)
		for i := range a.Clouds {
			n += len(a.Clouds[i].Pools)
		}
		if n != c.pools {
			t.Errorf("%+v: %d pools, want %d", c.q, n, c.pools)
		}
	}
	for want, q := range map[ErrorKind]CloudsRequest{NotFound: {Cloud: "north"}, BadRequest: {GPU: "q9"}} {
		if _, err := d.Clouds(t.Context(), d.as("ana"), q); kind(err) != want {
			t.Errorf("%+v: %v, want %s", q, err, want)
		}
	}
	if _, err := d.Clouds(t.Context(), d.as("ana"), CloudsRequest{Region: "west"}); kind(err) != BadRequest {
		t.Errorf("an unknown region: %v", err)
	}
}

func TestCloudWordsAreInBothLanguages(t *testing.T) {
	if diff := cmp.Diff(slices.Sorted(maps.Keys(cloudWords)), slices.Sorted(maps.Keys(cloudWordsChinese))); diff != "" {
		t.Errorf("keys (-en +zh):\n%s", diff)
	}
	for key, en := range cloudWords {
		facts := func(s string) []string {
			all := slot.FindAllString(s, -1)
			slices.Sort(all)
			return slices.Compact(all)
		}
		if diff := cmp.Diff(facts(en), facts(cloudWordsChinese[key])); diff != "" {
			t.Errorf("%s: facts (-en +zh):\n%s", key, diff)
		}
	}
}
