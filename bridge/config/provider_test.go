package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

// What a site says of a provider is read whole, and of the other clouds nothing
// is said.
func TestAProviderIsReadAsTheSiteSaysIt(t *testing.T) {
	c, err := Parse("example.yaml", Example())
	if err != nil {
		t.Fatal(err)
	}
	want := bridge.Provider{
		Attributes: []bridge.Attribute{
			{Name: "iso27001", Number: "IS 712345", Until: time.Date(2027, 5, 31, 23, 59, 59, 0, time.UTC)},
			{Name: "own-data-centre"},
		},
		Network: bridge.NetworkVast, Egress: bridge.Money{Micro: 90_000, Currency: "USD"}, DataRegion: "cn",
	}
	for i := range c.Clouds {
		of := bridge.Provider{}
		if c.Clouds[i].Name == "east" {
			of = want
		}
		if diff := cmp.Diff(of, c.Clouds[i].Provider); diff != "" {
			t.Errorf("cloud %s (-want +got):\n%s", c.Clouds[i].Name, diff)
		}
	}
}
