package chart

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"spillway.sh/spillway/bridge/report"
)

// sample is a report with everything in it.
func sample(t testing.TB) *report.Report {
	t.Helper()
	text, err := os.ReadFile("testdata/week.json")
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var r report.Report
	if err := d.Decode(&r); err != nil {
		t.Fatal(err)
	}
	return &r
}
