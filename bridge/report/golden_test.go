package report_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge/report"
	"spillway.sh/spillway/bridge/report/reporttest"
)

var update = flag.Bool("update", false, "write golden files anew")

func TestGolden(t *testing.T) {
	r := reporttest.Report()
	for name, write := range map[string]func(*bytes.Buffer) error{
		"week.en.md": func(b *bytes.Buffer) error { return r.Markdown(b, report.English) },
		"week.zh.md": func(b *bytes.Buffer) error { return r.Markdown(b, report.Chinese) },
		"week.csv":   func(b *bytes.Buffer) error { return r.CSV(b, "") },
		"week.json":  func(b *bytes.Buffer) error { return r.JSON(b) },
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := write(&got); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		})
	}
}
