package bridge

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What the site says of a provider replaces what its driver says of the same, and
// the driver's list is left as it is.
func TestWhatTheSiteSaysOfAProviderIsOnItsOffers(t *testing.T) {
	own := []Attribute{{Name: "iso27001", Number: "driver"}, {Name: "soc2"}}
	o := Offer{Attributes: own, Network: NetworkFast, Egress: Money{Micro: 5, Currency: "CNY"}}
	p := Provider{
		Attributes: []Attribute{{Name: "iso27001", Number: "IS 1"}}, Network: NetworkRDMA, Egress: Money{Currency: "USD"}, DataRegion: "cn",
	}
	got := p.On(o)
	want := Offer{
		Attributes: []Attribute{{Name: "soc2"}, {Name: "iso27001", Number: "IS 1"}, {Name: "data-cn"}}, Network: NetworkRDMA, Egress: Money{Currency: "USD"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("offer (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Attribute{{Name: "iso27001", Number: "driver"}, {Name: "soc2"}}, own); diff != "" {
		t.Errorf("the driver's own list was changed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(o, (&Provider{}).On(o)); diff != "" {
		t.Errorf("nothing said changed something (-want +got):\n%s", diff)
	}
}

func TestAnAttributeHoldsUntilItsEnd(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		until time.Time
		want  Validity
	}{
		"no end":                  {time.Time{}, Valid},
		"in a year":               {now.AddDate(1, 0, 0), Valid},
		"in a month and a second": {now.Add(SoonBefore + time.Second), Valid},
		"in a month":              {now.Add(SoonBefore), EndsSoon},
		"now":                     {now, EndsSoon},
		"a second ago":            {now.Add(-time.Second), Ended},
	} {
		if got := (&Attribute{Until: c.until}).Validity(now); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A good reply forgets the failures and remembers nothing of their words.
func TestARepliesFailuresAreThoseInARow(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	denied := &CloudError{Kind: CloudDenied, Op: "offers", Cloud: "north", Code: "AuthFailure", Message: "no such key"}
	r := Reply{}.Next("offers", now, nil).Next("offers", now.Add(time.Minute), denied).Next("offers", now.Add(2*time.Minute), denied)
	want := Reply{Op: "offers", At: now.Add(2 * time.Minute), Good: now, Kind: CloudDenied, Code: "AuthFailure", Text: "no such key", Failures: 2}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("after two refusals (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Reply{Op: "offers", At: now.Add(time.Hour), Good: now.Add(time.Hour)}, r.Next("offers", now.Add(time.Hour), nil)); diff != "" {
		t.Errorf("after a good one (-want +got):\n%s", diff)
	}
}
