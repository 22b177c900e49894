package config_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge/config"
)

func TestReports(t *testing.T) {
	monday, friday := time.Monday, time.Friday
	for name, c := range map[string]struct {
		text string
		want config.Reports
		zone string
	}{
		"left out":   {want: config.Reports{Daily: &config.Clock{Hour: 9}, Weekly: &config.Clock{Hour: 9, Weekday: &monday}}, zone: "none"},
		"given":      {text: `reports: {daily: "18:30", weekly: Fri 17:05, zone: Asia/Shanghai}`, want: config.Reports{Daily: &config.Clock{Hour: 18, Minute: 30}, Weekly: &config.Clock{Hour: 17, Minute: 5, Weekday: &friday}}, zone: "Asia/Shanghai"},
		"never":      {text: "reports: {daily: never, weekly: never}", zone: "none"},
		"one of two": {text: "reports: {daily: never}", want: config.Reports{Weekly: &config.Clock{Hour: 9, Weekday: &monday}}, zone: "none"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := config.Parse("spillway.yaml", []byte("version: 1\nstate_dir: /x\nclusters: [{name: main, slurm: {}}]\n"+c.text+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			zone := "none"
			if z := got.Reports.Zone; z != nil {
				zone = z.String()
			}
			got.Reports.Zone = nil
			if diff := cmp.Diff(c.want, got.Reports); diff != "" || zone != c.zone {
				t.Errorf("zone %s (-want +got):\n%s", zone, diff)
			}
		})
	}
}
