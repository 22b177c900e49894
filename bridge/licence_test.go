package bridge

import (
	"slices"
	"testing"
	"time"
)

// The store's rule: a name that was told, or silenced by one that was told, is
// not told again.
func TestALicenceIsToldOfOnceAStage(t *testing.T) {
	end := time.Date(2027, 3, 1, 23, 59, 59, 0, time.UTC)
	providers := map[string]Provider{
		"east": {Attributes: []Attribute{{Name: "iso27001", Number: "IS 1", Until: end}, {Name: "own-data-centre"}}}, "north": {},
	}
	told := map[string]bool{}
	var said []string
	for day := -60; day <= 3; day++ {
		for _, once := range Licences(end.AddDate(0, 0, day), providers) {
			if told[once.Name] {
				continue
			}
			for _, name := range append(once.Silences, once.Name) {
				told[name] = true
			}
			said = append(said, once.News.At.Format(time.DateOnly)+" "+once.News.Text)
		}
	}
	want := []string{
		"2027-01-30 iso27001 (IS 1) of cloud east ends on 2027-03-01: jobs that need it go elsewhere from then on, unless it is renewed",
		"2027-02-22 iso27001 (IS 1) of cloud east ends on 2027-03-01: jobs that need it go elsewhere from then on, unless it is renewed",
		"2027-03-02 iso27001 (IS 1) of cloud east ended on 2027-03-01: jobs that need it go elsewhere",
	}
	if !slices.Equal(said, want) {
		t.Errorf("said:\n%q\nwant:\n%q", said, want)
	}
}
