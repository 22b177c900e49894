package bill

import (
	"testing"
	"time"
	_ "time/tzdata" // the same zones on every machine

	"spillway.sh/spillway/bridge"
)

// A life is cut where the books' own days begin, also where clocks leap over
// midnight.
func TestALifeIsCutWhereDaysBegin(t *testing.T) {
	for zone, from := range map[string]string{"America/Sao_Paulo": "2018-11-02", "Asia/Beirut": "2026-03-27", "Europe/Berlin": "2026-10-24"} {
		z, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		noon, err := time.ParseInLocation("2006-01-02 15:04", from+" 12:00", z)
		if err != nil {
			t.Fatal(err)
		}
		cut := days(span{noon.UTC(), noon.Add(72 * time.Hour).UTC()}, z)
		if len(cut) != 4 {
			t.Fatalf("%s: cut at %v", zone, cut)
		}
		for _, at := range cut[1:] {
			if start, _ := bridge.Span(at, bridge.Day, z); !start.Equal(at) {
				t.Errorf("%s: cut at %s, the day begins at %s", zone, at.In(z), start.In(z))
			}
		}
	}
}
