package policies_test

import (
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/policies"
)

func TestWatch(t *testing.T) {
	whole := bridge.Watch{Tell: 20 * time.Minute, Unowned: 15 * time.Minute}
	for name, c := range map[string]struct {
		text  string
		want  bridge.Watch
		fault string
	}{
		"what is shipped":     {want: whole},
		"both":                {text: "watch: {idle_tell: 5m, unowned: 1h}", want: bridge.Watch{Tell: 5 * time.Minute, Unowned: time.Hour}},
		"one":                 {text: "watch: {unowned: 1h}", want: bridge.Watch{Tell: 20 * time.Minute, Unowned: time.Hour}},
		"not at once":         {text: "watch: {idle_tell: 0s}", fault: "want 1m"},
		"a key that is not":   {text: "watch: {tell: 5m}", fault: "tell"},
		"a number of nothing": {text: "watch: {unowned: 15}", fault: "unit"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := policies.Parse("policy.yaml", append(policies.DefaultText(), []byte("\n"+c.text+"\n")...))
			switch {
			case c.fault != "":
				if err == nil || !strings.Contains(err.Error(), c.fault) {
					t.Errorf("%v, want something about %q", err, c.fault)
				}
			case err != nil:
				t.Error(err)
			case f.Watch() != c.want:
				t.Errorf("%+v, want %+v", f.Watch(), c.want)
			}
		})
	}
}
